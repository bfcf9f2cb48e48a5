//! The run document, version 1: the one JSON that `--json` prints and `run.json` holds.
//!
//! The comment on each field is its public description: `contract/run-v1.schema.json` and
//! `contract/run-v1.md` are generated from them.

use crate::trial::Trial;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `schema` in every document of this version.
pub const SCHEMA: &str = "powerband/run/1";

/// One experiment: what was planned, measured and concluded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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
    /// Seed of every random choice: block order, request sequence, arrival times, simulated tests.
    pub seed: u64,
    /// The machine.
    pub host: Host,
    /// What the measured processes said they are; empty until the first trial.
    pub versions: BTreeMap<String, String>,
    /// What was decided before measuring.
    pub plan: Plan,
    /// Where the baseline's request time goes; absent until its first trial.
    pub profile: Option<Profile>,
    /// Every trial that ran, in the order in which it ran.
    pub trials: Vec<Trial>,
    /// Each candidate against the baseline, a stage at a time.
    pub comparisons: Vec<Comparison>,
    /// One row an arm: the estimates over all of its valid trials.
    pub arms: Vec<ArmSummary>,
    /// The answer; absent while the run goes on.
    pub verdict: Option<Verdict>,
    /// What a reader must know before believing it, most important first.
    pub warnings: Vec<String>,
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Search for the best configuration.
    Tune,
    /// Named configurations head to head.
    Compare,
    /// One knob, one table.
    Sweep,
}

impl Kind {
    /// The command's name, as the user types it.
    pub fn verb(self) -> &'static str {
        match self {
            Kind::Tune => "tune",
            Kind::Compare => "compare",
            Kind::Sweep => "sweep",
        }
    }
}

/// How far a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Being measured, or ended without being told (a power cut); can be resumed.
    Running,
    /// Stopped by a signal; can be resumed.
    Interrupted,
    /// Has its verdict.
    Done,
    /// Ended for the reason in `warnings`; can be resumed.
    Failed,
}

/// The machine that was measured on. No host name: documents are passed around.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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
    /// One-minute load average before the first trial.
    pub load_average: f64,
}

/// What was decided before measuring.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Folder of the application.
    pub app_dir: String,
    /// How its server is started, without settings.
    pub server_command: Vec<String>,
    /// `RAILS_ENV` and `RACK_ENV` of the server.
    pub environment: String,
    /// The requests, by weight.
    pub workload: Vec<WorkloadEntry>,
    /// The configuration that everything is compared with.
    pub baseline: Settings,
    /// Limits that a configuration must keep.
    pub objective: Objective,
    /// The margin within which two configurations count as equivalent, as a ratio less one (0.03 is 3 %).
    pub margin: f64,
    /// Two-sided error rate of the confirming test.
    pub alpha: f64,
    /// Time asked for, seconds; absent when the number of blocks was given instead.
    pub budget_s: Option<f64>,
    /// Blocks of the deciding comparison.
    pub blocks: u32,
    /// Blocks of the race that comes before it; 0 outside `tune`.
    pub race_blocks: u32,
    /// Connections of every saturation window: twice the largest workers × threads in the plan.
    pub connections: u32,
    /// Arrival rate of every objective window, requests per second; absent until the baseline is known.
    pub rate_per_s: Option<f64>,
    /// Lengths of a trial's parts.
    pub timing: Timing,
    /// Minimum detectable effect of the deciding comparison.
    pub detectable: Detectable,
    /// How generator and server share the cores.
    pub pinning: Pinning,
}

/// One kind of request in the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// The knobs of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Worker processes; 0 is Puma's single mode (one process, no cluster).
    pub workers: u16,
    /// Threads in each process, minimum and maximum alike.
    pub threads: u16,
    /// Whether the application is loaded before the workers are forked.
    pub preload: bool,
}

impl Settings {
    /// Processes that serve requests: single mode serves in one.
    pub fn processes(&self) -> u32 {
        u32::from(self.workers.max(1))
    }

    /// Requests that can be in the application at once.
    pub fn concurrency(&self) -> u32 {
        self.processes() * u32::from(self.threads)
    }
}

