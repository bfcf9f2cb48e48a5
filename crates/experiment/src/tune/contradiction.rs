//! Where trials contradict the model, candidates come from what was measured: the neighbours of the best, in both directions of
//! threads and of workers. Pure.

use crate::judge;
use crate::request::Arm;
use capacity::Config;
use run::{ArmSummary, Contradiction, Document, ModelKind, Settings, Stage};
use small_sort::SmallSort;
use stats::summary;

/// The least error that is taken for granted of a prediction, and the greatest: about the errors of single configurations in
/// bench/predict/RESULTS.md, the median of the worst application and the worst of all.
const MODEL_ERROR: (f64, f64) = (0.15, 0.3);
/// Standard errors of a mean of trials that are noise.
const STANDARD_ERRORS: f64 = 2.0;
/// Fewest arms of a block once candidates come from measurements: the baseline, the best and one neighbour in each direction.
pub const FEWEST_ARMS: usize = 4;

/// An arm of the race with what it carried there.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub settings: Settings,
    /// Geometric mean of its capacities.
    pub per_s: f64,
    /// Over the baseline's in the same blocks.
    pub over_baseline: f64,
    /// Trials behind it.
    trials: usize,
}

/// What the race has shown of these arms; those without a trial that counts are left out.
pub fn measured(document: &Document, baseline: &Arm, arms: &[Arm]) -> Vec<Measured> {
    let logs: Vec<Vec<Option<f64>>> = judge::so_far(
        &document.trials,
        Stage::Race,
        &[std::slice::from_ref(baseline), arms].concat(),
    )
    .into_iter()
    .map(|arm| arm.log_throughput)
    .collect();
    let Some((of_baseline, of_arms)) = logs.split_first() else {
        return Vec::new();
    };
    arms.iter()
        .zip(of_arms)
        .filter_map(|(arm, of_arm)| {
            let own: Vec<f64> = of_arm.iter().flatten().copied().collect();
            let pairs = of_arm.iter().zip(of_baseline);
            let ratios: Vec<f64> = pairs.filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
            Some(Measured {
                settings: arm.settings,
                per_s: summary::mean(&own)?.exp(),
                over_baseline: summary::mean(&ratios)?.exp(),
                trials: own.len(),
            })
        })
        .collect()
}

/// The arm that differs most from its prediction, where that is more than the model's error and the trials' noise together.
pub fn contradiction(
    document: &Document,
    measured: &[Measured],
    block: u32,
) -> Option<Contradiction> {
    let found = measured.iter().filter_map(|arm| {
        let predicted_per_s = super::foreseen(document, arm.settings)?.capacity_per_s;
        let accepted = accepted_ln(document, arm.trials);
        let excess = (predicted_per_s / arm.per_s).ln().abs() - accepted;
        let contradiction = Contradiction {
            settings: arm.settings,
            predicted_per_s,
            measured_per_s: arm.per_s,
            accepted: accepted.exp_m1(),
            block,
            followed: false,
            all_tried: None,
        };
        (excess > 0.0).then_some((excess, contradiction))
    });
    found
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, contradiction)| contradiction)
}

/// Whether what this run measured contradicts the model, in its race or since.
pub fn refuted(document: &Document) -> bool {
    let in_race = document.model.as_ref().and_then(|m| m.contradiction);
    in_race.is_some() || document.arms.iter().any(|arm| is_off(document, arm))
}

fn is_off(document: &Document, arm: &ArmSummary) -> bool {
    let (Some(predicted), Some(measured)) = (arm.predicted_per_s, arm.capacity_per_s) else {
        return false;
    };
    (predicted / measured).ln().abs() > accepted_ln(document, arm.trials as usize)
}

/// How far prediction and mean of so many trials may be apart, as a logarithm.
///
/// The error of the self-check excuses one as large elsewhere. A model that fails the check lacks something of the application,
/// such as a lock: what it predicts has no error that is known, and none beyond the least is excused.
fn accepted_ln(document: &Document, trials: usize) -> f64 {
    let checked = document
        .model
        .as_ref()
        .filter(|model| model.kind == ModelKind::Simulator)
        .and_then(|model| model.trace.as_ref())
        .map_or(MODEL_ERROR.1, |trace| trace.self_check.mean.abs());
    let error = match checked <= MODEL_ERROR.1 {
        true => checked.max(MODEL_ERROR.0),
        false => MODEL_ERROR.0,
    };
    let noise = document.plan.detectable.sd_log_ratio / (trials.max(1) as f64).sqrt();
    error.ln_1p() + STANDARD_ERRORS * noise
}

