//! `trace --gc`: Ruby's collections one by one, from the logs that the agent keeps anyway.

use super::super::inspect::{found, now_ns, since_last};
use crate::args::TraceArgs;
use crate::{Failure, output};
use flight::{FlightFile, Snapshot};
use run::collections::{Collection, Document, SCHEMA};
use small_sort::SmallSort;
use std::path::Path;

/// Prints them.
pub fn gc(args: TraceArgs) -> Result<u8, Failure> {
    let root = super::super::flight_root::flight_root();
    let now_ns = now_ns();
    let since_ns = since_last(args.last.as_deref(), now_ns)?;
    let target = args.target.unwrap_or_else(|| root.clone());
    let files = found(std::slice::from_ref(&target), &root)?;
    let mut document = Document {
        schema: SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        read_at: ::inspect::rfc3339(now_ns),
        source: target.display().to_string(),
        since: since_ns.map(::inspect::rfc3339),
        processes: Vec::new(),
        collections: Vec::new(),
        not_read: Vec::new(),
    };
    let mut logged = Vec::new();
    for path in &files {
        match FlightFile::open(path).and_then(|file| file.snapshot()) {
            Ok(snapshot) if is_named(&args.pid, snapshot.header.pid) => {
                logged.extend(add(&mut document, path, &snapshot, since_ns.unwrap_or(0)));
            }
            Ok(_) => {}
            Err(error) => document.not_read.push(::inspect::refused(path, &error)),
        }
    }
    logged.small_sort_by_key(|(began_ns, one)| (*began_ns, one.pid, one.number));
    document.collections = logged.into_iter().map(|(_, one)| one).collect();
    if document.collections.is_empty() {
        return Err(Failure::no_answer(why_empty(&document, &args.pid, &target)));
    }
    if args.speech.json {
        output::json(&document)?;
    } else {
        output::print(&report::collections_page(&document, output::style()))?;
    }
    Ok(0)
}

fn is_named(pids: &[u32], pid: u32) -> bool {
    pids.is_empty() || pids.contains(&pid)
}

/// Adds the process, and returns its collections with the instants at which they began.
fn add(
    document: &mut Document,
    path: &Path,
    snapshot: &Snapshot,
    since_ns: u64,
) -> Vec<(u64, Collection)> {
    let logged = ::inspect::collection_log(snapshot, since_ns);
    let (Some(logged), Some(process)) = (logged, ::inspect::logged_process(path, snapshot)) else {
        document
            .not_read
            .push(::inspect::without_log(path, &snapshot.header));
        return Vec::new();
    };
    document.processes.push(process);
    logged
}

fn why_empty(document: &Document, pids: &[u32], target: &Path) -> String {
    let since = document.since.as_ref();
    let since = since.map_or(String::new(), |at| format!(" since {at}"));
    // Of a file that was not read at all it is not known whose it is.
    let mut not_read = document.not_read.iter();
    let reason = not_read.find(|file| pids.is_empty() || file.partly);
    match (document.processes.len(), reason) {
        (0, Some(file)) => format!("{}: {}", file.file, file.reason),
        (0, None) if !pids.is_empty() => format!(
            "--pid = {}: no process of that number recorded into {}",
            pids[0],
            target.display()
        ),
        (0, None) => format!("no process recorded into {}", target.display()),
        (count, _) => format!(
            "no collection{since} in the logs of {}",
            run::counted(count as u64, "process")
        ),
    }
}
