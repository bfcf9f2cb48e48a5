//! The holdout: a group with the settings of the first arm, drawn like any arm. If it differs, something other than settings makes groups
//! differ here, and no comparison of this fleet can be trusted.
//!
//! It is tested at the looks, as one of the arms among which the error rate is shared out.

use super::{compare, shown};
use crate::experiment::Experiment;
use run::production::{Check, Comparison, Verdict};

/// The check, if there is a holdout and a look. If it fails, no comparison is left.
pub(super) fn check(experiment: &Experiment, comparisons: &mut [Comparison]) -> Option<Check> {
    let place = experiment.holdout()?;
    // The first arm is compared with nothing.
    let own = comparisons.get_mut(place - 1)?;
    let (arm, first) = (&experiment.arms[place].name, &experiment.arms[0].name);
    let figures = own.response_time.as_ref().map(shown);
    let (passed, sentence) = match (own.verdict, figures) {
        (Verdict::Better | Verdict::Worse, Some(figures)) => {
            let sentence = format!(
                "{arm} has the settings of {first}, and its mean response time differs: {figures}; look for a difference between the \
                 units that the draw does not make, such as nodes, versions or traffic of one group"
            );
            (Some(false), sentence)
        }
        (Verdict::NoDifference | Verdict::Undecided, Some(figures)) => {
            let sentence = format!(
                "{arm} has the settings of {first}, and no difference is found: mean response time {figures}"
            );
            own.sentence = format!("{sentence}.");
            (Some(true), sentence)
        }
        _ => (None, own.why_not.clone().unwrap_or_default()),
    };
    if passed == Some(false) {
        for (before, one) in comparisons.iter_mut().enumerate() {
            *one = compare::refused(experiment, before + 1, &sentence);
        }
    }
    Some(Check {
        name: "holdout".to_owned(),
        passed,
        sentence,
    })
}