/// The arms of the next block: the baseline, the best measured and its neighbours, then the others by what they carried, at most
/// `most`. `live` are still in the race, `tried` were ever in it, `points` may be tried. Empty where every neighbour was tried.
pub fn next(
    live: &[Measured],
    baseline: Settings,
    tried: &[Settings],
    points: &[Settings],
    margin: f64,
    carries_less: bool,
    most: usize,
) -> Vec<Settings> {
    let mut ranked: Vec<&Measured> = live.iter().collect();
    ranked.small_sort_by(|a, b| b.over_baseline.total_cmp(&a.over_baseline));
    let Some(top) = ranked.first() else {
        return Vec::new();
    };
    let near = ranked
        .iter()
        .filter(|arm| arm.over_baseline * (1.0 + margin) >= top.over_baseline);
    let best = near
        .min_by_key(|arm| (arm.settings.processes(), arm.settings.threads))
        .unwrap_or(top);
    let config = |s: &Settings| Config {
        workers: s.workers,
        threads: s.threads,
    };
    let configs: Vec<Config> = points.iter().map(config).collect();
    let beside = |of: Settings| {
        let found = capacity::neighbours(&configs, config(&of), carries_less);
        let at = move |c: Config| points.iter().find(|p| config(p) == c).copied();
        let known = |s: &Settings| tried.iter().all(|t| config(t) != config(s));
        found.into_iter().filter_map(at).filter(known)
    };
    let fresh: Vec<Settings> = beside(best.settings).chain(beside(top.settings)).collect();
    if fresh.is_empty() {
        return Vec::new();
    }
    let kept = [baseline, best.settings];
    let others = ranked.iter().map(|arm| arm.settings);
    let mut arms: Vec<Settings> = Vec::new();
    for settings in kept.into_iter().chain(fresh).chain(others) {
        if !arms.contains(&settings) && arms.len() < most {
            arms.push(settings);
        }
    }
    arms
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Foreseen, Model, ModelErrors, ModelTrace, SdSource, Trial};

    fn settings(workers: u16, threads: u16) -> Settings {
        Settings {
            workers,
            threads,
            preload: workers > 0,
        }
    }

    fn grid(workers: &[u16]) -> Vec<Settings> {
        let of = |w: &u16| (1..=32).map(|t| settings(*w, t)).collect::<Vec<_>>();
        workers.iter().flat_map(of).collect()
    }

    /// A document whose model says `predicted` of every configuration, with a self-check that is off by so much, and pairs of
    /// equal trials that scatter by `sd`.
    fn document(predicted: impl Fn(Settings) -> f64, self_check: f64, sd: f64) -> Document {
        let mut document = crate::sample::document("tune");
        document.trials.retain(|t| t.stage == Stage::Pilot);
        document.plan.detectable.sd_log_ratio = sd;
        document.plan.detectable.source = SdSource::Calibration;
        document.model = Some(Model {
            kind: ModelKind::Simulator,
            reason: None,
            trace: Some(ModelTrace {
                requests: 800,
                bursts: true,
                self_check: ModelErrors {
                    mean: self_check,
                    p50: 0.0,
                    p99: 0.0,
                },
            }),
            predictions: grid(&[0, 2, 3, 4])
                .into_iter()
                .map(|at| Foreseen {
                    workers: at.workers,
                    threads: at.threads,
                    capacity_per_s: predicted(at),
                    p50_ms: None,
                    p99_ms: None,
                })
                .collect(),
            contradiction: None,
            score: None,
        });
        document
    }

    /// Adds a block of the race.
    fn raced(
        document: &mut Document,
        block: u32,
        arms: &[Settings],
        truth: &dyn Fn(Settings) -> f64,
    ) {
        let samples = crate::sample::document("tune").trials;
        let model: &Trial = samples.iter().find(|t| t.counts()).unwrap();
        for at in arms {
            let mut trial = model.clone();
            (trial.stage, trial.block, trial.settings) = (Stage::Race, block, *at);
            trial.arm = Arm::of(*at).name;
            trial.saturation.as_mut().unwrap().good_per_s = truth(*at);
            document.trials.push(trial);
        }
    }

    /// Races these as `tune` does, without dropping any: what was tried, and what contradicted the model.
    fn race(
        document: &mut Document,
        first: &[Settings],
        most: usize,
        truth: &dyn Fn(Settings) -> f64,
    ) -> (Vec<Settings>, Option<Contradiction>) {
        let points = grid(&[0, 2, 3, 4]);
        let (mut running, mut tried) = (first.to_vec(), first.to_vec());
        let mut found = None;
        for block in 1..=3 {
            raced(document, block, &running, truth);
            let arms: Vec<Arm> = tried.iter().map(|at| Arm::of(*at)).collect();
            let seen = measured(document, &arms[0], &arms);
            found = found.or_else(|| contradiction(document, &seen, block));
            if let Some(Contradiction {
                measured_per_s,
                predicted_per_s,
                ..
            }) = found
            {
                let less = measured_per_s < predicted_per_s;
                let next = next(&seen, first[0], &tried, &points, 0.03, less, most);
                tried.extend(
                    next.iter()
                        .filter(|at| !tried.contains(at))
                        .copied()
                        .collect::<Vec<_>>(),
                );
                running = match next.is_empty() {
                    true => running,
                    false => next,
                };
            }
        }
        (tried, found)
    }

    /// A lock lets 131 a second pass from 3 threads on, while the split promises 44 a second and thread up to 269.
    #[test]
    fn a_lock_that_the_model_does_not_know_is_walked_away_from() {
        let predicted = |at: Settings| (44.0 * f64::from(at.threads)).min(269.0);
        let truth = |at: Settings| (44.0 * f64::from(at.threads)).min(131.0);
        let mut document = document(predicted, 0.02, 0.02);
        let first = [1, 4, 6, 13].map(|threads| settings(0, threads));
        let (tried, found) = race(&mut document, &first, 5, &truth);
        let found = found.unwrap();
        assert_eq!((found.settings, found.block), (settings(0, 13), 1));
        let threads: Vec<u16> = tried
            .iter()
            .filter(|s| s.workers == 0)
            .map(|s| s.threads)
            .collect();
        assert!(threads.contains(&3), "{threads:?}");
        assert!(threads.contains(&5), "both directions: {threads:?}");
        assert!(tried.iter().any(|s| s.workers > 0), "{tried:?}");
    }

    #[test]
    fn the_arm_that_is_furthest_off_is_named_with_both_figures() {
        let predicted = |at: Settings| f64::from(at.threads) * 20.7;
        let truth = |at: Settings| (20.0 * f64::from(at.threads)).min(131.0);
        let mut document = document(predicted, 0.02, 0.02);
        let first = [4, 6, 13].map(|threads| settings(2, threads));
        let (tried, found) = race(&mut document, &first, 4, &truth);
        assert_eq!(
            found.unwrap().to_string(),
            "The model predicted 269/s for 2 workers × 13 threads, preloaded; 131/s were measured in the elimination rounds until \
             then. No neighbour of the best measured configuration was tried."
        );
        assert!(
            tried.contains(&settings(2, 5)) || tried.contains(&settings(2, 8)),
            "{tried:?}"
        );
    }

    #[test]
    fn errors_of_the_model_and_noise_of_the_trials_are_no_contradiction() {
        let truth = |at: Settings| f64::from(at.threads) * 20.0;
        let first = [2, 4, 6].map(|threads| settings(0, threads));
        // Predicted over measured, self-check, noise, whether it is contradicted.
        for (off, self_check, sd, contradicted) in [
            (1.0, 0.0, 0.01, false),
            (1.15, 0.0, 0.01, false),
            (0.88, 0.0, 0.01, false),
            (1.3, 0.0, 0.01, true),
            (0.75, 0.0, 0.01, true),
            // Its own error explains it.
            (1.3, 0.3, 0.01, false),
            (1.6, 0.9, 0.01, true),
            // One that fails its self-check is excused less.
            (1.25, 0.25, 0.01, false),
            (1.25, -0.6, 0.01, true),
            (1.15, -0.6, 0.01, false),
            // So does noise.
            (1.3, 0.0, 0.2, false),
            (2.0, 0.0, 0.2, true),
        ] {
            let mut document = document(|at| truth(at) * off, self_check, sd);
            let (tried, found) = race(&mut document, &first, 6, &truth);
            assert_eq!(found.is_some(), contradicted, "{off} {self_check} {sd}");
            assert_eq!(tried.len() > first.len(), contradicted, "{tried:?}");
        }
    }

    /// A step that no trial measured is not shown as predicted where the arms that were measured refute the model.
    #[test]
    fn predicted_steps_of_a_refuted_model_are_marked() {
        use crate::tune::path;
        let predicted = |at: Settings| 40.0 * f64::from(at.threads);
        let steps = |measured: f64| {
            let mut document = document(predicted, 0.02, 0.02);
            document.arms.truncate(2);
            let settings = [settings(0, 1), settings(0, 3)];
            for (arm, settings) in document.arms.iter_mut().zip(settings) {
                (arm.settings, arm.trials) = (settings, 6);
                arm.predicted_per_s = Some(predicted(settings));
                arm.capacity_per_s = Some(predicted(settings) * measured);
            }
            let way = path::between(settings[0], self::settings(2, 3));
            path::steps(&document, &way)
        };
        let as_predicted = steps(1.05);
        assert!(as_predicted.len() > 1);
        assert!(
            as_predicted
                .iter()
                .all(|step| !step.measured && !step.refuted)
        );
        assert!(steps(0.6).iter().all(|step| !step.measured && step.refuted));
    }

    #[test]
    fn formulas_are_believed_within_the_worst_error_alone() {
        let truth = |at: Settings| f64::from(at.threads) * 20.0;
        for (off, contradicted) in [(1.25, false), (1.5, true)] {
            let mut document = document(|at| truth(at) * off, 0.0, 0.01);
            let model = document.model.as_mut().unwrap();
            (model.kind, model.trace) = (ModelKind::Formulas, None);
            let (_, found) = race(&mut document, &[settings(0, 2)], 4, &truth);
            assert_eq!(found.is_some(), contradicted, "{off}");
        }
    }

    #[test]
    fn a_server_that_carries_more_than_predicted_gets_more_threads_first() {
        let live = |threads: u16, over_baseline: f64| Measured {
            settings: settings(0, threads),
            per_s: 100.0 * over_baseline,
            over_baseline,
            trials: 1,
        };
        let live = [live(2, 1.0), live(8, 1.5)];
        let tried: Vec<Settings> = live.iter().map(|m| m.settings).collect();
        let points = grid(&[0]);
        let with = |less, most| next(&live, settings(0, 2), &tried, &points, 0.03, less, most);
        let threads = |of: Vec<Settings>| of.iter().map(|s| s.threads).collect::<Vec<_>>();
        assert_eq!(threads(with(true, 4)), [2, 8, 6, 10]);
        assert_eq!(threads(with(false, 4)), [2, 8, 10, 6]);
        assert_eq!(threads(with(false, 3)), [2, 8, 10]);
        let all = next(&live, settings(0, 2), &points, &points, 0.03, true, 4);
        assert!(all.is_empty(), "all neighbours were tried");
    }

    proptest::proptest! {
        /// Baseline first, no arm twice, none that may not be tried, and at least one that was not.
        #[test]
        fn the_next_block_is_the_baseline_and_something_new(
            over in proptest::collection::vec((1_u16..33, 0.2_f64..5.0), 1..8),
            most in 4_usize..9,
            less: bool,
        ) {
            let mut live: Vec<Measured> = Vec::new();
            for (threads, over_baseline) in over {
                let at = settings(0, threads);
                if live.iter().all(|m| m.settings != at) {
                    live.push(Measured { settings: at, per_s: over_baseline, over_baseline, trials: 1 });
                }
            }
            let tried: Vec<Settings> = live.iter().map(|m| m.settings).collect();
            let points = grid(&[0, 2]);
            let found = next(&live, tried[0], &tried, &points, 0.03, less, most);
            proptest::prop_assert!(found.len() <= most);
            let mut once = found.clone();
            once.sort_unstable();
            once.dedup();
            proptest::prop_assert_eq!(once.len(), found.len());
            if let Some(first) = found.first() {
                proptest::prop_assert_eq!(*first, tried[0]);
                proptest::prop_assert!(found.iter().any(|at| !tried.contains(at)));
                proptest::prop_assert!(found.iter().all(|at| points.contains(at)));
            }
        }
    }
}
