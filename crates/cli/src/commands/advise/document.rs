//! The advice as the document that is printed.

use super::{Recorded, command};
use adviser::{Advice, Seen};
use flight::{CollectionKind, Snapshot};
use run::advise::{Document, LookedAt, SCHEMA};
use run::collections::Process;
use run::counted;
use std::path::Path;

pub(super) fn document(
    recorded: &Recorded,
    seen: &Seen,
    advice: Advice,
    environment_of: Option<u32>,
) -> Document {
    let inspected = &recorded.inspected;
    let looked_at = looked_at(recorded, seen, environment_of);
    Document {
        schema: SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        read_at: inspected.read_at.clone(),
        sources: inspected.sources.clone(),
        sentence: sentence(&advice, &looked_at),
        command: command::command(seen, &advice.suggestions),
        looked_at,
        suggestions: advice.suggestions,
        left: advice.left,
        not_known: advice.not_known,
        not_read: inspected.not_read.clone(),
    }
}

fn looked_at(recorded: &Recorded, seen: &Seen, environment_of: Option<u32>) -> LookedAt {
    let newest = recorded
        .processes
        .iter()
        .max_by_key(|(_, of)| of.header.created_wall_ns);
    let header = newest.map(|(_, snapshot)| &snapshot.header);
    let text =
        |of: fn(&flight::Header) -> &String| header.map(|header| ::inspect::printable(of(header)));
    let majors = seen
        .collections()
        .filter(|c| c.kind == Some(CollectionKind::Major));
    LookedAt {
        processes: recorded
            .processes
            .iter()
            .filter_map(|(path, of)| process(path, of))
            .collect(),
        application: text(|of| &of.app_root).filter(|root| !root.is_empty()),
        ruby: text(|of| &of.ruby_version).unwrap_or_default(),
        server: text(|of| &of.server.name).unwrap_or_default(),
        threads: seen.server.max_threads,
        workers: seen.server.workers,
        environment_of,
        watched_s: seen.watched_s,
        collections: seen.collections().count() as u64,
        share_of_time: seen.share_of_time(seen.collections()),
        share_of_time_major: seen.share_of_time(majors),
        slowest_by_major: seen.stopped.as_ref().map(|of| of.by_major.share),
        slowest_by_minor: seen.stopped.as_ref().map(|of| of.by_minor.share),
    }
}

fn process(path: &Path, snapshot: &Snapshot) -> Option<Process> {
    let log = snapshot.log.as_ref()?;
    Some(Process {
        pid: snapshot.header.pid,
        worker: snapshot.header.server.worker_index,
        file: ::inspect::printable(&path.display().to_string()),
        written: log.written,
        lost: log.lost(),
    })
}

fn sentence(advice: &Advice, looked_at: &LookedAt) -> String {
    let stopped = match looked_at.share_of_time {
        Some(share) => format!(
            " Collections stop a process for {:.1} % of the time: settings that only make them rarer can win no more than that.",
            share * 100.0
        ),
        None => String::new(),
    };
    match advice.suggestions.len() as u64 {
        0 => format!("Nothing that was recorded suggests other settings.{stopped}"),
        count => format!(
            "{} {} worth a test; none is proven to help this application.{stopped}",
            counted(count, "change"),
            if count == 1 { "is" } else { "are" }
        ),
    }
}
