//! The run document, version 1: the one JSON that `--json` prints and `run.json` holds.
//!
//! The comment on each field is its public description: `contract/run-v1.schema.json` and
//! `contract/run-v1.md` are generated from them.

use crate::aged::{AgedArm, LateCourse};
use crate::calibration::Calibration;
use crate::command::CommandRuns;
use crate::environment::SetVariable;
use crate::feasibility::Feasibility;
use crate::fleet::Fleet;
use crate::known::Known;
use crate::load::Assertion;
use crate::metric::Metric;
use crate::model::Model;
use crate::page_time::PageTime;
use crate::plan::Plan;
use crate::proof::Proof;
use crate::rates::RateSearch;
use crate::search::Search;
use crate::settings::Settings;
use crate::since::Since;
use crate::trial::{MachineMemory, Trial};
use crate::verdict::{Comparison, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `schema` in every document of this version.
pub const SCHEMA: &str = "powerband/run/1";

/// One experiment: what was planned, measured and concluded.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/run/1`.
    pub schema: String,
    /// Name of the run folder, unique on this host: UTC start time, kind and four hexadecimal digits.
    pub id: String,
    /// What was asked.
    pub kind: Kind,
    /// How far it came.
    pub state: State,
    /// Version of powerband that ran it.
    pub powerband_version: String,
    /// UTC start time, RFC 3339.
    pub started_at: String,
    /// Wall-clock seconds spent measuring, over all sittings when it was resumed.
    pub elapsed_s: f64,
    /// How many of these seconds the earlier sittings took; absent where the run was not resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at_s: Option<f64>,
    /// Seed of every random choice: block order, request sequence, arrival times, simulated tests.
    pub seed: u64,
    /// The machine.
    pub host: Host,
    /// What the measured processes said they are; empty until the first trial.
    pub versions: BTreeMap<String, String>,
    /// What a resumed run must have in common with its first sitting, by name; values that may be secrets are HMAC-SHA256
    /// digests under the key in the run folder, the first 32 hexadecimal digits.
    pub asked: BTreeMap<String, String>,
    /// What was decided before measuring.
    pub plan: Plan,
    /// Where the baseline's request time goes; absent until its first trial.
    pub profile: Option<Profile>,
    /// What chose the candidates; `tune` only, from its pilot on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// What comparing the baseline with itself showed; absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// What running a command in each arm's environment came to; absent where a server was measured. With it there are no
    /// trials, and its comparisons are its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandRuns>,
    /// Every trial that ran, in the order in which it ran.
    pub trials: Vec<Trial>,
    /// Each candidate against the baseline, a stage at a time.
    pub comparisons: Vec<Comparison>,
    /// The memory of the arms of deciding comparisons, over the same blocks; absent where memory is what the answer rests on.
    /// It has a separate interval and verdict, on which the answer does not rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Comparison>,
    /// The p95 response time of the same arms at the common rate, over the same blocks; `compare`, `sweep` and `check` only, absent
    /// without a common rate. It has a separate interval and verdict, on which the answer does not rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<Comparison>,
    /// The response time of each page in the arms of these comparisons; `compare`, `sweep` and `check` only. Absent where the
    /// workload has one page, without a common rate, and where nothing could be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageTime>,
    /// Each limit on the change from the first arm to the second, in the order given; `check` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<Assertion>,
    /// One row an arm: the estimates over all of its valid trials.
    pub arms: Vec<ArmSummary>,
    /// The highest rate that meets the latency objective, of the baseline and of what the run recommends; `tune` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<ArmRates>,
    /// Why there are none, or not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates_skipped: Option<String>,
    /// How many servers a total rate needs; absent where none was named, before there is an answer, and
    /// where one of its configurations met the objective at no rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// How a search over all knobs went; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// What earlier runs showed, on which the plan rests; `tune` only, absent where there were none that are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
    /// The answer of an earlier run, judged again; `tune --since` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// What `advise` suggests, and which of it helped; `advise --prove` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The answer; absent while the run goes on.
    pub verdict: Option<Verdict>,
    /// What a reader must know before believing it, most important first.
    pub warnings: Vec<String>,
}

/// The search on one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArmRates {
    /// Name of the arm.
    pub arm: String,
    /// The arm in words, where its settings alone do not say what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Its threads, workers and preloading.
    pub settings: Settings,
    /// What was found.
    pub search: RateSearch,
}

impl Host {
    /// Whether figures of one can be compared with those of the other.
    pub fn is_same_machine(&self, other: &Host) -> bool {
        (&self.cpu_model, self.cores, self.effective_cores)
            == (&other.cpu_model, other.cores, other.effective_cores)
    }
}

impl Document {
    /// Whether it came to its end, and was no rehearsal, whose trials are too short for figures.
    pub fn has_measured(&self) -> bool {
        let rehearsed = self.asked.get("--rehearse");
        self.state == State::Done && rehearsed.is_some_and(|rehearsed| rehearsed == "false")
    }

