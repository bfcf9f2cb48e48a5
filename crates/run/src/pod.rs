//! What the limits of a server's pod came to in a trial.

use serde::{Deserialize, Serialize};

/// A server's control group, of a configuration that limits it by `pod.cpus` or `pod.memory`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// CPU quota as the kernel has it, cores; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Memory limit as the kernel has it, bytes; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// How often the quota stopped the server in the saturation window; absent without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<Throttled>,
    /// Likewise in the window at the common rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Throttled>,
    /// Most memory that the group held since the server's start, the cache of its files included, bytes; absent without a limit, and
    /// where the kernel does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Processes that the kernel killed at the memory limit; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
}

/// Periods of a CPU quota in a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Throttled {
    /// Periods of 100 ms in which the server ran at all.
    pub periods: u64,
    /// Those in which it used up its quota and stood still for the rest.
    pub throttled: u64,
    /// For how long it stood still, summed over cores, ms; absent where the kernel does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ms: Option<f64>,
}

impl Throttled {
    /// Of the periods, 0 to 1; `None` where there was none.
    pub fn share(&self) -> Option<f64> {
        (self.periods > 0).then(|| self.throttled as f64 / self.periods as f64)
    }
}
