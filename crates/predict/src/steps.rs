//! What a request does itself, out of what happened to it: its steps without its stalls.

use capacity::sim::{Station, Step};
use small_sort::SmallSort;

/// A piece of a request's course that is no wait for the GVL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// It had the GVL.
    Held(u64),
    /// It had given it up, and was not ready.
    Away(u64),
    /// It waited for a lock that is no station, or for a thread that worked for it.
    Lock(u64),
    /// It takes a lock, for which it had waited or not, and gives it back.
    Take {
        station: Station,
        waited: bool,
    },
    Give(Station),
    /// The client has its answer.
    Answer,
}

/// The typical course has at most so many waits: `yields` counts preemptions as well.
const MOST_WAITS: u64 = 64;
/// System calls this short are the kernel's work rather than a wait.
const SYSTEM_CALL_NS: u64 = 100_000;

/// Sums of a course.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub held_ns: u64,
    pub away_ns: u64,
    pub lock_ns: u64,
}

impl Sums {
    pub fn of(pieces: &[Piece]) -> Self {
        let mut sums = Self::default();
        for piece in pieces {
            match *piece {
                Piece::Held(ns) => sums.held_ns += ns,
                Piece::Away(ns) => sums.away_ns += ns,
                Piece::Lock(ns) => sums.lock_ns += ns,
                Piece::Take { .. } | Piece::Give(_) | Piece::Answer => {}
            }
        }
        sums
    }
}

/// The typical course of a request of which sums alone are known: it gave the GVL up `yields` times, which divide what it
/// held and what it waited evenly. A wait for a lock comes first.
pub(crate) fn typical(sums: Sums, yields: u32) -> Vec<Piece> {
    let waits = match sums.away_ns {
        0 => 0,
        _ => u64::from(yields).clamp(1, MOST_WAITS),
    };
    let part = |sum: u64, parts: u64, nth: u64| sum * (nth + 1) / parts - sum * nth / parts;
    let mut pieces = Vec::with_capacity(2 * waits as usize + 2);
    pieces.push(Piece::Lock(sums.lock_ns));
    for nth in 0..waits {
        pieces.push(Piece::Held(part(sums.held_ns, waits + 1, nth)));
        pieces.push(Piece::Away(part(sums.away_ns, waits, nth)));
    }
    pieces.push(Piece::Held(part(sums.held_ns, waits + 1, waits)));
    pieces
}

/// The course of another request, stretched to these sums; `None` where it has nothing to stretch.
pub(crate) fn stretched(pattern: &[Piece], to: Sums) -> Option<Vec<Piece>> {
    let own = Sums::of(pattern);
    let lacks = |own: u64, to: u64| own == 0 && to > 0;
    if lacks(own.held_ns, to.held_ns) || lacks(own.away_ns, to.away_ns) {
        return None;
    }
    let scaled = |ns: u64, own: u64, to: u64| match own {
        0 => 0,
        _ => (u128::from(ns) * u128::from(to) / u128::from(own)) as u64,
    };
    // The sum includes waits for locks that are taken in the simulation, and it is not known how much.
    let takes = |piece: &Piece| matches!(piece, Piece::Take { .. });
    let lock_ns = match pattern.iter().any(takes) {
        true => own.lock_ns,
        false => to.lock_ns,
    };
    let piece = |piece: &Piece| match *piece {
        Piece::Held(ns) => Piece::Held(scaled(ns, own.held_ns, to.held_ns)),
        Piece::Away(ns) => Piece::Away(scaled(ns, own.away_ns, to.away_ns)),
        Piece::Lock(ns) => Piece::Lock(scaled(ns, own.lock_ns, lock_ns)),
        other @ (Piece::Take { .. } | Piece::Give(_) | Piece::Answer) => other,
    };
    Some(pattern.iter().map(piece).collect())
}

/// What a wait for a lock becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locks {
    /// A stall: others had the lock.
    LeftOut,
    /// Requests that were alone waited as well: for a thread that worked for them, which is as good as I/O.
    AsIo,
}

