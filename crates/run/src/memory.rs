//! The memory document, version 1: what `powerband memory --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/memory-v1.schema.json` and `contract/memory-v1.md` are generated from them.

mod comparison;

pub use comparison::{COMPARISON_SCHEMA, Comparison, Difference, Side};

use serde::{Deserialize, Serialize};

/// The value of `schema` in every memory document of this version.
pub const SCHEMA: &str = "powerband/memory/1";

/// The memory of servers over a time: how much, of what, and whether it grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/memory/1`.
    pub schema: String,
    /// Version of powerband that read.
    pub powerband_version: String,
    /// UTC time of the first reading, RFC 3339.
    pub started_at: String,
    /// Seconds from the first reading to the last.
    pub length_s: f64,
    /// Seconds from one reading to the next, as asked for.
    pub interval_s: f64,
    /// What was asked for: process ids, folders of flight files, or the command.
    pub sources: Vec<String>,
    /// Why the readings end.
    pub ending: Ending,
    /// The course of all processes together.
    pub growth: Growth,
    /// All processes together, one sample a reading.
    pub samples: Vec<Sample>,
    /// Each process that was seen, parents before their children.
    pub processes: Vec<Process>,
    /// The control group of the first process; absent without one.
    pub container: Option<Container>,
    /// What could not be read, each with the reason.
    pub not_known: Vec<String>,
}

/// Why readings end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The time was over.
    TimeOver,
    /// A signal ended them.
    Interrupted,
    /// The processes ended.
    ProcessesEnded,
}

/// Memory at one instant, in bytes. Of several processes the sums over those that were there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Seconds since the first reading.
    pub at_s: f64,
    /// Resident; shared pages are counted once a process.
    pub rss_bytes: u64,
    /// Of that, heaps, stacks and changed pages of files; absent where the kernel does not say it.
    pub anonymous_bytes: Option<u64>,
    /// Of that, pages of files.
    pub file_bytes: Option<u64>,
    /// Of that, tmpfs and shared memory.
    pub shared_bytes: Option<u64>,
    /// Anonymous memory that is swapped out.
    pub swap_bytes: Option<u64>,
    /// A page shared by n processes counts 1/n. Read less often than the others: see `docs/memory.md`.
    pub pss_bytes: Option<u64>,
    /// What would be free if the process ended; read together with PSS.
    pub uss_bytes: Option<u64>,
    /// Requests served since the flight files were made; absent without flight files.
    pub requests: Option<u64>,
}

/// The course of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// It changes by less than 2 % over the time, surely.
    Flat,
    /// It rises, and more slowly than in the earlier half of the time.
    WarmingUp,
    /// It rose, and is flat since.
    Plateau,
    /// It rises as fast in the later half of the time as in the earlier.
    Growing,
    /// It falls.
    Shrinking,
    /// The readings allow more than one of these.
    Undecided,
    /// There are too few readings to say anything.
    TooShort,
}

impl Sample {
    /// `None` where it was not read.
    #[must_use]
    pub fn bytes(&self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::Pss => self.pss_bytes,
            Measure::Uss => self.uss_bytes,
            Measure::Rss => Some(self.rss_bytes),
        }
    }
}

/// Which bytes a verdict is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Proportional set size, of all processes together: a page that n processes share counts 1/n in each.
    Pss,
    /// Unique set size, of one process: the pages that no other process has.
    Uss,
    /// Resident set size, where the others were not read often enough: a shared page counts in full in each process.
    Rss,
}

impl Measure {
    /// `PSS`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pss => "PSS",
            Self::Uss => "USS",
            Self::Rss => "RSS",
        }
    }
}

/// Whether memory grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// The verdict.
    pub course: Course,
    /// What the verdict is about.
    pub measure: Measure,
    /// Readings that it rests on.
    pub readings: u64,
    /// Readings that a verdict needs.
    pub readings_needed: u64,
    /// Median in the later half of the time, bytes; absent when too short.
    pub level_bytes: Option<f64>,
    /// The lowest and the highest part of the later half (medians of tenths of it), bytes.
    pub level_range_bytes: Option<(f64, f64)>,
    /// Bytes an hour over the whole time.
    pub per_hour: Option<Pace>,
    /// Bytes an hour in the later half of the time.
    pub late_per_hour: Option<Pace>,
    /// Bytes per thousand requests over the whole time; absent without requests.
    pub per_thousand_requests: Option<Pace>,
}

