//! One trial: a server start, a warm-up and two measured windows.

use crate::environment::SetVariable;
use crate::histogram::Hdr;
use crate::model::Foreseen;
use crate::plan::Stage;
use crate::pod::Pod;
use crate::sending::Redirect;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// One server start, its warm-up and its two windows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Stage, block, attempt and arm, e.g. `race-b02-t4w0`; also the name of its folder.
    pub id: String,
    /// The part of the procedure that asked for it.
    pub stage: Stage,
    /// Block within the stage, from 1. Trials of a block share requests and arrival times.
    pub block: u32,
    /// Place in the block's random order, from 1.
    pub place: u32,
    /// Name of the arm.
    pub arm: String,
    /// Knobs asked for.
    pub settings: Settings,
    /// What was set in the server's environment; absent where that is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<SetVariable>,
    /// Whether it counts.
    pub status: TrialStatus,
    /// Why it does not, or what to know about it.
    pub reason: Option<String>,
    /// Seconds after the start of the run.
    pub started_s: f64,
    /// Wall-clock seconds of the whole trial, hooks and stop included.
    pub took_s: f64,
    /// Seconds from the start of the server until it answered.
    pub boot_s: Option<f64>,
    /// What else it waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// The warm-up.
    pub warmup: Option<Warmup>,
    /// Closed loop at the plan's connections: its good answers per second are the capacity.
    pub saturation: Option<Window>,
    /// Open loop, Poisson, at the common rate.
    pub objective: Option<Window>,
    /// Memory of the process tree.
    pub memory: Option<Memory>,
    /// Where request time went in the saturation window, from the agent.
    pub split: Option<Split>,
    /// What the limits of its pod came to; absent where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Pod>,
    /// What the model had said of this configuration before the trial; `tune` only, after the pilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Foreseen>,
}

/// Whether a trial counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialStatus {
    /// Measured, steady, the generator kept its schedule.
    Ok,
    /// Measured, but latency or CPU per request never became flat; it counts, and the report says so.
    NotSteady,
    /// Not measured, or not to be believed, for the reason given.
    Failed,
    /// Its block was broken off; kept, and not used.
    Abandoned,
}

/// Seconds that a trial waited for others in addition to its start, its warm-up and its windows. What is missing to the whole is
/// Powerband's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// For hooks.
    pub hooks_s: f64,
    /// For the started server to become quiet.
    pub settling_s: f64,
    /// For the last answers, after the warm-up and each window.
    pub draining_s: f64,
    /// For the server's end.
    pub ending_s: f64,
}

impl Trial {
    /// What a reason begins with that refuses the latency alone.
    pub const NO_LATENCY: &str = "its latency does not count: ";

    /// Why it has no latency though it counts.
    pub fn why_no_latency(&self) -> Option<&str> {
        let (_, why) = self.reason.as_deref()?.split_once(Trial::NO_LATENCY)?;
        Some(why)
    }

    /// Requests of its warm-up and of its windows.
    pub fn answered(&self) -> u64 {
        let windows = self.saturation.iter().chain(&self.objective);
        self.warmup.map_or(0, |w| w.requests) + windows.map(|w| w.requests).sum::<u64>()
    }

    /// Whether its figures are evidence.
    pub fn counts(&self) -> bool {
        matches!(self.status, TrialStatus::Ok | TrialStatus::NotSteady)
    }

    /// Seconds that it took in addition to its windows and its ageing, where it has all of them.
    pub fn around_windows_s(&self) -> Option<f64> {
        let windows = [self.saturation.as_ref()?, self.objective.as_ref()?];
        let measured_s: f64 = windows.iter().map(|window| window.seconds).sum();
        let aged = self.memory.as_ref().and_then(|m| m.aged.as_ref());
        let ageing_s = aged.map_or(0.0, |aged| aged.seconds);
        let around_s = (self.took_s - measured_s - ageing_s).max(0.0);
        Some(around_s).filter(|_| self.counts())
    }

