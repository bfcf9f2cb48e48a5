//! One window scored: what was predicted of it next to what was measured.

use super::window::Seen;
use predict::{Prediction, Within};
use run::validation::{Figures, Parts, Range, Trial};
use stats::paired::{Draws, Figure, Paired, paired};

/// As [`Figures`] has response times.
const RESPONSE: [Figure; 4] = [
    Figure::Mean,
    Figure::Quantile(0.5),
    Figure::Quantile(0.95),
    Figure::Quantile(0.99),
];

/// Figures as the document has them.
pub fn figures(of: &predict::Figures) -> Figures {
    Figures {
        throughput_per_s: of.throughput_per_s,
        mean_ms: of.mean_ms,
        p50_ms: of.p50_ms,
        p95_ms: of.p95_ms,
        p99_ms: of.p99_ms,
    }
}

/// A prediction with its interval.
#[derive(Debug, Clone)]
pub struct Predicted {
    pub prediction: Prediction,
    pub within: Within,
}

impl Predicted {
    fn range(&self) -> Range {
        Range {
            figures: figures(&self.prediction.figures),
            low: figures(&self.within.low),
            high: figures(&self.within.high),
        }
    }

    fn parts(&self) -> Parts {
        let of = &self.prediction;
        Parts {
            queue_ms: Some(of.queue_ms),
            gvl_wait_ms: of.gvl_wait_ms,
            io_ms: of.io_ms,
            cpu_ms: of.cpu_ms,
            core_wait_ms: of.core_wait_ms,
        }
    }
}

/// Fills `trial` with a window and what had been predicted of it.
pub fn score(mut trial: Trial, seen: &Seen, predicted: &Predicted, seed: u64) -> Trial {
    trial.predicted = Some(predicted.range());
    trial.predicted_parts = Some(predicted.parts());
    trial.utilisation = predicted.prediction.busiest();
    trial.requests = seen.outcome.counts.ok;
    trial.marks.extend(seen.marks());
    trial.refused = seen.unusable();
    if trial.refused.is_some() {
        return trial;
    }
    trial.measured_parts = parts(seen);
    let how = Draws {
        seed,
        ..Draws::default()
    };
    let scored = match trial.load {
        Some(_) => open(seen, predicted, &how),
        None => closed(seen, &how).map(|measured| (measured, None)),
    };
    match scored {
        Ok((measured, error)) => {
            trial.measured = Some(measured);
            trial.error = error;
        }
        Err(why) => trial.refused = Some(why),
    }
    trial
}

/// Every arrival has its answer in both.
fn open(seen: &Seen, predicted: &Predicted, how: &Draws) -> Result<(Range, Option<Range>), String> {
    let answers = &seen.outcome.answers;
    let truth: Vec<f64> = answers.iter().map(|a| a.took_ns as f64 / 1e6).collect();
    let response_ns = &predicted.prediction.response_ns;
    let ours: Vec<f64> = response_ns.iter().map(|&ns| ns as f64 / 1e6).collect();
    let found = paired(&ours, &truth, &RESPONSE, how).map_err(|e| e.to_string())?;
    let ended_ns = answers
        .iter()
        .map(|a| a.due_ns + a.took_ns)
        .max()
        .unwrap_or(0);
    let per_s = answers.len() as f64 * 1e9 / ended_ns.max(1) as f64;
    // What is offered is answered: it has no interval of its own.
    let off = predicted.prediction.figures.throughput_per_s / per_s - 1.0;
    let measured = range([per_s; 3], &found, |f| {
        [f.truth, f.truth_within.low, f.truth_within.high]
    });
    let error = range([off; 3], &found, |f| {
        [f.error(), f.error_within.low, f.error_within.high]
    });
    Ok((measured, Some(error)))
}

/// A closed loop's answers come when the server is done: what scatters is the time between two of them.
fn closed(seen: &Seen, how: &Draws) -> Result<Range, String> {
    let answers = &seen.outcome.answers;
    let truth: Vec<f64> = answers.iter().map(|a| a.took_ns as f64 / 1e6).collect();
    let found = paired(&truth, &truth, &RESPONSE, how).map_err(|e| e.to_string())?;
    let mut ended_ns: Vec<u64> = answers.iter().map(|a| a.due_ns + a.took_ns).collect();
    ended_ns.sort_unstable();
    let gaps: Vec<f64> = ended_ns
        .windows(2)
        .map(|two| (two[1] - two[0]).max(1) as f64)
        .collect();
    let gap = paired(&gaps, &gaps, &RESPONSE[..1], how).map_err(|e| e.to_string())?;
    let per_s = |ns: f64| 1e9 / ns;
    let within = gap[0].truth_within;
    let throughput = [
        seen.outcome.throughput_per_s(),
        per_s(within.high),
        per_s(within.low),
    ];
    Ok(range(throughput, &found, |f| {
        [f.truth, f.truth_within.low, f.truth_within.high]
    }))
}

/// Value, lower and upper end of each figure.
fn range(throughput: [f64; 3], found: &[Paired], of: impl Fn(&Paired) -> [f64; 3]) -> Range {
    let at = |end: usize| {
        let value = |nth: usize| found.get(nth).map_or(f64::NAN, |figure| of(figure)[end]);
        Figures {
            throughput_per_s: throughput[end],
            mean_ms: value(0),
            p50_ms: value(1),
            p95_ms: value(2),
            p99_ms: value(3),
        }
    };
    Range {
        figures: at(0),
        low: at(1),
        high: at(2),
    }
}

/// As the agent counted; `None` when it saw no request.
fn parts(seen: &Seen) -> Option<Parts> {
    let totals = &seen.flight.totals;
    let each = |ns: u64| totals.per_request(ns).map(|ns| ns / 1e6);
    let held_ns = totals.held_ns + totals.server_held_ns;
    Some(Parts {
        queue_ms: (totals.queue_known > 0)
            .then(|| totals.queue_ns as f64 / totals.queue_known as f64 / 1e6),
        gvl_wait_ms: each(totals.gvl_wait_ns)?,
        io_ms: each(totals.io_ns + totals.lock_wait_ns)?,
        cpu_ms: seen.each_ms(seen.server_cpu),
        core_wait_ms: each(held_ns.saturating_sub(totals.cpu_ns))?,
    })
}