/// Growth with its interval, in bytes per unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// The Theil-Sen estimate.
    pub bytes: f64,
    /// Lower end of its interval.
    pub low_bytes: f64,
    /// Upper end.
    pub high_bytes: f64,
    /// Confidence of the interval, 0 to 1.
    pub confidence: f64,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// Its parent's.
    pub parent_pid: u32,
    /// The kernel's name of it, at most 15 bytes.
    pub name: String,
    /// Puma's index of this worker; absent otherwise.
    pub worker: Option<u32>,
    /// It was first seen after the first reading: it began in the time.
    pub began: bool,
    /// It was not there at the last reading.
    pub ended: bool,
    /// The course of its memory.
    pub growth: Growth,
    /// What it is made up of, at the first reading that says it.
    pub first: Option<MakeUp>,
    /// The same at the last such reading.
    pub last: Option<MakeUp>,
    /// Ruby's heap as the agent first recorded it in the time; absent without the agent.
    pub first_heap: Option<RubyHeap>,
    /// The same at the end.
    pub last_heap: Option<RubyHeap>,
    /// One sample a reading.
    pub samples: Vec<Sample>,
}

/// What the resident memory of a process consists of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MakeUp {
    /// Seconds since the first reading.
    pub at_s: f64,
    /// The parts, which add up to its RSS.
    pub parts: Vec<Part>,
    /// Anonymous memory that a fork shared and no side has written to since: with the parent, or with siblings.
    pub shared_since_fork_bytes: u64,
    /// Memory that is swapped out.
    pub swap_bytes: u64,
}

/// A part of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Which.
    pub of: PartKind,
    /// Resident bytes.
    pub rss_bytes: u64,
    /// A page shared by n processes counts 1/n; absent where the part has no mappings of its own.
    pub pss_bytes: Option<u64>,
    /// Shared with no other process; absent likewise.
    pub private_bytes: Option<u64>,
}

/// Parts of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Pages of Ruby's heap.
    RubyHeap,
    /// malloc, and all else without a file that is not named: threads' stacks and compiled code of a JIT are in it.
    Malloc,
    /// The two together, where the pages of Ruby's heap are not known.
    MallocAndRubyHeap,
    /// The main thread's stack, and those of other threads where the kernel has their names.
    Stacks,
    /// Programs and libraries: pages that may be executed.
    Code,
    /// Constants and variables of programs and libraries.
    Files,
    /// Memory and files mapped to be shared with other processes.
    Shared,
}

/// Ruby's heap as the agent recorded it when a request began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RubyHeap {
    /// Seconds since the first reading; negative before it.
    pub at_s: f64,
    /// Pages.
    pub pages: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Slots with an object.
    pub live_slots: u64,
    /// Slots without.
    pub free_slots: u64,
    /// Objects of the old generation.
    pub old_objects: u64,
    /// Each pool of slots of one size.
    pub pools: Vec<SizePool>,
}

/// Slots of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SizePool {
    /// Bytes of a slot.
    pub slot_bytes: u64,
    /// Slots.
    pub slots: u64,
    /// Slots with an object; absent where this Ruby does not say it.
    pub live_slots: Option<u64>,
}

/// A control group's memory, in bytes. Absent fields are not said by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Container {
    /// What it holds at the end, with the file cache.
    pub current_bytes: Option<u64>,
    /// Of that, what the kernel cannot simply take back: without the file cache that was not used lately.
    pub used_bytes: Option<u64>,
    /// The most that it ever held.
    pub peak_bytes: Option<u64>,
    /// Its limit; absent without one.
    pub limit_bytes: Option<u64>,
    /// Times that the limit was hit and nothing could be taken back, since the group was made.
    pub oom_events: Option<u64>,
    /// Processes that were killed for it, since the group was made.
    pub oom_kills: Option<u64>,
    /// Of these, in the time.
    pub oom_kills_meanwhile: Option<u64>,
    /// When the limit is reached at this growth; only where memory grows.
    pub limit_reached: Option<LimitReached>,
}

/// Seconds from the end of the readings until a limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LimitReached {
    /// By the estimate of the growth.
    pub in_s: f64,
    /// By the upper end of its interval.
    pub soonest_s: f64,
    /// By the lower end.
    pub latest_s: f64,
}