    /// Good answers per second in the saturation window.
    pub fn capacity_per_s(&self) -> Option<f64> {
        self.saturation
            .as_ref()
            .filter(|_| self.counts())
            .map(|w| w.good_per_s)
    }
}

/// A trial's warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Warmup {
    /// Requests answered.
    pub requests: u64,
    /// Seconds.
    pub seconds: f64,
    /// Whether the last three windows were flat in latency and CPU per request.
    pub steady: bool,
}

/// A measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Length, seconds, from the first request to the last scheduled one or the end.
    pub seconds: f64,
    /// Requests scheduled (open loop) or sent (closed loop).
    pub requests: u64,
    /// Answers that were no failure.
    pub good: u64,
    /// Connections refused, reset or closed early, malformed answers, and status 400 to 599.
    pub errors: u64,
    /// Requests without a whole answer in time.
    pub timeouts: u64,
    /// Good answers per second.
    pub good_per_s: f64,
    /// Rate asked for, per second; absent in a closed loop.
    pub asked_per_s: Option<f64>,
    /// Response time, from the scheduled time (open loop) or the sending (closed loop), failures at infinity.
    pub response: Latency,
    /// Service time: from the sending to the last byte of the answer, answered requests alone.
    pub service: Latency,
    /// Lateness of the generator: actual less scheduled sending.
    pub lateness: Latency,
    /// Requests over the latency limit, failures among them; absent without an objective.
    pub violations: Option<u64>,
    /// CPU time of the server's process tree per request, ms.
    pub cpu_ms_per_request: f64,
    /// CPU of the generator as a share of one core, 0 to 1.
    pub generator_cpu: f64,
    /// The same by kind of request.
    pub endpoints: Vec<EndpointWindow>,
}

/// One kind of request in a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EndpointWindow {
    /// Name in the workload.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Errors and timeouts.
    pub failures: u64,
    /// p50 of the response time, ms; absent when it is infinite.
    pub p50_ms: Option<f64>,
    /// p99 of the response time, ms; absent when it is infinite.
    pub p99_ms: Option<f64>,
    /// Good answers that sent the client elsewhere; absent where there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<Redirect>,
}

/// Percentiles in milliseconds; absent where an error or a timeout makes them infinite, or nothing was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Mean over the finite ones, ms.
    pub mean_ms: Option<f64>,
    /// Median, ms.
    pub p50_ms: Option<f64>,
    /// 95th percentile, ms.
    pub p95_ms: Option<f64>,
    /// 99th percentile, ms.
    pub p99_ms: Option<f64>,
    /// Largest, ms.
    pub max_ms: Option<f64>,
    /// The whole histogram, for merging: HdrHistogram V2 encoding, base64, microseconds; absent in `--json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hdr: Option<Hdr>,
}

/// Memory of the server's process tree, from `smaps_rollup` and `statm`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Processes at the end of the windows.
    pub processes: u32,
    /// Largest proportional set size seen in the windows and at their end, bytes: what the tree costs this machine.
    pub pss_bytes: u64,
    /// Unique set size then, bytes: what ending it would give back.
    pub uss_bytes: u64,
    /// Sum of the resident set sizes then, bytes; counts shared pages once a process.
    pub rss_bytes: u64,
    /// Growth of the resident set over the windows per thousand requests, bytes; negative when it shrank.
    pub growth_bytes_per_thousand: f64,
    /// The tree over time, in both windows.
    pub samples: Vec<UsageSample>,
    /// The whole machine's memory at the end of the closed loop, as `free` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineMemory>,
    /// Memory at the number of requests at which it is compared; absent where that is after the windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged: Option<Aged>,
}

impl Memory {
    /// What is compared with other configurations and with a limit: the aged memory where that was asked for. `None` where the trial
    /// was not aged.
    pub fn compared_bytes(&self) -> Option<u64> {
        match &self.aged {
            Some(aged) => aged.pss_bytes,
            None => Some(self.pss_bytes),
        }
    }

