//! How long a GVL that a thread waits for has no holder: from the moment a thread gives it up until the next one has it.
//! The kernel wakes a thread meanwhile, and no thread computes.

use std::collections::HashMap;

use flight::events::{Doing, Event, EventKind, Events};
use small_sort::SmallSort;

/// Fewer say too little.
pub(crate) const LEAST: usize = 20;
/// No kernel takes so long unless another task has the core.
const MOST_NS: u64 = 2_000_000;

/// All hand-overs between threads whose events are there. Where one in many requests was sampled, a thread that is not
/// seen may have had the GVL between two that are: the median bears that, as it bears a core that was busy otherwise.
pub(crate) fn hand_overs(events: &Events) -> Vec<u64> {
    let mut sorted: Vec<&Event> = events.events.iter().filter(|e| e.thread != 0).collect();
    sorted.small_sort_by_key(|event| event.mono_ns);
    let mut doing: HashMap<u32, (Option<Doing>, u64)> = HashMap::new();
    let mut free_since: Option<u64> = None;
    let mut found = Vec::new();
    for event in sorted {
        let before = doing.get(&event.thread).copied().unwrap_or((None, 0));
        let after = Doing::after(before.0, event.kind);
        match event.kind {
            EventKind::RequestEnd { .. } => {
                // What it does then is only seen in a trace of everything.
                doing.insert(event.thread, (None, event.mono_ns));
                continue;
            }
            EventKind::Suspended { .. } if before.0 == Some(Doing::Running) => {
                let waits = |(what, _): &(Option<Doing>, u64)| *what == Some(Doing::Waiting);
                free_since = doing.values().any(waits).then_some(event.mono_ns);
            }
            EventKind::Resumed => {
                if let (Some(free), (Some(Doing::Waiting), since)) = (free_since.take(), before)
                    && since <= free
                {
                    found.push(event.mono_ns - free);
                }
            }
            _ => {}
        }
        if after != before.0 {
            doing.insert(event.thread, (after, event.mono_ns));
        }
    }
    found
}

/// The median of all, where there are enough.
pub(crate) fn typical_ns(mut found: Vec<u64>) -> Option<u64> {
    if found.len() < LEAST {
        return None;
    }
    let middle = found.len() / 2;
    let (_, median, _) = found.select_nth_unstable(middle);
    Some((*median).min(MOST_NS))
}
