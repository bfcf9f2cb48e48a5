//! What the time did not allow: candidates that were not tried or not confirmed, and the budget that allows it.

use super::candidate::CandidateArm;
use super::choose::Finalists;
use crate::budget::{self, Shape};
use crate::procedure::Procedure;
use crate::request::Arm;
use run::{Answer, Comparison, Stage};

/// Says so where the race showed more of an arm than was confirmed of another, and no time was left to confirm it too.
pub fn warn_of_unconfirmed(procedure: &mut Procedure<'_>, baseline: &Arm, finalists: &Finalists) {
    let Some(second) = &finalists.second else {
        return;
    };
    let document = &procedure.store.document;
    let of = |stage: Stage, arm: &Arm| {
        let mut mine = document.comparisons.iter();
        mine.find(|c| c.stage == stage && c.candidate == arm.name && c.baseline == baseline.name)
    };
    let (Some(raced), Some(confirmed), None) = (
        of(Stage::Race, second),
        of(Stage::Confirm, &finalists.challenger),
        of(Stage::Confirm, second),
    ) else {
        return;
    };
    let changes = document.verdict.as_ref();
    let changes = changes.is_some_and(|v| matches!(v.answer, Answer::Change | Answer::Smaller));
    if changes && raced.ratio <= confirmed.ratio {
        return;
    }
    let warning = unconfirmed(second, raced, &finalists.challenger);
    procedure.store.document.warnings.push(warning);
}

fn unconfirmed(second: &Arm, raced: &Comparison, challenger: &Arm) -> String {
    format!(
        "{second} showed {:+.0} % in {} and did not take part in the deciding comparison, because the budget had room for {challenger} \
         only; powerband compare {} {}, with the application and the requests of this run, compares the two",
        (raced.ratio - 1.0) * 100.0,
        run::counted(raced.blocks, "elimination round"),
        challenger.settings.typed(),
        second.settings.typed()
    )
}

/// Says what a comparison without elimination rounds leaves open.
pub fn warn_of_one_candidate(procedure: &mut Procedure<'_>, candidate: &CandidateArm) {
    let more = match procedure.experiment.max_arms {
        Some(..=2) => "; --max-arms 3 or more tries several".to_owned(),
        _ => budget_with(procedure, |shape| shape.race_blocks > 0)
            .map_or_else(String::new, |budget| format!("; {budget} tries several")),
    };
    let doubt = match procedure.store.document.model {
        Some(_) => "the prediction may be wrong, and others better",
        None => "others may be better",
    };
    let warning = format!(
        "{} is the only candidate that was tried ({}): {doubt}{more}",
        candidate.arm, candidate.because
    );
    procedure.store.document.warnings.push(warning);
}

/// The flag with the least budget whose plan is like this.
fn budget_with(procedure: &Procedure<'_>, has: impl Fn(&Shape) -> bool) -> Option<String> {
    let document = &procedure.store.document;
    let after_pilot = document.trials.iter().find(|t| t.stage != Stage::Pilot);
    let seconds = budget::least_with(
        has,
        after_pilot.map_or(0.0, |trial| trial.started_s),
        document.plan.objective.latency.is_some(),
        procedure.overhead()?,
        super::windows(procedure),
        super::wishes(procedure.experiment),
    )?;
    Some(format!("--budget {:.0}m", seconds / 60.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Settings;

    #[test]
    fn the_two_finalists_are_typed_as_compare_takes_them() {
        let arm = |workers, threads| {
            Arm::of(Settings {
                workers,
                threads,
                preload: true,
            })
        };
        let document = crate::sample::document("tune");
        let raced = Comparison {
            ratio: 2.18,
            blocks: 1,
            ..document.comparisons[0].clone()
        };
        let said = unconfirmed(&arm(2, 6), &raced, &arm(0, 8));
        for part in [
            "2 workers × 6 threads, preloaded showed +118 % in 1 elimination round and did not",
            "room for single × 8 threads only; powerband compare threads=8,workers=0 threads=6,workers=2,preload=true, with",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
