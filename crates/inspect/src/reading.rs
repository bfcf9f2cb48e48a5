//! Takes flight files one after the other and adds up what they hold.

use crate::band::Sample;
use crate::baseline::{Baseline, Key, key};
use crate::collections::Logs;
use crate::counters::restored;
use crate::group::{Group, is_job};
use crate::instant::{printable, rfc3339};
use crate::locks::Locks;
use crate::not_read::{refused, skipped};
use crate::of_process::{OfProcess, Place};
use crate::pools::Pools;
use crate::process::{Counted, ended, mono_of, process, state, wall_of};
use crate::sums::Measured;
use flight::{Endpoint, FlightFile, Header, Record, Snapshot, Totals, Unrecorded};
use run::inspect::{NotRead, Process, ProcessState};
use small_sort::SmallSort;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Which of it counts.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Requests that arrived since (nanoseconds since 1970). Everything then comes from the rings.
    pub since_ns: Option<u64>,
    /// Processes with this many threads.
    pub threads: Option<u32>,
    /// Processes of the application with this root folder.
    pub application: Option<String>,
    /// The process with this number, and those that it forked.
    pub pid: Option<u32>,
}

/// What the files hold, added up.
#[derive(Debug, Default)]
pub struct Reading {
    pub(crate) selection: Selection,
    pub(crate) endpoints: BTreeMap<String, Group>,
    pub(crate) processes: Vec<Process>,
    /// Processes that run and have here the number that their file says.
    pub(crate) here: BTreeSet<u32>,
    pub(crate) not_read: Vec<NotRead>,
    /// Running processes without a flight file.
    pub(crate) unrecorded: Vec<Unrecorded>,
    pub(crate) pools: Pools,
    pub(crate) locks: Locks,
    pub(crate) collector: Option<CollectorSums>,
    pub(crate) logs: Logs,
    /// Processes of other thread counts or applications that were left out.
    pub(crate) left_out: usize,
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: u64,
    /// When the last request on record ended.
    pub(crate) last_ended_ns: Option<u64>,
    /// Since when every ring holds every request, where one wrapped or was cut off.
    pub(crate) lost_before_ns: Option<u64>,
    pub(crate) records: u64,
    pub(crate) fibers: bool,
    /// What is subtracted from every process.
    pub(crate) baseline: Option<Baseline>,
    /// The processes that were added, with the names of their files.
    added: HashSet<(Key, Option<OsString>)>,
    /// The documents that were added.
    pub(crate) saved_in: BTreeSet<String>,
    /// With a baseline: each process for itself.
    pub(crate) of_processes: Vec<OfProcess>,
}

/// What is known of a process from its file or from a document.
struct Seen {
    state: ProcessState,
    /// It runs and has here the number that its file says.
    here: bool,
    last_ended_ns: Option<u64>,
    /// The document that it comes from.
    saved_in: Option<String>,
}

/// The collector of whole processes.
#[derive(Debug, Default)]
pub struct CollectorSums {
    pub pauses: u64,
    pub pause_ns: u64,
    pub cpu_ns: u64,
    /// How long those processes were watched.
    pub watched_ns: u64,
}

/// The name of endpoint entries that hold what was lost with the end of a file.
const CUT_OFF: &str = "(cut off)";

/// Reads them all. `now_ns` is the time, in nanoseconds since 1970.
#[must_use]
pub fn read(files: &[PathBuf], selection: Selection, now_ns: u64) -> Reading {
    let mut reading = Reading::of(selection);
    reading.add_files(files, now_ns);
    reading.finished()
}

/// The counters alone, process by process, and what could not be read: for callers that add up otherwise.
#[must_use]
pub fn counters(files: &[PathBuf]) -> (Vec<Snapshot>, Vec<NotRead>) {
    let mut snapshots = Vec::new();
    let mut not_read = Vec::new();
    for path in files {
        match FlightFile::open(path).and_then(|file| file.counters()) {
            Ok(snapshot) => snapshots.push(snapshot),
            Err(error) => not_read.push(refused(path, &error)),
        }
    }
    (snapshots, not_read)
}

impl Selection {
    fn takes(&self, header: &Header) -> bool {
        let root = flight::application_of(&header.app_root);
        let is_asked_for = |asked: &String| flight::application_of(asked) == root;
        (self.threads.is_none() || self.threads == header.server.max_threads)
            && self
                .pid
                .is_none_or(|pid| [header.pid, header.parent_pid].contains(&pid))
            && self.application.as_ref().is_none_or(is_asked_for)
    }

