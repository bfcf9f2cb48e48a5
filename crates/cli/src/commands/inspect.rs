//! `inspect`: reads flight files and prints where request time went.

mod prometheus;
mod rows;

use crate::args::InspectArgs;
use crate::{Failure, output};
use inspect::{Asked, Selection};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `powerband inspect`.
pub fn inspect(args: InspectArgs) -> Result<u8, Failure> {
    let now_ns = now_ns();
    let selection = Selection {
        since_ns: since(&args, now_ns)?,
        threads: args.threads,
    };
    let root = super::flight_root();
    if args.prometheus {
        let uid = rustix::process::getuid().as_raw();
        return prometheus::print(&args, &::inspect::folder_of_user(&root, uid));
    }
    let document = looked_into(&args.sources, &root, selection, now_ns)?;
    if args.json {
        output::json(&document)?;
    } else if args.csv {
        output::print(&rows::csv(&document)?)?;
    } else {
        let limit = args.limit.unwrap_or(report::USUAL_ENDPOINTS);
        output::print(&report::inspect_page(&document, limit, output::style()))?;
    }
    Ok(0)
}

/// What flight files hold: those of `sources`, or without any the user's below `root`.
pub(super) fn looked_into(
    sources: &[PathBuf],
    root: &Path,
    selection: Selection,
    now_ns: u64,
) -> Result<run::inspect::Document, Failure> {
    let uid = rustix::process::getuid().as_raw();
    let files = ::inspect::files(sources, root, uid).map_err(|e| match e.is_usage() {
        true => Failure::usage(e.to_string()),
        false => Failure::no_answer(e.to_string()),
    })?;
    let reading = ::inspect::read(&files, selection, now_ns);
    if reading.is_empty() {
        return Err(Failure::no_answer(reading.why_empty()));
    }
    let shown = |path: &PathBuf| path.display().to_string();
    let asked = Asked {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sources: match sources {
            [] => vec![shown(&::inspect::folder_of_user(root, uid))],
            sources => sources.iter().map(shown).collect(),
        },
        now_ns,
    };
    Ok(::inspect::document(reading, &asked))
}

fn since(args: &InspectArgs, now_ns: u64) -> Result<Option<u64>, Failure> {
    if let Some(last) = &args.last {
        let length = humantime::parse_duration(last).map_err(|e| {
            Failure::usage(format!(
                "--last = {last:?}: {e}; give a time with its unit, e.g. 10m or 90s"
            ))
        })?;
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        return Ok(Some(now_ns.saturating_sub(length_ns)));
    }
    let Some(since) = &args.since else {
        return Ok(None);
    };
    let at: jiff::Timestamp = since.parse().map_err(|e| {
        Failure::usage(format!(
            "--since = {since:?}: {e}; give an instant with its zone, e.g. 2025-11-21T16:00:00Z"
        ))
    })?;
    Ok(Some(u64::try_from(at.as_nanosecond()).unwrap_or(0)))
}

/// Unix time.
pub(super) fn now_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX))
}
