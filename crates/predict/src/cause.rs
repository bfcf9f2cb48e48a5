//! Why the self-check of a trace failed, as far as the trace shows it: each likely cause with its evidence and its remedy.

use std::fmt;

use crate::recorded::Request;
use crate::{Assumption, Bench, Figures, ProcessTrace, SelfCheck};

/// Parts of a trace that are looked at one by one.
const PARTS: usize = 10;
/// The first parts that may be a warm-up.
const MOST_WARM_UP: usize = 3;
/// From this utilisation on chance decides how long queues become (docs/predict.md).
const BUSY: f64 = 0.85;
/// The queue of the last third over that of the first, from which on it grew.
const GREW: f64 = 3.0;
const LEAST_QUEUE_MS: f64 = 50.0;
/// The highest arrival rate of a part over the lowest, from which on the trace holds different loads.
const RATES_DIFFER: f64 = 1.5;
/// The range of ten counts of Poisson arrivals seldom exceeds this many standard deviations.
const BY_CHANCE: f64 = 5.7;
/// Recorded over predicted, or the reverse, from which on a part is off.
const OFF: f64 = 2.0;

/// What the records say of the trace itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Signs {
    /// Records that the rings no longer hold.
    overwritten: u64,
    /// When each part begins, nanoseconds since 1970.
    parts_wall_ns: Vec<u64>,
    /// Mean queue of the first and of the last third, nanoseconds.
    queue_ns: (u64, u64),
    /// Lowest and highest arrival rate of the parts, per second, where they differ by more than chance.
    rates_per_s: Option<(f64, f64)>,
}

impl Signs {
    pub fn of(processes: &[ProcessTrace], taken: &[Request]) -> Self {
        let first = processes.iter().filter_map(|p| p.flight.records.first());
        let parts = (0..PARTS).filter_map(|part| taken.get(part * taken.len() / PARTS));
        let third = taken.len() / 3;
        let queue_ns = |of: &[Request]| {
            let sum: u64 = of.iter().filter_map(|request| request.queue_ns).sum();
            sum / of.len().max(1) as u64
        };
        Self {
            overwritten: first.map(|record| record.index).sum(),
            parts_wall_ns: parts.map(|request| request.wall_ns).collect(),
            queue_ns: (
                queue_ns(&taken[..third]),
                queue_ns(&taken[taken.len() - third..]),
            ),
            rates_per_s: different_rates(taken),
        }
    }
}

fn different_rates(taken: &[Request]) -> Option<(f64, f64)> {
    let at = |part: usize| (part * taken.len() / PARTS).min(taken.len().saturating_sub(1));
    let rate_per_s = |part: usize| {
        let (first, next) = (at(part), at(part + 1));
        let span_ns = taken.get(next)?.arrival_ns - taken.get(first)?.arrival_ns;
        (span_ns > 0).then(|| (next - first) as f64 * 1e9 / span_ns as f64)
    };
    let rates: Vec<f64> = (0..PARTS).filter_map(rate_per_s).collect();
    let lowest = rates.iter().copied().reduce(f64::min)?;
    let highest = rates.iter().copied().reduce(f64::max)?;
    let by_chance = (BY_CHANCE / (taken.len() as f64 / PARTS as f64).sqrt()).exp();
    (highest > lowest * by_chance.max(RATES_DIFFER)).then_some((lowest, highest))
}

