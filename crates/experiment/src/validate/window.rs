//! One window of load, and all that was seen of server and machine meanwhile.

use crate::error::Failure;
use crate::flights;
use crate::trial::Driver;
use host::facts::Activity;
use host::{Roots, cpu};
use load::{Arrivals, Mode, Outcome, Sequence, Stop};
use std::path::Path;
use std::time::Duration;

/// Beyond this part of a core, what other processes take is worth a word.
const MUCH_OTHERS: f64 = 0.05;
/// Beyond this part of all cores, what the hypervisor gave to others is worth one.
const MUCH_STOLEN: f64 = 0.01;

/// How requests come.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// Each connection asks again when it has its answer.
    Closed { connections: u32 },
    /// Poisson arrivals, which the seed says again.
    Open { rate_per_s: f64, seed: u64 },
}

impl Traffic {
    fn arrivals(&self) -> Option<Arrivals> {
        match *self {
            Traffic::Closed { .. } => None,
            Traffic::Open { rate_per_s, seed } => Some(Arrivals::poisson(rate_per_s, seed)),
        }
    }

    /// When its requests are due in a window of this length; none of a closed loop.
    pub fn due_ns(&self, length: Duration) -> Vec<u64> {
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let arrivals = self.arrivals().map(|arrivals| arrivals.offsets_ns());
        let due = arrivals.into_iter().flatten();
        due.take_while(|&at_ns| at_ns < length_ns).collect()
    }
}

/// Which request of the workload each of the first `count` is; `None` where users of sessions decide that.
pub fn kinds(workload: &load::Workload, seed: u64, count: usize) -> Option<Vec<u32>> {
    let sequence = Sequence::new(workload, seed);
    let kinds = || sequence.take(count).map(|kind| kind as u32).collect();
    (!workload.has_sessions()).then(kinds)
}

/// A window.
#[derive(Debug)]
pub struct Seen {
    pub outcome: Outcome,
    pub span: Duration,
    pub server_cpu: Duration,
    /// Of the application's other processes, its services.
    pub services_cpu: Duration,
    /// CPU time of all other processes; `None` where `/proc` does not say.
    pub others_cpu: Option<Duration>,
    /// Share of all cores' time that the hypervisor gave to others.
    pub stolen: Option<f64>,
    /// As the agent counted.
    pub flight: flight::Window,
}

/// Drives one window at a server that is warm. The requests are those of `sequence`.
pub fn drive(
    driver: &Driver<'_>,
    flight_dir: &Path,
    traffic: &Traffic,
    length: Duration,
    sequence: u64,
) -> Result<Seen, Failure> {
    let mode = match (traffic, traffic.arrivals()) {
        (&Traffic::Open { rate_per_s, seed }, _) => crate::generator::open(rate_per_s, seed),
        (&Traffic::Closed { connections }, _) => Mode::closed(connections as usize),
    };
    let generator = driver.generator();
    let mut plan = generator.plan(mode, Stop::after(length), sequence);
    plan.keep_answers = true;
    let before = Reading::take(driver, flight_dir);
    let outcome = generator.run(&plan)?;
    let after = Reading::take(driver, flight_dir);
    let span = Duration::from_nanos(outcome.finished_ns.saturating_sub(outcome.started_ns));
    let server_cpu = after.server.saturating_sub(before.server);
    let tree_cpu = after.tree.saturating_sub(before.tree);
    let (then, now) = (before.machine, after.machine);
    let computed = then
        .zip(now)
        .map(|(then, now)| cpu::computed_since(&then, &now));
    let ours = tree_cpu.saturating_add(outcome.generator_cpu);
    Ok(Seen {
        span,
        server_cpu,
        services_cpu: tree_cpu.saturating_sub(server_cpu),
        others_cpu: computed.map(|all| all.saturating_sub(ours)),
        stolen: then
            .zip(now)
            .and_then(|(then, now)| now.steal_share_since(&then)),
        flight: flight::Window::between(&before.flights, &after.flights),
        outcome,
    })
}

