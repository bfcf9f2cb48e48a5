//! How much of its limits a control group has used: memory, how often the CPU quota stopped it, and how long it waited for CPUs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cgroup::{Group, parse_counter, parse_cpu_max, read_parsed, version_1_quota};
use crate::error::HostError;
use crate::group_memory;
use crate::pressure::{Pressure, parse_pressure};

/// Of a cgroup's memory limit, what a server may take: near the limit the kernel takes back the cache of files in use, and at the
/// limit it kills. Other processes of the group, and the kernel's own memory for them, need the rest.
pub const USABLE_SHARE: f64 = 0.9;

/// Memory of a group and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Without the inactive file cache, which the kernel takes back before it kills.
    pub used_bytes: u64,
    pub limit_bytes: u64,
}

impl MemoryUse {
    /// Of the limit, 0 to 1 and more.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.used_bytes as f64 / self.limit_bytes.max(1) as f64
    }
}

/// Periods of a CPU quota since the group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// In which the group ran at all.
    pub periods: u64,
    /// In which it used up its quota and stood still for the rest.
    pub throttled: u64,
    /// For how long it stood still; `None` where the kernel does not say it.
    pub stopped: Option<Duration>,
}

impl Throttling {
    /// Of the periods, 0 to 1; `None` before the first.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.periods > 0).then(|| self.throttled as f64 / self.periods as f64)
    }
}

/// The limited group that is nearest to its limit; `None` without a limit.
pub(crate) fn memory(groups: &[Group]) -> Result<Option<MemoryUse>, HostError> {
    let mut nearest: Option<MemoryUse> = None;
    for group in groups {
        let Some(memory) = group_memory::of(group)? else {
            continue;
        };
        let Some(limit_bytes) = memory.limit_bytes else {
            continue;
        };
        let found = MemoryUse {
            used_bytes: memory.used_bytes,
            limit_bytes,
        };
        if nearest.is_none_or(|other| found.share() > other.share()) {
            nearest = Some(found);
        }
    }
    Ok(nearest)
}

/// The group with a quota that was stopped for the largest share of its periods; `None` without a quota.
pub(crate) fn throttling(groups: &[Group]) -> Result<Option<Throttling>, HostError> {
    let mut worst: Option<Throttling> = None;
    for Group { folder, controller } in groups {
        let quota = match controller.as_deref() {
            None => read_parsed(&folder.join("cpu.max"), parse_cpu_max)?,
            Some("cpu") => version_1_quota(folder)?,
            Some(_) => None,
        };
        if quota.is_none() {
            continue;
        }
        let found = read_parsed(&folder.join("cpu.stat"), parse_throttling)?;
        let more = |other: Throttling| found.and_then(|found| found.share()) > other.share();
        if worst.is_none_or(more) {
            worst = found.or(worst);
        }
    }
    Ok(worst)
}

/// How long processes of the innermost group waited for a CPU, their quota's stops included; `None` where the kernel counts none
/// by group, as version 1 does.
pub(crate) fn cpu_pressure(groups: &[Group]) -> Result<Option<Pressure>, HostError> {
    for group in groups.iter().rev() {
        // The root group has no quota, and its pressure is the host's. Where version 1 has the CPUs, no group has this file.
        if group.controller.is_some() || !group.folder.join("cpu.max").exists() {
            continue;
        }
        let path = group.folder.join("cpu.pressure");
        if let Some(pressure) = read_parsed(&path, parse_pressure)? {
            return Ok(Some(pressure));
        }
    }
    Ok(None)
}

fn parse_throttling(text: &str) -> Option<Throttling> {
    Some(Throttling {
        periods: parse_counter(text, "nr_periods")?,
        throttled: parse_counter(text, "nr_throttled")?,
        // Version 2, then version 1.
        stopped: parse_counter(text, "throttled_usec")
            .map(Duration::from_micros)
            .or_else(|| parse_counter(text, "throttled_time").map(Duration::from_nanos)),
    })
}
