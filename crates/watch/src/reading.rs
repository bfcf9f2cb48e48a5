//! What the flight files of running processes, and `/proc`, said at one instant.

use flight::{EndpointTally, FlightFile, Header, Origin, ProcessId, Tally, Totals};
use inspect::{Measured, printable, process_state};
use run::inspect::ProcessState;
use small_sort::SmallSort;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// PSS costs milliseconds for each process, during which the kernel holds its memory map.
const PSS_EVERY: Duration = Duration::from_secs(30);

/// All processes at one instant.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// On a clock that only goes forward.
    pub at: Duration,
    /// Nanoseconds since 1970.
    pub wall_ns: u64,
    pub processes: Vec<Process>,
}

/// A process that runs.
#[derive(Debug, Clone)]
pub struct Process {
    pub id: ProcessKey,
    pub file: PathBuf,
    pub name: String,
    pub pid: u32,
    /// Processes with the same parent, application and server are siblings.
    pub family: (u32, String, String),
    pub worker: Option<u32>,
    pub threads: Option<u32>,
    pub created_wall_ns: u64,
    pub in_flight: u64,
    /// Whether it runs cannot be seen from here, as of another container: it counts while its counters grow.
    pub of_unknown_life: bool,
    pub measured: Measured,
    pub further: bool,
    /// Records of requests so far.
    pub written: u64,
    pub totals: Totals,
    /// In the order of their indices.
    pub endpoints: Arc<[EndpointTally]>,
    /// `None` where the process runs in another container, or belongs to another user.
    pub cpu: Option<Duration>,
    pub rss_bytes: Option<u64>,
    pub pss_bytes: Option<u64>,
}

/// Which process, also where its number is used again.
pub type ProcessKey = (ProcessId, Option<Origin>);

/// Reads again and again.
#[derive(Debug, Default)]
pub struct Reader {
    application: Option<String>,
    /// Files of processes that have ended, which do not change any more.
    ended: BTreeSet<PathBuf>,
    pss: HashMap<u32, u64>,
    pss_at: Option<Duration>,
}

impl Reader {
    /// Of one application alone, by its root folder, or of all.
    #[must_use]
    pub fn of(application: Option<String>) -> Self {
        Self {
            application,
            ..Self::default()
        }
    }

    /// Reads the files of running processes. Files that cannot be read are left out: most are being made.
    pub fn read(&mut self, files: &[PathBuf], at: Duration, wall_ns: u64) -> Reading {
        let with_pss = self.pss_at.is_none_or(|last| at >= last + PSS_EVERY);
        if with_pss {
            self.pss_at = Some(at);
            self.pss.clear();
        }
        let mut processes = Vec::new();
        for path in files {
            if self.ended.contains(path) {
                continue;
            }
            let Ok(tally) = FlightFile::open(path).and_then(|file| file.tally()) else {
                continue;
            };
            let ended = [ProcessState::Closed, ProcessState::Died];
            let state = process_state(path, &tally.header);
            if ended.contains(&state) {
                self.ended.insert(path.clone());
            } else if self.takes(&tally.header) {
                let mut process = self.process(&tally, with_pss);
                process.of_unknown_life = state == ProcessState::Unknown;
                process.file.clone_from(path);
                processes.push(process);
            }
        }
        processes.small_sort_by_key(|p| (p.family.clone(), p.worker, p.pid));
        Reading {
            at,
            wall_ns,
            processes,
        }
    }

    fn takes(&self, header: &Header) -> bool {
        let root = flight::application_of(&header.app_root);
        let asked = self.application.as_deref();
        asked.is_none_or(|asked| flight::application_of(asked) == root)
    }

    fn process(&mut self, tally: &Tally, with_pss: bool) -> Process {
        let mut process = Process::of(tally);
        let pid = process.pid;
        if flight::is_numbered_here(&tally.header) {
            let cpu = host::cpu::process_cpu(pid, tally.header.start_ticks);
            process.cpu = cpu.map(|cpu| cpu.total());
        }
        // Only if the process still runs: its number may be reused.
        if process.cpu.is_some() {
            process.rss_bytes = host::memory::rss(pid);
            if with_pss {
                let pss = host::memory::resident(pid).and_then(|memory| memory.pss_bytes);
                self.pss.extend(pss.map(|bytes| (pid, bytes)));
            }
            process.pss_bytes = self.pss.get(&pid).copied();
        }
        process
    }
}

impl Process {
    /// What a file holds of it.
    #[must_use]
    pub fn of(tally: &Tally) -> Self {
        let header = &tally.header;
        let used = tally.endpoints.iter().filter(|e| e.totals.requests > 0);
        let worker = header.server.worker_index;
        Self {
            id: (header.process(), header.origin),
            file: PathBuf::new(),
            name: match worker {
                Some(worker) => format!("worker {worker} ({})", header.pid),
                None => format!("pid {}", header.pid),
            },
            pid: header.pid,
            family: (
                header.parent_pid,
                printable(&header.app_root),
                printable(&header.server.name),
            ),
            worker,
            threads: header.server.max_threads,
            created_wall_ns: header.created_wall_ns,
            in_flight: header.in_flight,
            of_unknown_life: false,
            measured: Measured::by(header),
            further: header.counts_further(),
            written: header.written,
            totals: tally.totals,
            endpoints: used
                .map(|e| EndpointTally {
                    index: e.index,
                    name: printable(&e.name),
                    totals: e.totals,
                })
                .collect(),
            cpu: None,
            rss_bytes: None,
            pss_bytes: None,
        }
    }
}
