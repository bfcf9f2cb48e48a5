//! What `advise` suggests, measured against what runs today.

use crate::change::change_with_interval;
use crate::feasibility::Feasibility;
use crate::metric::Metric;
use crate::verdict::{Comparison, Outcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Suggestions of `powerband advise`, each measured against what runs today.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// What runs today, as `powerband compare` takes it.
    pub today: String,
    /// Variables of memory that today's server has, which every trial gets.
    pub environment: BTreeMap<String, String>,
    /// Each suggestion, in the order of the advice.
    pub suggestions: Vec<Tested>,
    /// All suggestions that were kept, in one configuration, against today's on fresh blocks; absent where none was kept, where
    /// there is one suggestion in all, and while the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
}

/// A suggestion and what its trials showed. The intervals are those of `comparisons`, `latency` and `memory` with this arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tested {
    /// The check, as `docs/advise.md` lists it.
    pub check: String,
    /// Knobs and values, as `powerband compare` takes them.
    pub settings: BTreeMap<String, String>,
    /// The figures that suggest it.
    pub evidence: String,
    /// Name of its arm.
    pub arm: String,
    /// What its trials showed; absent in a rehearsal and while the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
}

/// The suggestions that were kept, together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// Knobs and values, as `powerband compare` takes them.
    pub settings: BTreeMap<String, String>,
    /// Name of its arm.
    pub arm: String,
    /// What the fresh blocks showed.
    pub judged: Judged,
}

/// A conclusion and its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// Kept, refuted or undecided.
    pub conclusion: Conclusion,
    /// The change of each figure with its interval, for a person.
    pub why: String,
}

/// What several figures of one change say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// One figure is better, and none is worse by more than the margin.
    Kept,
    /// A figure is worse, a limit is broken, or no figure can be better by more than the margin.
    Refuted,
    /// The intervals exclude neither.
    Undecided,
}

impl Conclusion {
    /// The word that tables show.
    pub fn word(self) -> &'static str {
        match self {
            Conclusion::Kept => "kept",
            Conclusion::Refuted => "refuted",
            Conclusion::Undecided => "undecided",
        }
    }

    /// Concludes from all figures of one arm. With a limit on latency that the arm is shown to keep, its response time counts as harmless
    /// unless it is shown to be longer.
    pub fn of(
        figures: &[&Comparison],
        margin: f64,
        standing: Feasibility,
        limits_latency: bool,
    ) -> Conclusion {
        let better = |c: &Comparison| c.outcome == Outcome::Better && !c.not_claimed;
        let in_time = limits_latency && standing == Feasibility::Meets;
        let harmless =
            |c: &Comparison| c.excludes_harm(margin) || in_time && c.metric == Metric::ResponseTime;
        let all = || figures.iter().copied();
        if standing == Feasibility::Breaks || all().any(|c| c.outcome == Outcome::Worse) {
            Conclusion::Refuted
        } else if all().any(|c| c.not_comparable.is_some()) {
            Conclusion::Undecided
        } else if standing == Feasibility::Meets && all().any(better) && all().all(harmless) {
            Conclusion::Kept
        } else if !figures.is_empty() && all().all(|c| c.excludes_gain(margin)) {
            Conclusion::Refuted
        } else {
            Conclusion::Undecided
        }
    }
}

/// What a change may help, and must not harm.
const METRICS: [Metric; 3] = [Metric::Capacity, Metric::Memory, Metric::ResponseTime];

impl Judged {
    /// As [`Conclusion::of`], with the change of each figure. Where one is missing, the change may be worse there: it is not kept.
    pub fn of(
        figures: &[&Comparison],
        margin: f64,
        standing: Feasibility,
        limits_latency: bool,
    ) -> Judged {
        let described = |c: &&Comparison| {
            let change = change_with_interval(c.ratio, c.low, c.high);
            let metric = c.metric.words();
            match (&c.not_comparable, c.outcome) {
                (Some(why), _) => format!("{metric} not comparable: {why}"),
                (None, Outcome::Equivalent) => format!("{metric} equivalent"),
                (None, Outcome::Undecided) => format!("{metric} {change}, undecided"),
                (None, Outcome::Better | Outcome::Worse) => format!("{metric} {change}"),
            }
        };
        let mut why: Vec<String> = figures.iter().map(described).collect();
        why.extend((standing == Feasibility::Breaks).then(|| "breaks a limit".to_owned()));
        let conclusion = Conclusion::of(figures, margin, standing, limits_latency);
        let missing = METRICS
            .into_iter()
            .filter(|metric| figures.iter().all(|figure| figure.metric != *metric));
        let missing: Vec<String> = missing
            .map(|metric| format!("no {}", metric.words()))
            .collect();
        if missing.is_empty() || conclusion == Conclusion::Refuted {
            return Judged {
                conclusion,
                why: why.join("; "),
            };
        }
        why.push(missing.join(" and "));
        Judged {
            conclusion: Conclusion::Undecided,
            why: why.join("; "),
        }
    }
}

