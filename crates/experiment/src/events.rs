//! Has every process under a folder record what its threads do for a while, the server's own included: no request's record
//! says what it costs to accept one.

use flight::events::{Ask, EventsError, Trace, is_traced_until};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

/// Room for half a million events of each process.
const BYTES: u64 = 16 << 20;

/// Asks, and leaves the files next to the flight files. A process that another trace records is left alone.
pub fn record(flight_dir: &Path, duration: Duration) -> Result<(), EventsError> {
    for (path, snapshot) in flight::read_dir_counters(flight_dir).unwrap_or_default() {
        let Ok(snapshot) = snapshot else { continue };
        let header = &snapshot.header;
        let mono_ns = now_ns(rustix::time::ClockId::Monotonic);
        let runs = flight::life(&path, header) == flight::Life::Runs;
        let traced = is_traced_until(&path).is_some_and(|until| until > mono_ns);
        if !runs || !header.gvl_hook || traced {
            continue;
        }
        let ask = Ask {
            // Not 0, and other than what was there before.
            request: RandomState::new().hash_one(mono_ns) | 1,
            duration_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
            bytes: BYTES,
            wall_ns: now_ns(rustix::time::ClockId::Realtime),
            mono_ns,
        };
        Trace::ask(&path, &snapshot, ask)?;
    }
    Ok(())
}

fn now_ns(clock: rustix::time::ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
