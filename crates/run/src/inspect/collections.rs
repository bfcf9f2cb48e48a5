//! Ruby's collections one by one, and the requests that waited for them.

use serde::{Deserialize, Serialize};

/// Collections by kind and cause, from the log of each process, and what they cost the slowest requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Collections {
    /// Time that the logs hold, all processes added up, s.
    pub watched_s: f64,
    /// Collections that the logs hold no longer: each process keeps its latest 2,048.
    pub lost: u64,
    /// By kind and cause, the ones with the longest pauses in total first.
    pub kinds: Vec<CollectionsOfKind>,
    /// All requests on record; absent where they are too few.
    pub requests: Option<Stopped>,
    /// Those of each endpoint that has enough, in the order of `endpoints`.
    pub endpoints: Vec<Stopped>,
    /// Why `requests` is absent.
    pub why_not: Option<String>,
}

/// Collections of one kind that had the same cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CollectionsOfKind {
    /// Minor or major; absent where Ruby's collector does not say.
    pub kind: Option<CollectionKind>,
    /// Why they were major; absent for minor ones.
    pub major_by: Option<MajorBy>,
    /// What set them off; absent for a cause that is not known.
    pub cause: Option<CollectionCause>,
    /// How many there were.
    pub count: u64,
    /// In a minute of one process; absent when no time was watched.
    pub per_minute: Option<f64>,
    /// How long they stopped their processes, ms in total.
    pub pause_ms: f64,
    /// As a share of the time watched.
    pub share_of_time: Option<f64>,
    /// The pauses of one collection together, median, ms.
    pub p50_ms: f64,
    /// 99th percentile, ms; absent of fewer than 100.
    pub p99_ms: Option<f64>,
    /// The longest single pause, ms.
    pub longest_pause_ms: f64,
    /// Thread CPU spent in them, ms in total.
    pub cpu_ms: f64,
    /// Objects that one freed, mean of those of which it is known.
    pub freed: Option<f64>,
    /// Objects that became old in one, mean; absent for major ones, which count old objects anew.
    pub promoted: Option<f64>,
}

/// Which objects a collection looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CollectionKind {
    /// The young ones.
    Minor,
    /// All.
    Major,
}

/// What set a collection off, as `GC.latest_gc_info(:gc_by)` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CollectionCause {
    /// No free slot for a new object.
    Newobj,
    /// Memory that objects took outside of their slots.
    Malloc,
    /// A call of `GC.start`.
    Method,
    /// Native code asked for it.
    Capi,
    /// `GC.stress`.
    Stress,
}

/// Why a collection is a major one, as `GC.latest_gc_info(:major_by)` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MajorBy {
    /// A minor one had freed too few slots.
    Nofree,
    /// Many more old objects than after the last major one.
    Oldgen,
    /// Many objects without a write barrier.
    Shady,
    /// Memory that old objects took outside of their slots.
    Oldmalloc,
    /// It was asked for.
    Force,
}

/// Requests, and how long collections stopped them: in their own thread, or in another while they were ready to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    /// `products#index`; `all requests` for all.
    pub name: String,
    /// How many are on record.
    pub requests: u64,
    /// 99th percentile of their time in the application, ms.
    pub p99_ms: f64,
    /// The same after subtracting from each request how long collections stopped it, ms.
    pub p99_without_ms: f64,
    /// Requests that no collection stopped.
    pub untouched: u64,
    /// 99th percentile of these, ms; absent of fewer than 1,000.
    pub p99_untouched_ms: Option<f64>,
    /// The slowest 1 %: how many they are.
    pub slowest: u64,
    /// Those of the slowest that major collections stopped.
    pub by_major: StoppedBy,
    /// Those of the slowest that minor collections stopped. A request may be among both.
    pub by_minor: StoppedBy,
}

/// Some of the slowest requests, which collections of one kind stopped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StoppedBy {
    /// How many.
    pub requests: u64,
    /// As a share of the slowest.
    pub share: f64,
    /// How long, mean of these requests, ms.
    pub mean_ms: f64,
}
