//! `--at-least`: one rate is offered until it surely meets the objective or surely does not.

use super::{Judge, MOST_LATE, Search, counted, too_many};
use crate::error::Failure;
use crate::rates::figure::figure;
use crate::rates::lengths::Lengths;
use crate::rates::violations::{ALPHA, judge};
use capacity::RateBounds;
use run::RatePurpose;

/// Most windows: each look at the evidence takes its share of the error that is allowed.
const MOST_WINDOWS: u32 = 20;

impl Search<'_> {
    /// Takes the time of a curve whose rates were not requested, where the search itself did not show it. Returns the number of looks that
    /// were planned: the error that is allowed is divided by it (Bonferroni), since the first look that is sure ends it.
    pub(super) fn at_least(
        &mut self,
        rates: &mut capacity::RateSearch<Judge<'_>>,
        lengths: Lengths,
    ) -> Result<u32, Failure> {
        let Some(per_s) = self.question.at_least.filter(|_| self.ended.is_none()) else {
            return Ok(1);
        };
        let needs_s = lengths.full_s + self.aside_s();
        let windows = ((self.left_for_the_answer_s(lengths) / needs_s) as u32).min(MOST_WINDOWS);
        let looks = 1 + windows;
        let allowed = self.question.objective.allowed_violation_rate();
        let strict = judge(allowed, self.question.seed, ALPHA / f64::from(looks));
        let (mut counting, mut late) = (0, 0);
        while self.ended.is_none()
            && counting < windows
            && rates.surely(per_s, &strict).is_none()
            && self.left_for_the_answer_s(lengths) >= lengths.full_s + self.aside_s()
        {
            let Some(trial) = self.offer(per_s, lengths.full_s, RatePurpose::Assure)? else {
                break;
            };
            if let Some(why) = &trial.refused {
                late += 1;
                if late >= MOST_LATE {
                    self.warnings.push(format!(
                        "{} a second was given up: {}",
                        figure(per_s),
                        too_many(late, why)
                    ));
                    break;
                }
                continue;
            }
            late = 0;
            counting += 1;
            rates.record(counted(&trial));
        }
        if let Some((_, why)) = &self.ended {
            self.warnings.push(format!(
                "nothing more was measured after the windows of --at-least: {why}"
            ));
        }
        Ok(looks)
    }
}

/// What may be said next to the answer of the search. No rate that the closed loop does not reach can be carried for
/// long, whatever short windows show.
pub(super) fn verdict(
    surely: Option<bool>,
    per_s: f64,
    bounds: &RateBounds,
    saturated_per_s: f64,
) -> Option<bool> {
    let found = bounds.met_per_s.filter(|_| bounds.decided);
    let reached = found.is_some_and(|met| per_s <= met);
    let doubted = bounds.doubted_per_s.is_some_and(|rate| rate <= per_s);
    surely.filter(|meets| match meets {
        true => reached && !doubted && per_s < saturated_per_s,
        false => !reached,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use capacity::Ending;

    #[test]
    fn the_verdict_contradicts_no_answer() {
        let bounds = |met, doubted_per_s| RateBounds {
            ending: Ending::Found,
            met_per_s: Some(met),
            decided: true,
            broke_per_s: None,
            low_per_s: None,
            high_per_s: None,
            contradictory: false,
            doubted_per_s,
        };
        let of = |surely, bounds, saturated| verdict(surely, 90.0, &bounds, saturated);
        assert_eq!(of(Some(true), bounds(103.0, None), 120.0), Some(true));
        assert_eq!(of(Some(true), bounds(80.0, None), 120.0), None);
        assert_eq!(of(Some(true), bounds(103.0, Some(60.0)), 120.0), None);
        assert_eq!(of(Some(true), bounds(103.0, Some(95.0)), 120.0), Some(true));
        assert_eq!(of(Some(true), bounds(103.0, None), 90.0), None);
        assert_eq!(of(Some(false), bounds(80.0, None), 120.0), Some(false));
        assert_eq!(of(Some(false), bounds(103.0, None), 120.0), None);
        assert_eq!(of(None, bounds(103.0, None), 120.0), None);
    }
}
