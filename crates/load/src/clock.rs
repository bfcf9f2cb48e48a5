//! The three clocks of a run, in integer nanoseconds. Intervals come from the
//! monotonic clock (the agent's flight records use the same one), the wall
//! clock is only for headers and for people, the thread's CPU clock tells
//! what the generator itself costs.

use rustix::time::{ClockId, Timespec, clock_gettime};

fn read_ns(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    u64::try_from(tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(tv_nsec).unwrap_or(0)
}

/// `CLOCK_MONOTONIC`.
pub(crate) fn monotonic_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// `CLOCK_REALTIME`, since the epoch.
pub(crate) fn wall_ns() -> u64 {
    read_ns(ClockId::Realtime)
}

/// CPU time of the calling thread, user and system.
pub(crate) fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}
