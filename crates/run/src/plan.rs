//! What was decided before measuring.

use crate::environment::SetVariable;
use crate::metric::Metric;
use crate::sending::Sending;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was decided before measuring.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Folder of the application.
    pub app_dir: String,
    /// How its server is started, without settings; secrets as `REDACTED`.
    pub server_command: Vec<String>,
    /// `RAILS_ENV` and `RACK_ENV` of the server.
    pub environment: String,
    /// The requests, by weight.
    pub workload: Vec<WorkloadEntry>,
    /// The configuration that everything is compared with.
    pub baseline: Settings,
    /// What it sets in the server's environment; absent where that is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_environment: Vec<SetVariable>,
    /// Limits that a configuration must keep.
    pub objective: Objective,
    /// The memory limit of the cgroup, bytes, of which the objective's is 90 %; absent where that was given or there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_memory_bytes: Option<u64>,
    /// The margin within which two configurations count as equivalent, as a ratio less one (0.03 is 3 %).
    pub margin: f64,
    /// Two-sided error rate of the confirming test.
    pub alpha: f64,
    /// Time asked for, seconds; absent when the number of blocks was given instead.
    pub budget_s: Option<f64>,
    /// Blocks of the deciding comparison.
    pub blocks: u32,
    /// Arms: the most that the race takes in `tune`, baseline included; those named in `compare` and `sweep`.
    pub arms: u32,
    /// Blocks of the race that comes before it; 0 outside `tune`.
    pub race_blocks: u32,
    /// Arms that the confirmation has room for in addition to the baseline, where the race leaves as many; 0 outside `tune`, absent in
    /// older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalists: Option<u32>,
    /// Connections of every saturation window: twice the largest workers × threads in the plan.
    pub connections: u32,
    /// Arrival rate of every objective window after the pilot, requests per second; absent until the baseline is known.
    pub rate_per_s: Option<f64>,
    /// Answers a second of the baseline at full load, the fewest of the pilot's trials, of which `rate_per_s` is 70 %; absent where the rate
    /// was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_from_per_s: Option<f64>,
    /// Lengths of a trial's parts.
    pub timing: Timing,
    /// Minimum detectable effect of the deciding comparison.
    pub detectable: Detectable,
    /// When memory is compared; absent where that is after the windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<Age>,
    /// How generator and server share the cores.
    pub pinning: Pinning,
    /// How requests are sent; absent where no server is asked, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<Sending>,
}

/// One kind of request in the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkloadEntry {
    /// Its name in tables.
    pub name: String,
    /// HTTP method.
    pub method: String,
    /// Request target.
    pub path: String,
    /// Share of all requests, 0 to 1.
    pub share: f64,
}

/// Limits that a configuration must keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// The latency objective; absent when none was given, and capacity alone ranks.
    pub latency: Option<LatencyObjective>,
    /// Largest proportional set size of the whole process tree, bytes; absent when none was given.
    pub max_memory_bytes: Option<u64>,
    /// What there is to be as little of as possible within the limits; absent where the most throughput is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<Least>,
    /// What a configuration has to carry for that at least, requests per second; absent where any may win.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_carry_per_s: Option<f64>,
}

impl Objective {
    /// Whether a limit was given: on latency, memory or the rate to carry.
    pub fn is_limited(&self) -> bool {
        self.latency.is_some() || self.max_memory_bytes.is_some() || self.must_carry_per_s.is_some()
    }

    /// What configurations are compared by.
    pub fn metric(&self) -> Metric {
        match self.least {
            None => Metric::Capacity,
            Some(Least::Latency) => Metric::ResponseTime,
            Some(Least::Memory) => Metric::Memory,
            Some(Least::Processes) => Metric::Processes,
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.least.map(|least| format!("least {}", least.name())));
        parts.extend(self.latency.map(|latency| latency.to_string()));
        // As given: two limits never read alike.
        parts.extend(self.max_memory_bytes.map(|most| match most % (1 << 20) {
            0 => format!("memory of at most {} MiB", most >> 20),
            _ => format!("memory of at most {most} bytes"),
        }));
        let rate = self.must_carry_per_s;
        parts.extend(rate.map(|least| format!("a rate of at least {least}/s")));
        match parts.is_empty() {
            true => f.write_str("no limit"),
            false => f.write_str(&parts.join(", ")),
        }
    }
}

/// What there is to be as little of as possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Least {
    /// p95 of the response time at the common rate.
    Latency,
    /// Proportional set size of the whole process tree.
    Memory,
    /// Processes that run the application.
    Processes,
}

impl Least {
    fn name(self) -> &'static str {
        match self {
            Least::Latency => "latency",
            Least::Memory => "memory",
            Least::Processes => "processes",
        }
    }
}

/// So many of all requests within so much time, errors and timeouts counted as over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LatencyObjective {
    /// The percentile, over 0 and under 100.
    pub percentile: f64,
    /// Response time that it may not exceed, milliseconds from the scheduled time of the request.
    pub limit_ms: f64,
}

impl fmt::Display for LatencyObjective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{} ≤ {} ms", self.percentile, self.limit_ms)
    }
}

