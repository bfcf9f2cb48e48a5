//! What an arm's trials say of a request's time and of the machine's memory, all of them together.

use run::{MachineMemory, RequestTime, Trial};
use stats::summary;

/// Means over the requests of all trials: a trial that served more says more.
pub fn request_time(trials: &[&Trial]) -> Option<RequestTime> {
    let splits: Vec<_> = trials.iter().filter_map(|t| t.split).collect();
    let requests: u64 = splits.iter().map(|s| s.requests).sum();
    if requests == 0 {
        return None;
    }
    let mean =
        |of: &dyn Fn(&run::Split) -> f64| splits.iter().map(of).sum::<f64>() / requests as f64;
    let lock_wait: Option<f64> = splits.iter().map(|s| s.lock_wait_ms).sum();
    let io_ms = |s: &run::Split| match lock_wait {
        Some(_) => s.io_ms,
        // Where a trial has the two in one figure, all have.
        None => s.io_ms + s.lock_wait_ms.unwrap_or(0.0),
    };
    let queue: Option<f64> = splits.iter().map(|s| s.queue_ms).sum();
    Some(RequestTime {
        wall_ms: mean(&|s| s.wall_ms),
        held_ms: mean(&|s| s.held_ms),
        gvl_wait_ms: mean(&|s| s.gvl_wait_ms),
        lock_wait_ms: lock_wait.map(|sum| sum / requests as f64),
        io_ms: mean(&io_ms),
        queue_ms: queue.map(|sum| sum / requests as f64),
    })
}

/// Medians.
pub fn machine(trials: &[&Trial]) -> Option<MachineMemory> {
    let seen: Vec<MachineMemory> = trials
        .iter()
        .filter_map(|t| t.memory.as_ref()?.machine)
        .collect();
    let median = |of: fn(&MachineMemory) -> u64| {
        let values: Vec<f64> = seen.iter().map(|m| of(m) as f64).collect();
        Some(summary::median(&values)? as u64)
    };
    Some(MachineMemory {
        total_bytes: median(|m| m.total_bytes)?,
        used_bytes: median(|m| m.used_bytes)?,
        free_bytes: median(|m| m.free_bytes)?,
        shared_bytes: median(|m| m.shared_bytes)?,
        buffers_bytes: median(|m| m.buffers_bytes)?,
        cached_bytes: median(|m| m.cached_bytes)?,
    })
}
