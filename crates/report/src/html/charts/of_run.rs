//! Charts of a run: its trials, the deciding comparison, where request time goes, memory, predictions.

use super::inspect::parts_of;
use super::{Band, Chart, Kind, MIB, Mark, Row};
use crate::reading::{called, called_by_name, capacities_by_block, decides};
use run::{Comparison, Document, Metric, Profile, Trial, counted};

pub fn charts(document: &Document) -> Vec<Chart> {
    let charts = [
        Some(throughput(document)),
        deciding(document),
        percentiles(document),
        document.profile.as_ref().map(request_time),
        Some(memory(document)),
        memory_by_requests(document),
        predictions(document),
    ];
    charts.into_iter().flatten().collect()
}

/// Those that the arm's row in the table rests on.
fn trials(document: &Document, figure: impl Fn(&Trial) -> Option<f64>) -> Vec<Row> {
    let of_arm = |arm: &run::ArmSummary| {
        let name = called(document, arm);
        let mine = run::evidence(&arm.name, &document.trials).into_iter();
        let mine = mine.filter(|trial| trial.counts());
        let rows = mine.filter_map(|trial| {
            let which = format!("{}, block {}", trial.stage.word(), trial.block);
            Some(Row::new(name.clone(), figure(trial)?).of(which))
        });
        rows.collect::<Vec<_>>()
    };
    document.arms.iter().flat_map(of_arm).collect()
}

fn throughput(document: &Document) -> Chart {
    Chart {
        unit: "good answers a second",
        rows: trials(document, Trial::capacity_per_s),
        ..Chart::new(
            "throughput",
            Kind::Trials,
            "What each configuration answered at full load",
            "Each dot is one trial of those behind the table; the bar is their median.",
        )
    }
}

fn memory(document: &Document) -> Chart {
    let limit = document.plan.objective.max_memory_bytes;
    Chart {
        unit: "MiB",
        mark: limit.map(|bytes| Mark {
            value: bytes as f64 / MIB,
            name: "limit".to_owned(),
        }),
        rows: trials(document, |trial| {
            Some(trial.memory.as_ref()?.compared_bytes()? as f64 / MIB)
        }),
        ..Chart::new(
            "memory",
            Kind::Trials,
            "Memory of each configuration",
            "The largest proportional set size (PSS) of the server's processes in each trial.",
        )
    }
}

/// Of servers that were aged, over the requests that they had answered.
fn memory_by_requests(document: &Document) -> Option<Chart> {
    let age = document.plan.age?;
    let of_arm = |arm: &run::ArmSummary| {
        let name = called(document, arm);
        let mine = run::evidence(&arm.name, &document.trials).into_iter();
        let memories = mine
            .filter(|trial| trial.counts())
            .filter_map(|trial| trial.memory.as_ref());
        let mut aged = memories.filter_map(|memory| Some((memory, memory.aged.as_ref()?)));
        let last = aged.rfind(|(_, aged)| aged.pss_bytes.is_some());
        let samples = last
            .into_iter()
            .flat_map(|(memory, aged)| memory.samples.iter().chain(&aged.samples));
        let known = samples.filter_map(|sample| Some((sample.requests?, sample.pss_bytes?)));
        let rows = known.map(|(requests, bytes)| {
            Row::new(counted(requests, "request"), bytes as f64 / MIB)
                .of(name.clone())
                .at(requests as f64)
        });
        rows.collect::<Vec<_>>()
    };
    let rows: Vec<Row> = document.arms.iter().flat_map(of_arm).collect();
    (!rows.is_empty()).then(|| Chart {
        unit: "MiB",
        at_unit: Some("requests"),
        at_mark: Some(Mark {
            value: age.requests as f64,
            name: "age".to_owned(),
        }),
        rows,
        ..Chart::new(
            "memory-by-requests",
            Kind::Lines,
            "Memory by requests",
            "The proportional set size (PSS) of the last trial of each configuration that was aged. A line that still rises at its end has \
             not levelled off.",
        )
    })
}