/// A likely cause.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// Simulated with the connections that are not assumed, the check comes much nearer: a likely cause where it passes, else a
    /// possible one.
    Connections {
        kept: bool,
        check: SelfCheck,
    },
    /// Clients keep their connections, which occupy threads.
    ThreadsOccupied,
    Saturated {
        what: &'static str,
        utilisation: f64,
        rate_per_s: f64,
        most_per_s: f64,
    },
    QueueGrew {
        first_ms: f64,
        last_ms: f64,
        rate_per_s: f64,
    },
    /// The trace holds loads of different rates.
    RatesDiffer {
        lowest_per_s: f64,
        highest_per_s: f64,
    },
    WarmUp {
        parts: usize,
        recorded_ms: f64,
        predicted_ms: f64,
        /// When the rest begins, nanoseconds since 1970.
        rest_wall_ns: u64,
    },
    MachineBusy {
        share: f64,
    },
    Locks {
        ms: f64,
    },
    Overwritten {
        records: u64,
        kept: usize,
    },
    TooSlow {
        parts: usize,
        cores: f64,
    },
    Stalls {
        parts: usize,
    },
    /// Neither the records nor the parts of the trace show a cause.
    Unknown {
        check: SelfCheck,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Connections { kept, check } => {
                let error = check.error();
                let (did, have, remedy) = match kept {
                    true => (
                        "opened",
                        "a connection for each request",
                        "leave --keep-alive out",
                    ),
                    false => ("kept", "their connections", "give --keep-alive"),
                };
                let (mean, p99) = (100.0 * error.mean_ms, 100.0 * error.p99_ms);
                match check.failed() {
                    false => write!(
                        to,
                        "The clients probably {did} {have}: simulated so, the mean is off by {mean:+.0} % and the p99 by {p99:+.0} %. Remedy: {remedy}."
                    ),
                    true => write!(
                        to,
                        "The clients may have {did} {have}: simulated so, the prediction is nearer, with the mean off by {mean:+.0} % and the p99 by {p99:+.0} %, but outside the limits too. Remedy: {remedy} if they did."
                    ),
                }
            }
            Self::ThreadsOccupied => write!(
                to,
                "Clients kept their connections, and a thread that waits for the next request of one, up to 200 ms, serves nobody else: how long the queue becomes is then chance. Remedy: trace behind the proxy that clients use, or with powerband load without --keep-alive."
            ),
            Self::Saturated {
                what,
                utilisation,
                rate_per_s,
                most_per_s,
            } => write!(
                to,
                "The server was nearly saturated: {what} busy {:.0} % of the time at {rate_per_s:.1} requests a second, where small differences make queues much longer. Remedy: trace at {most_per_s:.1} requests a second or fewer, or with more threads or processes.",
                100.0 * utilisation
            ),
            Self::QueueGrew {
                first_ms,
                last_ms,
                rate_per_s,
            } => write!(
                to,
                "The server could not keep up with {rate_per_s:.1} requests a second: the mean queue grew from {first_ms:.0} ms in the first third of the trace to {last_ms:.0} ms in the last. Remedy: trace at a lower rate, or with more threads or processes."
            ),
            Self::RatesDiffer {
                lowest_per_s,
                highest_per_s,
            } => write!(
                to,
                "The trace holds loads of different rates: by tenths of its requests, from {lowest_per_s:.1} to {highest_per_s:.1} requests a second. Remedy: predict from a part with one load, with --last, or --since and --until."
            ),
            Self::WarmUp {
                parts,
                recorded_ms,
                predicted_ms,
                ..
            } => write!(
                to,
                "A warm-up is in the trace: the first {} % of the requests took {recorded_ms:.0} ms where {predicted_ms:.0} ms are predicted, and the rest is within the limits. Remedy: leave the beginning out",
                100 * parts / PARTS
            ),
            Self::MachineBusy { share } => write!(
                to,
                "The machine was busy with other programs: for {:.0} % of the time that requests held the GVL their thread had no processor. Remedy: trace on a quiet machine, with the load generator on another one or on other cores.",
                100.0 * share
            ),
            Self::Locks { ms } => write!(
                to,
                "Requests waited {ms:.1} ms for locks or for a connection pool, which the simulation leaves out. Remedy: see powerband inspect for the pool and its size, and trace at a lower rate."
            ),
            Self::Overwritten { records, kept } => write!(
                to,
                "The rings no longer hold the first {} requests, and {} are left: what the server still had to do when these began is not known. Remedy: trace for a shorter time, or with a larger POWERBAND_RING.",
                run::grouped(records),
                run::grouped(kept as u64)
            ),
            Self::TooSlow { parts, cores } => write!(
                to,
                "Much more was predicted than recorded in {parts} of {PARTS} parts of the trace: the server may have had more than {cores} cores. Remedy: give what it had with --cores and --quota."
            ),
            Self::Stalls { parts } => write!(
                to,
                "In {parts} of {PARTS} parts of the trace requests took more than {OFF:.0} times as long as predicted, and nothing recorded says why: other programs on the machine, the disk, or a proxy in front are likely. Remedy: trace again on a quiet machine, for longer and at a lower rate."
            ),
            Self::Unknown { check } => {
                let error = check.error();
                let of = ["throughput", "mean", "median", "p95", "p99"];
                let off: Vec<String> = of
                    .into_iter()
                    .zip(check.beyond_limits().into_iter().zip(error.values()))
                    .filter(|(_, (beyond, _))| *beyond)
                    .map(|(name, (_, error))| format!("{name} {:+.0} %", 100.0 * error))
                    .collect();
                write!(
                    to,
                    "The prediction is outside the limits ({}), and nothing recorded says why. Remedy: trace again on a quiet machine, for longer and at a lower rate.",
                    off.join(", ")
                )
            }
        }
    }
}

