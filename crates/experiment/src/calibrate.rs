//! The baseline against itself, before anything is compared with it: how noisy this host is, and whether identical arms
//! come out different on it more often than the test promises.

use crate::error::Stopped;
use crate::judge;
use crate::procedure::{Procedure, hopeless};
use crate::progress::Event;
use crate::request::Arm;
use run::{Calibration, Fitness, Settings, Stage, Trial};
use stats::{Better, Calibrated, EqualArms, EqualBlock, Look, Rule};

/// Measures the blocks that were asked for and judges them; without `--calibrate` it does nothing.
pub fn calibrate(procedure: &mut Procedure<'_>, baseline: &Arm) -> Result<(), Stopped> {
    let Some(wanted) = procedure.experiment.calibrate else {
        return Ok(());
    };
    let copy = Arm {
        name: format!("{}-again", baseline.name),
        ..baseline.clone()
    };
    let arms = [baseline.clone(), copy];
    for block in 1..=wanted {
        procedure.block(Stage::Calibrate, block, wanted, &arms)?;
        let trials = &procedure.store.document.trials;
        let failing = arms
            .iter()
            .find_map(|arm| hopeless(trials, Stage::Calibrate, &arm.name));
        if let Some(reason) = failing {
            return Err(Stopped::NoAnswer(format!(
                "{baseline} cannot be measured: {reason}"
            )));
        }
    }
    let document = &mut procedure.store.document;
    let equal = equal_blocks(&document.trials, &arms);
    let alpha = document.plan.alpha;
    let look = Look {
        blocks: wanted,
        alpha,
        overall: alpha,
    };
    let rule = Rule::at(&look, document.plan.margin, Better::Higher);
    let Ok(found) = stats::calibrate(&equal, &rule, document.seed) else {
        let reasons = document.trials.iter().rev().filter(|t| !t.counts());
        let why = reasons.filter_map(|t| t.reason.clone()).next();
        return Err(Stopped::NoAnswer(format!(
            "only {} of {wanted} blocks of the calibration could be measured whole, and fewer than six say nothing: {}",
            equal.len(),
            why.unwrap_or_default()
        )));
    };
    let ratios: Vec<f64> = equal.iter().map(|b| (b.copy / b.baseline).ln()).collect();
    let plan = &mut document.plan;
    let capacities: Vec<f64> = equal.iter().flat_map(|b| [b.baseline, b.copy]).collect();
    let equal_arms = EqualArms {
        log_ratios: &ratios,
        answers: judge::answers_a_window(&capacities, &plan.timing),
    };
    plan.detectable = judge::foreseen(
        plan.blocks,
        plan.alpha,
        equal_arms,
        found.allowance,
        run::SdSource::Calibration,
        document.seed,
    );
    let calibration = told(&found, baseline.settings);
    let sentence = sentence(&calibration, document.plan.margin);
    document.calibration = Some(calibration);
    procedure.save()?;
    if found.fitness == stats::Fitness::Refused {
        return Err(Stopped::NoAnswer(sentence));
    }
    procedure.watcher.on(Event::Note(sentence));
    Ok(())
}

/// The blocks in which both copies count, in the order in which they were measured.
fn equal_blocks(trials: &[Trial], [baseline, copy]: &[Arm; 2]) -> Vec<EqualBlock> {
    let of = |arm: &Arm, block: u32| {
        let mine = |t: &&Trial| {
            t.stage == Stage::Calibrate && t.block == block && t.arm == arm.name && t.counts()
        };
        let trial = trials.iter().find(mine)?;
        let capacity = trial.capacity_per_s().filter(|c| *c > 0.0)?;
        Some((capacity, trial.place))
    };
    judge::blocks(trials, Stage::Calibrate)
        .into_iter()
        .filter_map(|block| {
            let ((one, place), (other, after)) = (of(baseline, block)?, of(copy, block)?);
            Some(EqualBlock {
                baseline: one,
                copy: other,
                baseline_first: place < after,
            })
        })
        .collect()
}

fn told(found: &Calibrated, settings: Settings) -> Calibration {
    let comparison = &found.comparison;
    let ends = comparison.interval.map(|i| (i.low, i.high));
    let (low, high) = ends.unwrap_or((0.0, f64::MAX));
    Calibration {
        fitness: match found.fitness {
            stats::Fitness::Sound => Fitness::Sound,
            stats::Fitness::Widened => Fitness::Widened,
            stats::Fitness::Refused => Fitness::Refused,
        },
        settings,
        blocks: comparison.blocks,
        ratio: comparison.ratio,
        low,
        high,
        p: comparison.p,
        runs: found.runs,
        false_positives: found.false_positives,
        p_false_positives: found.p_false_positives,
        allowance: found.allowance,
        sd_log_ratio: found.noise.sd,
        sd_log_level: found.sd_of_levels,
        second_over_first: found.second_over_first,
        p_order: found.p_order,
    }
}

/// What it comes to, for a person.
pub fn sentence(calibration: &Calibration, margin: f64) -> String {
    let Calibration {
        settings,
        blocks,
        runs,
        false_positives,
        ..
    } = calibration;
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let found = format!(
        "{false_positives} of {} of six blocks called identical configurations different",
        run::counted(*runs, "run")
    );
    let differ = format!(
        "{settings} against itself: {:+.1} % ({:+.1} to {:+.1} %, {}); {found}",
        percent(calibration.ratio),
        percent(calibration.low),
        percent(calibration.high),
        run::counted(*blocks, "block")
    );
    match calibration.fitness {
        Fitness::Sound => format!("{differ}, no more than chance explains"),
        Fitness::Widened => format!(
            "{differ}, more than chance explains, so every interval is widened by {:.1} % on both sides",
            calibration.allowance * 100.0
        ),
        Fitness::Refused => format!(
            "{differ}, more than chance explains, and by more than the margin of {:.0} %: something tells two identical \
             servers apart here, and what it would do to different ones cannot be known. Look for what differs between \
             first and later starts (caches, hooks, other work on this machine) and calibrate again; a fair host is \
             refused at most once in twenty times",
            margin * 100.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ahead: &[f64]) -> Calibration {
        let block = |(index, ahead): (usize, &f64)| EqualBlock {
            baseline: 100.0,
            copy: 100.0 * ahead.exp(),
            baseline_first: index % 2 == 0,
        };
        let equal: Vec<EqualBlock> = ahead.iter().enumerate().map(block).collect();
        let found = stats::calibrate(&equal, &Rule::default(), 1).unwrap();
        told(&found, Settings::PUMA_DEFAULT)
    }

    #[test]
    fn what_follows_is_said() {
        let fair = [0.02, -0.01, 0.01, -0.02, 0.015, -0.01, 0.02, -0.015];
        let sound = of(&fair);
        assert_eq!((sound.fitness, sound.allowance), (Fitness::Sound, 0.0));
        assert!(sentence(&sound, 0.03).contains("0 of 3 runs of six blocks"));
        let off = of(&fair.map(|x: f64| 0.01 + x.abs() / 4.0));
        assert_eq!(off.fitness, Fitness::Widened);
        assert!(sentence(&off, 0.03).contains("widened by 1."), "{off:?}");
        let broken = of(&fair.map(|x: f64| -0.05 - x.abs()));
        assert_eq!(broken.fitness, Fitness::Refused);
        let said = sentence(&broken, 0.03);
        assert!(
            said.contains("margin of 3 %") && said.contains("3 of 3 runs"),
            "{said}"
        );
    }
}