    /// How it was asked for; `None` where every process counts.
    fn flags(&self) -> Option<String> {
        let threads = self.threads.map(|n| format!("--threads = {n}"));
        let application = self.application.as_ref();
        let application = application.map(|root| format!("--application = {root:?}"));
        let pid = self.pid.map(|pid| format!("--pid = {pid}"));
        let all: Vec<String> = threads.into_iter().chain(application).chain(pid).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

impl Reading {
    /// Nothing read yet.
    #[must_use]
    pub fn of(selection: Selection) -> Self {
        Self {
            selection,
            ..Self::default()
        }
    }

    /// Nothing read yet; of what will be, only what was counted after `baseline` counts.
    #[must_use]
    pub fn since(selection: Selection, baseline: Baseline) -> Self {
        Self {
            baseline: Some(baseline),
            ..Self::of(selection)
        }
    }

    /// Reads flight files. `now_ns` is the time, in nanoseconds since 1970. Of a process that is given more than once the
    /// first reading counts, so add the latest first: files, then documents.
    pub fn add_files(&mut self, files: &[PathBuf], now_ns: u64) {
        for path in files {
            match FlightFile::open(path).and_then(|file| file.snapshot()) {
                Ok(snapshot) => self.add(path, snapshot, now_ns),
                Err(error) => self.not_read.push(refused(path, &error)),
            }
        }
    }

    /// Adds running processes that have no flight file.
    pub fn add_unrecorded(&mut self, processes: Vec<Unrecorded>) {
        self.unrecorded.extend(processes);
    }

    /// Adds what a document has kept of flight files. With a baseline, each of several documents is of one pod.
    pub fn add_saved(&mut self, path: &Path, document: &run::counters::Document) {
        let name = printable(&path.display().to_string());
        self.saved_in.insert(name.clone());
        for process in &document.processes {
            let seen = Seen {
                state: process.state,
                here: false,
                last_ended_ns: process.last_ended_ns,
                saved_in: Some(name.clone()),
            };
            let path = Path::new(&process.file);
            self.add_seen(path, restored(process), &seen, document.read_at_ns);
        }
        self.not_read.extend_from_slice(&document.not_read);
    }

    /// Everything was added.
    #[must_use]
    pub fn finished(mut self) -> Self {
        self.processes
            .small_sort_by(|a, b| (&a.started_at, a.pid).cmp(&(&b.started_at, b.pid)));
        if let Some(baseline) = &mut self.baseline {
            let gone = baseline.vanished(&self.not_read);
            self.not_read.extend(gone);
        }
        self
    }

    /// Whether any request or job was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.endpoints.values().all(|e| e.sums.requests == 0)
    }

    /// Why there is nothing to say, for a reading that [`Reading::is_empty`].
    #[must_use]
    pub fn why_empty(&self) -> String {
        if let (true, Some(first)) = (self.processes.is_empty(), self.not_read.first()) {
            let more = match self.not_read.len() {
                1 => String::new(),
                n => format!(" (and {} more files)", n - 1),
            };
            return format!("{}: {}{more}", first.file, first.reason);
        }
        if let (true, Some(flag)) = (self.processes.is_empty(), self.selection.flags()) {
            return format!(
                "{flag}: {}; {}",
                match self.left_out {
                    1 => "the only process does not match".to_owned(),
                    several => format!("none of the {several} processes matches"),
                },
                match self.selection.application {
                    Some(_) => "--application all counts every application",
                    None => "leave it out to count all",
                }
            );
        }
        let live = self
            .processes
            .iter()
            .filter(|p| p.state == ProcessState::Live);
        let since = match (self.selection.since_ns, &self.baseline) {
            (Some(at), _) => format!(" since {}", rfc3339(at)),
            (None, Some(baseline)) => format!(" since {}", rfc3339(baseline.read_at_ns)),
            (None, None) => " yet".to_owned(),
        };
        format!(
            "no request was recorded{since}: {}, {} alive{}",
            run::counted(self.processes.len() as u64, "process"),
            match (self.processes.len(), live.count()) {
                (1, 0) => "not".to_owned(),
                (1, _) => "which is".to_owned(),
                (_, alive) => format!("{alive} of them"),
            },
            crate::unrecorded::appended(&self.unrecorded)
        )
    }

    /// Adds what one file held. `now_ns` is the time, in nanoseconds since 1970.
    pub fn add(&mut self, path: &Path, snapshot: Snapshot, now_ns: u64) {
        let state = state(path, &snapshot.header);
        let seen = Seen {
            state,
            here: state == ProcessState::Live && flight::runs_here(&snapshot.header),
            last_ended_ns: snapshot.records.iter().map(ended).max(),
            saved_in: None,
        };
        self.add_seen(path, snapshot, &seen, now_ns);
    }

    fn add_seen(&mut self, path: &Path, mut snapshot: Snapshot, seen: &Seen, now_ns: u64) {
        let name = path.file_name().map(OsString::from);
        if !self.added.insert((key(&snapshot.header), name)) {
            self.not_read.push(NotRead {
                file: printable(&path.display().to_string()),
                partly: false,
                reason: "its process was given more than once: the latest reading of it counts"
                    .to_owned(),
            });
            return;
        }
        let change = match self.baseline.as_mut() {
            Some(baseline) => match baseline.subtract(path, &mut snapshot) {
                Ok(change) => Some(change),
                Err(not_read) => return self.not_read.extend(not_read),
            },
            None => None,
        };
        if !self.selection.takes(&snapshot.header) {
            self.left_out += 1;
            return;
        }
        self.not_read.extend(skipped(path, &snapshot.skipped));
        let measured = Measured::by(&snapshot.header);
        self.fibers |= snapshot.header.fiber_scheduler;
        let capacity = u64::from(snapshot.header.ring_capacity());
        let no_records = snapshot.records.is_empty() && snapshot.totals.requests > 0;
        let lost = snapshot.header.written > capacity || snapshot.skipped.missing > 0 || no_records;
        let all_records = snapshot.records.len() as u64;
        let reaches_back = wall_of(&snapshot.header, snapshot.reaches_back_to());
        if let Some(since) = self.selection.since_ns {
            snapshot.records.retain(|r| r.arrival_wall_ns >= since);
        }
        let counted = if self.selection.since_ns.is_some() {
            self.add_records(&snapshot, &measured)
        } else {
            self.add_counters(&snapshot, &measured, lost)
        };
        let mut process = process(path, &snapshot, seen.state, counted, measured.split);
        process.records = all_records;
        process.records_from = rfc3339(reaches_back);
        let made = snapshot.header.created_wall_ns;
        let until = match seen.state {
            ProcessState::Live => now_ns,
            _ => seen.last_ended_ns.unwrap_or(made),
        };
        self.first_ns = Some(self.first_ns.map_or(made, |first| first.min(made)));
        self.last_ns = self.last_ns.max(until);
        self.last_ended_ns = self.last_ended_ns.max(seen.last_ended_ns);
        // A whole ring has all of its process, however young that is.
        if lost {
            let complete_from = if snapshot.skipped.missing > 0 || no_records {
                until.saturating_add(1)
            } else {
                reaches_back
            };
            self.lost_before_ns = self.lost_before_ns.max(Some(complete_from));
        }
        self.records += snapshot.records.len() as u64;
        let from = self.baseline.as_ref().map_or(0, |of| of.read_at_ns);
        self.add_collector(&snapshot, until.saturating_sub(made.max(from)));
        self.add_pools(&snapshot, from);
        self.add_locks(&snapshot);
        let from = self.selection.since_ns.unwrap_or(from);
        self.logs.add(
            &snapshot,
            mono_of(&snapshot.header, from),
            mono_of(&snapshot.header, until),
        );
        if seen.here {
            self.here.insert(process.pid);
        }
        if let Some(change) = change {
            self.of_processes.push(OfProcess {
                process: process.clone(),
                change,
                group: Group::of_process(&snapshot, &measured),
                place: Place::of(&snapshot, seen.saved_in.clone()),
            });
        }
        self.processes.push(process);
    }

    /// Sums and histograms from the counters, times from the ring.
    fn add_counters(&mut self, snapshot: &Snapshot, measured: &Measured, lost: bool) -> Counted {
        let further = snapshot.header.counts_further();
        let only_jobs = has_only_jobs(&snapshot.endpoints);
        let mut samples = by_endpoint(snapshot);
        let mut summed = Totals::default();
        let mut counted = Counted::default();
        for endpoint in &snapshot.endpoints {
            summed = summed.plus(&endpoint.totals);
            let group = self.group(&endpoint.name, only_jobs);
            counted.add(endpoint.totals.requests, group.jobs);
            group.sums.add(&endpoint.totals, measured, further);
            group.wall = group.wall.plus(&endpoint.wall);
            group.gvl_wait = group.gvl_wait.plus(&endpoint.gvl_wait);
            group.queue = group.queue.plus(&endpoint.queue);
            group.records_lost |= lost && endpoint.totals.requests > 0;
            if let Some(own) = samples.get_mut(usize::from(endpoint.index)) {
                group.samples.append(own);
            }
        }
        if snapshot.skipped.endpoints_missing > 0 {
            let rest = snapshot.totals.since(&summed);
            let group = self.group(CUT_OFF, only_jobs);
            counted.add(rest.requests, group.jobs);
            group.sums.add(&rest, measured, further);
            group.records_lost = true;
        }
        counted
    }

    /// Everything from the records, which were chosen by their arrival.
    fn add_records(&mut self, snapshot: &Snapshot, measured: &Measured) -> Counted {
        let only_jobs = has_only_jobs(&snapshot.endpoints);
        let mut totals: Vec<Totals> = Vec::new();
        for record in &snapshot.records {
            let at = usize::from(record.endpoint);
            if totals.len() <= at {
                totals.resize(at + 1, Totals::default());
            }
            totals[at].book(record);
        }
        let mut samples = by_endpoint(snapshot);
        let mut counted = Counted::default();
        for (at, totals) in totals.iter().enumerate().filter(|(_, t)| t.requests > 0) {
            let entries = &snapshot.endpoints;
            let own = entries.binary_search_by_key(&at, |e| usize::from(e.index));
            let name = own.map_or(CUT_OFF, |entry| &entries[entry].name);
            let group = self.group(name, only_jobs);
            counted.add(totals.requests, group.jobs);
            group.sums.add(totals, measured, true);
            group.samples.append(&mut samples[at]);
        }
        counted
    }

    fn group(&mut self, name: &str, only_jobs: bool) -> &mut Group {
        let jobs = is_job(name) || (only_jobs && name.starts_with('('));
        // What is not named is kept apart for requests and jobs.
        let key = if jobs && !is_job(name) {
            format!("job {name}")
        } else {
            name.to_owned()
        };
        let group = self.endpoints.entry(key).or_default();
        group.jobs = jobs;
        group
    }

    fn add_collector(&mut self, snapshot: &Snapshot, watched_ns: u64) {
        if let (Some(collector), None) = (snapshot.header.collector, self.selection.since_ns) {
            let sums = self.collector.get_or_insert_default();
            sums.pauses = sums.pauses.saturating_add(collector.runs);
            sums.pause_ns = sums.pause_ns.saturating_add(collector.pause_ns);
            sums.cpu_ns = sums.cpu_ns.saturating_add(collector.cpu_ns);
            sums.watched_ns = sums.watched_ns.saturating_add(watched_ns);
        }
    }

    /// They are counted since the file was made, and no document keeps them.
    fn add_locks(&mut self, snapshot: &Snapshot) {
        if self.selection.since_ns.is_none() && self.baseline.is_none() {
            let rows = snapshot.locks.iter().flatten();
            rows.for_each(|row| self.locks.add(row));
        }
    }

    fn add_pools(&mut self, snapshot: &Snapshot, from_ns: u64) {
        let since = self.selection.since_ns.unwrap_or(from_ns);
        for sample in &snapshot.pool_samples {
            if wall_of(&snapshot.header, sample.mono_ns) >= since {
                self.pools.add(sample);
            }
        }
    }
}

/// Times by endpoint index, in one pass.
fn by_endpoint(snapshot: &Snapshot) -> Vec<Vec<Sample>> {
    let tells_major = snapshot.header.measures("gc_major_us") && !snapshot.header.fiber_scheduler;
    let major_ns = |record: &Record| match tells_major {
        true => u64::from(record.gc_major_us) * 1_000,
        false => u64::MAX,
    };
    let mut samples: Vec<Vec<Sample>> = Vec::new();
    for record in &snapshot.records {
        let at = usize::from(record.endpoint);
        if samples.len() <= at {
            samples.resize_with(at + 1, Vec::new);
        }
        samples[at].push(Sample {
            wall: record.wall_ns,
            queue: record.queue_ns.unwrap_or(u64::MAX),
            held: record.held_ns,
            gvl_wait: record.gvl_wait_ns,
            lock_wait: record.lock_wait_ns,
            io: record.io_ns,
            gc: record.gc_ns,
            gc_major: major_ns(record),
        });
    }
    samples
}

fn has_only_jobs(endpoints: &[Endpoint]) -> bool {
    let mut named = endpoints
        .iter()
        .filter(|e| e.totals.requests > 0 && !e.name.starts_with('('))
        .peekable();
    named.peek().is_some() && named.all(|e| is_job(&e.name))
}
