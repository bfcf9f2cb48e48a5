//! Reads the processes of the watched trees, one reading after the other.

use crate::pace::until_next;
use crate::watched::Watched;
use flight::{FlightFile, Header, Heap};
use host::{HostError, Mappings, Maps, ProcessStatus, mappings, process_status};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Folders are looked through for the files of new processes at most so often.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Identifies a process, also where its pid was used before.
pub(crate) type Key = (u32, u64);

/// All processes at one instant.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Since the first reading.
    pub at: Duration,
    /// `CLOCK_MONOTONIC`, as flight files have it.
    pub mono_ns: u64,
    /// Parents before their children.
    pub processes: Vec<ProcessReading>,
}

/// One process.
#[derive(Debug, Clone)]
pub struct ProcessReading {
    pub pid: u32,
    pub status: ProcessStatus,
    /// `None` where it was not read, or may not be.
    pub maps: Option<Maps>,
    /// Puma's index of the worker.
    pub worker: Option<u32>,
    /// Since its flight file was made.
    pub requests: Option<u64>,
    pub heap: Option<Heap>,
}

impl ProcessReading {
    pub(crate) fn key(&self) -> Key {
        (self.pid, self.status.start_ticks)
    }
}

/// Reads again and again.
#[derive(Debug)]
pub struct Reader {
    watched: Watched,
    length: Option<Duration>,
    exact_due: Duration,
    look_due: Duration,
    looked_at: BTreeSet<PathBuf>,
    files: BTreeMap<Key, FlightFile>,
    not_known: BTreeSet<String>,
}

impl Reader {
    /// Reads these for so long, if there is an end.
    #[must_use]
    pub fn of(watched: Watched, length: Option<Duration>) -> Self {
        Self {
            not_known: watched.left_out.iter().cloned().collect(),
            watched,
            length,
            exact_due: Duration::ZERO,
            look_due: Duration::ZERO,
            looked_at: BTreeSet::new(),
            files: BTreeMap::new(),
        }
    }

    /// What could not be read so far, each with the reason.
    pub fn not_known(&self) -> impl Iterator<Item = &String> {
        self.not_known.iter()
    }

    /// Which processes there are, and what they hold; those that end meanwhile are left out. `smaps` is read when it is due, and
    /// where `exact` asks for it.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn read(&mut self, at: Duration, mono_ns: u64, exact: bool) -> Result<Reading, HostError> {
        let mut reading = Reading {
            at,
            mono_ns,
            processes: Vec::new(),
        };
        let pids = self.pids()?;
        for pid in pids {
            let Some(status) = process_status(pid)? else {
                continue;
            };
            reading.processes.push(ProcessReading {
                pid,
                status,
                maps: None,
                worker: None,
                requests: None,
                heap: None,
            });
        }
        if exact || at >= self.exact_due {
            let began = Instant::now();
            for process in &mut reading.processes {
                process.maps = self.maps(process.pid, &process.status.name)?;
            }
            self.exact_due = at + until_next(began.elapsed(), self.length);
        }
        self.find_files(&reading);
        for process in &mut reading.processes {
            let file = self.files.get(&process.key());
            // Cut short by a full disk, it says nothing; the process is there all the same.
            if let Some((header, totals)) = file.and_then(|file| file.totals().ok()) {
                process.worker = header.server.worker_index;
                process.requests = Some(totals.requests);
                process.heap = header.heap;
            }
        }
        Ok(reading)
    }

    /// Of all trees; a tree whose root has ended has none.
    fn pids(&self) -> Result<Vec<u32>, HostError> {
        let mut all = Vec::new();
        for tree in &self.watched.trees {
            match tree.pids() {
                Ok(pids) => all.extend(pids),
                Err(HostError::Gone { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut once = BTreeSet::new();
        all.retain(|pid| once.insert(*pid));
        Ok(all)
    }

    fn maps(&mut self, pid: u32, name: &str) -> Result<Option<Maps>, HostError> {
        match mappings(pid)? {
            Mappings::Known(maps) => Ok(Some(*maps)),
            Mappings::Gone => Ok(None),
            Mappings::NotAllowed => {
                self.not_known.insert(format!(
                    "PSS, USS and the parts of process {pid} ({name}): it belongs to another user, or keeps its memory to itself; run \
                     powerband as root or as that user"
                ));
                Ok(None)
            }
        }
    }

    /// The files of processes that have none yet.
    fn find_files(&mut self, reading: &Reading) {
        let wanted: BTreeSet<Key> = reading.processes.iter().map(ProcessReading::key).collect();
        self.files.retain(|key, _| wanted.contains(key));
        if reading.at < self.look_due {
            return;
        }
        self.look_due = reading.at + LOOK_EVERY;
        for folder in &self.watched.folders {
            for path in flight::find(folder).unwrap_or_default() {
                if self.looked_at.contains(&path) {
                    continue;
                }
                // One that is being made is looked at again.
                let opened = FlightFile::open(&path)
                    .and_then(|file| file.totals().map(|(header, _)| (file, header)));
                let Ok((file, header)) = opened else { continue };
                if !flight::runs_here(&header) {
                    self.looked_at.insert(path);
                    continue;
                }
                let key = key_of(&header);
                // Puma keeps its process when it restarts, and begins another file.
                let newer = self.files.get(&key).is_none_or(|known| {
                    let known = known.totals().map(|(known, _)| known.created_mono_ns);
                    known.is_ok_and(|known| known < header.created_mono_ns)
                });
                if wanted.contains(&key) {
                    self.looked_at.insert(path);
                    if newer {
                        self.files.insert(key, file);
                    }
                } else if is_of_others(&header, reading.mono_ns) {
                    self.looked_at.insert(path);
                }
            }
        }
    }
}

fn key_of(header: &Header) -> Key {
    (header.pid, header.start_ticks)
}

/// Whether the file of a process outside the trees is so old that the process did not begin after the trees were walked.
fn is_of_others(header: &Header, mono_ns: u64) -> bool {
    let look_ns = LOOK_EVERY.as_nanos() as u64;
    header.created_mono_ns.saturating_add(look_ns) < mono_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_read_and_one_that_ended_is_left_out() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let watched = Watched::pids(&[std::process::id()], Vec::new()).unwrap();
        let mut reader = Reader::of(watched, None);
        // It is this program until it has become the other.
        let first = loop {
            let read = reader.read(Duration::ZERO, 0, true).unwrap();
            let sleeps = |p: &ProcessReading| p.pid == child.id() && p.status.name == "sleep";
            if read.processes.iter().any(sleeps) {
                break read;
            }
        };
        assert_eq!(first.processes[0].pid, std::process::id());
        let total = first.processes[0].maps.unwrap().total();
        assert!(total.private_bytes > 0);
        child.kill().unwrap();
        child.wait().unwrap();
        let second = reader.read(Duration::from_secs(1), 0, true).unwrap();
        assert!(second.processes.iter().all(|p| p.pid != child.id()));
        assert!(reader.not_known().next().is_none());
    }
}
