//! What a merged load document says of generators that shared a topic.

use serde::{Deserialize, Serialize};

/// One run of generators that shared a topic of Kafka.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The consumer group.
    pub name: String,
    /// The address of the topic, without credentials.
    pub topic: String,
    /// Names the run among those of the group.
    pub run: String,
    /// Recorded requests that all generators together took from the topic.
    pub requests: u64,
    /// Of these, requests in no count of this document: those of generators without figures, and what others left out.
    pub lost: u64,
    /// Each generator, in the order of its name in the group.
    pub generators: Vec<GroupGenerator>,
}

/// A generator of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GroupGenerator {
    /// Host and process.
    pub generator: String,
    /// Its partitions.
    pub partitions: Vec<i32>,
    /// Recorded requests in them.
    pub requests: u64,
    /// Of these, requests in no count of this document.
    pub lost: u64,
    /// How it ended.
    pub ending: GeneratorEnding,
    /// Why it has no figures, or left requests out, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How a generator of a group ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GeneratorEnding {
    /// Its figures are in this document.
    Done,
    /// Kafka moved its partitions before the start: it sent nothing, and the group's next run replays them.
    Moved,
    /// It could not send, or was given up.
    Failed,
    /// It gave no result: it was killed, or could not reach Kafka.
    Missing,
}
