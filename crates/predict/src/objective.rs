//! The highest rate that meets an objective, and its interval: from the same means over the trace and its draws, and the same
//! intervals, as the figures at the rates that were asked, so that neither contradicts the other.

use crate::{Figures, Prediction, Within};
use small_sort::SmallSort;

/// At most so much of what is slower is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// Such as 99.
    pub percentile: f64,
    pub limit_ms: f64,
}

/// The highest rate that meets the objective; 0 where none does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtObjective {
    pub rate_per_s: f64,
    pub low_per_s: f64,
    pub high_per_s: f64,
}

/// The time at an objective's percentile, with its 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slow {
    low_ms: f64,
    centre_ms: f64,
    high_ms: f64,
}

impl Slow {
    /// A percentile that is none of the figures has the interval of the p99.
    pub fn of(prediction: &Prediction, within: &Within, percentile: f64) -> Self {
        if prediction.is_saturated() {
            let endless = f64::INFINITY;
            return Self {
                low_ms: endless,
                centre_ms: endless,
                high_ms: endless,
            };
        }
        let which: fn(&Figures) -> f64 = match percentile {
            50.0 => |figures| figures.p50_ms,
            95.0 => |figures| figures.p95_ms,
            _ => |figures| figures.p99_ms,
        };
        let figure_ms = which(&prediction.figures);
        let centre_ms = quantile_ms(prediction, percentile);
        let part = centre_ms / figure_ms.max(f64::MIN_POSITIVE);
        Self {
            low_ms: which(&within.low) * part,
            centre_ms,
            high_ms: which(&within.high) * part,
        }
    }
}

/// A percentile of the response times, ms: over the draws too, where it is one of the figures.
pub(crate) fn quantile_ms(found: &Prediction, percentile: f64) -> f64 {
    let figures = &found.figures;
    let known = [
        (50.0, figures.p50_ms),
        (95.0, figures.p95_ms),
        (99.0, figures.p99_ms),
    ];
    if let Some((_, ms)) = known.into_iter().find(|(which, _)| *which == percentile) {
        return ms;
    }
    let mut times = found.response_ns.clone();
    let count = times.len();
    if count == 0 {
        return 0.0;
    }
    let rank = ((percentile / 100.0 * count as f64).ceil() as usize).clamp(1, count);
    *times.select_nth_unstable(rank - 1).1 as f64 / 1e6
}

/// Rates in ascending order, and what is known at each.
pub(crate) struct Looked {
    rates: Vec<(f64, Option<Slow>)>,
}

impl Looked {
    /// `asked` are the rates whose figures are shown; `others` are looked at where the answer lies near them.
    pub fn new(asked: &[(f64, Slow)], others: impl Iterator<Item = f64>) -> Self {
        let mut rates: Vec<(f64, Option<Slow>)> = asked
            .iter()
            .map(|&(rate, slow)| (rate, Some(slow)))
            .collect();
        rates.extend(others.map(|rate| (rate, None)));
        rates.small_sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { rates }
    }

    /// The highest rate within the limit; `near` is about where it lies, which saves looks at other rates.
    pub fn highest<E>(
        &mut self,
        limit_ms: f64,
        near: f64,
        mut look: impl FnMut(f64) -> Result<Slow, E>,
    ) -> Result<AtObjective, E> {
        let rate_per_s = self.crossing(limit_ms, near, |slow| slow.centre_ms, &mut look)?;
        let low_per_s = self.crossing(limit_ms, rate_per_s, |slow| slow.high_ms, &mut look)?;
        let high_per_s = self.crossing(limit_ms, rate_per_s, |slow| slow.low_ms, &mut look)?;
        Ok(AtObjective {
            rate_per_s,
            low_per_s: low_per_s.min(rate_per_s),
            high_per_s: high_per_s.max(rate_per_s),
        })
    }

