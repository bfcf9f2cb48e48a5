//! What is taken for granted, in words.

use std::fmt;

use crate::calibrated;
use crate::costs::{Costs, Known};
use crate::recorded::{Patterns, Request};
use crate::server::Kind;
use crate::stations::Lock;
use crate::steps::Locks;
use crate::traced::Traced;

/// Below this part of a request's work, waits for locks are not worth a word.
const MUCH_LOCK: f64 = 0.05;
/// Above this part of the time held, what had no processor is worth one.
const MUCH_STARVED: f64 = 0.1;

/// What is taken for granted.
#[derive(Debug, Clone, PartialEq)]
pub enum Assumption {
    IoConstant,
    IoGrows {
        growth: f64,
    },
    FewBursts {
        patterns: Patterns,
        /// `POWERBAND_BURSTS` of the server, where the files of all processes show it.
        one_in: Option<u32>,
    },
    QueueUnknown,
    FrontAssumed {
        us: u64,
        /// `puma 6.6.0 on Ruby 3.3.8`.
        measured_with: Option<String>,
    },
    HandOverUnknown,
    ColdAsTraced,
    /// A lock of each process is simulated.
    LockSimulated(Lock),
    LocksLeftOut {
        ms: f64,
    },
    LocksAreIo {
        ms: f64,
    },
    Starved {
        share: f64,
    },
    CpuUnknown,
    /// How far the mean of the self-check is off either way.
    ConnectionsKept {
        kept: f64,
        opened: f64,
    },
    Idle {
        pauses: usize,
        seconds: f64,
    },
    ServerUnlike(String),
    ThreadsVary {
        least: u32,
        most: u32,
    },
    ProcessesCounted {
        found: u16,
    },
    /// Puma's `wait_for_less_busy_worker`, in version 6.
    BusyWorkersWait,
    LeftOut {
        processes: usize,
    },
}

