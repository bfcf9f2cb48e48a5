//! Memory that grows with the requests served: which arm's does, and what it is after as many requests as another's.

use run::{Aged, Document, Growth, Memory, Stage, Trial, UsageSample};
use stats::{Grown, summary};

/// Level of the intervals of growth.
const ALPHA: f64 = 0.05;

/// Resident set by requests answered, as `stats` takes it; nothing where the samples do not say how many.
pub fn resident(samples: &[UsageSample]) -> Vec<(u64, f64)> {
    samples
        .iter()
        .filter_map(|sample| Some((sample.requests?, sample.rss_bytes as f64)))
        .collect()
}

/// Resident set in the second half of the requests to which a trial was aged; nothing where it was not.
pub fn later_half(memory: &Memory, aged: &Aged) -> Vec<(u64, f64)> {
    if aged.pss_bytes.is_none() {
        return Vec::new();
    }
    let mut samples = resident(&memory.samples);
    samples.extend(resident(&aged.samples));
    samples.retain(|(served, _)| (aged.requests / 2..=aged.requests).contains(served));
    samples
}

/// What the samples of one trial show.
struct Seen {
    grown: Grown,
    /// Resident set at the first sample and at the last.
    first: f64,
    last: f64,
    /// Requests answered when its memory was the largest.
    requests: f64,
}

impl Seen {
    fn of(trial: &Trial) -> Option<Seen> {
        let memory = trial.memory.as_ref()?;
        let (samples, requests) = match &memory.aged {
            Some(aged) => (later_half(memory, aged), aged.requests),
            None => (resident(&memory.samples), requests(trial)?),
        };
        Some(Seen {
            grown: stats::grown(&samples)?,
            first: samples.first()?.1,
            last: samples.last()?.1,
            requests: requests as f64,
        })
    }
}

/// How the memory of an arm grows, from these trials of it that count; `None` where it is not shown to.
pub fn growth(trials: &[&Trial]) -> Option<Growth> {
    let seen: Vec<Seen> = trials.iter().filter_map(|trial| Seen::of(trial)).collect();
    let grown: Vec<Grown> = seen.iter().map(|seen| seen.grown).collect();
    let found = stats::growth(&grown, ALPHA).filter(|found| found.significant)?;
    let median = |of: fn(&Seen) -> f64| {
        let values: Vec<f64> = seen.iter().map(of).collect();
        summary::median(&values).map(|value| value as u64)
    };
    Some(Growth {
        bytes_per_thousand: found.per_thousand,
        interval: (found.interval.low, found.interval.high),
        trials: seen.len() as u32,
        resident_bytes: (median(|seen| seen.first)?, median(|seen| seen.last)?),
        requests: median(|seen| seen.requests)?,
    })
}

/// Whether the memory of any arm grows with the requests and does not level off: no window is long enough for it.
pub fn any_grows(document: &Document) -> bool {
    document.arms.iter().any(|arm| arm.growth.is_some())
}

/// Requests answered when the memory of a trial was the largest.
fn requests(trial: &Trial) -> Option<u64> {
    let memory = trial.memory.as_ref()?;
    let seen = |sample: &&UsageSample| sample.pss_bytes == Some(memory.pss_bytes);
    match memory.samples.iter().find(seen) {
        Some(sample) => sample.requests,
        // Read at the end of the closed loop.
        None => Some(trial.warmup?.requests + trial.saturation.as_ref()?.requests),
    }
}

/// The number of requests at which memory that grows is compared: those after which the pilot's was read.
pub fn equal_requests(trials: &[Trial]) -> Option<u64> {
    let pilot = trials.iter().filter(|trial| trial.stage == Stage::Pilot);
    pilot.filter(|t| t.counts()).filter_map(requests).max()
}

