//! What the page's charts show, for `web/src/draw.ts`: figures of the document under the names of the tables.

use crate::reading::{called, called_by_name, capacities_by_block, decides};
use crate::tables::parts_of_time;
use run::{Comparison, Document, Metric, Profile, Trial};
use serde::Serialize;

/// One chart.
#[derive(Debug, Serialize, PartialEq)]
pub struct Chart {
    pub id: &'static str,
    pub kind: Kind,
    pub title: String,
    /// How to read it.
    pub note: String,
    /// Of each row's value.
    pub unit: &'static str,
    /// Of each row's position.
    #[serde(rename = "atUnit", skip_serializing_if = "Option::is_none")]
    pub at_unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A dot a trial, and the median.
    Trials,
    /// A dot a block.
    Blocks,
    /// Parts of a whole.
    Parts,
    /// Predicted against measured.
    Predictions,
}

/// A value to draw a line at.
#[derive(Debug, Serialize, PartialEq)]
pub struct Mark {
    pub value: f64,
    pub name: String,
}

/// An interval to draw a band for.
#[derive(Debug, Serialize, PartialEq)]
pub struct Band {
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Serialize, PartialEq)]
pub struct Row {
    pub name: String,
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
}

const MIB: f64 = 1_048_576.0;

/// Those that the document has figures for.
pub fn charts(document: &Document) -> Vec<Chart> {
    let charts = [
        Some(throughput(document)),
        deciding(document),
        document.profile.as_ref().map(request_time),
        Some(memory(document)),
        predictions(document),
    ];
    let charts = charts.into_iter().flatten();
    charts.filter(|chart| !chart.rows.is_empty()).collect()
}

/// Those that the arm's row in the table rests on.
fn trials(document: &Document, figure: impl Fn(&Trial) -> Option<f64>) -> Vec<Row> {
    let of_arm = |arm: &run::ArmSummary| {
        let name = called(document, arm);
        let mine = run::evidence(&arm.name, &document.trials).into_iter();
        let mine = mine.filter(|trial| trial.counts());
        let rows = mine.filter_map(|trial| {
            Some(Row {
                name: name.clone(),
                value: figure(trial)?,
                series: Some(format!("{}, block {}", trial.stage.word(), trial.block)),
                at: None,
            })
        });
        rows.collect::<Vec<_>>()
    };
    document.arms.iter().flat_map(of_arm).collect()
}

fn throughput(document: &Document) -> Chart {
    Chart {
        id: "throughput",
        kind: Kind::Trials,
        title: "What each configuration answered at full load".to_owned(),
        note: "Each dot is one trial of those behind the table; the bar is their median."
            .to_owned(),
        unit: "good answers a second",
        at_unit: None,
        mark: None,
        band: None,
        rows: trials(document, Trial::capacity_per_s),
    }
}

fn memory(document: &Document) -> Chart {
    let limit = document.plan.objective.max_memory_bytes;
    Chart {
        id: "memory",
        kind: Kind::Trials,
        title: "Memory of each configuration".to_owned(),
        note: "The largest proportional set size (PSS) of the server's processes in each trial."
            .to_owned(),
        unit: "MiB",
        at_unit: None,
        mark: limit.map(|bytes| Mark {
            value: bytes as f64 / MIB,
            name: "limit".to_owned(),
        }),
        band: None,
        rows: trials(document, |trial| {
            Some(trial.memory.as_ref()?.pss_bytes as f64 / MIB)
        }),
    }
}

/// The first comparison that a claim rests on, block by block.
fn deciding(document: &Document) -> Option<Chart> {
    let by_throughput = |c: &&Comparison| decides(c) && c.metric == Metric::Capacity;
    let comparison = document.comparisons.iter().find(by_throughput)?;
    let of = |arm: &str| capacities_by_block(document, comparison.stage, arm);
    let theirs = of(&comparison.baseline);
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let row = |(block, ours): (u32, f64)| {
        Some(Row {
            name: format!("block {block}"),
            value: percent(ours / theirs.get(&block)?),
            series: None,
            at: Some(f64::from(block)),
        })
    };
    let (one, other) = (
        called_by_name(document, &comparison.candidate),
        called_by_name(document, &comparison.baseline),
    );
    let interval = comparison.low.zip(comparison.high);
    Some(Chart {
        id: "blocks",
        kind: Kind::Blocks,
        title: format!("{one} against {other}, block by block"),
        note: "Each dot is one block, in which both were measured shortly after each other; the band is the interval of the difference. \
               Dots on one side of 0 are the evidence of a difference."
            .to_owned(),
        unit: "difference in throughput, %",
        at_unit: Some("block"),
        mark: None,
        band: interval.map(|(low, high)| Band {
            low: percent(low),
            high: percent(high),
        }),
        rows: of(&comparison.candidate).into_iter().filter_map(row).collect(),
    })
}

fn request_time(profile: &Profile) -> Chart {
    let of = |name: &str, held: f64, gvl: f64, lock: Option<f64>, io: f64| {
        let times = [Some(held), Some(gvl), lock, Some(io)];
        let parts = parts_of_time(lock.is_some()).into_iter();
        let row = |(part, value): (&str, f64)| Row {
            name: name.to_owned(),
            value,
            series: Some(part.replace('\n', " ")),
            at: None,
        };
        let parts = parts.zip(times.into_iter().flatten());
        parts.map(row).collect::<Vec<_>>()
    };
    let endpoints = profile.endpoints.iter().take(10);
    let rows =
        endpoints.flat_map(|e| of(&e.name, e.held_ms, e.gvl_wait_ms, e.lock_wait_ms, e.io_ms));
    // Of one endpoint it is the same.
    let all = (profile.endpoints.len() != 1).then(|| {
        of(
            "all",
            profile.held_ms,
            profile.gvl_wait_ms,
            profile.lock_wait_ms,
            profile.io_ms,
        )
    });
    Chart {
        id: "request-time",
        kind: Kind::Parts,
        title: "Where a request spends its time today, at full load".to_owned(),
        note: "Means of one request in the application, without the wait for a thread.".to_owned(),
        unit: "ms a request",
        at_unit: None,
        mark: None,
        band: None,
        rows: rows.chain(all.into_iter().flatten()).collect(),
    }
}

fn predictions(document: &Document) -> Option<Chart> {
    document.model.as_ref()?;
    let row = |arm: &run::ArmSummary| {
        Some(Row {
            name: called(document, arm),
            value: arm.capacity_per_s?,
            series: None,
            at: Some(arm.predicted_per_s?),
        })
    };
    Some(Chart {
        id: "predictions",
        kind: Kind::Predictions,
        title: "Predicted and measured throughput".to_owned(),
        note: "On the line both agree. Predictions choose what is tried and prove nothing."
            .to_owned(),
        unit: "measured, good answers a second",
        at_unit: Some("predicted, good answers a second"),
        mark: None,
        band: None,
        rows: document.arms.iter().filter_map(row).collect(),
    })
}
