//! Which arms need not run any further.
//!
//! Racing only drops arms; it proves nothing, and its levels are lenient on
//! purpose: a wrong drop costs a second-best arm, a wrong keep costs trials.
//! The winner is proved on fresh blocks by `compare`. Arms that break a limit
//! are `violation`'s to judge.

use serde::{Deserialize, Serialize};

use crate::{SignedRank, StatsError, summary};

/// One arm of the race so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmSoFar {
    pub name: String,
    /// Natural log of the throughput in each block, paired across arms by
    /// position; `None` where the trial failed.
    pub log_throughput: Vec<Option<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RaceRule {
    /// An arm must lose by more than this factor to be dropped.
    pub margin: f64,
    /// One-sided level of the drop. At 0.25 two blocks that agree are enough.
    pub level: f64,
    /// Blocks that both arms must share before either is judged by the other.
    pub least_blocks: usize,
    /// Never fewer arms than this.
    pub keep: usize,
    /// Trials the budget still allows, where there is a budget: when they
    /// cannot give each arm one more, the race is halved until they can.
    pub trials_left: Option<usize>,
}

impl Default for RaceRule {
    fn default() -> Self {
        Self {
            margin: 0.03,
            level: 0.25,
            least_blocks: 2,
            keep: 1,
            trials_left: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Clearly worse than the leader, with the one-sided p.
    Worse { p: f64 },
    /// In the lower half when the budget ran short: not shown to be worse.
    Budget,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// Index into the arms.
    pub arm: usize,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Index of the arm with the greatest median over the blocks it ran.
    pub leader: Option<usize>,
    /// In the order of dropping.
    pub dropped: Vec<Dropped>,
}

/// Judges every arm against the leader; hand over live arms only.
///
/// # Errors
/// A log throughput that is not finite.
pub fn step(arms: &[ArmSoFar], rule: &RaceRule) -> Result<Step, StatsError> {
    let mut ranking = ranking(arms)?;
    let leader = ranking.first().copied();
    let mut dropped = Vec::new();
    let Some(best) = leader else {
        return Ok(Step { leader, dropped });
    };
    let keep = rule.keep.max(1);
    for arm in (0..arms.len()).filter(|arm| *arm != best) {
        if let Some(p) = loses(&arms[arm], &arms[best], rule)?
            && p <= rule.level
        {
            dropped.push(Dropped {
                arm,
                why: Why::Worse { p },
            });
        }
    }
    // The floor saves the best of those that would go.
    dropped.sort_by_key(|d| std::cmp::Reverse(ranking.iter().position(|arm| *arm == d.arm)));
    dropped.truncate(arms.len().saturating_sub(keep));
    ranking.retain(|arm| dropped.iter().all(|d| d.arm != *arm));
    while rule.trials_left.is_some_and(|left| left < ranking.len()) && ranking.len() > keep {
        let half = ranking.len().div_ceil(2).max(keep);
        let out = ranking.drain(half..).rev().map(|arm| Dropped {
            arm,
            why: Why::Budget,
        });
        dropped.extend(out);
    }
    Ok(Step { leader, dropped })
}

/// All arms, best median first; an arm without a single block comes last.
fn ranking(arms: &[ArmSoFar]) -> Result<Vec<usize>, StatsError> {
    let mut medians = Vec::with_capacity(arms.len());
    for arm in arms {
        let ran: Vec<f64> = arm.log_throughput.iter().flatten().copied().collect();
        if let Some(index) = ran.iter().position(|x| !x.is_finite()) {
            return Err(StatsError::NotFinite {
                index,
                value: ran[index],
            });
        }
        medians.push(summary::median(&ran).unwrap_or(f64::NEG_INFINITY));
    }
    let mut order: Vec<usize> = (0..arms.len()).collect();
    order.sort_by(|&a, &b| medians[b].total_cmp(&medians[a]));
    Ok(order)
}

/// The one-sided p of "not worse than the leader by more than the margin",
/// or `None` while they share too few blocks.
fn loses(arm: &ArmSoFar, leader: &ArmSoFar, rule: &RaceRule) -> Result<Option<f64>, StatsError> {
    let shared = arm.log_throughput.iter().zip(&leader.log_throughput);
    let gaps: Vec<f64> = shared.filter_map(|(a, l)| Some((*a)? - (*l)?)).collect();
    if gaps.is_empty() || gaps.len() < rule.least_blocks {
        return Ok(None);
    }
    let test = SignedRank::of(&gaps)?.against(-rule.margin.ln_1p())?;
    Ok(Some(test.p_less()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(name: &str, rates: &[f64]) -> ArmSoFar {
        ArmSoFar {
            name: name.to_owned(),
            log_throughput: rates.iter().map(|r| (*r > 0.0).then(|| r.ln())).collect(),
        }
    }

    fn out(step: &Step) -> Vec<usize> {
        step.dropped.iter().map(|d| d.arm).collect()
    }

    #[test]
    fn drops_what_lost_every_block_by_more_than_the_margin() {
        let arms = [
            arm("best", &[100.0, 90.0]),
            arm("close", &[99.0, 89.0]),
            arm("mixed", &[80.0, 95.0]),
            arm("worse", &[70.0, 60.0]),
        ];
        let step = step(&arms, &RaceRule::default()).unwrap();
        assert_eq!((step.leader, out(&step)), (Some(0), vec![3]));
        assert_eq!(step.dropped[0].why, Why::Worse { p: 0.25 });
    }

    #[test]
    fn one_block_drops_nothing_and_failed_trials_do_not_count() {
        let arms = [arm("best", &[100.0, 90.0]), arm("failed", &[50.0, 0.0])];
        assert!(
            step(&arms, &RaceRule::default())
                .unwrap()
                .dropped
                .is_empty()
        );
        assert_eq!(step(&[], &RaceRule::default()).unwrap().leader, None);
    }

    #[test]
    fn a_short_budget_halves_the_race() {
        let rates = [100.0, 99.0, 98.0, 97.5, 97.2];
        let arms: Vec<ArmSoFar> = rates.iter().map(|r| arm("a", &[*r, *r])).collect();
        let rule = RaceRule {
            trials_left: Some(3),
            ..RaceRule::default()
        };
        let step = step(&arms, &rule).unwrap();
        assert_eq!(out(&step), [4, 3]);
        assert_eq!(step.dropped[0].why, Why::Budget);
    }

    #[test]
    fn the_floor_saves_the_best_of_the_losers() {
        let arms = [
            arm("best", &[100.0, 100.0]),
            arm("third", &[50.0, 50.0]),
            arm("second", &[70.0, 70.0]),
        ];
        let rule = RaceRule {
            keep: 2,
            ..RaceRule::default()
        };
        assert_eq!(out(&step(&arms, &rule).unwrap()), [1]);
    }
}