impl fmt::Display for Assumption {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IoConstant => write!(
                to,
                "I/O takes as long as in the trace, however many requests are served: the model does not foresee a database or \
                 an upstream that slows down under more load; give a second trace, made at another rate, and it does"
            ),
            Self::IoGrows { growth } => write!(
                to,
                "each further request in service makes I/O {:.1} % longer than a request's alone, a straight line through the two traces",
                100.0 * growth
            ),
            Self::FewBursts {
                patterns:
                    Patterns {
                        own,
                        borrowed,
                        typical,
                    },
                one_in,
            } => {
                write!(
                    to,
                    "the sequence of running and waiting was recorded for {}",
                    requests(*own)
                )?;
                let others = [
                    (
                        *borrowed,
                        "the sequence of another request to the same endpoint, stretched to the request's own totals",
                    ),
                    (
                        *typical,
                        "its totals divided evenly, which makes the intervals wider",
                    ),
                ];
                for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
                    write!(to, "; for {} the model takes {what}", requests(count))?;
                }
                write!(to, ": ")?;
                match one_in {
                    None => write!(
                        to,
                        "start the server with POWERBAND_BURSTS=1 to record more"
                    ),
                    Some(1) => write!(
                        to,
                        "the server ran with POWERBAND_BURSTS=1, which keeps the newest events of each process alone; --last or --since takes the newest requests alone, more of which have their own"
                    ),
                    Some(n) => write!(
                        to,
                        "the server ran with POWERBAND_BURSTS={n}, which records one request in {n}; start it with POWERBAND_BURSTS=1 to record all"
                    ),
                }
            }
            Self::QueueUnknown => write!(
                to,
                "no proxy set X-Request-Start: the model takes the instant at which a thread began a request for its arrival, \
                 so that the self-check does not see the time in a queue before"
            ),
            Self::FrontAssumed { us, measured_with } => {
                let with = measured_with.as_ref().map_or_else(
                    || "a usual value".to_owned(),
                    |with| format!("as measured with {with} and a trivial application"),
                );
                write!(
                    to,
                    "accepting a connection takes {us} µs of the server's own threads: {with}, because the recording does not hold it; \
                     powerband trace --gvl --keep, while the server has traffic, records it into the same folder"
                )
            }
            Self::BusyWorkersWait => write!(
                to,
                "wait_for_less_busy_worker has the default of Puma 6: a worker that serves a request waits up to 5 ms for a less busy one \
                 before it takes another, so that two workers of several threads serve less than twice as much as one"
            ),
            Self::HandOverUnknown => write!(
                to,
                "handing the GVL from one thread to the next takes no time: too few hand-overs were recorded to measure it"
            ),
            Self::ColdAsTraced => write!(
                to,
                "the cost of threads that move between cores is a part of the requests' CPU time, as it was in the trace: a \
                 configuration that keeps more cores busy takes less than predicted, and one that leaves more of them idle takes more"
            ),
            Self::LockSimulated(Lock {
                site,
                wait_ms,
                held_ms,
                ..
            }) => write!(
                to,
                "requests waited {wait_ms:.2} ms for the lock at {site} and held it for {held_ms:.2} ms: each process has one, and lets at most {:.0} \
                 requests a second pass, however many threads it has",
                1e3 / held_ms
            ),
            Self::LocksLeftOut { ms } => write!(
                to,
                "requests waited {ms:.2} ms for locks, which is left out as a stall of the traced configuration: with more threads a process they would wait longer than predicted"
            ),
            Self::LocksAreIo { ms } => write!(
                to,
                "requests waited {ms:.2} ms for locks or queues, and about as long when they were alone: taken as I/O"
            ),
            Self::Starved { share } => write!(
                to,
                "for {:.0} % of the time that requests held the GVL their threads had no core: the model takes that for the \
                 wait for a busy core, and counts their CPU time alone; if it was I/O that keeps the GVL, predictions are too fast",
                100.0 * share
            ),
            Self::CpuUnknown => write!(
                to,
                "the threads' CPU time was not measured: the model assumes that a thread computes as long as it holds the GVL"
            ),
            Self::ConnectionsKept { kept, opened } => write!(
                to,
                "clients keep their connections: no event in the trace shows it, but so the self-check is off by {:+.0} % at the mean, and by {:+.0} % with a connection for each request",
                100.0 * kept,
                100.0 * opened
            ),
            Self::Idle { pauses, seconds } => write!(
                to,
                "{seconds:.1} s without a request are left out of the trace ({pauses} pause{}): rates and utilisations are of the rest",
                if *pauses == 1 { "" } else { "s" }
            ),
            Self::ServerUnlike(how) => write!(to, "{how}"),
            Self::ThreadsVary { least, most } => write!(
                to,
                "all {most} threads are always there; the server was set to between {least} and {most}"
            ),
            Self::ProcessesCounted { found } => write!(
                to,
                "the server did not say how many processes it runs: the {found} that served are taken"
            ),
            Self::LeftOut { processes: 1 } => {
                write!(
                    to,
                    "1 process of the folder ran at another time and was left out"
                )
            }
            Self::LeftOut { processes } => write!(
                to,
                "{processes} processes of the folder ran at another time and were left out"
            ),
        }
    }
}

fn requests(count: usize) -> String {
    match count {
        0 => "no request".to_owned(),
        count => run::counted(count, "request"),
    }
}

