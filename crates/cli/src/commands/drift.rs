//! `drift`: whether what a run assumed holds for a fleet, from Prometheus, or as rules for it.

use super::prometheus::{Prometheus, only_job};
use super::runs::none_under;
use crate::args::DriftArgs;
use crate::count_bar::CountBar;
use crate::{Failure, output};
use experiment::config::{Asked, parse_duration};
use fleet::{Assumptions, DriftAsked, Series, Span};
use run::runs::{find, newest_of};
use run::{Folder, Kind};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// `powerband drift`.
pub fn drift(args: &DriftArgs) -> Result<u8, Failure> {
    let folder = folder(args)?;
    let wrong = |why: String| Failure::usage(format!("{}: {why}", folder.display()));
    let read = Folder::open(&folder).and_then(|folder| folder.read());
    let document = read.map_err(|e| Failure::usage(e.to_string()))?;
    let assumptions = Assumptions::of(&document).map_err(|e| wrong(e.to_string()))?;
    let matchers = &args.access.matchers;
    if args.rules {
        output::print(&fleet::drift_rules(&assumptions, matchers))?;
        return Ok(0);
    }
    let period_s = period_s(&args.last)?;
    let period = format!("{period_s}s");
    // Without --rules, clap requires it.
    let prometheus = Prometheus::of(args.prometheus.as_deref().unwrap_or_default(), &args.access)?;
    let now = jiff::Timestamp::now();
    let span = Span {
        from_s: now.as_second(),
        to_s: now.as_second(),
        step_s: 1,
    };
    let progress = CountBar::new(assumptions.all.len(), "queries answered", false);
    let mut answers = Vec::new();
    let mut notes = BTreeSet::new();
    for one in &assumptions.all {
        let query = fleet::drift_query(one.figure, &assumptions, matchers, &period);
        let answer = prometheus.answer(&query, span)?;
        notes.extend(answer.warnings);
        let now = value(&answer.series)?;
        answers.push((query, now));
        progress.step();
    }
    drop(progress);
    if answers.iter().all(|(_, now)| now.is_none()) {
        return Err(Failure::no_answer(format!(
            "{} has none of the families powerband_… in the last {}: are the servers scraped, and does --match fit?",
            prometheus.shown(),
            args.last
        )));
    }
    let asked = DriftAsked {
        read_at: fleet::instant(now.as_second()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        prometheus: prometheus.shown().to_owned(),
        matchers: matchers.clone(),
        period_s,
        notes: notes.into_iter().collect(),
    };
    let document = fleet::drift(&assumptions, answers, asked);
    if args.json {
        output::json(&document)?;
    } else {
        output::print(&report::drift_page(&document, output::style()))?;
    }
    let drifted = document
        .assumptions
        .iter()
        .any(|one| one.holds == Some(false));
    Ok(u8::from(drifted))
}

fn folder(args: &DriftArgs) -> Result<PathBuf, Failure> {
    if let Some(run) = &args.run {
        return Ok(find(&args.kept.runs, run));
    }
    let newest =
        newest_of(&args.kept.runs, Kind::Tune).map_err(|e| Failure::usage(e.to_string()))?;
    newest.ok_or_else(|| Failure::usage(none_under("run of tune", &args.kept.runs)))
}

/// Whole seconds, ten minutes at least: rates need some scrapes.
fn period_s(last: &str) -> Result<u64, Failure> {
    const LEAST_S: u64 = 600;
    let period = parse_duration(&Asked::new(last, "--last"));
    let period = period.map_err(|problem| Failure::usage(problem.to_string()))?;
    match period.as_secs() {
        s if s >= LEAST_S => Ok(s),
        _ => Err(Failure::usage(format!(
            "--last = {last:?}: too short for rates; give 10m or more"
        ))),
    }
}

/// The only value of an answer, if there is one.
fn value(series: &[Series]) -> Result<Option<f64>, Failure> {
    only_job(
        series
            .iter()
            .map(|one| one.labels.get("job").map_or("", String::as_str)),
    )?;
    let points = series.first().map(|one| one.points.as_slice());
    Ok(points.unwrap_or_default().first().map(|(_, value)| *value))
}