/// The steps of a course, whose thread had so much CPU time (`None` where that was not measured).
///
/// Bursts are the wall clock's. Where the GVL was held for longer than the thread had a processor, the core was busy with
/// another task, which is a stall of the old configuration: every held step is shortened by the one ratio of thread CPU
/// to time held. Where the thread had more processor time than it held the GVL, it computed without it: that time is
/// looked for in the waits that look most like it, system calls first, then the longest.
pub(crate) fn steps(pieces: &[Piece], thread_ns: Option<u64>, locks: Locks) -> Vec<Step> {
    let held_ns = Sums::of(pieces).held_ns;
    let thread_ns = thread_ns.unwrap_or(held_ns);
    let had = match held_ns {
        0 => 1.0,
        ns => (thread_ns as f64 / ns as f64).min(1.0),
    };
    let native = native(pieces, thread_ns.saturating_sub(held_ns));
    let held = |ns: u64| Step::Held((ns as f64 * had).round() as u64);
    let mut steps = Vec::with_capacity(pieces.len());
    for (at, piece) in pieces.iter().enumerate() {
        match *piece {
            Piece::Held(ns) => steps.push(held(ns)),
            Piece::Away(ns) if native.get(at).copied().unwrap_or(false) => {
                steps.push(Step::Native(ns));
            }
            Piece::Away(ns) => steps.push(Step::Io(ns)),
            Piece::Lock(ns) if locks == Locks::AsIo => steps.push(Step::Io(ns)),
            Piece::Lock(_) => {}
            Piece::Take { station, .. } => steps.push(Step::Acquire(station)),
            Piece::Give(station) => steps.push(Step::Release(station)),
            Piece::Answer => steps.push(Step::Answer),
        }
    }
    steps
}

