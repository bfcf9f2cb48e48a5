//! What the measurements came to: comparisons and the answer.

use crate::metric::Metric;
use crate::plan::Stage;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// A candidate against the baseline over the blocks of one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Why nothing is claimed, whatever the test says: too many requests of an arm failed. The outcome is then `undecided`.
    /// Absent where that is not so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_comparable: Option<String>,
    /// True where the test says `better` and that is not claimed: the rule for two finalists (docs/method.md) does not allow it.
    /// Absent where that is not so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_claimed: bool,
}

impl Comparison {
    /// The word that tables show.
    pub fn word(&self) -> &'static str {
        match self.not_comparable {
            Some(_) => "not comparable",
            None if self.not_claimed => "not claimed",
            None => self.outcome.word(),
        }
    }
}

/// The verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// What it comes to.
    pub answer: Answer,
    /// One sentence for a person.
    pub sentence: String,
    /// The configuration to run; the baseline's when nothing better was shown.
    pub settings: Settings,
    /// Its arm, where its settings alone do not say what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// From the baseline to the configuration that was confirmed, one variable at a time; also when the answer is to keep
    /// the baseline.
    pub path: Vec<Step>,
    /// Changes of the advised configuration that were not measured by themselves, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_isolated: Vec<String>,
    /// Room that it leaves.
    pub headroom: Option<Headroom>,
    /// What to change, as files and as a diff.
    pub changes: Vec<FileChange>,
    /// What no diff sets and is to be set by hand, with the reason, and what to know of the diffs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<String>,
    /// What would decide, when undecided.
    pub blocks_to_decide: Option<u32>,
    /// Exit code of the command: 0 done, 1 no configuration meets the limits or an assertion fails, 3 no honest answer.
    pub exit_code: u8,
}

impl Verdict {
    /// An answer, with nothing to change and nothing to come.
    pub fn of(answer: Answer, sentence: String, settings: Settings, exit_code: u8) -> Verdict {
        Verdict {
            answer,
            sentence,
            settings,
            arm: None,
            path: Vec::new(),
            not_isolated: Vec::new(),
            headroom: None,
            changes: Vec::new(),
            by_hand: Vec::new(),
            blocks_to_decide: None,
            exit_code,
        }
    }
}

/// What a verdict comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The table is the answer (`compare`, `sweep` and `check` recommend nothing).
    Table,
}

/// One variable changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The knob that changes: workers, threads or preload.
    pub knob: String,
    /// The configuration before.
    pub from: Settings,
    /// The configuration after.
    pub to: Settings,
    /// The values before and after, where the settings do not tell them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<(String, String)>,
    /// What is compared, after over before: capacity, or what there was to be least of.
    pub ratio: f64,
    /// Interval of the ratio, where it was measured on enough blocks.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// True when measured; false when predicted by the model.
    pub measured: bool,
    /// True where it was predicted by a model that this run's own measurements contradict: then it is not to be believed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuted: bool,
}

/// Room that the recommendation leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Headroom {
    /// The rate of the objective windows over the capacity, 0 to 1.
    pub utilisation_at_rate: f64,
    /// 80 % of the measured capacity: add capacity when traffic reaches this, requests per second.
    pub add_capacity_at_per_s: f64,
    /// Median time from start to ready, seconds.
    pub boot_s: f64,
    /// Memory while an old and a new deploy overlap: twice the largest PSS, bytes. Absent where memory grows with the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy_overlap_bytes: Option<u64>,
}

/// A file as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    /// Path relative to the application, or a label such as `environment`.
    pub path: String,
    /// Unified diff against what is there.
    pub diff: String,
    /// True where a removed line is hidden because it has credentials: `git apply` rejects the diff.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// CRC-32 of the file that the diff is against, 0 where there was none: the diff has no unchanged lines by which `git apply` could
    /// find its place in another. Absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32: Option<u32>,
}

impl FileChange {
    /// Whether `git apply` accepts it in the application's folder.
    pub fn applies_in_application(&self) -> bool {
        !self.hidden && !self.path.starts_with('/')
    }
}
