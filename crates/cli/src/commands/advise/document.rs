//! The advice as the document that is printed.

use super::{Recorded, command};
use adviser::{Advice, Seen};
use flight::CollectionKind;
use run::advise::{Document, LookedAt, SCHEMA};
use run::counted;

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
        not_read: [recorded.not_read.as_slice(), &inspected.not_read].concat(),
    }
}

fn looked_at(recorded: &Recorded, seen: &Seen, environment_of: Option<u32>) -> LookedAt {
    let header = recorded.header();
    let text = |of: &str| ::inspect::printable(of);
    let majors = seen
        .collections()
        .filter(|c| c.kind == Some(CollectionKind::Major));
    LookedAt {
        processes: recorded
            .processes
            .iter()
            .filter_map(|(path, of)| ::inspect::logged_process(path, of))
            .collect(),
        application: Some(text(&header.app_root)).filter(|root| !root.is_empty()),
        ruby: text(&header.ruby_version),
        server: text(&header.server.name),
        threads: seen.server.max_threads,
        workers: seen.server.workers,
        environment_of,
        left_out: recorded.left_out as u64,
        watched_s: seen.watched_s,
        collections: seen.collections().count() as u64,
        share_of_ruby: seen.share(seen.collections()),
        share_of_ruby_major: seen.share(majors),
        slowest_by_major: seen.stopped.as_ref().map(|of| of.by_major.share),
        slowest_by_minor: seen.stopped.as_ref().map(|of| of.by_minor.share),
    }
}

fn sentence(advice: &Advice, looked_at: &LookedAt) -> String {
    let cost = looked_at.share_of_ruby.map_or(String::new(), |share| {
        format!(
            " Collections take {:.1} % of the time for which requests run Ruby.",
            share * 100.0
        )
    });
    match advice.suggestions.len() as u64 {
        0 => format!("Nothing that was recorded suggests other settings.{cost}"),
        count => format!(
            "{} {} worth a test; none is proven to help this application.{cost}",
            counted(count, "change"),
            if count == 1 { "is" } else { "are" }
        ),
    }
}
