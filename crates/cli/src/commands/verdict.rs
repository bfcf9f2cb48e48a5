//! `verdict`: asks Prometheus for the series of an experiment in production, or of two periods, and prints the verdict.

mod before_after;

use super::experiment_file::{self, halted_path};
use super::folder_of;
use super::prometheus::Prometheus;
use crate::args::VerdictArgs;
use crate::count_bar::CountBar;
use crate::{Failure, output};
use fleet::{Asked, Experiment, Family, Gathered, instant};
use run::production::{Document, Halted, State, Verdict};
use std::io::Write;
use std::path::Path;

/// `powerband verdict`.
pub fn verdict(args: &VerdictArgs) -> Result<u8, Failure> {
    match (&args.file, &args.before, &args.after) {
        (Some(file), ..) => of_experiment(file, args),
        (None, Some(before), Some(after)) => before_after::before_after(before, after, args),
        (None, ..) => Err(Failure::usage(
            "give the experiment's file, or --before and --after for two periods without an experiment",
        )),
    }
}

fn of_experiment(file: &Path, args: &VerdictArgs) -> Result<u8, Failure> {
    let experiment = experiment_file::read(file)?;
    let halted = experiment_file::halted_or_wrong(file, &experiment).map_err(|wrong| {
        Failure::usage(format!(
            "{wrong}; correct it, or remove it to draw all arms again"
        ))
    })?;
    let prometheus = Prometheus::of(&args.prometheus, &args.access)?;
    let now_s = jiff::Timestamp::now().as_second();
    if now_s < experiment.starts_s + experiment.slice_s {
        return Err(Failure::no_answer(format!(
            "the experiment {:?} has no complete slice yet; the first look is at {}",
            experiment.name,
            instant(experiment.look_s(1))
        )));
    }
    let slices = experiment.slices_before(now_s);
    let gathered = gathered(&experiment, slices, args, &prometheus)?;
    let fleet = fleet::join(&experiment, gathered, slices);
    let asked = Asked {
        now_s,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        prometheus: prometheus.shown().to_owned(),
        halted,
    };
    let mut document = fleet::judge(&experiment, &fleet, &asked);
    let mut written = Ok(());
    if args.halt {
        let broken = broken_now(&document);
        if !broken.is_empty() {
            let all = [document.halted.clone(), broken].concat();
            written = write(&halted_path(file), &all);
            if written.is_ok() {
                document.halted = all;
            }
        }
    }
    if args.json {
        output::json(&document)?;
    } else {
        output::print(&report::verdict_page(&document, output::style()))?;
    }
    // After the page, which names the arm whose guardrail is broken.
    written?;
    Ok(code(&document))
}

/// All series.
fn gathered(
    experiment: &Experiment,
    slices: usize,
    args: &VerdictArgs,
    prometheus: &Prometheus,
) -> Result<Gathered, Failure> {
    let mut gathered = Gathered::of(experiment);
    let mut previous: Option<Family> = None;
    let queries = fleet::queries(experiment, slices, &args.access.matchers);
    let progress = CountBar::new(queries.len(), "queries answered", false);
    for query in queries {
        // The queries of arms come first. Without any arm, the others are not needed.
        let is_next = previous.is_some_and(|previous| previous != query.family);
        if is_next && gathered.is_without(Family::Arms) {
            break;
        }
        previous = Some(query.family);
        gathered.add(&query, prometheus.answer(&query.promql, query.span)?);
        progress.step();
    }
    drop(progress);
    let at = prometheus.shown();
    if gathered.is_without(Family::Arms) {
        let digest = experiment.short_digest();
        return Err(Failure::no_answer(format!(
            "{at} has no instance with an arm of this experiment ({}{{arm=~\".+:{digest}:.+\"}}) since {}: are the servers started with \
             powerband run --experiment and this very file, are they scraped, and does --match fit?",
            Family::Arms.name(),
            instant(experiment.starts_s)
        )));
    }
    if gathered.is_without(Family::Requests) {
        return Err(Failure::no_answer(format!(
            "{at} has arms, but no {} of their instances: does --match or a relabelling drop them?",
            Family::Requests.name()
        )));
    }
    Ok(gathered)
}

/// The arms that this reading halts.
fn broken_now(document: &Document) -> Vec<Halted> {
    let mut broken: Vec<Halted> = Vec::new();
    for one in &document.guardrails {
        let known = document
            .halted
            .iter()
            .chain(&broken)
            .any(|other| other.arm == one.arm);
        if one.state == State::Broken && !known {
            broken.push(Halted {
                arm: one.arm.clone(),
                at: document.read_at.clone(),
                reason: format!("{}: {}", one.figure, one.sentence),
            });
        }
    }
    broken
}

/// Whole or not at all: servers that start read it at any time.
fn write(path: &Path, halted: &[Halted]) -> Result<(), Failure> {
    let wrong = |what: String| {
        Failure::usage(format!(
            "--halt: {} cannot be written: {what}; no arm is halted: run it where the file can be written",
            path.display()
        ))
    };
    let text = fleet::halted_text(halted).map_err(wrong)?;
    let written = tempfile::NamedTempFile::new_in(folder_of(path)).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        // Servers of other users read it, too.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(readable)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)
    });
    written.map(drop).map_err(|e| wrong(e.to_string()))
}

/// The exit code: 1 if a guardrail is broken or an arm is worse, 0 with another answer, 3 without one.
fn code(document: &Document) -> u8 {
    let broken = document
        .guardrails
        .iter()
        .any(|one| one.state == State::Broken);
    let has = |verdict: Verdict| {
        document
            .comparisons
            .iter()
            .any(|one| one.verdict == verdict)
    };
    if broken || has(Verdict::Worse) {
        1
    } else if has(Verdict::Better) || has(Verdict::NoDifference) {
        0
    } else {
        3
    }
}