/// `2 workers × 3 threads, preloaded`, as tables show it.
impl std::fmt::Display for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let threads = if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        match self.workers {
            0 => write!(f, "single × {threads}"),
            1 => write!(f, "1 worker × {threads}"),
            n => write!(f, "{n} workers × {threads}"),
        }?;
        if self.workers > 0 && self.preload { write!(f, ", preloaded") } else { Ok(()) }
    }
}

/// Limits that a configuration must keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// The latency objective; absent when none was given, and capacity alone ranks.
    pub latency: Option<LatencyObjective>,
    /// Largest proportional set size of the whole process tree, bytes; absent when none was given.
    pub max_memory_bytes: Option<u64>,
}

/// So many of all requests within so much time, errors and timeouts counted as over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyObjective {
    /// The percentile, over 0 and under 100.
    pub percentile: f64,
    /// Response time that it may not exceed, milliseconds from the scheduled time of the request.
    pub limit_ms: f64,
}

impl LatencyObjective {
    /// The share of requests that may exceed the limit.
    pub fn allowed_violation_rate(&self) -> f64 {
        1.0 - self.percentile / 100.0
    }
}

/// Lengths of a trial's parts, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Longest warm-up before a trial counts as not steady.
    pub warmup_max_s: f64,
    /// Closed-loop window that measures capacity.
    pub saturation_s: f64,
    /// Open-loop window that measures latency at the common rate.
    pub objective_s: f64,
}

/// The smallest effect that the deciding comparison finds four times in five.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detectable {
    /// Standard deviation of the log ratio of two equal arms in one block.
    pub sd_log_ratio: f64,
    /// Where that came from.
    pub source: SdSource,
    /// Minimum detectable effect as a ratio less one (0.08 is 8 %), simulated with the very test in use.
    pub effect: f64,
}

/// Where the assumed noise came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SdSource {
    /// A stated default, before anything was measured.
    Default,
    /// A pilot: the baseline against itself.
    Pilot,
    /// The blocks of the comparison itself.
    Data,
}

/// How generator and server share the cores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pinning {
    /// Cores of the server; empty: all that there are.
    pub server_cores: Vec<u32>,
    /// Cores of the load generator; empty: all that there are.
    pub generator_cores: Vec<u32>,
    /// Why.
    pub reason: String,
}

/// Where request time goes at saturation, from the agent's flight files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Requests behind the means.
    pub requests: u64,
    /// Mean wall time in the application, ms: held + GVL wait + I/O.
    pub wall_ms: f64,
    /// Mean time holding the GVL, ms.
    pub held_ms: f64,
    /// Mean time ready and waiting for the GVL, ms.
    pub gvl_wait_ms: f64,
    /// Mean time off the GVL and not ready, ms. Waiting for a lock looks like this too.
    pub io_ms: f64,
    /// Mean CPU time of the thread, ms; part of the above, never added.
    pub cpu_ms: f64,
    /// CPU time of the whole process tree per request, ms, from `/proc`.
    pub tree_cpu_ms: f64,
    /// T* = 1 + io/held: the threads that keep one GVL busy if I/O neither queues nor locks.
    pub useful_threads: f64,
    /// Where each endpoint's time goes, most total wall time first.
    pub endpoints: Vec<EndpointProfile>,
}

/// One endpoint of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Mean I/O, ms.
    pub io_ms: f64,
}

/// A candidate against the baseline over the blocks of one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Stage whose blocks it uses; a claim rests on `confirm` or `compare` alone.
    pub stage: Stage,
    /// Name of the arm compared with.
    pub baseline: String,
    /// Name of the arm.
    pub candidate: String,
    /// What was compared.
    pub metric: Metric,
    /// The verdict of the test.
    pub outcome: Outcome,
    /// Candidate over baseline: the Hodges-Lehmann estimate of the ratio.
    pub ratio: f64,
    /// Lower end of the interval of the ratio; absent when so few blocks give none.
    pub low: Option<f64>,
    /// Upper end of the interval of the ratio; absent when so few blocks give none.
    pub high: Option<f64>,
    /// Confidence that the interval really has (the test is discrete), 0 to 1.
    pub confidence: Option<f64>,
    /// Two-sided p of the exact signed-rank test.
    pub p: f64,
    /// Blocks in which both arms gave a valid trial.
    pub blocks: u32,
    /// Standard deviation of the block log ratios; absent below two blocks.
    pub sd_log_ratio: Option<f64>,
    /// Blocks that would decide at this noise and ratio; absent when decided or when no number would.
    pub blocks_to_decide: Option<u32>,
}