struct Reading {
    server: Duration,
    /// With services and guard.
    tree: Duration,
    machine: Option<host::procfs::CpuTimes>,
    flights: Vec<flight::Snapshot>,
}

impl Reading {
    fn take(driver: &Driver<'_>, flight_dir: &Path) -> Reading {
        let cpu = |pid| {
            cpu::tree_cpu(pid)
                .map(|cpu| cpu.total())
                .unwrap_or_default()
        };
        let server = driver.server();
        Reading {
            server: cpu(server.server_pid()),
            tree: cpu(server.guard_pid()),
            machine: Activity::read(&Roots::default()).ok().map(|read| read.cpu),
            flights: flights::counters(flight_dir),
        }
    }
}

impl Seen {
    /// Why the window says nothing; `None` when it does.
    pub fn unusable(&self) -> Option<String> {
        self.late().or_else(|| self.broken())
    }

    /// Why its response times are not the server's alone. The measurements inside the server are valid all the
    /// same.
    pub fn late(&self) -> Option<String> {
        let trouble = self.outcome.generator_ok().err();
        trouble.map(|trouble| trouble.to_string())
    }

    /// Why not even that is to be had.
    pub fn broken(&self) -> Option<String> {
        let outcome = &self.outcome;
        if self.flight.started + self.flight.vanished > 0 {
            return Some("a worker process ended and was replaced; its log says why".to_owned());
        }
        let failed = outcome.errors.total();
        if failed > 0 {
            let first = outcome
                .first_error
                .as_deref()
                .unwrap_or("no reason is known");
            let of = outcome.counts.scheduled;
            return Some(format!(
                "{} of {} requests failed ({first}), and predictions are of good answers",
                run::grouped(failed),
                run::grouped(of)
            ));
        }
        outcome
            .answers
            .is_empty()
            .then(|| "nothing was answered".to_owned())
    }

    /// What speaks against it, though it says something.
    pub fn marks(&self) -> Vec<String> {
        let mut marks = Vec::new();
        let span_s = self.span.as_secs_f64().max(1e-9);
        let others = self
            .others_cpu
            .map_or(0.0, |cpu| cpu.as_secs_f64() / span_s);
        if others > MUCH_OTHERS {
            marks.push(format!(
                "other processes took {:.0} % of a core",
                others * 100.0
            ));
        }
        if let Some(stolen) = self.stolen.filter(|stolen| *stolen > MUCH_STOLEN) {
            marks.push(format!(
                "the hypervisor gave {:.1} % of the cores to others",
                stolen * 100.0
            ));
        }
        marks
    }

    /// Milliseconds of each request.
    pub fn each_ms(&self, cpu: Duration) -> f64 {
        cpu.as_secs_f64() * 1e3 / self.outcome.counts.completed.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_the_arrivals_again() {
        let open = Traffic::Open {
            rate_per_s: 200.0,
            seed: 4,
        };
        let due = open.due_ns(Duration::from_secs(10));
        assert_eq!(due, open.due_ns(Duration::from_secs(10)));
        assert!(due.iter().all(|&ns| ns < 10_000_000_000));
        // 2,000 expected, give or take 45: five times that.
        assert!(due.len().abs_diff(2_000) < 225, "{}", due.len());
        let closed = Traffic::Closed { connections: 4 };
        assert!(closed.due_ns(Duration::from_secs(10)).is_empty());
    }

    #[test]
    fn kinds_are_the_sequences() {
        let text =
            "[[request]]\npath = \"/a\"\nweight = 3\n[[request]]\npath = \"/b\"\nweight = 1\n";
        let workload = load::Workload::from_toml(text).unwrap();
        let found = kinds(&workload, 9, 400).unwrap();
        assert_eq!(found.iter().filter(|&&kind| kind == 1).count(), 100);
        assert_ne!(found, kinds(&workload, 10, 400).unwrap());
    }
}
