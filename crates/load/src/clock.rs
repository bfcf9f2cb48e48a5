//! The three clocks of a run, in integer nanoseconds. Intervals come from the
//! monotonic clock (the agent's flight records use the same one), the wall
//! clock is only for headers and for people, the thread's CPU clock measures
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

/// By how much the wall clock (since the epoch) is ahead of the monotonic one.
pub(crate) fn wall_offset_ns() -> i128 {
    offset_ns(|| [ClockId::Monotonic, ClockId::Realtime, ClockId::Monotonic].map(read_ns))
}

/// Readings that lie so close together are as exact as can be.
const TOGETHER_NS: u64 = 2_000;

/// Of the wall clock between two readings of the monotonic one: a thread that
/// loses its core between two readings would shift every stamp by that time.
fn offset_ns(mut read: impl FnMut() -> [u64; 3]) -> i128 {
    let mut best = (u64::MAX, 0);
    for _ in 0..10 {
        let [before, wall, after] = read();
        let apart = after.saturating_sub(before);
        if apart < best.0 {
            let between = i128::from(before) + i128::from(apart / 2);
            best = (apart, i128::from(wall) - between);
        }
        if apart <= TOGETHER_NS {
            break;
        }
    }
    best.1
}

/// CPU time of the calling thread, user and system.
pub(crate) fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}

/// How long the calling thread was ready to run and had no core, because others had them; `None` where the kernel does
/// not count it.
pub(crate) fn thread_waited_ns() -> Option<u64> {
    waited_ns(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The second number: the first is the time on a core, the third a count.
fn waited_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_core_is_the_second_number() {
        assert_eq!(waited_ns("1200 340 7\n"), Some(340));
        assert_eq!(waited_ns("1200\n"), None);
    }

    #[test]
    fn a_stall_between_two_readings_moves_no_stamp() {
        let mut readings = [
            [1_000, 500_003_000, 500_002_000],
            [500_010_000, 500_012_000, 900_000_000],
            [900_010_000, 900_010_550, 900_010_100],
            [900_020_000, 900_020_000, 900_020_000],
        ]
        .into_iter();
        assert_eq!(offset_ns(|| readings.next().unwrap()), 500);
        assert_eq!(readings.len(), 1, "no more than it takes");
    }

    #[test]
    fn a_machine_that_reads_slowly_has_its_best_reading() {
        let mut apart = 20_000;
        let offset = offset_ns(|| {
            apart -= 1_000;
            [0, 100_000, apart]
        });
        assert_eq!(offset, 100_000 - 5_000);
    }
}
