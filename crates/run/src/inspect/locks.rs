//! Locks that requests waited for.

use serde::{Deserialize, Serialize};

/// A mutex or monitor that requests or jobs waited for, over all processes (each has one); or a line of code at
/// which they waited for something else. Only waits while a request was served count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// `lib/cache.rb:41`: where it was first waited for, outside the code of locks and pools; absent where that is not known, and for
    /// what the agent's table had no room for.
    pub site: Option<String>,
    /// Its class; absent for what the agent's table had no room for.
    pub kind: Option<LockKind>,
    /// How often a request or job waited.
    pub waits: u64,
    /// How long, ms in total.
    pub wait_ms: f64,
    /// As a share of all time that requests and jobs waited for locks.
    pub share_of_lock_wait: Option<f64>,
    /// The longest wait, ms.
    pub longest_wait_ms: f64,
    /// Mutexes or monitors at this line in one process, at most. 0: it is none, so no thread holds it.
    pub objects: u32,
    /// How often a thread that held it gave the GVL up meanwhile, since the first wait for it.
    pub holds: u64,
    /// How long such a thread held it, mean, ms: from the end of its own wait, else from when it gave the GVL up, to the end of
    /// the next thread's wait, else to when it got the GVL again.
    pub held_ms: Option<f64>,
    /// The longest such time, ms.
    pub longest_held_ms: Option<f64>,
    /// How often a second one such lock can be held for that long: 1 / `held_ms`. Holds in which the thread kept the GVL do not
    /// count. Absent where there are several at this line.
    pub most_per_s: Option<f64>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LockKind {
    /// A `Thread::Mutex`.
    Mutex,
    /// A `Thread::Queue`: another thread's entry.
    Queue,
    /// A `Thread::SizedQueue`: an entry, or room for one.
    SizedQueue,
    /// A `Thread::ConditionVariable`, as a connection pool waits, or `Mutex#sleep`.
    ConditionVariable,
    /// A `Monitor`.
    Monitor,
}
