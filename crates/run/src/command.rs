//! A command run in each arm's environment, instead of a server that is asked: what its runs took, and what that comes to.

use crate::environment::SetVariable;
use crate::plan::Stage;
use crate::verdict::Comparison;
use serde::{Deserialize, Serialize};

/// A command run in blocks, once in each arm's environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandRuns {
    /// The command as it was given; what looks like a secret is masked.
    pub command: String,
    /// Longest that one run may take, seconds.
    pub timeout_s: f64,
    /// Time from one sample of the memory to the next, seconds.
    pub sample_every_s: f64,
    /// Which figure of the samples is summarised and compared.
    pub measure: MemoryMeasure,
    /// Every run, in the order in which they ran.
    pub runs: Vec<CommandRun>,
    /// One row an arm.
    pub arms: Vec<CommandArm>,
    /// Each arm against the first: wall time, median memory and peak memory, each a comparison with its own error rate. Of `tune` the
    /// winner against what runs today, over the blocks of `confirm`.
    pub comparisons: Vec<Comparison>,
}

/// Which figure of a process tree's memory is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemoryMeasure {
    /// Proportional set size: what processes share counts once.
    Pss,
    /// Sum of the resident set sizes: what processes share counts once a process. Where PSS was too dear, or could not be
    /// read.
    Rss,
}

impl MemoryMeasure {
    /// As tables show it.
    pub fn word(self) -> &'static str {
        match self {
            MemoryMeasure::Pss => "PSS",
            MemoryMeasure::Rss => "RSS",
        }
    }
}

/// One run of the command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandRun {
    /// Block and arm; also the name of its folder.
    pub id: String,
    /// Part of the procedure; absent where it is `compare`.
    #[serde(default = "compare", skip_serializing_if = "is_compare")]
    pub stage: Stage,
    /// Block of this stage, from 1.
    pub block: u32,
    /// Place in the block's random order, from 1.
    pub place: u32,
    /// Name of the arm.
    pub arm: String,
    /// Why it does not count; absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Seconds after the start of the experiment.
    pub started_s: f64,
    /// Seconds from its start to the end of its first process; of a run that was broken off, until then.
    pub wall_s: f64,
    /// CPU time of all of its processes, seconds, to the kernel's clock tick.
    pub cpu_s: f64,
    /// Exit status; absent where a signal ended it, or it was broken off.
    pub exit: Option<i32>,
    /// The whole process tree over time.
    pub samples: Vec<MemorySample>,
}

fn compare() -> Stage {
    Stage::Compare
}

fn is_compare(stage: &Stage) -> bool {
    *stage == Stage::Compare
}

impl CommandRun {
    /// Whether its figures are evidence.
    pub fn counts(&self) -> bool {
        self.failed.is_none()
    }

    /// Its samples of one figure, bytes.
    pub fn memory(&self, measure: MemoryMeasure) -> Vec<f64> {
        let of = |sample: &MemorySample| match measure {
            MemoryMeasure::Pss => sample.pss_bytes,
            MemoryMeasure::Rss => Some(sample.rss_bytes),
        };
        let bytes = self.samples.iter().filter_map(of);
        bytes.map(|bytes| bytes as f64).collect()
    }
}

/// The process tree of a command at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MemorySample {
    /// Seconds after its start.
    pub at_s: f64,
    /// Sum of the resident set sizes, bytes.
    pub rss_bytes: u64,
    /// Proportional set size, bytes; absent where reading it would have disturbed the command, or was not allowed.
    pub pss_bytes: Option<u64>,
}

/// The runs of one arm together, those that count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandArm {
    /// Short name.
    pub name: String,
    /// What tables call it.
    pub called: String,
    /// What it sets; absent where that is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<SetVariable>,
    /// What became of it in `tune`; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fate: Option<String>,
    /// Runs that count, but for the pilot's.
    pub runs: u32,
    /// Runs that failed.
    pub failed: u32,
    /// Median of their wall times, seconds.
    pub wall_s: Option<f64>,
    /// Median of their CPU times, seconds.
    pub cpu_s: Option<f64>,
    /// Median of the runs' median memory, bytes: what is compared.
    pub median_bytes: Option<u64>,
    /// Median of the runs' peaks, bytes: likewise.
    pub peak_bytes: Option<u64>,
    /// The samples of all of its runs together: a description, on which no claim rests.
    pub memory: Option<Distribution>,
}

/// How values lie, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// How many there are.
    pub samples: u64,
    /// The least.
    pub min_bytes: u64,
    /// Lower quartile.
    pub p25_bytes: u64,
    /// Median.
    pub p50_bytes: u64,
    /// Upper quartile.
    pub p75_bytes: u64,
    /// 95th percentile.
    pub p95_bytes: u64,
    /// The largest.
    pub max_bytes: u64,
}