/// The first comparison that a claim rests on, block by block.
fn deciding(document: &Document) -> Option<Chart> {
    let by_throughput = |c: &&Comparison| decides(c) && c.metric == Metric::Capacity;
    let comparison = document.comparisons.iter().find(by_throughput)?;
    let of = |arm: &str| capacities_by_block(document, comparison.stage, arm);
    let theirs = of(&comparison.baseline);
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let row = |(block, ours): (u32, f64)| {
        let value = percent(ours / theirs.get(&block)?);
        Some(Row::new(format!("block {block}"), value).at(f64::from(block)))
    };
    let (one, other) = (
        called_by_name(document, &comparison.candidate),
        called_by_name(document, &comparison.baseline),
    );
    let interval = comparison.low.zip(comparison.high);
    Some(Chart {
        unit: "difference in throughput, %",
        at_unit: Some("block"),
        band: interval.map(|(low, high)| Band {
            low: percent(low),
            high: percent(high),
        }),
        rows: of(&comparison.candidate)
            .into_iter()
            .filter_map(row)
            .collect(),
        ..Chart::new(
            "blocks",
            Kind::Blocks,
            format!("{one} against {other}, block by block"),
            "Each dot is one block, in which both were measured shortly after each other; the band is the interval of the difference. \
             Dots on one side of 0 are the evidence of a difference.",
        )
    })
}

/// A line for each configuration of a deciding comparison: with more lines the chart is unreadable.
fn percentiles(document: &Document) -> Option<Chart> {
    let decided: Vec<&Comparison> = document.comparisons.iter().filter(|c| decides(c)).collect();
    let compared = |arm: &&run::ArmSummary| {
        let mut decided = decided.iter();
        decided.any(|c| c.baseline == arm.name || c.candidate == arm.name)
    };
    let arms = document.arms.iter();
    let arms = arms.filter(|arm| decided.is_empty() || compared(arm));
    let rows = arms.flat_map(|arm| {
        let name = called(document, arm);
        arm.percentiles.iter().map(move |found| {
            Row::new(format!("p{}", found.percentile), found.ms)
                .of(name.clone())
                .at(found.percentile)
        })
    });
    let rows: Vec<Row> = rows.collect();
    let rate = document.plan.rate_per_s?;
    (!rows.is_empty()).then(|| Chart {
        unit: "ms",
        at_unit: Some("percentile"),
        mark: document
            .plan
            .objective
            .latency
            .map(|latency| Mark::limit(latency.percentile, latency.limit_ms)),
        rows,
        ..Chart::new(
            "percentiles",
            Kind::Percentiles,
            format!("Response time by percentile, at {} requests a second", crate::figures::rate(rate)),
            "Over all latency windows that the table rests on, counted from the moment a request was due. A percentile of too few \
             requests, or one that a failed request makes infinite, is left out.",
        )
    })
}

fn request_time(profile: &Profile) -> Chart {
    let endpoints = profile.endpoints.iter().take(10);
    let rows = endpoints.flat_map(|e| {
        let times = [
            Some(e.held_ms),
            Some(e.gvl_wait_ms),
            e.lock_wait_ms,
            Some(e.io_ms),
        ];
        parts_of(&e.name, times)
    });
    // Of one endpoint it is the same.
    let all = (profile.endpoints.len() != 1).then(|| {
        let p = profile;
        let times = [
            Some(p.held_ms),
            Some(p.gvl_wait_ms),
            p.lock_wait_ms,
            Some(p.io_ms),
        ];
        parts_of("all", times)
    });
    Chart {
        unit: "ms a request",
        rows: rows.chain(all.into_iter().flatten()).collect(),
        ..Chart::new(
            "request-time",
            Kind::Parts,
            "Where a request spends its time today, at full load",
            "Means of one request in the application, without the wait for a thread.",
        )
    }
}

fn predictions(document: &Document) -> Option<Chart> {
    document.model.as_ref()?;
    let row = |arm: &run::ArmSummary| {
        Some(Row::new(called(document, arm), arm.capacity_per_s?).at(arm.predicted_per_s?))
    };
    Some(Chart {
        unit: "measured, good answers a second",
        at_unit: Some("predicted, good answers a second"),
        rows: document.arms.iter().filter_map(row).collect(),
        ..Chart::new(
            "predictions",
            Kind::Predictions,
            "Predicted and measured throughput",
            "On the line both agree. Predictions choose what is tried and prove nothing.",
        )
    })
}
