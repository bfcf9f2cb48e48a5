//! What a run writes down about its host. The host's name stays out: run folders are shared.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cgroup;
use crate::cores::{Cores, affinity_of, memory_in};
use crate::error::HostError;
use crate::group_use::{self, MemoryUse, Throttling};
use crate::pressure::{Pressure, parse_pressure};
use crate::procfs::{
    CpuTimes, parse_cpu_model, parse_cpu_times, parse_load_average, parse_swapped_pages,
};
use crate::roots::Roots;
use crate::text::read;

/// The host as it was at one instant; with [`HostFacts::observe`] also over a span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    pub cpu_model: Option<String>,
    /// CPUs that this process may run on.
    pub cores: usize,
    /// The tightest cgroup quota in cores.
    pub cpu_quota: Option<f64>,
    /// The smaller of the two.
    pub effective_cores: f64,
    pub memory_total_bytes: u64,
    pub memory_available_bytes: u64,
    /// The tightest cgroup limit.
    pub memory_limit_bytes: Option<u64>,
    pub swap_total_bytes: u64,
    pub swap_used_bytes: u64,
    /// e.g. `6.1.0-18-amd64`
    pub kernel: String,
    /// Over the minute before, all processes of the host.
    pub load_average_1m: Option<f64>,
    /// e.g. `tsc`
    pub clocksource: Option<String>,
    /// The frequency governor of the first CPU; virtual machines have none.
    pub governor: Option<String>,
    /// Share of CPU time that the hypervisor gave to others, 0 to 1, in the observed span.
    pub steal_share: Option<f64>,
    /// Cores on which some process of this machine computed, on average over the observed span.
    pub busy_cores: Option<f64>,
    /// Programs that used most CPU time for a moment, as [`OtherWork::since`](crate::OtherWork::since) names them; empty without one.
    pub busiest_programs: Vec<String>,
    /// Pages swapped in or out in the observed span.
    pub swapped_pages: Option<u64>,
    /// Length of that span.
    pub observed: Option<Duration>,
    /// Tasks of the host that waited for a CPU. This process's own load is in it.
    pub cpu_pressure: Option<Pressure>,
    /// Processes of the innermost cgroup that waited for a CPU.
    pub group_cpu_pressure: Option<Pressure>,
    /// Tasks of the host that waited for memory.
    pub memory_pressure: Option<Pressure>,
    /// The cgroup with a memory limit that is nearest to it.
    pub group_memory: Option<MemoryUse>,
    /// How often the cgroup's quota has stopped its processes.
    pub throttling: Option<Throttling>,
}

/// Counters of the host at one instant; two of them make a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    pub cpu: CpuTimes,
    /// Since boot; `None` where the kernel does not count them.
    pub swapped_pages: Option<u64>,
}

impl Activity {
    /// Reads the counters now.
    ///
    /// # Errors
    /// When `/proc/stat` or `/proc/vmstat` cannot be read.
    pub fn read(roots: &Roots) -> Result<Self, HostError> {
        let path = roots.proc.join("stat");
        let text = read(&path)?;
        let cpu = parse_cpu_times(&text)
            .ok_or_else(|| HostError::unexpected(&path, "the CPU times", &text))?;
        let swapped_pages = parse_swapped_pages(&read(&roots.proc.join("vmstat"))?);
        Ok(Self { cpu, swapped_pages })
    }
}

/// Collects the facts of this host now. Facts that only some hosts have are `None` elsewhere.
///
/// # Errors
/// When cores, memory or the kernel's release cannot be read.
pub fn collect() -> Result<HostFacts, HostError> {
    collect_in(&Roots::default())
}

/// Like [`collect`], with other mount points.
///
/// # Errors
/// As for [`collect`].
pub fn collect_in(roots: &Roots) -> Result<HostFacts, HostError> {
    collect_of(roots, None)
}

/// The facts as a process meets them: its affinity and its cgroups; `None`: this process.
///
/// # Errors
/// As for [`collect`], and when the process is gone.
pub fn collect_of(roots: &Roots, pid: Option<u32>) -> Result<HostFacts, HostError> {
    // Walked once, so that limits and what is used of them are of the same groups.
    let groups = cgroup::groups(roots, pid)?;
    let limits = cgroup::limits_in(&groups)?;
    let cores = Cores::new(affinity_of(pid)?, limits.cpu_quota);
    let memory = memory_in(roots)?;
    let optional = |path: &Path| fs::read_to_string(path).ok();
    let word = |path: &str| {
        let text = optional(&roots.sys.join(path))?;
        Some(text.trim().to_owned()).filter(|word| !word.is_empty())
    };
    let pressure =
        |resource: &str| parse_pressure(&optional(&roots.proc.join("pressure").join(resource))?);
    Ok(HostFacts {
        cpu_model: optional(&roots.proc.join("cpuinfo")).and_then(|text| parse_cpu_model(&text)),
        cores: cores.affinity.len(),
        cpu_quota: cores.quota,
        effective_cores: cores.effective,
        memory_total_bytes: memory.total_bytes,
        memory_available_bytes: memory.available_bytes,
        memory_limit_bytes: limits.memory_bytes,
        swap_total_bytes: memory.swap_total_bytes,
        swap_used_bytes: memory
            .swap_total_bytes
            .saturating_sub(memory.swap_free_bytes),
        kernel: read(&roots.proc.join("sys/kernel/osrelease"))?
            .trim()
            .to_owned(),
        load_average_1m: optional(&roots.proc.join("loadavg"))
            .and_then(|text| parse_load_average(&text)),
        clocksource: word("devices/system/clocksource/clocksource0/current_clocksource"),
        governor: word("devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        steal_share: None,
        busy_cores: None,
        busiest_programs: Vec::new(),
        swapped_pages: None,
        observed: None,
        cpu_pressure: pressure("cpu"),
        memory_pressure: pressure("memory"),
        group_cpu_pressure: group_use::cpu_pressure(&groups).ok().flatten(),
        // What cannot be read of these is not known, and no reason to know nothing of the host.
        group_memory: group_use::memory(&groups).ok().flatten(),
        throttling: group_use::throttling(&groups).ok().flatten(),
    })
}

/// By how many cores were busy between two readings; `None` when no time has passed.
#[must_use]
pub fn busy_cores(before: &Activity, after: &Activity, span: Duration) -> Option<f64> {
    let ticks = after
        .cpu
        .busy_ticks()
        .saturating_sub(before.cpu.busy_ticks());
    let busy_s = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    (span > Duration::ZERO).then(|| busy_s / span.as_secs_f64())
}

impl HostFacts {
    /// The cgroup's quota where it allows less CPU time than there are cores.
    #[must_use]
    pub fn limiting_quota(&self) -> Option<f64> {
        self.cpu_quota.filter(|quota| *quota < self.cores as f64)
    }

    /// Pages that went to or came from swap in a second of the observed span; `None` without one.
    #[must_use]
    pub fn swapped_pages_per_s(&self) -> Option<f64> {
        let span_s = self.observed?.as_secs_f64();
        (span_s > 0.0).then_some(self.swapped_pages? as f64 / span_s)
    }

    /// Adds what happened between two readings, which were `span` apart.
    #[must_use]
    pub fn observe(self, before: &Activity, after: &Activity, span: Duration) -> Self {
        let swapped = after.swapped_pages.zip(before.swapped_pages);
        Self {
            steal_share: after.cpu.steal_share_since(&before.cpu),
            busy_cores: busy_cores(before, after, span),
            swapped_pages: swapped.map(|(after, before)| after.saturating_sub(before)),
            observed: Some(span),
            ..self
        }
    }
}