    /// What a limit is held against: the compared memory, or, of a trial that was not aged, the memory that is over the limit already.
    pub fn against_limit(&self, limit_bytes: u64) -> Option<u64> {
        let before_its_age = Some(self.pss_bytes).filter(|bytes| *bytes > limit_bytes);
        self.compared_bytes().or(before_its_age)
    }
}

/// A trial's memory at the number of requests at which memory is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Aged {
    /// Requests answered in the trial up to the last sample that counts.
    pub requests: u64,
    /// Seconds of load after the windows.
    pub seconds: f64,
    /// Largest proportional set size up to that number of requests, bytes; absent where the trial was not aged.
    pub pss_bytes: Option<u64>,
    /// What one process of the application holds for itself at the end: mean unique set size of as many of the largest processes as
    /// the configuration has, bytes.
    pub process_bytes: Option<u64>,
    /// Why it was not aged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// The tree over time, after the windows.
    pub samples: Vec<UsageSample>,
}

impl Aged {
    /// Of a trial that was not aged, for this reason.
    pub fn none(why_not: impl Into<String>) -> Aged {
        Aged {
            requests: 0,
            seconds: 0.0,
            pss_bytes: None,
            process_bytes: None,
            why_not: Some(why_not.into()),
            samples: Vec::new(),
        }
    }
}

/// The machine's memory at one moment, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MachineMemory {
    /// All of it.
    pub total_bytes: u64,
    /// Neither free nor a cache.
    pub used_bytes: u64,
    /// Not in use.
    pub free_bytes: u64,
    /// tmpfs and shared memory, which are in `cached_bytes` too.
    pub shared_bytes: u64,
    /// Buffers of block devices.
    pub buffers_bytes: u64,
    /// File pages, and what the kernel can give back of its own.
    pub cached_bytes: u64,
}

/// The process tree at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UsageSample {
    /// Seconds of load before it, warm-up included, from the first request of the trial.
    pub at_s: f64,
    /// Requests answered before it, those of the warm-up included. Absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Sum of the resident set sizes, bytes, from `statm`.
    pub rss_bytes: u64,
    /// Proportional set size, bytes; absent in most samples, since reading it costs milliseconds.
    pub pss_bytes: Option<u64>,
    /// CPU time of the tree since the server started, seconds, ended children included.
    pub cpu_s: f64,
}

/// Where the time of the requests went, sums over all processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Requests.
    pub requests: u64,
    /// Wall time in the application, ms.
    pub wall_ms: f64,
    /// Time holding the GVL, ms.
    pub held_ms: f64,
    /// Time waiting for the GVL, ms.
    pub gvl_wait_ms: f64,
    /// Time waiting for a Mutex, Monitor, Queue or ConditionVariable, ms; absent where it is part of I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_wait_ms: Option<f64>,
    /// Time off the GVL and not ready, ms, without the lock wait where that is known.
    pub io_ms: f64,
    /// CPU time of the threads, ms.
    pub cpu_ms: f64,
    /// Queue time before the application, ms; absent where the server passed no `X-Request-Start`.
    pub queue_ms: Option<f64>,
}

/// The trials that may speak for an arm: those of the deciding comparison, or of the race where it got no further. What
/// chose an arm does not also judge it, and the pilot's windows differ in length and rate.
pub fn evidence<'t>(arm: &str, trials: &'t [Trial]) -> Vec<&'t Trial> {
    let stages = [
        Stage::Confirm,
        Stage::Compare,
        Stage::Race,
        Stage::Calibrate,
        Stage::Pilot,
    ];
    let of = |stage: Stage| -> Vec<&'t Trial> {
        trials
            .iter()
            .filter(|t| t.stage == stage && t.arm == arm)
            .collect()
    };
    let found = stages
        .into_iter()
        .map(of)
        .find(|found| found.iter().any(|t| t.counts()));
    found.unwrap_or_else(|| trials.iter().filter(|t| t.arm == arm).collect())
}
