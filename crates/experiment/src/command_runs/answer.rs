//! What the runs come to, in the document's words.

use super::judged;
use super::{hopeless, last_failure, runs};
use crate::compared::{several, side_by_side};
use crate::deciding::Measured;
use crate::error::Stopped;
use crate::judge::Judging;
use crate::procedure::Procedure;
use crate::request::Arm;
use crate::tune;
use run::{Answer, CommandArm, CommandRun, Comparison, MemoryMeasure, Metric, Stage, Verdict};
use stats::summary;

/// Samples a run below which its median says little.
const FEW_SAMPLES: f64 = 10.0;

/// Fills the document's rows, comparisons and verdict.
pub fn conclude(procedure: &mut Procedure<'_>, arms: &[Arm]) -> Result<(), Stopped> {
    // One look, at the end: the number of runs is fixed beforehand.
    let judging = Judging::once(&procedure.store.document);
    let rehearse = procedure.experiment.rehearse;
    let found = runs(procedure);
    let measure = judged::measure(found);
    let rows = rows(procedure, arms);
    let of = |arm: &Arm| {
        let pair = (arms[0].name.clone(), arm.name.clone());
        judged::METRICS.map(move |metric| {
            judged::compare(
                found,
                (Stage::Compare, metric),
                measure,
                (&pair.0, &pair.1),
                judging,
            )
        })
    };
    let comparisons: Vec<Comparison> = match rehearse {
        true => Vec::new(),
        false => arms[1..].iter().flat_map(of).flatten().collect(),
    };
    if comparisons.is_empty() && !rehearse {
        return Err(Stopped::NoAnswer(format!(
            "no block has two runs that succeeded: {}",
            last_failure(found)
        )));
    }
    let verdict = match rehearse {
        true => rehearsal(&rows, arms),
        false => verdict(&rows, &comparisons, arms),
    };
    let mut warnings = Vec::new();
    warnings.extend(several(comparisons.len(), judging.look.alpha));
    warnings.extend(of_runs(procedure, arms));
    let document = &mut procedure.store.document;
    if let Some(command) = &mut document.command {
        command.comparisons = comparisons;
    }
    document.verdict = Some(verdict);
    document.warnings.extend(warnings);
    Ok(())
}

/// What to know of the runs, and of the host.
pub fn of_runs(procedure: &Procedure<'_>, arms: &[Arm]) -> Vec<String> {
    let found = runs(procedure);
    let mut warnings = of_samples(found, judged::measure(found));
    for arm in arms {
        if let Some(reason) = hopeless(found, &arm.name) {
            let reason = tune::first_line(reason);
            warnings.push(format!("{} was given up: {reason}", arm.called_among(arms)));
        }
    }
    warnings.extend(procedure.host_warnings());
    warnings
}

/// The arms as far as they were measured: whatever ends the run, its page has them.
pub fn so_far(procedure: &mut Procedure<'_>, arms: &[Arm]) {
    let rows = rows(procedure, arms);
    let measure = judged::measure(runs(procedure));
    if let Some(command) = &mut procedure.store.document.command {
        command.measure = measure;
        command.arms = rows;
    }
}

fn rows(procedure: &Procedure<'_>, arms: &[Arm]) -> Vec<CommandArm> {
    let found = runs(procedure);
    let measure = judged::measure(found);
    let row = |arm: &Arm| CommandArm {
        environment: procedure.trials.environment(arm),
        called: arm.called_among(arms),
        ..row(&arm.name, found, measure)
    };
    arms.iter().map(row).collect()
}

fn row(name: &str, runs: &[CommandRun], measure: MemoryMeasure) -> CommandArm {
    let (valid, failed): (Vec<&CommandRun>, Vec<&CommandRun>) = runs
        .iter()
        .filter(|run| run.arm == name && run.stage != Stage::Pilot)
        .partition(|run| run.counts());
    let median = |of: &dyn Fn(&CommandRun) -> Option<f64>| {
        let values: Vec<f64> = valid.iter().filter_map(|run| of(run)).collect();
        summary::median(&values)
    };
    let bytes = |metric: Metric| {
        let median = median(&|run| judged::figure(run, metric, measure));
        median.map(|bytes| bytes.round() as u64)
    };
    let pooled: Vec<f64> = valid.iter().flat_map(|run| run.memory(measure)).collect();
    CommandArm {
        name: name.to_owned(),
        called: name.to_owned(),
        environment: Vec::new(),
        fate: None,
        runs: valid.len() as u32,
        failed: failed.len() as u32,
        wall_s: median(&|run| Some(run.wall_s)),
        cpu_s: median(&|run| Some(run.cpu_s)),
        median_bytes: bytes(Metric::MedianMemory),
        peak_bytes: bytes(Metric::PeakMemory),
        memory: judged::distribution(&pooled),
    }
}

fn verdict(rows: &[CommandArm], comparisons: &[Comparison], arms: &[Arm]) -> Verdict {
    let said = rows[1..].iter().map(|row| {
        let of_row = comparisons.iter().filter(|c| c.candidate == row.name);
        let words: Vec<String> = of_row
            .map(|c| format!("{} {}", c.metric.words(), c.outcome.word()))
            .collect();
        match words.is_empty() {
            true => format!("{} could not be measured", row.called),
            false => format!("{}: {}", row.called, words.join(", ")),
        }
    });
    let said: Vec<String> = said.collect();
    let begun = format!("Against {}, {}", rows[0].called, said.join("; "));
    side_by_side(comparisons, Measured::Commands, begun, arms[0].settings)
}

/// Each arm once: whether the command works in it, and nothing else.
fn rehearsal(rows: &[CommandArm], arms: &[Arm]) -> Verdict {
    let failed: Vec<&str> = rows
        .iter()
        .filter(|row| row.runs == 0)
        .map(|row| row.called.as_str())
        .collect();
    let (sentence, exit_code) = match failed.as_slice() {
        [] => ("the command succeeded in every configuration".to_owned(), 0),
        failed => (format!("the command failed in {}", failed.join(", ")), 3),
    };
    let sentence = format!("A rehearsal: {sentence}. One run each compares nothing.");
    Verdict::of(Answer::Table, sentence, arms[0].settings, exit_code)
}

/// What to know of the samples themselves.
fn of_samples(runs: &[CommandRun], measure: MemoryMeasure) -> Vec<String> {
    let mut warnings = Vec::new();
    let counts: Vec<f64> = runs
        .iter()
        .filter(|run| run.counts())
        .map(|run| run.memory(measure).len() as f64)
        .collect();
    if let Some(few) = summary::median(&counts).filter(|count| *count < FEW_SAMPLES) {
        warnings.push(format!(
            "a run gave {} of its memory; a peak between two of them is not seen, and a longer command says more",
            run::counted(few as u64, "sample")
        ));
    }
    if measure == MemoryMeasure::Rss {
        warnings.push(
            "memory is RSS, in which pages that processes share count once a process: PSS was too dear to read each second, \
             or could not be read"
                .to_owned(),
        );
    }
    warnings
}
