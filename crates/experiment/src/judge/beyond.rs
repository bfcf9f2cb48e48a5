//! Whether a candidate is beyond a given ratio to its baseline, rather than beyond 1.

use super::pairs::pairs;
use super::{Judging, told};
use run::{Comparison, Stage, Trial};
use stats::Rule;

/// A margin within which nothing lies; a rule needs one above 0.
const NO_MARGIN: f64 = 1e-9;

/// Compares `candidate` with `ratio` times the baseline, without a margin: `better` where it is better than that beyond doubt. The
/// estimate and its interval are those against the baseline itself. `None` where no block has both.
pub fn compare_beyond(
    trials: &[Trial],
    stage: Stage,
    arms: (&str, &str),
    judging: Judging,
    ratio: f64,
) -> Option<Comparison> {
    let metric = judging.metric;
    let of_both = pairs(trials, stage, metric, arms).into_iter();
    let scaled: Vec<(f64, f64)> = of_both
        .map(|(baseline, candidate)| (baseline * ratio, candidate))
        .collect();
    let rule = Rule {
        margin: NO_MARGIN,
        ..judging.rule(metric)
    };
    let judged = stats::compare(&scaled, &rule).ok()?;
    let found = told(stage, metric, arms, &judged, &rule);
    Some(Comparison {
        ratio: found.ratio * ratio,
        low: found.low.map(|low| low * ratio),
        high: found.high.map(|high| high * ratio),
        ..found
    })
}
