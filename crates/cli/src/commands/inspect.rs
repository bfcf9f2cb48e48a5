//! `inspect`: reads flight files and prints where request time went.

pub(super) mod own;
mod prometheus;
mod rows;
mod saved;

use crate::args::InspectArgs;
use crate::{Failure, output};
use inspect::{Asked, Baseline, Reading, Selection};
use small_sort::SmallSort;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `powerband inspect`.
pub fn inspect(args: InspectArgs) -> Result<u8, Failure> {
    let now_ns = now_ns();
    if args.prometheus {
        return prometheus::print(&args);
    }
    let root = super::flight_root::flight_root();
    if let Some(file) = &args.save {
        let files = found(&args.sources, &root)?;
        return saved::save(file, &files, &asked(&args.sources, &[], &root, now_ns));
    }
    if let Some(file) = args
        .sources
        .iter()
        .find(|path| args.pid.is_some() && saved::is(path))
    {
        return Err(Failure::usage(format!(
            "--pid: {} is a file of --save, which has no parents of processes; leave out one of them",
            file.display()
        )));
    }
    let (since_ns, baseline) = since(&args, now_ns)?;
    let mut selection = Selection {
        since_ns,
        threads: args.threads,
        application: args
            .application
            .clone()
            .filter(|application| application != own::ALL),
        pid: args.pid,
    };
    let unnamed = args.application.is_none() && args.pid.is_none() && args.sources.is_empty();
    let own = match unnamed {
        true => own::application(&root)?,
        false => None,
    };
    if let Some(root) = own.as_ref().and_then(|own| own.root.clone()) {
        selection.application = Some(root);
    }
    let reading = match baseline {
        Some(baseline) => Reading::since(selection, baseline),
        None => Reading::of(selection),
    };
    let mut document = read(reading, &args.sources, &args.since, &root, now_ns)?;
    document.warnings.splice(0..0, own.map(|own| own.note));
    if args.json {
        output::json(&document)?;
    } else if args.csv {
        output::print(&rows::csv(&document)?)?;
    } else {
        let limit = args.limit.unwrap_or(report::USUAL_ENDPOINTS);
        let page = match args.full {
            true => report::inspect_page_in_full,
            false => report::inspect_page,
        };
        output::print(&page(&document, limit, output::style()))?;
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
    read(Reading::of(selection), sources, &[], root, now_ns)
}

fn read(
    mut reading: Reading,
    sources: &[PathBuf],
    since: &[String],
    root: &Path,
    now_ns: u64,
) -> Result<run::inspect::Document, Failure> {
    let (saved, others): (Vec<_>, Vec<_>) =
        sources.iter().cloned().partition(|path| saved::is(path));
    let saved = saved.iter().map(|path| Ok((path, saved::document(path)?)));
    let mut saved = saved.collect::<Result<Vec<_>, Failure>>()?;
    if saved.is_empty() || !others.is_empty() {
        reading.add_files(&found(&others, root)?, now_ns);
        let uid = rustix::process::getuid().as_raw();
        reading.add_unrecorded(::inspect::unrecorded(&others, root, uid));
    }
    saved.small_sort_by_key(|(_, document)| std::cmp::Reverse(document.read_at_ns));
    for (path, document) in &saved {
        reading.add_saved(path, document);
    }
    let reading = reading.finished();
    if reading.is_empty() {
        return Err(Failure::no_answer(reading.why_empty()));
    }
    Ok(::inspect::document(
        reading,
        &asked(sources, since, root, now_ns),
    ))
}

pub(super) fn found(sources: &[PathBuf], root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let uid = rustix::process::getuid().as_raw();
    ::inspect::files(sources, root, uid).map_err(|e| match e.is_usage() {
        true => Failure::usage(e.to_string()),
        false => Failure::no_answer(e.to_string()),
    })
}

fn asked(sources: &[PathBuf], since: &[String], root: &Path, now_ns: u64) -> Asked {
    let uid = rustix::process::getuid().as_raw();
    let shown = |path: &PathBuf| path.display().to_string();
    Asked {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sources: match sources {
            [] => vec![shown(&::inspect::folder_of_user(root, uid))],
            sources => sources.iter().map(shown).collect(),
        },
        since: since.to_vec(),
        now_ns,
    }
}

/// The instant that `--last` asks for.
pub(super) fn since_last(last: Option<&str>, now_ns: u64) -> Result<Option<u64>, Failure> {
    let Some(last) = last else {
        return Ok(None);
    };
    let length = humantime::parse_duration(last).map_err(|e| {
        Failure::usage(format!(
            "--last = {last:?}: {e}; give a time with its unit, e.g. 10m or 90s"
        ))
    })?;
    let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    Ok(Some(now_ns.saturating_sub(length_ns)))
}

/// The instant asked for, or the saved counters.
fn since(args: &InspectArgs, now_ns: u64) -> Result<(Option<u64>, Option<Baseline>), Failure> {
    if let Some(since_ns) = since_last(args.last.as_deref(), now_ns)? {
        return Ok((Some(since_ns), None));
    }
    let mut saved = Vec::new();
    for since in &args.since {
        if let Ok(at) = since.parse::<jiff::Timestamp>() {
            if args.since.len() > 1 {
                return Err(Failure::usage(format!(
                    "--since = {since:?}: an instant stands alone; give one instant, or files that powerband inspect --save wrote"
                )));
            }
            let at = u64::try_from(at.as_nanosecond()).unwrap_or(0);
            return Ok((Some(at), None));
        }
        let path = Path::new(since);
        if !path.exists() {
            return Err(Failure::usage(format!(
                "--since = {since:?}: it is no file, and no instant; name a file that powerband inspect --save wrote, or give an instant with its zone, e.g. 2025-11-21T16:00:00Z"
            )));
        }
        saved.push(saved::document(path)?);
    }
    Ok((None, (!saved.is_empty()).then(|| Baseline::of(&saved))))
}

/// Unix time.
pub(super) fn now_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX))
}