impl Comparison {
    /// Whether the interval excludes that the candidate is worse by more than the margin.
    pub fn excludes_harm(&self, margin: f64) -> bool {
        matches!(self.outcome, Outcome::Better | Outcome::Equivalent)
            || match self.metric.less_is_better() {
                true => self.high.is_some_and(|high| high <= 1.0 + margin),
                false => self.low.is_some_and(|low| low * (1.0 + margin) >= 1.0),
            }
    }

    /// Whether the interval excludes that the candidate is better by more than the margin.
    pub fn excludes_gain(&self, margin: f64) -> bool {
        matches!(self.outcome, Outcome::Worse | Outcome::Equivalent)
            || match self.metric.less_is_better() {
                true => self.low.is_some_and(|low| low * (1.0 + margin) >= 1.0),
                false => self.high.is_some_and(|high| high <= 1.0 + margin),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Stage;

    fn figure(metric: Metric, outcome: Outcome, low: f64, high: f64) -> Comparison {
        Comparison {
            stage: Stage::Compare,
            baseline: "today".to_owned(),
            candidate: "one".to_owned(),
            metric,
            outcome,
            ratio: (low * high).sqrt(),
            low: Some(low),
            high: Some(high),
            confidence: Some(0.95),
            p: 0.03,
            blocks: 6,
            sd_log_ratio: Some(0.01),
            blocks_to_decide: None,
            not_comparable: None,
            not_claimed: false,
        }
    }

    fn concluded(figures: &[Comparison]) -> Conclusion {
        let figures: Vec<&Comparison> = figures.iter().collect();
        Conclusion::of(&figures, 0.05, Feasibility::Meets, false)
    }

    #[test]
    fn one_gain_is_kept_where_the_other_intervals_exclude_harm() {
        use Outcome::{Better, Undecided, Worse};
        let faster = || figure(Metric::Capacity, Better, 1.1, 1.2);
        let memory = |outcome, low, high| figure(Metric::Memory, outcome, low, high);
        let open = |high| memory(Undecided, 0.9, high);
        assert_eq!(concluded(&[faster(), open(1.04)]), Conclusion::Kept);
        assert_eq!(concluded(&[faster(), open(1.06)]), Conclusion::Undecided);
        let more = memory(Worse, 1.2, 1.3);
        assert_eq!(concluded(&[faster(), more]), Conclusion::Refuted);
        let withdrawn = Comparison {
            not_comparable: Some("requests failed".to_owned()),
            ..open(1.04)
        };
        assert_eq!(concluded(&[faster(), withdrawn]), Conclusion::Undecided);
        let standing = |standing| Conclusion::of(&[&faster()], 0.05, standing, true);
        assert_eq!(standing(Feasibility::Breaks), Conclusion::Refuted);
        assert_eq!(standing(Feasibility::Unclear), Conclusion::Undecided);
    }

    #[test]
    fn what_can_bring_no_more_than_the_margin_is_refuted() {
        use Outcome::{Equivalent, Undecided};
        let throughput = |high| figure(Metric::Capacity, Undecided, 0.9, high);
        let memory = figure(Metric::Memory, Equivalent, 0.99, 1.01);
        let refuted = concluded(&[throughput(1.04), memory.clone()]);
        assert_eq!(refuted, Conclusion::Refuted);
        let open = concluded(&[throughput(1.06), memory]);
        assert_eq!(open, Conclusion::Undecided);
        assert_eq!(concluded(&[]), Conclusion::Undecided);
    }

    #[test]
    fn an_objective_that_is_kept_bounds_the_response_time() {
        let figures = [
            figure(Metric::Memory, Outcome::Better, 0.7, 0.8),
            figure(Metric::ResponseTime, Outcome::Undecided, 0.8, 1.3),
        ];
        let figures: Vec<&Comparison> = figures.iter().collect();
        let of = |limits| Conclusion::of(&figures, 0.05, Feasibility::Meets, limits);
        assert_eq!(
            (of(true), of(false)),
            (Conclusion::Kept, Conclusion::Undecided)
        );
    }
}