/// The verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The candidate is better than the baseline.
    Better,
    /// The candidate is worse than the baseline.
    Worse,
    /// The difference is smaller than the margin.
    Equivalent,
    /// The noise forbids an answer.
    Undecided,
}

impl Outcome {
    /// The word that tables show.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Equivalent => "equivalent",
            Outcome::Undecided => "undecided",
        }
    }
}

/// What was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Good answers per second in the saturation window.
    Capacity,
}

/// A part of the procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
}

impl Stage {
    /// The word that tables and trial names show.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Pilot => "pilot",
            Stage::Race => "race",
            Stage::Confirm => "confirm",
            Stage::Compare => "compare",
        }
    }
}

/// The estimates of one arm over all of its valid trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmSummary {
    /// Short name.
    pub name: String,
    /// Its knobs.
    pub settings: Settings,
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
    /// Share of requests over the latency limit at the common rate, pooled over its trials, 0 to 1.
    pub violation_rate: Option<f64>,
    /// Interval of that rate, low and high.
    pub violation_interval: Option<(f64, f64)>,
    /// p50 of the response time at the common rate, ms, over the merged histograms.
    pub p50_ms: Option<f64>,
    /// p99 likewise; absent when an error or a timeout lies below it (then it is infinite) or without trials.
    pub p99_ms: Option<f64>,
    /// Median over its trials of the largest proportional set size of the process tree, bytes.
    pub pss_bytes: Option<u64>,
    /// Median growth of that memory per thousand requests, bytes; negative when it shrank.
    pub growth_bytes_per_thousand: Option<f64>,
    /// CPU time of the process tree per request at saturation, ms, median.
    pub cpu_ms_per_request: Option<f64>,
    /// Whether it keeps the limits.
    pub feasible: Feasibility,
}

/// Whether an arm keeps the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Feasibility {
    /// It keeps them: the interval lies within them, or no limit was given.
    Meets,
    /// It breaks one: the interval excludes the limit.
    Breaks,
    /// The interval includes the limit.
    Unclear,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// What it comes to.
    pub answer: Answer,
    /// One sentence for a person.
    pub sentence: String,
    /// The configuration to run; the baseline's when nothing better was shown.
    pub settings: Settings,
    /// From the baseline to it, one variable at a time.
    pub path: Vec<Step>,
    /// Room that it leaves.
    pub headroom: Option<Headroom>,
    /// What to change, as files and as a diff.
    pub changes: Vec<FileChange>,
    /// What would decide, when undecided.
    pub blocks_to_decide: Option<u32>,
    /// Exit code of the command: 0 done, 1 no configuration meets the limits, 3 no honest answer.
    pub exit_code: u8,
}

/// What a verdict comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Change to the configuration named: it was shown to be better.
    Change,
    /// Change to the configuration named: it is equivalent and smaller.
    Smaller,
    /// Keep the baseline: nothing tried was better.
    Keep,
    /// Keep the baseline for now: the noise forbids an answer.
    Undecided,
    /// No configuration tried keeps the limits.
    NoneMeets,
    /// The table is the answer (`compare` and `sweep` recommend nothing).
    Table,
}

/// One variable changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The knob that changes: workers, threads or preload.
    pub knob: String,
    /// The configuration before.
    pub from: Settings,
    /// The configuration after.
    pub to: Settings,
    /// Capacity after over capacity before.
    pub ratio: f64,
    /// Interval of the ratio, where it was measured on enough blocks.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// True when measured; false when predicted by the model.
    pub measured: bool,
}

/// Room that the recommendation leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Headroom {
    /// The rate of the objective windows over the capacity, 0 to 1.
    pub utilisation_at_rate: f64,
    /// 80 % of the measured capacity: add capacity when traffic reaches this, requests per second.
    pub add_capacity_at_per_s: f64,
    /// Median time from start to ready, seconds.
    pub boot_s: f64,
    /// Memory while an old and a new deploy overlap: twice the largest PSS, bytes.
    pub deploy_overlap_bytes: u64,
}

/// A file as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    /// Path relative to the application, or a label such as `environment`.
    pub path: String,
    /// Unified diff against what is there.
    pub diff: String,
}