impl LatencyObjective {
    /// The share of requests that may exceed the limit.
    pub fn allowed_violation_rate(&self) -> f64 {
        1.0 - self.percentile / 100.0
    }

    /// The response time beyond which a request is late.
    pub fn limit(&self) -> std::time::Duration {
        std::time::Duration::from_secs_f64(self.limit_ms / 1e3)
    }
}

/// Lengths of a trial's parts, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Longest warm-up before a trial counts as not steady.
    pub warmup_max_s: f64,
    /// Closed-loop window that measures capacity.
    pub saturation_s: f64,
    /// Open-loop window that measures latency at the common rate.
    pub objective_s: f64,
}

/// When the memory of a trial is compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Age {
    /// Requests that the server has answered in the trial by then, those of the warm-up and of the windows included.
    pub requests: u64,
    /// Longest that a trial may take for those after its windows, seconds; null while nothing limits it.
    pub most_s: Option<f64>,
}

/// The smallest effect that the deciding comparison finds four times in five.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Detectable {
    /// Standard deviation of the log ratio of two equal arms in one block.
    pub sd_log_ratio: f64,
    /// Where that came from.
    pub source: SdSource,
    /// Minimum detectable effect as a ratio less one (0.08 is 8 %), simulated with the very test in use.
    /// Null where so few blocks can find none, as in a rehearsal, and where fewer than four pairs of trials show the noise.
    pub effect: Option<f64>,
}

/// From this effect on, a run finds nothing that a change of settings usually makes.
const EXTREME: f64 = 0.5;

impl Detectable {
    /// What a run can miss, to follow its name: `can miss differences smaller than about 2.7 %`. `None` where that is not known.
    #[must_use]
    pub fn can_miss(&self) -> Option<String> {
        let effect = self.effect?;
        let percent = effect * 100.0;
        Some(if effect < EXTREME {
            format!("can miss differences smaller than about {percent:.1} %")
        } else {
            format!(
                "can miss differences smaller than about {percent:.0} %, because equal trials differ so much"
            )
        })
    }

    /// The same with the remedy, for a page or a line that has no other.
    #[must_use]
    pub fn can_miss_with_remedy(&self) -> Option<String> {
        let can_miss = self.can_miss()?;
        Some(match self.effect {
            Some(effect) if effect >= EXTREME => {
                format!("{can_miss}: a quiet machine helps, or longer windows")
            }
            _ => can_miss,
        })
    }
}

/// Where the assumed noise came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SdSource {
    /// A stated default, before anything was measured.
    Default,
    /// A pilot: the baseline against itself.
    Pilot,
    /// Such a pilot, and earlier runs of the same application on the same machine.
    EarlierRuns,
    /// A calibration: blocks of the baseline against itself.
    Calibration,
    /// The blocks of the comparison itself.
    Data,
}

/// How generator and server share the cores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pinning {
    /// Cores of the server; empty: all that there are.
    pub server_cores: Vec<u32>,
    /// Cores of the load generator; empty: all that there are.
    pub generator_cores: Vec<u32>,
    /// Why.
    pub reason: String,
}

/// A part of the procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The baseline against itself: its rate, its profile and the noise.
    Pilot,
    /// Candidates and baseline in blocks; only drops arms, proves nothing.
    Race,
    /// The winner against the baseline on fresh blocks; the claim rests on these.
    Confirm,
    /// The named arms of `compare` and `sweep`.
    Compare,
    /// The baseline against itself in blocks, with `--calibrate`.
    Calibrate,
    /// Many knobs changed at once, in pairs of opposite runs (`tune --knobs`).
    Screen,
    /// Changes of the answer one at a time, in the time that is left after it; explains, and claims nothing.
    Path,
}

impl Stage {
    /// The word in progress and on pages.
    pub fn shown(self) -> &'static str {
        match self {
            Stage::Race => "elimination",
            other => other.word(),
        }
    }

    /// The word in the document and in names of trials.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Pilot => "pilot",
            Stage::Race => "race",
            Stage::Screen => "screen",
            Stage::Confirm => "confirm",
            Stage::Compare => "compare",
            Stage::Calibrate => "calibrate",
            Stage::Path => "path",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_be_found_is_written_and_read() {
        let none = Detectable {
            sd_log_ratio: 0.03,
            source: SdSource::Default,
            effect: None,
        };
        let text = serde_json::to_string(&none).unwrap();
        assert!(text.contains("null"), "{text}");
        assert_eq!(serde_json::from_str::<Detectable>(&text).unwrap(), none);
    }

    #[test]
    fn a_run_that_detects_nothing_says_so_instead_of_a_bound() {
        let said = |effect| {
            let detectable = Detectable {
                sd_log_ratio: 0.1,
                source: SdSource::Pilot,
                effect,
            };
            detectable.can_miss_with_remedy()
        };
        let usual = "can miss differences smaller than about 2.7 %";
        assert_eq!(said(Some(0.027)).as_deref(), Some(usual));
        let none = said(Some(0.9999)).unwrap();
        assert!(
            none.starts_with("can miss differences smaller than about 100 %, because"),
            "{none}"
        );
        assert!(none.ends_with(": a quiet machine helps, or longer windows"));
        assert_eq!(said(None), None);
    }
}
