//! Runs: their trials, their comparisons and their answers.

use crate::column::{Column, Table, Value, int, integer, number, text};
use crate::encode;
use crate::error::StoreError;
use crate::part::{Part, day_of};
use crate::process::some;
use jiff::Timestamp;
use run::{Comparison, Document, Trial, Verdict, Window};
use serde::Serialize;
use std::sync::Arc;

/// What rows of a run share.
#[derive(Debug)]
pub struct Run {
    id: String,
    kind: &'static str,
    powerband: String,
    began_us: i64,
    took_s: f64,
}

trait OfRun: Sized + 'static {
    fn run(&self) -> &Run;

    const RUN: &'static [Column<Self>] = &[
        Column {
            name: "run",
            about: "the name of the run",
            value: Value::Text(|row| Some(&row.run().id)),
        },
        Column {
            name: "command",
            about: "`tune`, `compare`, `sweep` or `check`",
            value: Value::Text(|row| Some(row.run().kind)),
        },
        Column {
            name: "powerband",
            about: "the version of powerband that ran it",
            value: Value::Text(|row| Some(&row.run().powerband)),
        },
    ];
}

/// A trial of a run.
#[derive(Debug)]
pub struct TrialRow {
    run: Arc<Run>,
    trial: Trial,
    settings: String,
    status: String,
}

/// A comparison of a run.
#[derive(Debug)]
pub struct ComparisonRow {
    run: Arc<Run>,
    comparison: Comparison,
}

/// The answer of a run.
#[derive(Debug)]
pub struct VerdictRow {
    run: Arc<Run>,
    verdict: Verdict,
    answer: String,
    settings: String,
}

impl OfRun for TrialRow {
    fn run(&self) -> &Run {
        &self.run
    }
}

impl OfRun for ComparisonRow {
    fn run(&self) -> &Run {
        &self.run
    }
}

impl OfRun for VerdictRow {
    fn run(&self) -> &Run {
        &self.run
    }
}

impl TrialRow {
    fn began_us(&self) -> i64 {
        self.run.began_us + (self.trial.started_s * 1e6) as i64
    }

    /// A figure of the closed loop.
    fn closed(&self, of: fn(&Window) -> Option<f64>) -> Option<f64> {
        self.trial.saturation.as_ref().and_then(of)
    }

    /// A figure of the open loop at the common rate.
    fn open(&self, of: fn(&Window) -> Option<f64>) -> Option<f64> {
        self.trial.objective.as_ref().and_then(of)
    }
}

/// The files of a run, without their names.
///
/// # Errors
/// When a row is refused.
pub fn parts_of(document: &Document) -> Result<Vec<Part>, StoreError> {
    let began: Timestamp = document.started_at.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let run = Arc::new(Run {
        id: document.id.clone(),
        kind: document.kind.verb(),
        powerband: document.powerband_version.clone(),
        began_us: began.as_microsecond(),
        took_s: document.elapsed_s,
    });
    let trials = document.trials.iter().map(|trial| TrialRow {
        run: Arc::clone(&run),
        settings: run::called(trial.settings, &trial.environment),
        status: word(&trial.status),
        trial: trial.clone(),
    });
    let comparisons = document.comparisons.iter();
    let comparisons = comparisons.chain(&document.memory).chain(&document.latency);
    let comparisons = comparisons.map(|comparison| ComparisonRow {
        run: Arc::clone(&run),
        comparison: comparison.clone(),
    });
    let verdicts = document.verdict.iter().map(|verdict| VerdictRow {
        run: Arc::clone(&run),
        answer: word(&verdict.answer),
        settings: verdict.settings.to_string(),
        verdict: verdict.clone(),
    });
    // By the day on which the run began, so that a run has one file of each table.
    let day = day_of(run.began_us);
    let mut parts = Vec::new();
    add(&TRIALS, trials.collect(), day, &mut parts)?;
    add(&COMPARISONS, comparisons.collect(), day, &mut parts)?;
    add(&VERDICTS, verdicts.collect(), day, &mut parts)?;
    Ok(parts)
}

fn add<R>(
    table: &Table<R>,
    rows: Vec<R>,
    day: jiff::civil::Date,
    parts: &mut Vec<Part>,
) -> Result<(), StoreError> {
    if !rows.is_empty() {
        let bytes = encode::encoded(table, &rows)?;
        parts.push(Part {
            table: table.name,
            day,
            bytes,
        });
    }
    Ok(())
}

