//! The leak document, version 1: what `powerband leak --json` prints.
//!
//! As in the run document, the comment on each field is its public description: `contract/leak-v1.schema.json` and
//! `contract/leak-v1.md` are generated from them.

use crate::Settings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `schema` in every leak document of this version.
pub const SCHEMA: &str = "powerband/leak/1";

/// What requests left in the heap of a server, by what keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/leak/1`.
    pub schema: String,
    /// Version of powerband that looked.
    pub powerband_version: String,
    /// UTC time of the beginning, RFC 3339.
    pub started_at: String,
    /// How long it took, s.
    pub elapsed_s: f64,
    /// Seed of the requests.
    pub seed: u64,
    /// Versions of what ran.
    pub versions: BTreeMap<String, String>,
    /// Folder of the application.
    pub app_dir: String,
    /// What the server was started with.
    pub settings: Settings,
    /// Requests of each round; each round ends with full collections.
    pub requests_by_round: Vec<u64>,
    /// Objects that were alive at the end, those of the boot included.
    pub objects: u64,
    /// Bytes of these, what they hold outside of the heap's slots included.
    pub bytes: u64,
    /// The answer.
    pub answer: Answer,
    /// The answer in a sentence.
    pub sentence: String,
    /// 0: no leak was found; 1: at least one; 3: not decided.
    pub exit_code: u8,
    /// What grows in every round, the largest first.
    pub leaks: Vec<Retained>,
    /// What else requests left that is not, or not surely, a leak; the largest only.
    pub others: Vec<Retained>,
    /// Endpoints that were asked too seldom for a leak to be seen.
    pub seldom: Vec<Asked>,
    /// Classes of the objects that were alive at the end, those of the most bytes first; the largest only.
    pub alive: Vec<Class>,
    /// What limits these figures.
    pub warnings: Vec<String>,
}

/// Whether there is a leak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Something grows in every round.
    Leak,
    /// Nothing does.
    None,
    /// Nothing is shown to: too few requests were answered, or too few of them left objects that may be a leak.
    Undecided,
}

/// How what requests leave goes on from round to round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Each round leaves some, the later ones as many as the earlier ones: a leak.
    Growing,
    /// Later rounds leave fewer: a cache that fills.
    Filling,
    /// Of earlier rounds less is left, or what keeps them does not grow: a cache that drops old entries.
    Replaced,
    /// Too few requests left something.
    Undecided,
}

/// Objects that requests left, and that one object, or several of the same kind, keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retained {
    /// How it goes on.
    pub course: Course,
    /// From a class, or a root of the heap, to what keeps the objects.
    pub path: Vec<Step>,
    /// Objects at the end of such a path: more than one where several of the same kind keep some each.
    pub keepers: u64,
    /// Elements, pairs or bytes of what keeps them at the beginning of the first round and at the end of each; absent where there
    /// are fewer than 64 (of a string: 4,096 bytes) at any of these moments, or several keepers.
    pub sizes: Option<Vec<u64>>,
    /// Objects that are left of each thousand requests.
    pub objects_per_thousand: Rate,
    /// Bytes of these objects, and the bytes by which what keeps them has grown itself.
    pub bytes_per_thousand: Rate,
    /// Objects left of each round.
    pub objects_by_round: Vec<u64>,
    /// Requests of each round that left some.
    pub requests_by_round: Vec<u64>,
    /// Lines that make the objects: those directly kept first. Empty where what grows holds no objects, such as an array of numbers.
    pub sites: Vec<Site>,
    /// Endpoints whose requests left objects, the one that left the most bytes first.
    pub endpoints: Vec<Endpoint>,
}

/// An object of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its class; of a class or a module its own name; of a root which one it is.
    pub what: String,
    /// The constant, variable or member by which the object before it holds it; absent where it has no name, as in an array.
    pub name: Option<String>,
    /// Where a constant is defined, `path:line`.
    pub defined_at: Option<String>,
}

/// An amount per thousand requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The median of all means of two rounds.
    pub estimate: f64,
    /// Its interval of 95 % or more, from the rounds; absent with fewer than six.
    pub between: Option<[f64; 2]>,
}

/// A line, and what it made that is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// `path:line` of the innermost Ruby code; absent where none ran.
    pub made_at: Option<String>,
    /// Whether that is code of the application, and not of a gem or of Ruby.
    pub in_application: bool,
    /// Class of the objects.
    pub class: String,
    /// Objects that are left.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of the objects: kept directly, and not by another one that is left.
    pub directly: u64,
}

/// An endpoint, and what its requests left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// As `powerband inspect` calls it.
    pub name: String,
    /// Its requests in all rounds.
    pub requests: u64,
    /// Of these: left something.
    pub leaving: u64,
    /// Objects that are left.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A class and its objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name; of what Ruby keeps for itself which kind it is.
    pub class: String,
    /// Objects.
    pub objects: u64,
    /// Their bytes, what they hold outside of the heap's slots included.
    pub bytes: u64,
}

/// An endpoint and its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// As `powerband inspect` calls it.
    pub name: String,
    /// Its requests in all rounds.
    pub requests: u64,
}
