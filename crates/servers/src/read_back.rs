//! What a server really runs with, by its own account, and which settings did not take.
//!
//! The agent's account of the same is compared where flight files are read, in `experiment`.

use std::borrow::Cow;
use std::fmt;

/// A setting that did not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// `threads`, `workers`, `preload`, or one of the environment's.
    pub knob: Cow<'static, str>,
    pub asked: String,
    pub runs_with: String,
    /// What to change.
    pub hint: &'static str,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch {
            knob,
            asked,
            runs_with,
            hint,
        } = self;
        write!(
            f,
            "{knob} = {asked} was asked, the server runs with {runs_with}: {hint}"
        )
    }
}

/// What a server runs with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadBack {
    /// 0 in single mode.
    pub workers: usize,
    /// The most threads of each process, where it said so.
    pub max_threads: Vec<u64>,
    /// The fewest threads of a process; `None` where Puma wrote no settings.
    pub min_threads: Option<u64>,
    /// `None` in single mode, or where Puma wrote no settings.
    pub preload: Option<bool>,
    /// The server as it names itself: `Puma 6.6.0`.
    pub server: Option<String>,
    /// What stands in front of it.
    pub front: Option<FrontReadBack>,
    /// Empty when the server runs as asked.
    pub mismatches: Vec<Mismatch>,
}

/// What nginx runs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontReadBack {
    /// Such as `nginx 1.26.3`.
    pub version: String,
    /// Worker processes that live.
    pub workers: usize,
}
