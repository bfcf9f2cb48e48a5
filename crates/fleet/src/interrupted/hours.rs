//! What the whole fleet did in each hour of the two periods, as Prometheus adds it up.
//!
//! Prometheus subtracts here (`increase`), other than in an experiment: no instance is compared with another one, `increase` handles
//! counters that begin at 0 again in a deployment, and the answer has one number an hour, however many instances there are.

use super::periods::{HOUR_S, Periods, Side};
use crate::join::Bound;
use crate::query::{Family, Query, Span};
use crate::series::Answered;
use std::collections::{BTreeMap, BTreeSet};

/// Hours of one query: Prometheus reads all scrapes of them.
const HOURS_OF_QUERY: i64 = 24;

/// The queries for both periods; `matchers` are label matchers, as `job="shop"`. [`Family::Arms`] is asked for the number of instances.
pub fn hour_queries(periods: &Periods, matchers: &str) -> Vec<(Side, Query)> {
    let of = |family: Family| format!("{}{{{matchers}}}", family.name());
    let increase = |family: Family| format!("increase({}[1h])", of(family));
    let promql = |family: Family| match family {
        Family::Requests => format!("sum by (job) ({})", increase(family)),
        Family::Arms => format!("count(count by (instance) ({}))", of(family)),
        Family::Memory => format!("avg({})", of(family)),
        Family::Buckets => format!("sum by (le) ({})", increase(family)),
        family => format!("sum({})", increase(family)),
    };
    // Requests come first: without any, the others are not needed.
    let families = Family::NUMBERS
        .into_iter()
        .filter(|family| *family != Family::Starts)
        .chain([Family::Arms, Family::Buckets]);
    let mut all = Vec::new();
    for family in families {
        for side in Side::BOTH {
            let period = periods.of(side);
            let firsts = (period.from_s..period.to_s).step_by((HOURS_OF_QUERY * HOUR_S) as usize);
            all.extend(firsts.map(|first| {
                let span = Span {
                    from_s: first + HOUR_S,
                    to_s: period.to_s.min(first + HOURS_OF_QUERY * HOUR_S),
                    step_s: HOUR_S,
                };
                let promql = promql(family);
                (
                    side,
                    Query {
                        family,
                        promql,
                        span,
                    },
                )
            }));
        }
    }
    all
}

/// The answers to these queries.
#[derive(Debug, Clone)]
pub struct Hours {
    periods: Periods,
    /// A number for each hour; NaN where there is none.
    numbers: BTreeMap<(Side, Family), Vec<f64>>,
    /// Requests up to each bound, of all hours.
    buckets: BTreeMap<(Side, Bound), f64>,
    jobs: BTreeSet<String>,
    pub(super) warnings: BTreeSet<String>,
}

impl Hours {
    /// Nothing yet.
    pub fn of(periods: &Periods) -> Hours {
        Hours {
            periods: *periods,
            numbers: BTreeMap::new(),
            buckets: BTreeMap::new(),
            jobs: BTreeSet::new(),
            warnings: BTreeSet::new(),
        }
    }

    /// Adds the answer to a query.
    pub fn add(&mut self, side: Side, query: &Query, answer: Answered) {
        self.warnings.extend(answer.warnings);
        let first = (query.span.from_s - self.periods.of(side).from_s) / HOUR_S - 1;
        for series in answer.series {
            if query.family == Family::Buckets {
                let bound = series.labels.get("le").and_then(|le| Bound::parse(le));
                if let Some(bound) = bound {
                    let sum: f64 = series.points.iter().map(|(_, value)| value).sum();
                    *self.buckets.entry((side, bound)).or_default() += sum;
                }
                continue;
            }
            if query.family == Family::Requests {
                let job = series.labels.get("job").cloned();
                self.jobs.insert(job.unwrap_or_default());
            }
            let numbers = self.numbers.entry((side, query.family));
            let numbers = numbers.or_insert_with(|| vec![f64::NAN; self.periods.hours()]);
            for (step, value) in series.points {
                if let Some(number) = numbers.get_mut(first as usize + step) {
                    *number = match number.is_nan() {
                        true => value,
                        false => *number + value,
                    };
                }
            }
        }
    }