/// The word that the document has for it.
fn word(of: &impl Serialize) -> String {
    let value = serde_json::to_value(of).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

pub const TRIALS: Table<TrialRow> = Table {
    name: "trials",
    about: "A trial of a run: one start of a server, with its windows.",
    at_us: TrialRow::began_us,
    shared: [TrialRow::RUN, &[]],
    columns: &[
        Column {
            name: "began",
            about: "when it began",
            value: Value::Instant(|row| Some(row.began_us())),
        },
        text("trial", "its name: stage, block and arm", |row| {
            Some(&row.trial.id)
        }),
        text(
            "stage",
            "the part of the procedure that asked for it",
            |row| Some(row.trial.stage.word()),
        ),
        int(
            "block",
            "the block within the stage; trials of a block share requests and arrivals",
            |row| Some(row.trial.block.into()),
        ),
        text("arm", "the name of the arm", |row| Some(&row.trial.arm)),
        text("settings", "the configuration in words", |row| {
            Some(&row.settings)
        }),
        int(
            "workers",
            "worker processes; 0 is Puma's single mode",
            |row| Some(row.trial.settings.workers.into()),
        ),
        int("threads", "threads in each process", |row| {
            Some(row.trial.settings.threads.into())
        }),
        text(
            "status",
            "`ok`, `not_steady`, `failed` or `abandoned`; the first two count",
            |row| some(&row.status),
        ),
        text(
            "reason",
            "why it does not count, or what to know about it",
            |row| row.trial.reason.as_deref(),
        ),
        number(
            "took_s",
            "seconds, from its first hook to its last",
            |row| Some(row.trial.took_s),
        ),
        number(
            "boot_s",
            "seconds from the start of the server to its first answer",
            |row| row.trial.boot_s,
        ),
        number(
            "capacity_per_s",
            "good answers a second in the closed loop, where the trial counts",
            |row| row.trial.capacity_per_s(),
        ),
        number(
            "cpu_ms_per_request",
            "ms of CPU of the server for a request, in the closed loop",
            |row| row.closed(|window| Some(window.cpu_ms_per_request)),
        ),
        number(
            "closed_p50_ms",
            "median of the response time in the closed loop, ms",
            |row| row.closed(|window| window.response.p50_ms),
        ),
        number("closed_p99_ms", "p99 of it, ms", |row| {
            row.closed(|window| window.response.p99_ms)
        }),
        number(
            "rate_per_s",
            "requests a second that the open loop asked for",
            |row| row.open(|window| window.asked_per_s),
        ),
        number(
            "p50_ms",
            "median of the response time in the open loop, ms; `NULL` where it is infinite",
            |row| row.open(|window| window.response.p50_ms),
        ),
        number("p95_ms", "p95 of it, ms", |row| {
            row.open(|window| window.response.p95_ms)
        }),
        number("p99_ms", "p99 of it, ms", |row| {
            row.open(|window| window.response.p99_ms)
        }),
        int(
            "errors",
            "failed requests of the open loop, without timeouts",
            |row| {
                row.trial
                    .objective
                    .as_ref()
                    .map(|window| integer(window.errors))
            },
        ),
        int("timeouts", "its timeouts", |row| {
            row.trial
                .objective
                .as_ref()
                .map(|window| integer(window.timeouts))
        }),
        int(
            "pss_bytes",
            "the largest proportional set size of the server",
            |row| {
                row.trial
                    .memory
                    .as_ref()
                    .map(|memory| integer(memory.pss_bytes))
            },
        ),
        number(
            "gvl_wait_share",
            "the part of the wall time that was GVL wait, 0 to 1",
            |row| {
                let split = row
                    .trial
                    .split
                    .as_ref()
                    .filter(|split| split.wall_ms > 0.0)?;
                Some(split.gvl_wait_ms / split.wall_ms)
            },
        ),
    ],
};

pub const COMPARISONS: Table<ComparisonRow> = Table {
    name: "comparisons",
    about: "A comparison of two arms of a run.",
    at_us: |row| row.run.began_us,
    shared: [ComparisonRow::RUN, &[]],
    columns: &[
        Column {
            name: "began",
            about: "when the run began",
            value: Value::Instant(|row| Some(row.run.began_us)),
        },
        text(
            "stage",
            "the part of the procedure; a claim rests on `confirm` or `compare` alone",
            |row| Some(row.comparison.stage.word()),
        ),
        text(
            "metric",
            "what was compared, such as `throughput` or `memory`",
            |row| Some(row.comparison.metric.words()),
        ),
        text("baseline", "the arm compared with", |row| {
            Some(&row.comparison.baseline)
        }),
        text("candidate", "the arm", |row| {
            Some(&row.comparison.candidate)
        }),
        text(
            "outcome",
            "`better`, `worse`, `equivalent`, `undecided`, `not comparable` or `not claimed`",
            |row| Some(row.comparison.word()),
        ),
        number("ratio", "candidate over baseline", |row| {
            Some(row.comparison.ratio)
        }),
        number("low", "lower end of its interval", |row| row.comparison.low),
        number("high", "upper end", |row| row.comparison.high),
        number(
            "confidence",
            "the confidence of the interval, 0 to 1",
            |row| row.comparison.confidence,
        ),
        number("p", "two-sided p of the signed-rank test", |row| {
            Some(row.comparison.p)
        }),
        int(
            "blocks",
            "blocks in which both arms gave a valid trial",
            |row| Some(row.comparison.blocks.into()),
        ),
    ],
};

pub const VERDICTS: Table<VerdictRow> = Table {
    name: "verdicts",
    about: "The answer of a run that has one.",
    at_us: |row| row.run.began_us,
    shared: [VerdictRow::RUN, &[]],
    columns: &[
        Column {
            name: "began",
            about: "when the run began",
            value: Value::Instant(|row| Some(row.run.began_us)),
        },
        number("took_s", "seconds spent measuring", |row| {
            Some(row.run.took_s)
        }),
        text(
            "answer",
            "`change`, `smaller`, `keep`, `undecided`, `none_meets` or `table`",
            |row| some(&row.answer),
        ),
        text("sentence", "the answer in a sentence", |row| {
            Some(&row.verdict.sentence)
        }),
        text("settings", "the configuration to run", |row| {
            Some(&row.settings)
        }),
        text(
            "arm",
            "its arm, where the settings alone do not say what it is",
            |row| row.verdict.arm.as_deref(),
        ),
        int(
            "exit_code",
            "0 done, 1 a negative result, 3 no answer",
            |row| Some(row.verdict.exit_code.into()),
        ),
        int(
            "blocks_to_decide",
            "blocks that would decide, where it is undecided",
            |row| row.verdict.blocks_to_decide.map(i64::from),
        ),
    ],
};
