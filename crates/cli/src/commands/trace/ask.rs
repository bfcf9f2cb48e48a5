//! Which processes there are, and their events: asked for, waited for, read.

use super::{Wanted, unreadable};
use crate::signals::Signals;
use crate::time_bar::TimeBar;
use crate::{Failure, output};
use flight::events::{Ask, Events, EventsState, Trace, events_path, is_traced_until, read_events};
use flight::survivors::is_sampled_until;
use flight::{FlightFile, Life, Snapshot};
use run::trace::Silent;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trace::Origin;

/// What there is to write.
pub struct Recordings {
    pub found: Vec<(Events, Origin)>,
    pub silent: Vec<Silent>,
}

const POLL: Duration = Duration::from_millis(20);

/// The events file of one process, which may be long dead.
pub fn file(path: &Path) -> Result<Recordings, Failure> {
    let events = read_events(path).map_err(|e| unreadable(path, e))?;
    let flight = path.with_extension("flight");
    let snapshot = FlightFile::open(&flight)
        .and_then(|file| file.counters())
        .ok();
    let mut origin = snapshot.as_ref().map_or_else(
        || Origin {
            name: format!("process {}", events.header.pid),
            ..Origin::default()
        },
        origin_of,
    );
    let over = (events.header.state == EventsState::Over).then_some(events.header.ended_mono_ns);
    origin.until_ns = over.map(|ended| ended.min(events.header.deadline_mono_ns));
    if events.events.is_empty() {
        return Err(Failure::no_answer(format!(
            "{} holds no event: its process served nothing after it was asked",
            path.display()
        )));
    }
    Ok(Recordings {
        found: vec![(events, origin)],
        silent: Vec::new(),
    })
}

/// All living processes under a folder, or those that were named.
pub fn processes(wanted: &Wanted) -> Result<Recordings, Failure> {
    let signals = Signals::taken()?;
    let living = hooked(living(wanted)?)?;
    let mut recordings = Recordings {
        found: Vec::new(),
        silent: Vec::new(),
    };
    let bytes = (wanted.bytes / living.len() as u64).max(super::LEAST_BYTES);
    let mut traces = Vec::new();
    for (path, snapshot) in &living {
        match ask(path, snapshot, wanted, bytes) {
            Ok(trace) => traces.push((trace, path, snapshot)),
            Err(reason) => recordings.add(snapshot, Err(reason)),
        }
    }
    await_events(wanted, &signals, &traces);
    // What was begun before the deadline is in the file a moment later.
    std::thread::sleep(POLL);
    let mut kept = Vec::new();
    for (trace, path, snapshot) in traces {
        recordings.add(snapshot, read(path, &trace, snapshot));
        if wanted.keep {
            kept.push(events_path(path));
        }
        if let Err(e) = trace.withdraw(!wanted.keep) {
            output::error(&e.to_string());
        }
    }
    if let Some(said) = left_behind(&kept) {
        output::say(&said);
    }
    if let Some(signal) = signals.received() {
        return Err(Failure {
            message: "interrupted; the processes record no more".to_owned(),
            code: 128 + signal,
        });
    }
    if recordings.found.is_empty() {
        return Err(nothing_recorded(&recordings.silent));
    }
    Ok(recordings)
}

/// No process recorded anything, and why.
pub fn nothing_recorded(silent: &[Silent]) -> Failure {
    let why = silent.iter();
    let why = why.map(|one| format!("process {}: {}", one.pid, one.reason));
    let why: Vec<String> = why.collect();
    Failure::no_answer(format!("nothing was recorded\n{}", why.join("\n")))
}

impl Recordings {
    fn add(&mut self, snapshot: &Snapshot, recorded: Result<(Events, Origin), String>) {
        let pid = snapshot.header.pid;
        match recorded {
            Ok(recorded) => self.found.push(recorded),
            Err(reason) => self.silent.push(Silent { pid, reason }),
        }
    }
}

fn ask(path: &Path, snapshot: &Snapshot, wanted: &Wanted, bytes: u64) -> Result<Trace, String> {
    let ask = Ask {
        request: random(),
        duration_ns: wanted.duration.as_nanos() as u64,
        bytes,
        wall_ns: now_ns(rustix::time::ClockId::Realtime),
        mono_ns: now_ns(rustix::time::ClockId::Monotonic),
    };
    refuse_another(path, ask.mono_ns)?;
    Trace::ask(path, snapshot, ask).map_err(|e| e.to_string())
}

/// A process records for one reader at a time.
pub fn refuse_another(flight: &Path, now_ns: u64) -> Result<(), String> {
    let until = is_traced_until(flight).or_else(|| is_sampled_until(flight));
    if until.is_some_and(|until| until > now_ns) {
        return Err("another powerband trace records it; wait until that has ended".to_owned());
    }
    Ok(())
}

fn read(path: &Path, trace: &Trace, snapshot: &Snapshot) -> Result<(Events, Origin), String> {
    let events = read_events(trace.path()).map_err(|e| e.to_string())?;
    if events.events.is_empty() {
        return Err(why_silent(path, &events, snapshot));
    }
    let mut origin = origin_of(snapshot);
    let now_ns = now_ns(rustix::time::ClockId::Monotonic);
    origin.until_ns = runs(path, snapshot).then_some(events.header.deadline_mono_ns.min(now_ns));
    Ok((events, origin))
}

