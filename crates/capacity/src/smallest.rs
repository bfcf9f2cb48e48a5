//! The smallest configurations that should carry a rate.

use crate::candidates::{Candidate, Scored, Why};
use crate::demand::Config;

/// How much more than the rate a configuration should carry at full load. The nearer to it, the longer the queue; how long is
/// for a trial to say, so that the boldest is tried along with those with room to spare.
const ROOM: [f64; 6] = [1.25, 1.5, 1.1, 2.0, 3.0, 1.0];

/// What is to be small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Small {
    /// Memory where it is predicted, else as processes.
    Memory,
    /// Processes, then threads.
    Processes,
}

/// Configurations below today's that are tried where the model says that none of them carries the rate.
const BELOW: usize = 2;

/// For each of several shares of room the smallest configuration that is predicted to have it, at most `most` and none of them
/// `baseline`; where that is itself the smallest of all of them, what is smaller still, the most promising first. Empty when
/// nothing carries the rate or nothing is smaller.
#[must_use]
pub fn smallest_for(
    scored: &[Scored],
    rate_per_s: f64,
    small: Small,
    baseline: Config,
    most: usize,
) -> Vec<Candidate> {
    let memory = |point: &Scored| match small {
        Small::Memory => point.memory_bytes.unwrap_or(0.0),
        Small::Processes => 0.0,
    };
    let size = |p: &Scored| (p.config.processes(), p.config.threads, p.config.workers);
    let order = |one: &Scored, other: &Scored| {
        let by_memory = memory(one).total_cmp(&memory(other));
        by_memory.then(size(one).cmp(&size(other)))
    };
    let mut chosen: Vec<&Scored> = Vec::new();
    for room in ROOM {
        let carry = scored
            .iter()
            .filter(|point| point.throughput >= room * rate_per_s);
        let least = carry.min_by(|one, other| order(one, other));
        chosen.extend(least.filter(|point| !chosen.iter().any(|c| c.config == point.config)));
    }
    match chosen[..] {
        [today] if today.config == baseline => {
            let smaller = scored.iter().filter(|point| order(point, today).is_lt());
            chosen = smaller.collect();
            chosen.sort_by(|one, other| other.throughput.total_cmp(&one.throughput));
            chosen.truncate(BELOW);
        }
        _ => chosen.retain(|point| point.config != baseline),
    }
    chosen.truncate(most);
    let candidate = |point: &Scored| Candidate {
        config: point.config,
        throughput: point.throughput,
        memory_bytes: point.memory_bytes,
        why: Why::Smallest,
    };
    chosen.into_iter().map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASELINE: Config = Config {
        workers: 4,
        threads: 5,
    };

    /// 30 a second for each process, more with threads up to three.
    fn scored() -> Vec<Scored> {
        let mut scored = Vec::new();
        for workers in [0, 2, 3, 4] {
            for threads in 1..=5 {
                let config = Config { workers, threads };
                let processes = f64::from(config.processes());
                scored.push(Scored {
                    config,
                    throughput: processes * 10.0 * f64::from(threads.min(3)),
                    memory_bytes: Some(50e6 + processes * (80e6 + 2e6 * f64::from(threads))),
                });
            }
        }
        scored
    }

    fn named(chosen: &[Candidate]) -> Vec<String> {
        chosen.iter().map(|c| c.config.to_string()).collect()
    }

    #[test]
    fn the_smallest_with_room_comes_first_and_bolder_ones_with_it() {
        let chosen = smallest_for(&scored(), 25.0, Small::Processes, BASELINE, 8);
        // 31.25 wants two processes, 27.5 one; 75 wants three.
        assert_eq!(named(&chosen), ["2x2", "0x3", "2x3", "3x3"]);
        assert!(chosen.iter().all(|c| c.throughput >= 25.0));
        assert_eq!(
            smallest_for(&scored(), 25.0, Small::Processes, BASELINE, 2).len(),
            2
        );
    }

    #[test]
    fn memory_may_prefer_more_processes_to_nothing_but_never_to_less_memory() {
        let all = scored();
        for rate in [5.0, 25.0, 55.0, 80.0] {
            let chosen = smallest_for(&all, rate, Small::Memory, BASELINE, 8);
            let first = chosen.first().unwrap();
            let enough = all.iter().filter(|p| p.throughput >= 1.25 * rate);
            let least = enough.filter_map(|p| p.memory_bytes).reduce(f64::min);
            assert_eq!(first.memory_bytes, least, "{rate}");
        }
    }

    #[test]
    fn what_nothing_carries_has_no_candidates_and_below_the_smallest_the_best_are_tried() {
        assert!(smallest_for(&scored(), 500.0, Small::Processes, BASELINE, 8).is_empty());
        let chosen = smallest_for(&scored(), 90.0, Small::Processes, BASELINE, 8);
        assert_eq!(named(&chosen), ["4x3", "3x3"]);
        let four = Config {
            workers: 4,
            threads: 3,
        };
        let below = smallest_for(&scored(), 100.0, Small::Processes, four, 8);
        assert_eq!(below.len(), 2);
        // 3x3, 3x4 and 3x5 promise as much; of these the first.
        assert_eq!(named(&below)[0], "3x3");
    }
}