/// Which of the waits were work without the GVL, of `native_ns` in all. Empty: none.
fn native(pieces: &[Piece], mut native_ns: u64) -> Vec<bool> {
    let away = |at: usize| match pieces.get(at) {
        Some(Piece::Away(ns)) => Some(*ns),
        _ => None,
    };
    let mut order: Vec<usize> = (0..pieces.len()).filter(|&at| away(at).is_some()).collect();
    if native_ns == 0 || order.is_empty() {
        return Vec::new();
    }
    order.small_sort_by_key(|&at| {
        let ns = away(at).unwrap_or(0);
        match ns <= SYSTEM_CALL_NS {
            true => (0, ns),
            false => (1, u64::MAX - ns),
        }
    });
    let mut found = vec![false; pieces.len()];
    for at in order {
        let ns = away(at).unwrap_or(0);
        // A burst of computing is a little longer than its CPU time.
        if native_ns + native_ns / 4 >= ns {
            found[at] = true;
            native_ns = native_ns.saturating_sub(ns);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::course;
    use flight::events::{Burst, Doing};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const MS: u64 = 1_000_000;

    fn burst(doing: Doing, ms: u64) -> Burst {
        Burst::new(doing, ms * MS)
    }

    fn cpu(thread_ms: u64) -> Option<u64> {
        Some(thread_ms * MS)
    }

    /// As the simulator takes them: neighbours of a kind joined, nothing of no length.
    fn joined(steps: &[Step]) -> Vec<Step> {
        let mut work = capacity::sim::Work::new();
        work.push(0, steps.iter().copied());
        work.steps(0).collect()
    }

    #[test]
    fn a_course_with_a_simulated_lock_keeps_its_other_lock_waits() {
        let station = capacity::sim::Station(0);
        let take = Piece::Take {
            station,
            waited: true,
        };
        let pattern = [
            Piece::Lock(5),
            take,
            Piece::Held(4),
            Piece::Away(8),
            Piece::Give(station),
        ];
        let to = Sums {
            held_ns: 8,
            away_ns: 16,
            lock_ns: 25,
        };
        let doubled = [
            Piece::Lock(5),
            take,
            Piece::Held(8),
            Piece::Away(16),
            Piece::Give(station),
        ];
        assert_eq!(stretched(&pattern, to).unwrap(), doubled);
        let without = [Piece::Lock(5), Piece::Held(4), Piece::Away(8)];
        assert_eq!(stretched(&without, to).unwrap()[0], Piece::Lock(25));
    }

    #[test]
    fn stalls_are_left_out_and_preemption_cuts_nothing() {
        let mut bursts = vec![
            burst(Doing::Running, 96),
            burst(Doing::Io, 0),
            burst(Doing::Waiting, 200),
            burst(Doing::Running, 4),
            burst(Doing::Io, 30),
            burst(Doing::Waiting, 7),
            burst(Doing::Running, 2),
            burst(Doing::Lock, 40),
            burst(Doing::Waiting, 1),
            burst(Doing::Running, 3),
        ];
        bursts[1].ns = 900;
        let pieces = course(&bursts, &BTreeMap::new());
        let held = |ms: u64| Step::Held(ms * MS);
        let io = |ms: u64| Step::Io(ms * MS);
        let left_out = steps(&pieces, cpu(105), Locks::LeftOut);
        assert_eq!(joined(&left_out), [held(100), io(30), held(5)]);
        let as_io = steps(&pieces, cpu(105), Locks::AsIo);
        assert_eq!(
            joined(&as_io),
            [held(100), io(30), held(2), io(40), held(3)]
        );
    }

    #[test]
    fn a_short_wait_that_is_no_preemption_stays() {
        let mut bursts = [
            burst(Doing::Running, 5),
            burst(Doing::Io, 0),
            burst(Doing::Waiting, 3),
            burst(Doing::Running, 5),
        ];
        bursts[1].ns = 900;
        let found = joined(&steps(
            &course(&bursts, &BTreeMap::new()),
            cpu(10),
            Locks::LeftOut,
        ));
        assert_eq!(
            found,
            [Step::Held(5 * MS), Step::Io(900), Step::Held(5 * MS)]
        );
    }

    /// 12 ms held of which the thread had a processor for 9: three quarters of each.
    #[test]
    fn what_waited_for_a_core_is_shortened_by_one_ratio() {
        let pieces = [
            Piece::Held(7 * MS),
            Piece::Away(20 * MS),
            Piece::Held(5 * MS),
        ];
        let found = joined(&steps(&pieces, cpu(9), Locks::LeftOut));
        let held = |us: u64| Step::Held(us * 1_000);
        assert_eq!(found, [held(5_250), Step::Io(20 * MS), held(3_750)]);
    }

    /// 5 ms held, 305 of CPU: the 300 ms away were a password's hash and 20 us a system call.
    #[test]
    fn cpu_beyond_the_gvl_is_found_in_the_waits() {
        let pieces = [
            Piece::Held(5 * MS),
            Piece::Away(20_000),
            Piece::Away(40 * MS),
            Piece::Away(300 * MS),
        ];
        let found = joined(&steps(&pieces, cpu(305), Locks::LeftOut));
        let native = Step::Native;
        assert_eq!(
            found,
            [
                Step::Held(5 * MS),
                native(20_000),
                Step::Io(40 * MS),
                native(300 * MS)
            ]
        );
    }

    #[test]
    fn without_thread_cpu_bursts_are_taken_as_they_are() {
        let found = joined(&steps(&[Piece::Held(7)], None, Locks::LeftOut));
        assert_eq!(found, [Step::Held(7)]);
    }

    #[test]
    fn the_typical_course_of_two_waits() {
        let sums = Sums {
            held_ns: 10,
            away_ns: 7,
            lock_ns: 1,
        };
        let found = typical(sums, 2);
        let (held, away) = (Piece::Held, Piece::Away);
        assert_eq!(
            found,
            [Piece::Lock(1), held(3), away(3), held(3), away(4), held(4)]
        );
        assert_eq!(
            Sums::of(&typical(Sums { away_ns: 0, ..sums }, 9)),
            Sums { away_ns: 0, ..sums }
        );
    }

    proptest! {
        #[test]
        fn sums_survive(held_ns in 0_u64..1 << 40, away_ns in 0_u64..1 << 40, yields in 0_u32..200) {
            let sums = Sums { held_ns, away_ns, lock_ns: 3 };
            prop_assert_eq!(Sums::of(&typical(sums, yields)), sums);
            let pattern = [Piece::Held(3), Piece::Away(5), Piece::Held(4), Piece::Away(2)];
            let found = Sums::of(&stretched(&pattern, sums).unwrap());
            prop_assert!(sums.held_ns - found.held_ns < 2 && sums.away_ns - found.away_ns < 2);
        }
    }
}