    /// Prometheus' label `job` of all requests, empty where they have none.
    pub fn jobs(&self) -> &BTreeSet<String> {
        &self.jobs
    }

    /// Whether no hour of this period has the family.
    pub fn is_without(&self, side: Side, family: Family) -> bool {
        !self.numbers.contains_key(&(side, family))
    }

    /// In an hour; `None` where it is not known.
    pub(super) fn number(&self, side: Side, family: Family, hour: usize) -> Option<f64> {
        let number = *self.numbers.get(&(side, family))?.get(hour)?;
        (!number.is_nan()).then_some(number)
    }

    /// Bounds of the histogram in seconds, and the requests between each and the one before.
    pub(super) fn histogram(&self, side: Side) -> (Vec<f64>, Vec<f64>) {
        let mut below = 0.0;
        let ours = self.buckets.iter().filter(|((of, _), _)| *of == side);
        ours.map(|((_, bound), up_to)| {
            let own = f64::max(up_to - below, 0.0);
            below = *up_to;
            (bound.seconds(), own)
        })
        .unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;

    fn periods() -> Periods {
        Periods::parse("2026-11-01/2026-11-03", "2026-11-08/2026-11-10").unwrap()
    }

    fn answered(labels: &[(&str, &str)], points: &[(usize, f64)]) -> Answered {
        let labels = labels
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Answered {
            series: vec![Series {
                labels: labels.collect(),
                points: points.to_vec(),
            }],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn every_hour_is_asked_for_once() {
        let all = hour_queries(&periods(), "job=\"shop\"");
        for side in Side::BOTH {
            let mine = all
                .iter()
                .filter(|(of, query)| *of == side && query.family == Family::Queue);
            let ends = mine.flat_map(|(_, query)| {
                (query.span.from_s..=query.span.to_s).step_by(query.span.step_s as usize)
            });
            let from_s = periods().of(side).from_s;
            let expected: Vec<i64> = (1..=48).map(|hour| from_s + hour * 3_600).collect();
            assert_eq!(ends.collect::<Vec<_>>(), expected);
        }
        assert_eq!(
            all[0].1.promql,
            "sum by (job) (increase(powerband_requests_total{job=\"shop\"}[1h]))"
        );
    }

    #[test]
    fn all_jobs_are_known_and_none_replaces_another() {
        let mut hours = Hours::of(&periods());
        let all = hour_queries(&periods(), "");
        let (side, requests) = &all[0];
        for (job, count) in [("shop", 7.0), ("admin", 2.0)] {
            hours.add(*side, requests, answered(&[("job", job)], &[(0, count)]));
        }
        assert!(hours.jobs().iter().eq(["admin", "shop"]));
        assert_eq!(hours.number(*side, Family::Requests, 0), Some(9.0));
    }

    #[test]
    fn answers_go_to_their_hours() {
        let mut hours = Hours::of(&periods());
        for (side, query) in hour_queries(&periods(), "") {
            let answer = match query.family {
                Family::Requests if side == Side::After => answered(&[], &[(0, 7.0), (23, 9.0)]),
                Family::Buckets => {
                    hours.add(side, &query, answered(&[("le", "0.1")], &[(3, 5.0)]));
                    answered(&[("le", "+Inf")], &[(3, 8.0), (4, 1.0)])
                }
                _ => continue,
            };
            hours.add(side, &query, answer);
        }
        assert!(hours.is_without(Side::Before, Family::Requests));
        let known: Vec<usize> = (0..48)
            .filter(|hour| hours.number(Side::After, Family::Requests, *hour).is_some())
            .collect();
        assert_eq!(known, [0, 23, 24, 47]);
        assert_eq!(hours.number(Side::After, Family::Requests, 47), Some(9.0));
        // Two days each.
        assert_eq!(
            hours.histogram(Side::Before),
            (vec![0.1, f64::INFINITY], vec![10.0, 8.0])
        );
    }
}
