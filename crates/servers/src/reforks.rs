//! Servers that refork: while they serve, they replace their workers by a new generation, which an older worker forks. Pitchfork
//! does so, and Puma with `fork_worker`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

/// How long a worker that is being replaced may be missing.
const REPLACED_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The workers that the server has ever had, in the file to which it adds a line of JSON for each.
pub(crate) fn recorded<Worker: DeserializeOwned>(path: &Path) -> Vec<Worker> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// What `read` returns once no worker is missing, or once that takes too long.
pub(crate) fn once_replaced<T>(read: impl Fn() -> T, complete: impl Fn(&T) -> bool) -> T {
    let end = Instant::now() + REPLACED_WITHIN;
    loop {
        let workers = read();
        if complete(&workers) || Instant::now() >= end {
            return workers;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Whether each worker, as its number and its generation, was recorded once. A crash brings the same pair again.
pub(crate) fn none_crashed<T: Ord>(workers: impl IntoIterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    workers.into_iter().all(|worker| seen.insert(worker))
}
