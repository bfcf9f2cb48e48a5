//! `advise`: which settings of memory and garbage collection are worth a test, from what the agent recorded.

mod command;
mod document;
mod prove;

use super::flight_root::flight_root;
use super::inspect::{found, looked_into, now_ns, own};
use crate::args::AdviseArgs;
use crate::{Failure, output};
use adviser::{Process, Seen, Setup, advise as look, checks};
use flight::{FlightFile, Header, Role, Snapshot};
use run::inspect::NotRead;
use small_sort::SmallSort;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The processes of one server, the latest last; there is one.
pub(super) struct Recorded {
    processes: Vec<(PathBuf, Snapshot)>,
    inspected: run::inspect::Document,
    /// Processes of other servers in the same files.
    left_out: usize,
    not_read: Vec<NotRead>,
}

impl Recorded {
    fn header(&self) -> &Header {
        let (_, latest) = &self.processes[self.processes.len() - 1];
        &latest.header
    }
}

/// `powerband advise`.
pub fn advise(args: AdviseArgs) -> Result<u8, Failure> {
    if let Some(Some(run)) = &args.experiment.resume {
        let (proof, app_dir) = prove::kept(&args.experiment, run)?;
        return prove::prove(args, proof, Some(&app_dir));
    }
    if !args.prove {
        prove::refuse_without_prove()?;
    }
    known_checks(&args.checks)?;
    let recorded = recorded(&args)?;
    let environment = environment(&recorded.processes);
    let seen = seen(&recorded, environment.as_ref().map(|(_, of)| of.clone()));
    let environment_of = environment.map(|(pid, _)| pid);
    let advice = look(&seen, &args.checks);
    let document = document::document(&recorded, &seen, advice, environment_of);
    if args.prove {
        let application = document.looked_at.application.clone();
        if let Some(proof) = prove::proof(&document, &seen)? {
            return prove::prove(args, proof, application.as_deref());
        }
        prove::nothing_to_prove();
    }
    if args.experiment.speech.json {
        output::json(&document)?;
    } else {
        output::print(&report::advise_page(&document, output::style()))?;
    }
    Ok(0)
}

fn known_checks(named: &[String]) -> Result<(), Failure> {
    let unknown = named
        .iter()
        .find(|one| checks().all(|known| known != one.as_str()));
    unknown.map_or(Ok(()), |unknown| {
        Err(Failure::usage(format!(
            "--check = {unknown:?}: there is no such check; there are {}",
            checks().collect::<Vec<_>>().join(", ")
        )))
    })
}

fn recorded(args: &AdviseArgs) -> Result<Recorded, Failure> {
    let root = flight_root();
    let (mut all, mut not_read) = (Vec::new(), Vec::new());
    for path in found(&args.sources, &root)? {
        // Without the records: a folder may have files of many starts.
        match FlightFile::open(&path).and_then(|file| file.counters()) {
            Ok(counters) => all.push((path, counters)),
            Err(error) => not_read.push(::inspect::refused(&path, &error)),
        }
    }
    let wanted = match &args.application {
        None if args.sources.is_empty() => own_application(&all),
        named => named.clone(),
    };
    if let Some(wanted) = wanted {
        let there = applications(&all).join(", ");
        let of = flight::application_of(&wanted);
        all.retain(|(_, one)| application_of(one) == of);
        if all.is_empty() && !there.is_empty() {
            return Err(Failure::usage(format!(
                "--application = {wanted:?}: no process of it recorded into these files; they are of {there}"
            )));
        }
    }
    one_application(&all)?;
    let count = all.len();
    for files in servers(all) {
        let left_out = count - files.len();
        let (processes, without_log) = logged(&files);
        if processes.is_empty() {
            continue;
        }
        not_read.extend(without_log);
        return Ok(Recorded {
            inspected: looked_into(&files, &root, ::inspect::Selection::default(), now_ns())?,
            processes,
            left_out,
            not_read,
        });
    }
    Err(Failure::no_answer(
        "no process of these files has a log of collections: start the server with powerband run -- CMD, or with the gem of this \
         version, and send requests to it",
    ))
}

/// The files of each start of each server, since settings change between two. First those that run, the one with the most requests
/// before others, then the others from the latest on.
fn servers(all: Vec<(PathBuf, Snapshot)>) -> Vec<Vec<PathBuf>> {
    let mut servers: BTreeMap<(String, u32), Vec<(PathBuf, Snapshot)>> = BTreeMap::new();
    for (path, counters) in all {
        let header = &counters.header;
        let first = match header.server.workers.unwrap_or(0) {
            0 => header.pid,
            _ => header.parent_pid,
        };
        let key = (header.server.name.clone(), first);
        servers.entry(key).or_default().push((path, counters));
    }
    let mut servers: Vec<_> = servers.into_values().collect();
    servers.small_sort_by_key(|of| {
        let runs = of.iter().any(|(_, one)| flight::runs_here(&one.header));
        let requests: u64 = of.iter().map(|(_, one)| one.totals.requests).sum();
        let began = of.iter().map(|(_, one)| one.header.created_wall_ns).max();
        Reverse((runs, if runs { requests } else { 0 }, began))
    });
    let files = servers
        .into_iter()
        .map(|of| of.into_iter().map(|(path, _)| path).collect());
    files.collect()
}

