//! The flight files of a folder, added up.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use flight::{FlightError, FlightFile, Header, PoolSample, Snapshot, State};
use small_sort::SmallSort;

use crate::carried::{Carried, Damaged};
use crate::sums::{Gauges, ServerInfo, Sizes, Sums};

const CARRIED: &str = "carried";
/// How often a reading that files were removed under begins anew.
const ATTEMPTS: usize = 3;
/// A pool's state is its newest among so many samples of its process.
const LATEST_SAMPLES: u64 = 64;

/// Why there is no text. A scrape that fails costs nothing; a sum that misses a process is taken for a restart of all.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    File(#[from] FlightError),
    #[error("{path}: {source}")]
    Carried { path: PathBuf, source: Damaged },
    #[error("flight files are being removed from {path}; try again")]
    Busy { path: PathBuf },
}

/// The process that a flight file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: u32,
    start_ticks: u64,
    /// The same numbers may be another container's too.
    origin: Option<(u64, [u8; 16])>,
}

/// Sums, and what is true at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    pub sums: Sums,
    pub gauges: Gauges,
    /// Unix time at which the oldest of the files was made.
    pub oldest_ns: Option<u64>,
}

/// Adds up the flight files in a user's folder: those of one application, or all. `lives` says of a file whether its
/// process does.
///
/// # Errors
/// When the system fails, the carried sums are damaged, or files were removed all the while. Files that are none, or
/// damaged, are counted and left out.
pub fn read(
    folder: &Path,
    application: Option<&str>,
    lives: impl Fn(&Path, &Header) -> bool,
) -> Result<Reading, MetricsError> {
    for _ in 0..ATTEMPTS {
        let carried = carried(folder)?;
        let reading = add_up(folder, application, &carried, &lives)?;
        if self::carried(folder)?.generation == carried.generation {
            return Ok(reading);
        }
    }
    Err(MetricsError::Busy {
        path: folder.to_owned(),
    })
}

fn carried(folder: &Path) -> Result<Carried, MetricsError> {
    let path = folder.join(CARRIED);
    match fs::read(&path) {
        Ok(bytes) => Carried::parse(&String::from_utf8_lossy(&bytes))
            .map_err(|source| MetricsError::Carried { path, source }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Carried::default()),
        Err(source) => Err(MetricsError::Io { path, source }),
    }
}

/// What stays of a file once it was added: what concerns its process.
struct Open {
    created_mono_ns: u64,
    in_flight: u64,
    pools: BTreeMap<u16, PoolSample>,
    parent_pid: u32,
    sizes: Sizes,
    server: ServerInfo,
}

fn add_up(
    folder: &Path,
    application: Option<&str>,
    carried: &Carried,
    lives: impl Fn(&Path, &Header) -> bool,
) -> Result<Reading, MetricsError> {
    let mut reading = Reading::default();
    let chosen = |name: &str| application.is_none_or(|wanted| name == wanted);
    for (_, sums) in carried.applications.iter().filter(|(name, _)| chosen(name)) {
        reading.sums.merge(sums);
    }
    let mut open: BTreeMap<Process, Open> = BTreeMap::new();
    for path in files(folder, carried)? {
        let Some(snapshot) = counters(&path, &mut reading.gauges)? else {
            continue;
        };
        if !chosen(flight::application_of(&snapshot.header.app_root)) {
            continue;
        }
        reading.sums.add(&snapshot);
        let header = &snapshot.header;
        let made_ns = header.created_wall_ns;
        reading.oldest_ns = Some(reading.oldest_ns.map_or(made_ns, |old| old.min(made_ns)));
        if header.state == State::Live && lives(&path, header) {
            let process = Process {
                pid: header.pid,
                start_ticks: header.start_ticks,
                origin: header.origin.map(|of| (of.pid_namespace, of.boot_id)),
            };
            let this = Open::of(&snapshot);
            // Puma's USR2 leaves the pid and its start as they were: then the younger file is the process's.
            match open.get(&process) {
                Some(other) if other.created_mono_ns >= this.created_mono_ns => {}
                _ => drop(open.insert(process, this)),
            }
        }
    }
    reading.gauges.processes_expected = expected(&open);
    for process in flight::unrecorded(folder)? {
        *reading.gauges.unrecorded.entry(process.reason).or_default() += 1;
    }
    for file in open.into_values() {
        let gauges = &mut reading.gauges;
        gauges.add(file.in_flight, file.sizes.threads, &file.pools);
        gauges.add_server(file.server, file.sizes);
    }
    Ok(reading)
}

