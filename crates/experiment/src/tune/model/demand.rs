//! The application and its server as the models take them.

use crate::error::Stopped;
use capacity::{Config, Demand};
use run::{Profile, Settings};

/// What one request asks of the server. All CPU time of the process tree beyond native code counts as GVL time:
/// Puma's own parsing and writing needs the GVL too, and happens outside the agent's span.
pub fn demand(profile: &Profile) -> Result<Demand, Stopped> {
    let native_ms = (profile.cpu_ms - profile.held_ms).max(0.0);
    let held_ms = (profile.tree_cpu_ms - native_ms).max(profile.cpu_ms.min(profile.held_ms));
    let io_ms = (profile.io_ms - native_ms).max(0.0);
    let lock = profile.lock.as_ref();
    let lock_ms = lock.map_or(0.0, |of| of.held_ms.unwrap_or(0.0) * of.holds_per_request);
    Demand::new(held_ms / 1e3, io_ms / 1e3, native_ms / 1e3)
        // Waits for the GVL in possession of it are no I/O.
        .and_then(|demand| demand.with_lock(lock_ms.min(io_ms) / 1e3))
        .map_err(|e| Stopped::NoAnswer(format!("the baseline's profile cannot be modelled: {e}")))
}

/// As the models have it.
pub fn config(settings: Settings) -> Config {
    Config {
        workers: settings.workers,
        threads: settings.threads,
    }
}
