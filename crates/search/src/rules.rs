//! What is wanted, and how much may be spent on it.

use crate::{Observation, SearchError};
use serde::{Deserialize, Serialize};
use stats::Noise;

/// What makes one configuration better than another, among those that keep the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Most throughput within the limits, which is fewest servers for a rate.
    #[default]
    Throughput,
    /// Least latency at the rate that every arm is offered.
    Latency,
    /// Least memory that keeps the limits.
    Memory,
    /// Fewest processes that keep the limits.
    Processes,
}

impl Objective {
    /// What is less than another by its configuration alone has nothing but the limits to lose by: the least would always lead, so
    /// so that only an arm that is shown to keep them may.
    pub(crate) fn wants_proof(self) -> bool {
        matches!(self, Objective::Memory | Objective::Processes)
    }

    /// Greater is better, and a difference is the logarithm of a factor. `None` where the figure was not measured.
    pub fn score(self, seen: &Observation) -> Option<f64> {
        match self {
            Objective::Throughput => Some(seen.log_throughput),
            Objective::Latency => seen.log_latency.map(|x| -x),
            Objective::Memory => seen.log_memory.map(|x| -x),
            Objective::Processes => Some(-f64::from(seen.processes.max(1)).ln()),
        }
    }
}

/// How a search is done. Every rule has a default.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    pub objective: Objective,
    /// Differences within a factor of `1 + margin` do not matter.
    pub margin: f64,
    /// Two-sided level of the confirmation.
    pub alpha: f64,
    /// What identical arms were seen to differ by, a share; see [`stats::Rule`].
    pub allowance: f64,
    /// Blocks of the confirmation at most.
    pub blocks: u32,
    /// Blocks of a race, and of the ablation, at most.
    pub race_blocks: u32,
    /// Arms of a race at most, what it is compared with included.
    pub most_arms: usize,
    /// Trials in all; without it every stage has what it asks for.
    pub trials: Option<u32>,
    /// Scatter of the log ratios of equal arms in earlier runs. It counts for the number of blocks and for what untried points promise;
    /// estimates and their errors rest on the trials of this search.
    pub noise: Option<Noise>,
    /// Natural logarithm of the memory limit, so that combinations that would break it are not tried.
    pub log_memory_limit: Option<f64>,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            objective: Objective::Throughput,
            margin: 0.03,
            alpha: 0.05,
            allowance: 0.0,
            blocks: 9,
            race_blocks: 3,
            most_arms: 8,
            trials: None,
            noise: None,
            log_memory_limit: None,
        }
    }
}

impl Rules {
    pub(crate) fn check(&self) -> Result<(), SearchError> {
        let open = |name, value: f64| {
            if value > 0.0 && value < 1.0 {
                Ok(())
            } else {
                Err(SearchError::Rule {
                    name,
                    value,
                    limits: "between 0 and 1, for instance 0.03",
                })
            }
        };
        open("margin", self.margin)?;
        open("alpha", self.alpha)?;
        let at_least = |name, value: f64, least: f64, limits| {
            if value >= least {
                Ok(())
            } else {
                Err(SearchError::Rule {
                    name,
                    value,
                    limits,
                })
            }
        };
        at_least("allowance", self.allowance, 0.0, "0 or more")?;
        at_least("race blocks", f64::from(self.race_blocks), 1.0, "1 or more")?;
        at_least("arms", self.most_arms as f64, 2.0, "2 or more")?;
        if stats::looks(self.blocks, self.alpha, 0).is_none() {
            return Err(SearchError::Rule {
                name: "blocks",
                value: f64::from(self.blocks),
                limits: "enough for a verdict: 6 or more at 0.05",
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standing;

    #[test]
    fn whatever_is_wanted_more_of_it_scores_higher() {
        let small = Observation {
            log_throughput: 4.0,
            log_latency: Some(2.0),
            log_memory: Some(20.0),
            processes: 2,
            threads: 5,
            standing: Standing::Meets,
        };
        let better = Observation {
            log_throughput: 4.1,
            log_latency: Some(1.9),
            log_memory: Some(19.9),
            processes: 1,
            ..small
        };
        use Objective::{Latency, Memory, Processes, Throughput};
        for objective in [Throughput, Latency, Memory] {
            let gap = objective.score(&better).unwrap() - objective.score(&small).unwrap();
            assert!((gap - 0.1).abs() < 1e-12, "{objective:?}");
        }
        let gap = Processes.score(&better).unwrap() - Processes.score(&small).unwrap();
        assert!((gap - 2.0_f64.ln()).abs() < 1e-12);
        let unmeasured = Observation {
            log_latency: None,
            ..small
        };
        assert_eq!(Latency.score(&unmeasured), None);
    }
}