impl Bench {
    /// Where the self-check failed, the likely causes, those with the strongest evidence first.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        if !self.check.failed() {
            return Vec::new();
        }
        let application = &self.application;
        let traced = &application.traced;
        let mut found = Vec::new();
        let connections = self.otherwise.map(|check| Cause::Connections {
            kept: self.keeps_connections(),
            check,
        });
        let (possible, probable) = match self.otherwise {
            Some(check) if check.failed() => (connections, None),
            _ => (None, connections),
        };
        found.extend(probable);
        let cores = traced.busy_cores / self.machine.cores;
        let busy = [
            ("the GVL", traced.utilisation_gvl),
            ("its threads", traced.utilisation_threads),
            ("the cores", cores),
        ];
        let busiest = busy.into_iter().fold(
            ("", 0.0),
            |most, one| if one.1 > most.1 { one } else { most },
        );
        if busiest.1 > BUSY {
            found.push(Cause::Saturated {
                what: busiest.0,
                utilisation: busiest.1,
                rate_per_s: traced.rate_per_s,
                most_per_s: traced.rate_per_s * BUSY / busiest.1,
            });
        }
        if self.otherwise.is_none() && self.server.occupied_by_kept() && self.keeps_connections() {
            found.push(Cause::ThreadsOccupied);
        }
        let ms = |ns: u64| ns as f64 / 1e6;
        let (first_ms, last_ms) = (
            ms(application.signs.queue_ns.0),
            ms(application.signs.queue_ns.1),
        );
        let rates = application.signs.rates_per_s;
        found.extend(
            rates.map(|(lowest_per_s, highest_per_s)| Cause::RatesDiffer {
                lowest_per_s,
                highest_per_s,
            }),
        );
        // More traffic makes a queue grow. The server cannot keep up only where it is also busy over the whole trace.
        let same_load = rates.is_none() || busiest.1 > BUSY;
        if same_load && last_ms > GREW * first_ms && last_ms > LEAST_QUEUE_MS {
            found.push(Cause::QueueGrew {
                first_ms,
                last_ms,
                rate_per_s: traced.rate_per_s,
            });
        }
        found.extend(self.warm_up_in_it());
        for assumption in &application.assumptions {
            match *assumption {
                Assumption::Starved { share } => found.push(Cause::MachineBusy { share }),
                Assumption::LocksLeftOut { ms } => found.push(Cause::Locks { ms }),
                _ => {}
            }
        }
        let overwritten = application.signs.overwritten;
        if overwritten > 0 {
            found.push(Cause::Overwritten {
                records: overwritten,
                kept: traced.requests,
            });
        }
        let off = |slower: bool| {
            let apart = |&(recorded, predicted): &(f64, f64)| match slower {
                true => recorded > OFF * predicted,
                false => predicted > OFF * recorded,
            };
            self.parts().iter().filter(|part| apart(part)).count()
        };
        let (cores, too_slow) = (self.machine.cores, off(false));
        if too_slow > PARTS / 2 {
            found.push(Cause::TooSlow {
                parts: too_slow,
                cores,
            });
        }
        if found.is_empty() {
            let stalled = off(true);
            found.push(match stalled > too_slow {
                true => Cause::Stalls { parts: stalled },
                false => Cause::Unknown { check: self.check },
            });
        }
        found.extend(possible);
        found
    }

    fn keeps_connections(&self) -> bool {
        let said = self.machine.keep_alive.or(self.application.costs.kept);
        said.unwrap_or(false)
    }

    /// Recorded and predicted means of each part, ms.
    fn parts(&self) -> Vec<(f64, f64)> {
        (0..PARTS).map(|part| self.means(part..part + 1)).collect()
    }

    fn means(&self, parts: std::ops::Range<usize>) -> (f64, f64) {
        let mean_ms = |of: &[u64]| {
            let own = part_of(of, &parts);
            own.iter().sum::<u64>() as f64 / 1e6 / own.len().max(1) as f64
        };
        (
            mean_ms(&self.application.recorded_ns),
            mean_ms(&self.replayed_ns),
        )
    }

    /// The fewest parts without which the rest is within the limits.
    fn warm_up_in_it(&self) -> Option<Cause> {
        let figures = |of: &[u64], from: usize| Figures::of(part_of(of, &(from..PARTS)), 1.0);
        let parts = (1..=MOST_WARM_UP).find(|&from| {
            let recorded = figures(&self.application.recorded_ns, from);
            let rest = recorded.zip(figures(&self.replayed_ns, from));
            rest.is_some_and(|(recorded, predicted)| {
                !SelfCheck {
                    recorded,
                    predicted,
                }
                .failed()
            })
        })?;
        let (recorded_ms, predicted_ms) = self.means(0..parts);
        Some(Cause::WarmUp {
            parts,
            recorded_ms,
            predicted_ms,
            rest_wall_ns: *self.application.signs.parts_wall_ns.get(parts)?,
        })
    }
}

fn part_of<'a>(all: &'a [u64], parts: &std::ops::Range<usize>) -> &'a [u64] {
    let at = |part: usize| part * all.len() / PARTS;
    &all[at(parts.start)..at(parts.end)]
}