/// The processes that have a log, the latest last, and what is to be said of the others.
fn logged(files: &[PathBuf]) -> (Vec<(PathBuf, Snapshot)>, Vec<NotRead>) {
    let (mut processes, mut not_read) = (Vec::new(), Vec::new());
    for path in files {
        match FlightFile::open(path).and_then(|file| file.snapshot()) {
            Ok(snapshot) if snapshot.log.is_some() => processes.push((path.clone(), snapshot)),
            Ok(snapshot) => not_read.push(::inspect::without_log(path, &snapshot.header)),
            // It is gone meanwhile, or cut off; the inspect document names it.
            Err(_) => {}
        }
    }
    processes.small_sort_by_key(|(_, of)| of.header.created_wall_ns);
    (processes, not_read)
}

/// That of the current folder.
fn own_application(processes: &[(PathBuf, Snapshot)]) -> Option<String> {
    let roots = processes.iter().map(|(_, one)| application_of(one));
    let own = own::holding(&roots.collect(), &std::env::current_dir().ok()?);
    own.map(str::to_owned)
}

fn application_of(process: &Snapshot) -> &str {
    flight::application_of(&process.header.app_root)
}

/// The root folders of their applications.
fn applications(processes: &[(PathBuf, Snapshot)]) -> Vec<String> {
    let roots = processes
        .iter()
        .map(|(_, snapshot)| application_of(snapshot));
    let roots: BTreeSet<&str> = roots.collect();
    roots.into_iter().map(::inspect::printable).collect()
}

/// Settings for several applications together are right for none of them.
fn one_application(processes: &[(PathBuf, Snapshot)]) -> Result<(), Failure> {
    let roots = applications(processes);
    match roots.len() {
        0 | 1 => Ok(()),
        _ => Err(Failure::usage(format!(
            "the files are of {}; give one of them as --application FOLDER",
            roots.join(", ")
        ))),
    }
}

/// The variables that a process of it was started with, and the process: as the agent recorded them, else from the environment of one
/// that runs here, unless a process title has overwritten it.
fn environment(processes: &[(PathBuf, Snapshot)]) -> Option<(u32, BTreeMap<String, String>)> {
    let recorded = processes.iter().rev().find_map(|(_, snapshot)| {
        let header = &snapshot.header;
        Some((header.pid, header.variables.clone()?))
    });
    if recorded.is_some() {
        return recorded;
    }
    let here = processes
        .iter()
        .filter(|(_, snapshot)| flight::runs_here(&snapshot.header));
    let mut read = here.filter_map(|(_, snapshot)| {
        let pid = snapshot.header.pid;
        Some((pid, servers::environment_of(pid).ok()?))
    });
    read.find(|(_, environment)| !environment.is_empty())
}

fn seen(recorded: &Recorded, environment: Option<BTreeMap<String, String>>) -> Seen {
    let header = recorded.header();
    let collections = recorded.inspected.collections.as_ref();
    Seen {
        ruby: knobs::Version::of(&header.ruby_version),
        server: header.server.clone(),
        allocator: ::inspect::printable(&header.about.allocator),
        installed: installed(),
        jit: ::inspect::printable(&header.about.jit),
        processes: recorded
            .processes
            .iter()
            .filter_map(|(_, of)| process(of))
            .collect(),
        watched_s: collections.map_or(0.0, |of| of.watched_s),
        collected_share: collected_share(&recorded.inspected),
        stopped: collections.and_then(|of| of.requests.clone()),
        environment,
        setup: setup(&recorded.processes),
    }
}

/// Allocators other than glibc's that a server could be started with here.
fn installed() -> Vec<knobs::Allocator> {
    let others = knobs::Allocator::ALL.into_iter();
    others
        .filter(|one| *one != knobs::Allocator::Glibc && servers::allocator_library(*one).is_ok())
        .collect()
}

/// Of the time for which requests held the GVL.
fn collected_share(inspected: &run::inspect::Document) -> Option<f64> {
    let requests = inspected.requests.as_ref()?;
    let held_ms = requests.split.as_ref()?.held_ms;
    let own_ms = requests.gc.as_ref()?.own_ms?;
    (held_ms > 0.0).then(|| (own_ms / held_ms).min(1.0))
}

fn process(snapshot: &Snapshot) -> Option<Process> {
    let log = snapshot.log.as_ref()?;
    Some(Process {
        pid: snapshot.header.pid,
        collections: log.collections.clone(),
        is_whole: log.lost() == 0,
        heap: snapshot.header.heap.clone(),
        requests: snapshot.totals.requests,
    })
}

/// What the reports next to the files say.
fn setup(processes: &[(PathBuf, Snapshot)]) -> Option<Setup> {
    let folders: BTreeSet<&Path> = processes
        .iter()
        .filter_map(|(path, _)| path.parent())
        .collect();
    let pids: BTreeSet<u32> = processes.iter().map(|(_, of)| of.header.pid).collect();
    let reports = folders.into_iter().flat_map(flight::setups);
    let mut ours =
        reports.filter(|report| report.role == Role::Server && pids.contains(&report.pid));
    ours.next().map(|report| Setup {
        warmup: report.warmup,
        compact: report.compact,
        oob_gc: report.oob_gc,
        minor_only: report.oob_gc_minor_only,
    })
}