/// How many processes the servers are set to run: of a cluster its number of workers, else the process itself. Workers
/// of one cluster have the same parent, save those that Puma's first worker forks (`fork_worker`). The number may change
/// while the cluster runs, so the youngest file has it.
fn expected(open: &BTreeMap<Process, Open>) -> u64 {
    let mut clusters: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    let mut single = 0_u64;
    for (process, file) in open {
        let workers = file.sizes.workers.unwrap_or(0);
        if workers == 0 {
            single += 1;
            continue;
        }
        let forked_by = open
            .iter()
            .find(|(other, _)| other.pid == file.parent_pid && other.origin == process.origin);
        let master = forked_by.map_or(file.parent_pid, |(_, worker)| worker.parent_pid);
        let youngest = clusters.entry((process.origin, master)).or_default();
        *youngest = (*youngest).max((file.created_mono_ns, workers));
    }
    clusters
        .values()
        .fold(single, |sum, (_, n)| sum.saturating_add(*n))
}

impl Open {
    fn of(snapshot: &Snapshot) -> Self {
        let oldest = snapshot.header.pool_written.saturating_sub(LATEST_SAMPLES);
        let latest = snapshot
            .pool_samples
            .iter()
            .filter(|sample| sample.index >= oldest);
        Self {
            created_mono_ns: snapshot.header.created_mono_ns,
            in_flight: snapshot.header.in_flight,
            parent_pid: snapshot.header.parent_pid,
            sizes: Sizes {
                threads: snapshot.header.server.max_threads.map(u64::from),
                workers: snapshot.header.server.workers.map(u64::from),
            },
            server: ServerInfo::of(&snapshot.header),
            pools: latest.map(|sample| (sample.pool, *sample)).collect(),
        }
    }
}

fn files(folder: &Path, carried: &Carried) -> Result<Vec<PathBuf>, MetricsError> {
    let failed = |source| MetricsError::Io {
        path: folder.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        if path.extension().is_some_and(|e| e == "flight") && !carried.files.contains(name) {
            paths.push(path);
        }
    }
    paths.small_sort();
    Ok(paths)
}

/// `None` where the file has nothing to add.
fn counters(path: &Path, gauges: &mut Gauges) -> Result<Option<Snapshot>, MetricsError> {
    match FlightFile::open(path).and_then(|file| file.counters()) {
        Ok(snapshot) => Ok(Some(snapshot)),
        Err(FlightError::BeingMade) => Ok(None),
        Err(FlightError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(FlightError::Io { path, source })
            if source.kind() != io::ErrorKind::PermissionDenied =>
        {
            Err(FlightError::Io { path, source }.into())
        }
        Err(_) => {
            gauges.unreadable += 1;
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_workers(rows: &[(u32, u64, u64)]) -> u64 {
        let file = |(pid, created_mono_ns, workers): &(u32, u64, u64)| {
            let process = Process {
                pid: *pid,
                start_ticks: 1,
                origin: None,
            };
            let file = Open {
                created_mono_ns: *created_mono_ns,
                in_flight: 0,
                pools: BTreeMap::new(),
                parent_pid: 10,
                sizes: Sizes {
                    threads: None,
                    workers: Some(*workers),
                },
                server: ServerInfo::default(),
            };
            (process, file)
        };
        expected(&rows.iter().map(file).collect())
    }

    #[test]
    fn numbers_that_processes_do_not_agree_on_are_not_known() {
        let agreed = |all: &[(Option<u64>, Option<u64>)]| {
            let mut gauges = Gauges::default();
            for (threads, workers) in all.iter().copied() {
                gauges.add_server(ServerInfo::default(), Sizes { threads, workers });
            }
            let [threads, workers] = gauges.servers[&ServerInfo::default()].labels();
            (threads.1, workers.1)
        };
        let words = |threads: &str, workers: &str| (threads.to_owned(), workers.to_owned());
        let (five, two) = (Some(5), Some(2));
        assert_eq!(agreed(&[(five, two), (five, two)]), words("5", "2"));
        assert_eq!(agreed(&[(five, two), (Some(3), two)]), words("", "2"));
        assert_eq!(
            agreed(&[(five, two), (Some(3), two), (five, two)]),
            words("", "2")
        );
        assert_eq!(agreed(&[(five, two), (five, None)]), words("5", ""));
        assert_eq!(agreed(&[(None, Some(0))]), words("", "0"));
    }

    #[test]
    fn the_youngest_worker_knows_how_many_there_are_to_be() {
        assert_eq!(of_workers(&[(11, 5, 3), (12, 6, 3)]), 3);
        assert_eq!(of_workers(&[(11, 7, 2), (12, 6, 3)]), 2);
        assert_eq!(of_workers(&[(11, 5, 2), (12, 6, 3)]), 3);
    }
}