/// A wait for a lock that others held is a stall. Where requests that were alone in their process waited about as long, it
/// was for no other request.
pub(crate) fn locks(all: &[Request]) -> (Locks, Option<Assumption>) {
    let mean = |of: &mut dyn Iterator<Item = &Request>| {
        let (mut sum_ns, mut count) = (0, 0);
        for request in of {
            sum_ns += request.stall_ns;
            count += 1;
        }
        (count >= 30).then(|| sum_ns as f64 / f64::from(count) / 1e6)
    };
    let alone = mean(&mut all.iter().filter(|request| request.busy_threads <= 1));
    let crowded = mean(&mut all.iter().filter(|request| request.busy_threads > 1));
    let every = mean(&mut all.iter()).unwrap_or(0.0);
    let work_ms = all
        .iter()
        .map(|r| r.sums.held_ns + r.sums.away_ns)
        .sum::<u64>() as f64
        / 1e6
        / all.len().max(1) as f64;
    let worth_a_word = every > MUCH_LOCK * work_ms.max(every);
    match (alone, crowded) {
        (Some(alone), crowded) if alone >= 0.5 * crowded.unwrap_or(alone) && alone > 0.0 => (
            Locks::AsIo,
            worth_a_word.then_some(Assumption::LocksAreIo { ms: every }),
        ),
        _ => (
            Locks::LeftOut,
            worth_a_word.then_some(Assumption::LocksLeftOut { ms: every }),
        ),
    }
}

/// Of a lock that requests waited for for more than a part of what they held it.
pub(crate) fn of_lock(lock: &Lock) -> Option<Assumption> {
    let notable = lock.wait_ms > MUCH_LOCK * lock.held_ms;
    notable.then(|| Assumption::LockSimulated(lock.clone()))
}

pub(crate) fn taken_for_granted(
    traced: &Traced,
    costs: &Costs,
    patterns: &Patterns,
    one_in: Option<u32>,
    all: &[Request],
) -> Vec<Assumption> {
    let mut found = Vec::new();
    if patterns.own * 2 < patterns.own + patterns.borrowed + patterns.typical {
        found.push(Assumption::FewBursts {
            patterns: *patterns,
            one_in,
        });
    }
    if traced.queue_ms.is_none() {
        found.push(Assumption::QueueUnknown);
    }
    if costs.front == Known::Assumed {
        found.push(Assumption::FrontAssumed {
            us: costs.accept_ns / 1_000,
            measured_with: calibrated::of(&traced.server).measured_with,
        });
    }
    if matches!(traced.server.kind, Kind::Puma { major: 6, .. }) {
        found.push(Assumption::BusyWorkersWait);
    }
    if costs.hand_over_ns.is_none() {
        found.push(Assumption::HandOverUnknown);
    }
    if costs.cold.is_none() && traced.threads > 1 {
        found.push(Assumption::ColdAsTraced);
    }
    if traced.cpu_ms.is_none() {
        found.push(Assumption::CpuUnknown);
    }
    let sum = |of: &dyn Fn(&Request) -> u64| all.iter().map(of).sum::<u64>() as f64;
    let starved = sum(&|r| r.held_ns().saturating_sub(r.thread_ns.unwrap_or(u64::MAX)));
    let share = starved / sum(&Request::held_ns).max(1.0);
    if share > MUCH_STARVED {
        found.push(Assumption::Starved { share });
    }
    found.extend(
        traced
            .server
            .unlike_the_model()
            .map(Assumption::ServerUnlike),
    );
    if traced.left_out > 0 {
        found.push(Assumption::LeftOut {
            processes: traced.left_out,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_there_are_none_of_are_not_counted() {
        let said = |own, borrowed, typical| {
            let patterns = Patterns {
                own,
                borrowed,
                typical,
            };
            let one_in = None;
            Assumption::FewBursts { patterns, one_in }.to_string()
        };
        let none = said(0, 0, 600);
        assert!(
            none.starts_with(
                "the sequence of running and waiting was recorded for no request; for 600 requests the model takes its totals"
            ),
            "{none}"
        );
        assert!(!none.contains("another request"), "{none}");
        let some = said(1, 600, 0);
        assert!(
            some.contains(
                "for 1 request; for 600 requests the model takes the sequence of another"
            ),
            "{some}"
        );
        assert!(!some.contains("evenly"), "{some}");
        assert!(!none.contains(" 0 ") && !some.contains(" 0 "));
    }
}
