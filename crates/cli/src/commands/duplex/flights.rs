//! `--flights NAME=DIR`: what a shadow's agent saw, next to its clients'
//! measurements.

use crate::Failure;
use run::duplex::{Document, Inside};
use run::inspect::ProcessState;
use std::path::{Path, PathBuf};

/// Names and folders, as typed.
pub fn named(given: &[String]) -> Result<Vec<(String, PathBuf)>, Failure> {
    let one = |text: &String| match text.split_once('=') {
        Some((name, folder)) if !name.is_empty() && !folder.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(folder)))
        }
        _ => Err(Failure::usage(format!(
            "--flights = {text:?}: no name and folder; write NAME=DIR, such as new=/run/powerband/1000"
        ))),
    };
    given.iter().map(one).collect()
}

/// Reads the folders into the shadows of their names.
pub fn fill(document: &mut Document, folders: &[(String, PathBuf)]) -> Result<(), Failure> {
    for (name, folder) in folders {
        let names: Vec<&str> = document
            .shadows
            .iter()
            .map(|shadow| shadow.name.as_str())
            .collect();
        let Some(index) = names.iter().position(|one| one == name) else {
            return Err(Failure::usage(format!(
                "--flights = {name:?}: the log has no such shadow; name one of {}",
                names.join(", ")
            )));
        };
        document.shadows[index].inside = Some(inside(folder)?);
    }
    Ok(())
}

fn inside(folder: &Path) -> Result<Inside, Failure> {
    let everything = ::inspect::Selection::default();
    let now_ns = super::super::inspect::now_ns();
    let found =
        super::super::inspect::looked_into(&[folder.to_owned()], folder, everything, now_ns)
            .map_err(|failure| Failure {
                message: format!("--flights: {}", failure.message),
                ..failure
            })?;
    let Some(requests) = &found.requests else {
        return Err(Failure::no_answer(format!(
            "--flights: {} holds no request of a server",
            folder.display()
        )));
    };
    let served = || {
        found
            .processes
            .iter()
            .filter(|process| process.requests > process.jobs)
    };
    let last = served().next_back();
    let mut threads: Vec<Option<u32>> = served().map(|process| process.threads).collect();
    threads.dedup();
    let live: Vec<u32> = served()
        .filter(|process| process.state == ProcessState::Live)
        .map(|process| process.pid)
        .collect();
    let split = requests.split.as_ref();
    Ok(Inside {
        source: folder.display().to_string(),
        server: last.map_or_else(String::new, |process| process.server.clone()),
        ruby: last.map_or_else(String::new, |process| process.ruby.clone()),
        processes: served().count() as u32,
        threads: if threads.len() == 1 { threads[0] } else { None },
        requests: requests.requests,
        wall_ms: requests.wall.mean_ms,
        held_ms: split.map(|split| split.held_ms),
        gvl_wait_ms: split.map(|split| split.gvl_wait_ms),
        io_ms: split.map(|split| split.io_ms),
        cpu_ms: split.and_then(|split| split.cpu_ms),
        gc_stopped_ms: requests.gc.map(|gc| gc.stopped_ms),
        gc_share: found
            .collector
            .and_then(|collector| collector.share_of_time),
        allocations: requests.allocations,
        pss_bytes: memory(&live),
    })
}

/// Of the processes that serve and still run; another user's may not be looked at.
fn memory(live: &[u32]) -> Option<u64> {
    if live.is_empty() {
        return None;
    }
    let found = host::memory::sample(live).ok()?;
    (found.unreadable.is_empty() && found.processes.len() == live.len()).then_some(found.pss_bytes)
}