/// The living processes under a folder, or those that were named; not none.
pub fn living(wanted: &Wanted) -> Result<Vec<(PathBuf, Snapshot)>, Failure> {
    let root = &wanted.target;
    let read = flight::read_dir_counters(root).map_err(|e| unreadable(root, e))?;
    let all = read
        .into_iter()
        .filter_map(|(path, result)| Some((path, result.ok()?)));
    let living: Vec<_> = all
        .filter(|(path, snapshot)| runs(path, snapshot))
        .collect();
    for pid in &wanted.pids {
        if !living
            .iter()
            .any(|(_, snapshot)| snapshot.header.pid == *pid)
        {
            return Err(Failure::no_answer(format!(
                "--pid = {pid}: no living process of that number records into {}; start it with powerband run -- CMD",
                root.display()
            )));
        }
    }
    let named = |pid: u32| wanted.pids.is_empty() || wanted.pids.contains(&pid);
    let living: Vec<_> = living
        .into_iter()
        .filter(|(_, s)| named(s.header.pid))
        .collect();
    if living.is_empty() {
        return Err(Failure::no_answer(format!(
            "no living process records into {}; start the server with powerband run -- CMD, or name the folder that its agent records into",
            root.display()
        )));
    }
    Ok(living)
}

fn hooked(living: Vec<(PathBuf, Snapshot)>) -> Result<Vec<(PathBuf, Snapshot)>, Failure> {
    let (hooked, without): (Vec<_>, Vec<_>) =
        living.into_iter().partition(|(_, s)| s.header.gvl_hook);
    if let ([], Some((_, other))) = (hooked.as_slice(), without.first()) {
        return Err(Failure::no_answer(format!(
            "process {} has no GVL hook (Ruby {}): its agent cannot tell who holds the lock",
            other.header.pid, other.header.ruby_version
        )));
    }
    Ok(hooked)
}

fn await_events(wanted: &Wanted, signals: &Signals, traces: &[(Trace, &PathBuf, &Snapshot)]) {
    let began = Instant::now();
    let bar = TimeBar::new(Some(wanted.duration), wanted.quiet);
    if !bar.is_drawn() && !wanted.quiet {
        let (count, seconds) = (traces.len(), wanted.duration.as_secs_f64());
        let processes = if count == 1 { "process" } else { "processes" };
        output::say(&format!("recording {count} {processes} for {seconds} s"));
    }
    while began.elapsed() < wanted.duration && signals.received().is_none() {
        std::thread::sleep(POLL.min(wanted.duration.saturating_sub(began.elapsed())));
        let headers: Vec<_> = traces
            .iter()
            .filter_map(|(trace, ..)| trace.header().ok())
            .collect();
        let noticed = headers
            .iter()
            .filter(|h| h.state != EventsState::Asked)
            .count();
        let events: u64 = headers.iter().map(|h| h.claimed).sum();
        bar.show(began.elapsed(), || {
            let processes = run::counted(headers.len() as u64, "process");
            format!(
                "{noticed} of {processes}, {}",
                run::counted(events, "event")
            )
        });
        if headers.iter().all(|h| h.lost() > 0) {
            break;
        }
    }
}

/// What `--keep` leaves on the disk, and where; `None` where it leaves nothing.
fn left_behind(kept: &[PathBuf]) -> Option<String> {
    let occupied = |path: &PathBuf| {
        let found = std::fs::symlink_metadata(path).ok()?;
        Some(found.blocks() * 512)
    };
    let sizes: Vec<u64> = kept.iter().filter_map(occupied).collect();
    let mut folders: Vec<String> = kept
        .iter()
        .filter_map(|path| Some(path.parent()?.display().to_string()))
        .collect();
    folders.sort_unstable();
    folders.dedup();
    (!sizes.is_empty()).then(|| {
        format!(
            "--keep leaves {} (*.events, {}) in {}; delete them when they are no longer needed",
            run::counted(sizes.len() as u64, "file"),
            report::bytes(sizes.iter().sum()),
            folders.join(", ")
        )
    })
}

fn why_silent(path: &Path, events: &Events, snapshot: &Snapshot) -> String {
    match events.header.state {
        EventsState::Asked if !runs(path, snapshot) => "it ended before it served a request".to_owned(),
        EventsState::Asked => "it served no request in that time, and a process notices that it is asked when it serves one".to_owned(),
        _ => "no thread of it did anything".to_owned(),
    }
}

fn origin_of(snapshot: &Snapshot) -> Origin {
    let header = &snapshot.header;
    let server = match header.server.name.split(' ').next() {
        Some(name) if !name.is_empty() => name,
        _ => "ruby",
    };
    Origin {
        name: match header.server.worker_index {
            Some(index) => format!("{server} worker {index}"),
            None => server.to_owned(),
        },
        endpoints: snapshot
            .endpoints
            .iter()
            .map(|e| (e.index, e.name.clone()))
            .collect(),
        until_ns: None,
    }
}

pub fn runs(path: &Path, snapshot: &Snapshot) -> bool {
    flight::life(path, &snapshot.header) == Life::Runs
}

pub fn now_ns(clock: rustix::time::ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Not 0; needs only to differ from what was there before.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(now_ns(rustix::time::ClockId::Monotonic)) | 1
}