/// The memory of a trial. With an age it is the aged memory, `None` where the trial was not aged. Without one, where it `grows`, it is
/// the memory after so many requests at the trial's own pace.
pub fn memory_bytes(trial: &Trial, grows: bool, after: Option<u64>) -> Option<f64> {
    let memory = trial.memory.as_ref()?;
    let pss = memory.compared_bytes()? as f64;
    let after = after.filter(|_| memory.aged.is_none());
    let more = match (requests(trial), after) {
        (Some(served), Some(after)) if grows => served as f64 - after as f64,
        _ => 0.0,
    };
    Some(pss - more / 1_000.0 * memory.growth_bytes_per_thousand).filter(|bytes| *bytes > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::sample::leaking;
    use crate::judge::{feasibility, pairs::pairs};
    use run::Metric;

    #[test]
    fn what_grows_in_every_trial_is_found_with_its_pace() {
        let trials: Vec<Trial> = (1..=6).map(|block| leaking(block, 20_480.0, 1)).collect();
        let trials: Vec<&Trial> = trials.iter().collect();
        let found = growth(&trials).unwrap();
        let expected = 20_480.0 * 1_000.0;
        assert!(
            (found.bytes_per_thousand / expected - 1.0).abs() < 0.02,
            "{found:?}"
        );
        assert!(
            found.interval.0 <= expected && expected <= found.interval.1,
            "{found:?}"
        );
        assert_eq!((found.trials, found.requests), (6, 4_000));
        assert!(found.resident_bytes.0 < found.resident_bytes.1);
        assert_eq!(growth(&trials[..1]), None);
    }

    #[test]
    fn what_does_not_grow_or_was_not_counted_is_not_said_to() {
        let still: Vec<Trial> = (1..=6).map(|block| leaking(block, 0.0, 1)).collect();
        assert_eq!(growth(&still.iter().collect::<Vec<_>>()), None);
        let mut older: Vec<Trial> = (1..=6).map(|block| leaking(block, 2e4, 1)).collect();
        for trial in &mut older {
            for sample in &mut trial.memory.as_mut().unwrap().samples {
                sample.requests = None;
            }
        }
        assert_eq!(growth(&older.iter().collect::<Vec<_>>()), None);
    }

    /// Twice as quick, it has served twice as much, and leaks no more than the other.
    #[test]
    fn memory_is_compared_after_as_many_requests() {
        let (slow, quick) = (leaking(1, 2e4, 1), leaking(1, 2e4, 2));
        let raw = |trial: &Trial| memory_bytes(trial, false, Some(4_000)).unwrap();
        let equal = |trial: &Trial| memory_bytes(trial, true, Some(4_000)).unwrap();
        assert!(raw(&quick) > 1.3 * raw(&slow));
        assert!((equal(&quick) / equal(&slow) - 1.0).abs() < 0.01);
        assert_eq!(raw(&slow), equal(&slow));
    }

    /// Equal leaks: the quicker arm has served more, and needs no more memory for it.
    #[test]
    fn a_leak_is_no_reason_to_prefer_the_slower() {
        let mut trials: Vec<Trial> = Vec::new();
        for block in 1..=6 {
            let quick = Trial {
                arm: "quick".to_owned(),
                ..leaking(block, 2e4, 2)
            };
            trials.extend([leaking(block, 2e4, 1), quick]);
        }
        let mut pilot = leaking(1, 2e4, 1);
        pilot.stage = Stage::Pilot;
        trials.push(pilot);
        for (today, quick) in pairs(&trials, Stage::Confirm, Metric::Memory, ("today", "quick")) {
            assert!((quick / today - 1.0).abs() < 0.01, "{today} {quick}");
        }
        let mut document = crate::sample::document("compare");
        document.trials = trials;
        document.plan.objective.latency = None;
        document.plan.objective.max_memory_bytes = Some(200 << 20);
        let quick: Vec<&Trial> = document
            .trials
            .iter()
            .filter(|t| t.arm == "quick")
            .collect();
        assert_eq!(
            feasibility(&quick, &document).standing,
            run::Feasibility::Meets
        );
    }
}