    /// Whether the run compares throughput, so that it can miss a difference. `check` judges each limit by its interval instead.
    pub fn compares_throughput(&self) -> bool {
        self.kind != Kind::Check && self.plan.objective.metric() == Metric::Capacity
    }

    /// Cores that the server could use: a cgroup's quota and the pinning may leave fewer than the host has.
    pub fn server_cores(&self) -> f64 {
        let effective = self.host.effective_cores;
        match self.plan.pinning.server_cores.len() {
            0 => effective,
            pinned => effective.min(pinned as f64),
        }
    }

    /// Whether it failed before any trial of it counted: there is nothing to go on with. Runs of a command have no trials.
    pub fn is_failed_empty(&self) -> bool {
        self.state == State::Failed
            && self.command.is_none()
            && !self.trials.iter().any(Trial::counts)
    }

    /// Why the run failed: its last warning, which the page shows at its top.
    pub fn why_failed(&self) -> Option<&str> {
        let failed = self.state == State::Failed && self.verdict.is_none();
        let last = self.warnings.last().filter(|_| failed)?;
        Some(last.as_str())
    }
}

impl ArmRates {
    /// The arm as people read it.
    pub fn words(&self) -> String {
        let settings = || self.settings.to_string();
        self.called.clone().unwrap_or_else(settings)
    }
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Search for the best configuration.
    Tune,
    /// Named configurations head to head.
    Compare,
    /// One knob, one table.
    Sweep,
    /// Two revisions of the application, with limits on the change.
    Check,
    /// Suggestions of `advise`, each against what runs today.
    Prove,
}

impl Kind {
    /// The command's name, as the user types it.
    pub fn verb(self) -> &'static str {
        match self {
            Kind::Tune => "tune",
            Kind::Compare => "compare",
            Kind::Sweep => "sweep",
            Kind::Check => "check",
            Kind::Prove => "advise",
        }
    }
}

/// How far a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Being measured, or ended without a record of it (a power cut); can be resumed.
    Running,
    /// Stopped by a signal; can be resumed.
    Interrupted,
    /// Has its verdict.
    Done,
    /// Ended for the reason in `warnings`; can be resumed.
    Failed,
}

/// The machine that was measured on. No host name: documents are passed around.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Processor model, from `/proc/cpuinfo`.
    pub cpu_model: String,
    /// Processors that this process may run on, from `sched_getaffinity`.
    pub cores: u32,
    /// Cores really available: the affinity mask or the cgroup's CPU quota, whichever is less.
    pub effective_cores: f64,
    /// Physical memory, or the cgroup's limit where that is less, in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// One-minute load average before the first trial; of a resumed run, the highest of its sittings.
    pub load_average: f64,
}

/// Where request time goes at saturation, from the agent's flight files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Requests behind the means.
    pub requests: u64,
    /// Mean wall time in the application, ms: held + GVL wait + lock wait + I/O.
    pub wall_ms: f64,
    /// Mean time holding the GVL, ms.
    pub held_ms: f64,
    /// Mean time ready and waiting for the GVL, ms.
    pub gvl_wait_ms: f64,
    /// Mean wait for a Mutex, Monitor, Queue or ConditionVariable, ms. Absent where the agent could not measure it, and in
    /// older documents: then it is part of I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_wait_ms: Option<f64>,
    /// The lock that requests waited for longest; absent where they waited for none, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockProfile>,
    /// Mean time off the GVL and not ready, ms, without the lock wait where that is known.
    pub io_ms: f64,
    /// Mean CPU time of the thread, ms; part of the above, never added.
    pub cpu_ms: f64,
    /// CPU time of the whole process tree per request, ms, from `/proc`.
    pub tree_cpu_ms: f64,
    /// T* = 1 + io/held: the threads that keep one GVL busy if I/O does not queue. Lock wait counts only where it is part of I/O.
    pub useful_threads: f64,
    /// Where each endpoint's time goes, most total wall time first.
    pub endpoints: Vec<EndpointProfile>,
}

/// A lock of a profile. Each process has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LockProfile {
    /// `lib/cache.rb:41`: where it was first waited for, outside the code of locks and pools.
    pub site: String,
    /// Mean wait for it, ms a request.
    pub wait_ms: f64,
    /// How long a thread held it at a time, mean, ms, waits for the GVL meanwhile included; absent where no thread holds it, as a
    /// queue, and where a process has several at this line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_ms: Option<f64>,
    /// How often a request held it, mean; 0 where `held_ms` is absent.
    pub holds_per_request: f64,
}

/// One endpoint of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EndpointProfile {
    /// `controller#action`, or the method and the normalised path.
    pub name: String,
    /// Requests behind the means.
    pub requests: u64,
    /// Mean wall time, ms.
    pub wall_ms: f64,
    /// Mean time holding the GVL, ms.
    pub held_ms: f64,
    /// Mean wait for the GVL, ms.
    pub gvl_wait_ms: f64,
    /// Mean lock wait, ms; absent where it is part of I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_wait_ms: Option<f64>,
    /// Mean I/O, ms.
    pub io_ms: f64,
}

