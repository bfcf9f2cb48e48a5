//! What it costs that the server's threads move between cores: the same closed loop with every core and with each process kept
//! on one, and a loop of a single connection, in which no thread waits for the GVL.
//!
//! The three are measured twice, the second time in the opposite order, as machines drift.

use super::Question;
use super::pinned::{NotPinned, Pinned};
use super::window::{Seen, Traffic, drive};
use crate::error::Failure;
use crate::progress::{Event, Watcher};
use crate::trial::{Driver, Serving};
use host::Cores;
use std::path::Path;
use std::time::Duration;

/// Beyond so many requests in a half a mean of CPU time says something: a hundredth of it, where requests differ as much
/// as they usually do.
const LEAST: u64 = 50;

/// One half: CPU time of the server per request.
#[derive(Debug, Clone, Copy)]
pub struct Half {
    pub crowded: Duration,
    pub alone: Duration,
    pub pinned: Duration,
}

/// Both halves.
#[derive(Debug, Clone)]
pub struct Loops {
    pub halves: [Half; 2],
    /// Requests per second, of both halves on average.
    pub crowded_per_s: f64,
    pub alone_per_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Crowded,
    Alone,
    Pinned,
}

const ORDER: [(usize, Kind); 6] = [
    (0, Kind::Crowded),
    (0, Kind::Alone),
    (0, Kind::Pinned),
    (1, Kind::Pinned),
    (1, Kind::Alone),
    (1, Kind::Crowded),
];

/// Whether there is something to be measured: no thread moves for long where each worker has a core and none is left over.
pub fn can_move(workers: u16, cores: &Cores) -> bool {
    cores.affinity.len() > usize::from(workers.max(1)) && cores.effective > 1.0
}

/// Windows' worth of time that it takes.
pub const WINDOWS: f64 = 3.0;

/// Drives the six halves of windows.
///
/// # Errors
/// A window that could not be driven. `Ok(Err)`: why the costs are not known, although the server is as it was.
pub fn measure(
    driver: &Driver<'_>,
    flight_dir: &Path,
    serving: &Serving<'_>,
    question: &Question,
    cores: &Cores,
    watcher: &dyn Watcher,
) -> Result<Result<Loops, String>, Failure> {
    let server = driver.server().server_pid();
    let workers = serving.arm.settings.workers;
    let mut seen: Vec<(usize, Kind, Seen)> = Vec::new();
    let mut pinned: Option<Pinned> = None;
    for (half, kind) in ORDER {
        watcher.on(Event::Phase(match kind {
            Kind::Crowded => "closed loop, every core",
            Kind::Alone => "closed loop of one connection",
            Kind::Pinned => "closed loop, each process on one core",
        }));
        pinned = match (kind, pinned.take()) {
            (Kind::Pinned, None) => match Pinned::each_on_one(server, workers, &cores.affinity) {
                Ok(done) => Some(done),
                Err(NotPinned::Untouched(why)) => {
                    return Ok(Err(format!("processes could not be pinned: {why}")));
                }
                Err(NotPinned::Stuck(why)) => return Err(Failure::Trial(stuck(&why))),
            },
            (Kind::Pinned, kept) => kept,
            (_, Some(kept)) => {
                kept.release().map_err(|why| Failure::Trial(stuck(&why)))?;
                None
            }
            (_, None) => None,
        };
        let traffic = Traffic::Closed {
            connections: match kind {
                Kind::Alone => 1,
                _ => serving.connections,
            },
        };
        let sequence = super::mixed(serving.seed, 0, 1 + half as u32);
        let found = drive(driver, flight_dir, &traffic, question.window / 2, sequence)?;
        seen.push((half, kind, found));
    }
    Ok(loops(&seen))
}

fn stuck(why: &str) -> String {
    format!("the server could not be given all its cores again: {why}")
}

fn loops(seen: &[(usize, Kind, Seen)]) -> Result<Loops, String> {
    for (_, _, window) in seen {
        if let Some(why) = window.broken() {
            return Err(why);
        }
        let found = window.outcome.counts.completed;
        if found < LEAST {
            return Err(format!(
                "half a window held {found} requests, and {LEAST} are the least; give a longer --window"
            ));
        }
    }
    let of = |kind: Kind| seen.iter().filter(move |(_, k, _)| *k == kind);
    let each = |half: usize, kind: Kind| {
        let window = of(kind).find(|(h, _, _)| *h == half);
        window.map_or(Duration::ZERO, |(_, _, seen)| {
            Duration::from_secs_f64(seen.each_ms(seen.server_cpu) / 1e3)
        })
    };
    let half = |half: usize| Half {
        crowded: each(half, Kind::Crowded),
        alone: each(half, Kind::Alone),
        pinned: each(half, Kind::Pinned),
    };
    let per_s = |kind: Kind| {
        let both: Vec<f64> = of(kind)
            .map(|(_, _, seen)| seen.outcome.throughput_per_s())
            .collect();
        stats::summary::mean(&both).unwrap_or(0.0)
    };
    Ok(Loops {
        halves: [half(0), half(1)],
        crowded_per_s: per_s(Kind::Crowded),
        alone_per_s: per_s(Kind::Alone),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_moves_where_no_core_is_left_over() {
        let cores = |count: usize, effective: f64| Cores {
            affinity: (0..count).collect(),
            quota: None,
            effective,
        };
        assert!(can_move(0, &cores(2, 2.0)) && can_move(1, &cores(2, 2.0)));
        assert!(!can_move(2, &cores(2, 2.0)) && !can_move(0, &cores(1, 1.0)));
        assert!(can_move(2, &cores(4, 4.0)));
    }

    /// Each kind comes as early as late, so that a drift takes no side.
    #[test]
    fn the_order_is_its_own_mirror() {
        for kind in [Kind::Crowded, Kind::Alone, Kind::Pinned] {
            let places = ORDER.iter().enumerate().filter(|(_, (_, k))| *k == kind);
            assert_eq!(places.map(|(nth, _)| nth).sum::<usize>(), 5);
        }
    }
}
