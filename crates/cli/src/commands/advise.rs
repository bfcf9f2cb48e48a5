//! `advise`: which settings of memory and garbage collection are worth a test, from what the agent recorded.

mod command;
mod document;

use super::flight_root::flight_root;
use super::inspect::{found, looked_into, now_ns};
use crate::args::AdviseArgs;
use crate::{Failure, output};
use adviser::{Process, Seen, advise as look};
use flight::{FlightFile, Role, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The snapshots of one server's processes.
pub(super) struct Recorded {
    processes: Vec<(PathBuf, Snapshot)>,
    inspected: run::inspect::Document,
}

/// `powerband advise`.
pub fn advise(args: &AdviseArgs) -> Result<u8, Failure> {
    let recorded = recorded(args)?;
    let environment = environment(&recorded.processes);
    let seen = seen(&recorded, environment.as_ref().map(|(_, of)| of.clone()));
    let document = document::document(
        &recorded,
        &seen,
        look(&seen),
        environment.as_ref().map(|(pid, _)| *pid),
    );
    if args.json {
        output::json(&document)?;
    } else {
        output::print(&report::advise_page(&document, output::style()))?;
    }
    Ok(0)
}

fn recorded(args: &AdviseArgs) -> Result<Recorded, Failure> {
    let root = flight_root();
    let now_ns = now_ns();
    let selection = ::inspect::Selection {
        application: args.application.clone(),
        ..::inspect::Selection::default()
    };
    let inspected = looked_into(&args.sources, &root, selection, now_ns)?;
    let mut processes = Vec::new();
    for path in found(&args.sources, &root)? {
        let Ok(snapshot) = FlightFile::open(&path).and_then(|file| file.snapshot()) else {
            // The inspect document names it.
            continue;
        };
        let of = flight::application_of(&snapshot.header.app_root);
        if args
            .application
            .as_deref()
            .is_none_or(|asked| flight::application_of(asked) == of)
        {
            processes.push((path, snapshot));
        }
    }
    one_application(&processes)?;
    processes.retain(|(_, snapshot)| snapshot.log.is_some());
    if processes.is_empty() {
        return Err(Failure::no_answer(
            "no process of these files has a log of collections: start the server with powerband run -- CMD, or with the gem of this \
             version, and send requests to it",
        ));
    }
    Ok(Recorded {
        processes,
        inspected,
    })
}

/// Settings for several applications together are right for none of them.
fn one_application(processes: &[(PathBuf, Snapshot)]) -> Result<(), Failure> {
    let roots = processes
        .iter()
        .map(|(_, snapshot)| flight::application_of(&snapshot.header.app_root));
    let roots: BTreeSet<&str> = roots.collect();
    match roots.len() {
        0 | 1 => Ok(()),
        _ => Err(Failure::usage(format!(
            "the files are of {}; give one of them as --application FOLDER",
            roots
                .into_iter()
                .map(::inspect::printable)
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}

/// What a process of it that runs here was started with.
fn environment(processes: &[(PathBuf, Snapshot)]) -> Option<(u32, BTreeMap<String, String>)> {
    let here = processes
        .iter()
        .filter(|(_, snapshot)| flight::runs_here(&snapshot.header));
    let mut read = here.filter_map(|(_, snapshot)| {
        let pid = snapshot.header.pid;
        Some((pid, servers::environment_of(pid).ok()?))
    });
    read.next()
}

fn seen(recorded: &Recorded, environment: Option<BTreeMap<String, String>>) -> Seen {
    let newest = recorded
        .processes
        .iter()
        .max_by_key(|(_, of)| of.header.created_wall_ns);
    let header = newest.map(|(_, snapshot)| &snapshot.header);
    let collections = recorded.inspected.collections.as_ref();
    Seen {
        ruby: header.and_then(|of| knobs::Version::of(&of.ruby_version)),
        server: header.map(|of| of.server.clone()).unwrap_or_default(),
        allocator: header
            .map(|of| of.about.allocator.clone())
            .unwrap_or_default(),
        processes: recorded
            .processes
            .iter()
            .filter_map(|(_, of)| process(of))
            .collect(),
        watched_s: collections.map_or(0.0, |of| of.watched_s),
        stopped: collections.and_then(|of| of.requests.clone()),
        environment,
        warmed_up: warmed_up(&recorded.processes),
    }
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

/// What the reports next to the files say of `Process.warmup` and `GC.compact`.
fn warmed_up(processes: &[(PathBuf, Snapshot)]) -> Option<bool> {
    let folders: BTreeSet<&Path> = processes
        .iter()
        .filter_map(|(path, _)| path.parent())
        .collect();
    let pids: BTreeSet<u32> = processes.iter().map(|(_, of)| of.header.pid).collect();
    let reports = folders.into_iter().flat_map(flight::setups);
    let ours = reports.filter(|report| report.role == Role::Server && pids.contains(&report.pid));
    ours.map(|report| report.warmup || report.compact)
        .reduce(|any, one| any || one)
}