/// Growth that reaches the memory limit within so many thousand requests is worth a warning.
const SOON_THOUSANDS: f64 = 1_000.0;

impl ArmSummary {
    /// Thousand requests after which its memory passes the limit, at the growth that was seen; `None` where that is far, where it does
    /// not grow, and where it was flat in the second half of its age.
    #[must_use]
    pub fn thousands_until(&self, limit_bytes: u64) -> Option<f64> {
        let late = self
            .aged
            .as_ref()
            .and_then(|aged| aged.late_growth.as_ref());
        if late.is_some_and(|late| late.course == LateCourse::Flat) {
            return None;
        }
        let growth = self
            .growth_bytes_per_thousand
            .filter(|growth| *growth > 0.0)?;
        let left = limit_bytes
            .checked_sub(self.pss_bytes?)
            .filter(|left| *left > 0)?;
        Some(left as f64 / growth).filter(|thousands| *thousands < SOON_THOUSANDS)
    }
}

/// The estimates of one arm over all of its valid trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArmSummary {
    /// Short name.
    pub name: String,
    /// What the user called it; absent where it is called by its knobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its threads, workers and preloading.
    pub settings: Settings,
    /// What it also sets; absent where that is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<SetVariable>,
    /// How it came to be tried, and how it left.
    pub fate: String,
    /// Trials that count.
    pub trials: u32,
    /// Trials that failed.
    pub failed: u32,
    /// Median capacity over its trials, good answers per second.
    pub capacity_per_s: Option<f64>,
    /// Throughput that the model predicted before its first trial, per second.
    pub predicted_per_s: Option<f64>,
    /// p50 at the common rate that the simulator predicted, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_p50_ms: Option<f64>,
    /// p99 likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_p99_ms: Option<f64>,
    /// Share of requests over the latency limit at the common rate, pooled over its trials, 0 to 1.
    pub violation_rate: Option<f64>,
    /// Its 95 % interval, low and high. Requests of one trial share their trouble, so that it is wider than that of as many
    /// independent ones.
    pub violation_interval: Option<(f64, f64)>,
    /// Requests of which that rate is. Absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation_requests: Option<u64>,
    /// Trials whose latency counts; the generator may have been too late in others. Absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_trials: Option<u32>,
    /// p50 of the response time at the common rate, ms, over the merged histograms.
    pub p50_ms: Option<f64>,
    /// p99 likewise; absent when an error or a timeout lies below it (then it is infinite) or without trials.
    pub p99_ms: Option<f64>,
    /// The same by percentile, ascending; without those that are infinite or rest on too few requests. Absent in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
    /// Median over its trials of the largest proportional set size of the process tree, bytes: up to the requests of the plan's `age`
    /// where there is one, else up to the end of the windows.
    pub pss_bytes: Option<u64>,
    /// Interval of the mean of that memory over its trials (95 %), low and high, bytes; absent below two trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_interval: Option<(u64, u64)>,
    /// Median growth of that memory per thousand requests, bytes, with an age in the second half of its requests; negative when it
    /// shrank.
    pub growth_bytes_per_thousand: Option<f64>,
    /// How its memory grows, where its trials show that it surely does and does not level off; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// Its aged memory; absent where no age was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged: Option<AgedArm>,
    /// CPU time of the process tree per request at saturation, ms, median.
    pub cpu_ms_per_request: Option<f64>,
    /// Where the time of a request went at saturation, over all of its trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<RequestTime>,
    /// The whole machine's memory at the end of the closed loop, medians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineMemory>,
    /// Whether it keeps the limits.
    pub feasible: Feasibility,
    /// Which limits it breaks, and by how much, for a person; absent where it breaks none, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// A percentile of response times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Percentile {
    /// 50 to 99.9.
    pub percentile: f64,
    /// Milliseconds.
    pub ms: f64,
}

/// Memory that grows with the requests served, by the rule in docs/method.md.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// Mean over the trials of the growth per thousand requests, bytes.
    pub bytes_per_thousand: f64,
    /// Interval of that mean (95 %), low and high.
    pub interval: (f64, f64),
    /// Trials behind it.
    pub trials: u32,
    /// Resident set at the first and at the last sample, medians over the trials, bytes: of the windows, and with an age of the second
    /// half of its requests.
    pub resident_bytes: (u64, u64),
    /// Requests answered when `pss_bytes` was seen, median over the trials.
    pub requests: u64,
}

/// Where the time of a request goes in the application, means in ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestTime {
    /// In the application.
    pub wall_ms: f64,
    /// Holding the GVL.
    pub held_ms: f64,
    /// Waiting for the GVL.
    pub gvl_wait_ms: f64,
    /// Waiting for a lock; absent where it is part of I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_wait_ms: Option<f64>,
    /// Off the GVL and not ready: I/O, without the lock wait where that is known.
    pub io_ms: f64,
    /// Before the application, from `X-Request-Start`; absent where no proxy sets it.
    pub queue_ms: Option<f64>,
}
