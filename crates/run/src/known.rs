//! What earlier runs of the same application on the same machine have shown.

use crate::counts::{counted, first_of};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What earlier runs of the same application on the same machine showed. It sets the plan and the order of the candidates; no figure,
/// comparison or verdict of this run uses it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Names of their folders, newest first.
    pub runs: Vec<String>,
    /// How much equal trials differ; absent where no block showed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<KnownNoise>,
    /// Seconds that a trial takes in addition to its windows, median; absent where no trial showed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around_windows_s: Option<f64>,
    /// What they measured of threads and workers, in the order of the runs.
    pub arms: Vec<KnownArm>,
}

/// How much equal trials differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownNoise {
    /// Standard deviation of the log ratio of the capacities of two equal trials with windows of one second. In windows of n seconds
    /// it is taken to be less by the square root of n.
    pub sd_log_ratio: f64,
    /// Degrees of freedom of that estimate.
    pub freedom: u32,
}

/// A configuration that an earlier run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownArm {
    /// The run.
    pub run: String,
    /// The configuration, which sets nothing else.
    pub settings: Settings,
    /// Its answers a second at full load, to be compared with those of the same run.
    pub capacity_per_s: f64,
    /// Whether it broke a limit that this run has, too.
    pub breaks: bool,
}

impl Known {
    /// What they showed and what it is used for, with windows of so many seconds.
    #[must_use]
    pub fn sentence(&self, window_s: f64) -> String {
        let noise = self.noise.map(|noise| {
            let share = 100.0 * noise.in_windows_of(window_s);
            format!("equal trials differ by {share:.1} % in windows of {window_s:.1} s")
        });
        let around = self
            .around_windows_s
            .map(|seconds| format!("a trial takes {seconds:.1} s in addition to its windows"));
        let arms: BTreeSet<String> = self
            .arms
            .iter()
            .map(|arm| arm.settings.to_string())
            .collect();
        let arms = (!arms.is_empty())
            .then(|| format!("{} measured", counted(arms.len(), "configuration")));
        let parts: Vec<String> = [noise, around, arms].into_iter().flatten().collect();
        format!(
            "known from earlier runs of this application ({}): {}; this sets the plan and the order of the candidates, and no verdict uses it",
            first_of(&self.runs, 1),
            parts.join(", ")
        )
    }
}

impl KnownNoise {
    /// The same with windows of so many seconds.
    fn in_windows_of(&self, window_s: f64) -> f64 {
        self.sd_log_ratio / window_s.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_are_named_by_the_newest() {
        let known = |runs: &[&str]| Known {
            runs: runs.iter().map(|run| (*run).to_owned()).collect(),
            noise: None,
            around_windows_s: None,
            arms: Vec::new(),
        };
        let named = |runs: &[&str]| known(runs).sentence(4.0);
        assert!(named(&["a"]).contains(" (a): "));
        assert!(named(&["c", "b", "a"]).contains(" (c and 2 more): "));
        let noise = Some(KnownNoise {
            sd_log_ratio: 0.04,
            freedom: 5,
        });
        let with_noise = Known {
            noise,
            around_windows_s: Some(5.24),
            ..known(&["a"])
        };
        assert_eq!(
            with_noise.sentence(4.0),
            "known from earlier runs of this application (a): equal trials differ by 2.0 % in windows of 4.0 s, a trial takes 5.2 s in \
             addition to its windows; this sets the plan and the order of the candidates, and no verdict uses it"
        );
    }
}
