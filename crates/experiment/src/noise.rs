//! How much trials scatter, from what they have measured. It sets the lengths of windows; no verdict rests on it.

use crate::judge::{PAIRS_OF_A_BOUND, POWER};
use run::{Document, Known, Stage, Trial};
use stats::{Noise, Scatter};
use std::collections::{BTreeMap, BTreeSet};

/// The scatter of earlier runs counts for no more than this: a machine may be busier by now.
const MOST_FREEDOM_OF_EARLIER: u32 = 10;

/// The scatter of the logarithm of the capacity in windows of one second, by all trials of this run so far and by earlier runs.
pub fn seen(document: &Document) -> Scatter {
    of_trials(&document.trials).and(of_earlier(document.known.as_ref()))
}

/// The length of the windows of a deciding comparison of so many blocks that find a difference of the margin, seconds; `None` where
/// fewer pairs of trials than a bound needs have shown the noise, and where identical arms differ by the margin.
pub fn window_s(document: &Document, blocks: u32) -> Option<f64> {
    let (plan, seed) = (&document.plan, document.seed);
    let seen = Some(seen(document)).filter(|seen| seen.freedom as usize >= PAIRS_OF_A_BOUND)?;
    let looks = stats::looks(blocks, plan.alpha, seed)?;
    let allowance = document.calibration.as_ref().map_or(0.0, |c| c.allowance);
    let margin = (1.0 + plan.margin) / (1.0 + allowance) - 1.0;
    let unit = stats::effect_of_unit_noise(&looks, seen.freedom, POWER, seed);
    stats::window_s(seen, unit, margin).filter(|_| margin > 0.0)
}

/// The same by the trials of one run.
pub fn of_trials(trials: &[Trial]) -> Scatter {
    let of_stages =
        [Stage::Race, Stage::Confirm, Stage::Compare].map(|stage| of_stage(trials, stage));
    of_stages.into_iter().fold(of_pilot(trials), Scatter::and)
}

/// The same by earlier runs.
pub fn of_earlier(known: Option<&Known>) -> Scatter {
    let Some(noise) = known.and_then(|known| known.noise) else {
        return Scatter::default();
    };
    Scatter::of(Some(Noise {
        sd: noise.sd_log_ratio,
        freedom: Some(noise.freedom.min(MOST_FREEDOM_OF_EARLIER)),
        answers: None,
    }))
}

/// The baseline twice. A trial before these two had other cores.
fn of_pilot(trials: &[Trial]) -> Scatter {
    let pilot = trials.iter().filter(|t| t.stage == Stage::Pilot);
    let last: Vec<(u64, f64)> = pilot.rev().filter_map(log_capacity).take(2).collect();
    match last.as_slice() {
        [(tenths, one), (others, other)] if tenths == others => {
            Scatter::of(Noise::of_equal_arms(&[one - other])).in_one_second(seconds(*tenths))
        }
        _ => Scatter::default(),
    }
}

/// What arms and blocks leave unexplained, of the blocks with windows of the same length together.
fn of_stage(trials: &[Trial], stage: Stage) -> Scatter {
    let mut lengths: BTreeMap<u64, Vec<(&Trial, f64)>> = BTreeMap::new();
    for trial in trials.iter().filter(|t| t.stage == stage) {
        if let Some((tenths, log)) = log_capacity(trial) {
            lengths.entry(tenths).or_default().push((trial, log));
        }
    }
    let of_length = |(tenths, trials): (u64, Vec<(&Trial, f64)>)| {
        let arms: BTreeSet<&str> = trials.iter().map(|(t, _)| t.arm.as_str()).collect();
        let blocks: BTreeSet<u32> = trials.iter().map(|(t, _)| t.block).collect();
        let cell = |block: u32, arm: &str| {
            let found = trials
                .iter()
                .find(|(t, _)| t.block == block && t.arm == arm);
            found.map(|(_, log)| *log)
        };
        let rows: Vec<Vec<Option<f64>>> = blocks
            .iter()
            .map(|block| arms.iter().map(|arm| cell(*block, arm)).collect())
            .collect();
        Scatter::two_way(&rows).in_one_second(seconds(tenths))
    };
    lengths
        .into_iter()
        .map(of_length)
        .fold(Scatter::default(), Scatter::and)
}

/// The length of a trial's closed loop, tenths of a second, and the logarithm of its capacity, where it counts.
fn log_capacity(trial: &Trial) -> Option<(u64, f64)> {
    let window = trial.saturation.as_ref().filter(|_| trial.counts())?;
    let capacity = trial.capacity_per_s().filter(|per_s| *per_s > 0.0)?;
    Some(((window.seconds * 10.0).round() as u64, capacity.ln()))
}

fn seconds(tenths: u64) -> f64 {
    tenths as f64 / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::KnownNoise;

    fn trial(stage: Stage, block: u32, arm: &str, window_s: f64, capacity: f64) -> Trial {
        let document = crate::sample::document("tune");
        let model = document
            .trials
            .iter()
            .find(|t| t.counts() && t.saturation.is_some());
        let mut trial = model.unwrap().clone();
        (trial.stage, trial.block, trial.arm) = (stage, block, arm.to_owned());
        let window = trial.saturation.as_mut().unwrap();
        (window.seconds, window.good_per_s) = (window_s, capacity);
        trial
    }

    /// An arm's gain and a block's level are no noise; blocks with other windows are apart.
    #[test]
    fn what_arms_and_blocks_explain_is_no_noise() {
        let block = |block: u32, window_s: f64, level: f64, bump: f64| {
            [
                trial(Stage::Confirm, block, "today", window_s, level),
                trial(Stage::Confirm, block, "other", window_s, 1.5 * level * bump),
            ]
        };
        let quiet = [block(1, 4.0, 100.0, 1.0), block(2, 4.0, 120.0, 1.0)].concat();
        let found = of_trials(&quiet);
        assert!(found.freedom == 1 && found.squares < 1e-20, "{found:?}");
        // Two log ratios that differ by d have a variance of d squared over two, a trial half of that.
        let later = [block(3, 9.0, 90.0, 1.0), block(4, 9.0, 90.0, 1.1)].concat();
        let found = of_trials(&[quiet, later].concat());
        let d = 1.1_f64.ln();
        assert_eq!(found.freedom, 2);
        assert!(
            (found.squares - 9.0 * d * d / 4.0).abs() < 1e-12,
            "{found:?}"
        );
    }

    #[test]
    fn the_pilot_has_one_pair_with_the_same_windows() {
        let pilot = |capacity| trial(Stage::Pilot, 1, "today", 5.0, capacity);
        let d = (100.0_f64 / 96.0).ln();
        let found = of_trials(&[pilot(300.0), pilot(100.0), pilot(96.0)]);
        assert_eq!(found.freedom, 1);
        assert!((found.squares - 5.0 * d * d / 2.0).abs() < 1e-12);
        assert_eq!(of_trials(&[pilot(100.0)]).freedom, 0);
    }

    #[test]
    fn earlier_runs_count_for_a_limited_number_of_pairs() {
        let known = Known {
            runs: vec!["a".to_owned()],
            noise: Some(KnownNoise {
                sd_log_ratio: 0.05,
                freedom: 60,
            }),
            around_windows_s: None,
            arms: Vec::new(),
        };
        let found = of_earlier(Some(&known));
        assert_eq!(found.freedom, 10);
        assert!((found.noise_in(1.0).unwrap().sd - 0.05).abs() < 1e-12);
        assert_eq!(of_earlier(None), Scatter::default());
    }
}