    /// Times grow with the rate: the lowest rate that is known to exceed the limit is above the answer, whatever chance shows
    /// beyond it. Between two neighbours it is on a straight line.
    fn crossing<E>(
        &mut self,
        limit_ms: f64,
        near: f64,
        of: impl Fn(&Slow) -> f64,
        look: &mut impl FnMut(f64) -> Result<Slow, E>,
    ) -> Result<f64, E> {
        loop {
            let known = |slow: &Option<Slow>| slow.as_ref().map(&of);
            let exceeds =
                |(_, slow): &(f64, Option<Slow>)| known(slow).is_some_and(|ms| ms > limit_ms);
            let above = self.rates.iter().position(exceeds);
            let below = self.rates[..above.unwrap_or(self.rates.len())]
                .iter()
                .rposition(|(_, slow)| slow.is_some());
            let from = below.map_or(0, |at| at + 1);
            let to = above.unwrap_or(self.rates.len());
            let nearest = (from..to).min_by(|&a, &b| {
                let off = |at: usize| (self.rates[at].0 - near).abs();
                off(a).total_cmp(&off(b))
            });
            if let Some(at) = nearest {
                self.rates[at].1 = Some(look(self.rates[at].0)?);
                continue;
            }
            let at = |index: usize| {
                let (rate, slow) = &self.rates[index];
                (*rate, known(slow).unwrap_or(f64::INFINITY))
            };
            return Ok(match (below.map(at), above.map(at)) {
                (None, _) => 0.0,
                (Some((rate, _)), None) => rate,
                (Some((rate, ms)), Some((more, slower_ms))) => {
                    rate + (more - rate) * (limit_ms - ms) / (slower_ms - ms)
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// 10 % either way.
    fn slow(centre_ms: f64) -> Slow {
        Slow {
            low_ms: centre_ms * 0.9,
            centre_ms,
            high_ms: centre_ms * 1.1,
        }
    }

    fn highest(
        asked: &[(f64, f64)],
        limit_ms: f64,
        near: f64,
        curve: fn(f64) -> f64,
    ) -> (AtObjective, usize) {
        let asked: Vec<(f64, Slow)> = asked.iter().map(|&(rate, ms)| (rate, slow(ms))).collect();
        let others = (1..=10).map(|nth| f64::from(nth) * 10.0);
        let mut looks = 0;
        let found = Looked::new(&asked, others).highest(limit_ms, near, |rate| {
            looks += 1;
            Ok::<_, Infallible>(slow(curve(rate)))
        });
        let Ok(found) = found;
        (found, looks)
    }

    #[test]
    fn the_interval_of_the_rate_is_where_the_interval_of_the_time_holds_the_limit() {
        let (found, looks) = highest(&[], 55.0, 52.0, |rate| rate);
        assert!((found.rate_per_s - 55.0).abs() < 1e-9, "{found:?}");
        assert!((found.low_per_s - 50.0).abs() < 1e-9, "{found:?}");
        assert!((found.high_per_s - 55.0 / 0.9).abs() < 1e-9, "{found:?}");
        // 50, 60 and 70 decide, and 40 or so is not looked at.
        assert!(looks <= 4, "{looks}");
    }

    /// What is shown at a rate that was asked is never beyond the limit where the answer says that the rate meets it, and the
    /// other way round.
    #[test]
    fn rates_that_were_asked_are_not_contradicted() {
        for shown_ms in [40.0, 54.0, 56.0, 80.0] {
            // Other rates alone would put the limit at 55.
            let (found, _) = highest(&[(52.0, shown_ms)], 55.0, 55.0, |rate| rate);
            let of = slow(shown_ms);
            assert_eq!(
                shown_ms <= 55.0,
                52.0 <= found.rate_per_s,
                "{shown_ms}: {found:?}"
            );
            assert_eq!(
                of.high_ms <= 55.0,
                52.0 <= found.low_per_s,
                "{shown_ms}: {found:?}"
            );
            assert_eq!(
                of.low_ms <= 55.0,
                52.0 <= found.high_per_s,
                "{shown_ms}: {found:?}"
            );
        }
    }

    #[test]
    fn a_limit_beyond_all_rates_or_below_them_ends_at_the_last_or_at_none() {
        let rate = |found: (AtObjective, usize)| found.0.rate_per_s;
        assert_eq!(rate(highest(&[], 1_000.0, 50.0, |rate| rate)), 100.0);
        assert_eq!(rate(highest(&[], 5.0, 50.0, |rate| rate)), 0.0);
        assert_eq!(
            rate(highest(&[(4.0, 4.0)], 5.0, 50.0, |_| 9.0)),
            4.0 + 6.0 / 5.0
        );
        // A queue without an end is beyond any limit.
        let (found, _) = highest(&[], 1e9, 50.0, |rate| {
            if rate > 70.0 { f64::INFINITY } else { rate }
        });
        assert_eq!((found.low_per_s, found.high_per_s), (70.0, 70.0));
    }
}
