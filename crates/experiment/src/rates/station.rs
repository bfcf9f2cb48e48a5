//! A running server, and the load that a search puts on it.

use crate::error::Failure;
use crate::flights;
use crate::generator::{self, Generator};
use crate::idle_threads::Waited;
use load::{Mode, Outcome, Stop};
use run::Settings;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Requests of a probe.
const PROBE_REQUESTS: u64 = 3;
/// Seed of the probes' requests: every probe asks the same.
const PROBE_SEED: u64 = 1;
/// A probe may take this many times as long as the first ones did before the server counts as busy.
const RECOVERED_WITHIN: f64 = 3.0;
/// What a probe may take beyond that, since the shortest answers scatter most.
const RECOVERED_SLACK: Duration = Duration::from_millis(5);
/// Longest wait for a server to recover, in addition to the probe that is under way then.
const RECOVERY: Duration = Duration::from_secs(15);
/// Shortest wait for a request of a probe, since one that is given up loads the server all the same.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);
/// Between two probes of a server that is busy.
const PAUSE: Duration = Duration::from_millis(200);

/// Where a search puts its load.
pub struct Station<'a> {
    pub generator: Generator<'a>,
    /// Cores that the server may use.
    pub server_cores: f64,
    /// What measures how long requests wait for its threads; `None` where clients' connections are not kept, or nothing does.
    pub agent: Option<Agent>,
}

/// The agent in the server.
#[derive(Debug)]
pub struct Agent {
    pub flight_dir: PathBuf,
    pub settings: Settings,
}

impl Agent {
    /// What requests met since an earlier reading.
    fn since(&self, before: &[flight::Snapshot], seconds: f64) -> Option<Waited> {
        let after = flights::counters(&self.flight_dir);
        let seen = flight::Window::between(before, &after);
        let split = flights::split(&seen, flights::tells_locks(&after));
        Waited::of(self.settings, &split, seconds)
    }
}

/// A window and how busy the server was.
pub struct Offered {
    pub outcome: Outcome,
    /// Share of the server's cores; `None` where its processes are not known.
    pub utilisation: Option<f64>,
}

impl Station<'_> {
    /// The given number of connections, each of which sends again once it has its answer; and what the requests met in the server.
    pub fn closed(
        &self,
        connections: usize,
        length: Duration,
        seed: u64,
    ) -> Result<(Outcome, Option<Waited>), Failure> {
        let agent = self.agent.as_ref();
        let before = agent.map(|agent| flights::counters(&agent.flight_dir));
        let outcome = self.run(Mode::closed(connections), length, seed)?;
        let seconds = outcome.window().as_secs_f64();
        let waited = agent
            .zip(before)
            .and_then(|(agent, before)| agent.since(&before, seconds));
        Ok((outcome, waited))
    }

    /// Poisson arrivals at this rate. Returns when every answer has come or timed out.
    pub fn open(&self, rate: f64, length: Duration, seed: u64) -> Result<Offered, Failure> {
        let cpu = || {
            let tree = crate::trial::tree(self.generator.server?);
            host::cpu::tree_cpu(tree).ok().map(|cpu| cpu.total())
        };
        let before = cpu();
        let outcome = self.run(generator::open(rate, seed), length, seed)?;
        let span = Duration::from_nanos(outcome.finished_ns.saturating_sub(outcome.started_ns));
        let available = self.server_cores * span.as_secs_f64();
        let utilisation = before.zip(cpu()).map(|(before, after)| {
            (after.saturating_sub(before).as_secs_f64() / available.max(1e-9)).min(1.0)
        });
        Ok(Offered {
            outcome,
            utilisation,
        })
    }

    /// How long a request takes that has the server to itself; `None` when one failed.
    pub fn probe(&self) -> Result<Option<Duration>, Failure> {
        self.probe_within(self.generator.timeout)
    }

    /// A probe whose requests count as failed when they take longer than this.
    fn probe_within(&self, timeout: Duration) -> Result<Option<Duration>, Failure> {
        let (mode, stop) = (Mode::closed(1), Stop::requests(PROBE_REQUESTS));
        let mut plan = self.generator.plan(mode, stop, PROBE_SEED);
        plan.timeout = timeout;
        plan.drain = timeout;
        let outcome = self.generator.run(&plan)?;
        let mean = Duration::from_secs_f64(outcome.response.mean() / 1e6);
        Ok((outcome.errors.total() == 0).then_some(mean))
    }

    /// Probes until the server is as quick as it was at first. False when it does not become so in time.
    pub fn recovers(&self, at_first: Option<Duration>) -> Result<bool, Failure> {
        // A workload that fails even on an idle server has no quickness to come back to.
        let Some(at_first) = at_first else {
            return Ok(true);
        };
        let enough = at_first.mul_f64(RECOVERED_WITHIN) + RECOVERED_SLACK;
        let timeout = patience(enough).min(self.generator.timeout);
        let began = Instant::now();
        loop {
            if self
                .probe_within(timeout)?
                .is_some_and(|mean| mean <= enough)
            {
                return Ok(true);
            }
            if began.elapsed() > RECOVERY {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn run(&self, mode: Mode, length: Duration, seed: u64) -> Result<Outcome, Failure> {
        let plan = self.generator.plan(mode, Stop::after(length), seed);
        self.generator.run(&plan)
    }
}

/// How long a request of a probe is waited for where `enough` on average is quick again: one that takes as long as all
/// of them may makes the probe a slow one whatever the others do.
fn patience(enough: Duration) -> Duration {
    enough
        .mul_f64(PROBE_REQUESTS as f64)
        .clamp(LEAST_PATIENCE, RECOVERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_waited_for_no_longer_than_it_can_matter() {
        assert_eq!(patience(Duration::from_millis(8)), LEAST_PATIENCE);
        assert_eq!(patience(Duration::from_secs(2)), Duration::from_secs(6));
        assert_eq!(patience(Duration::from_secs(30)), RECOVERY);
    }
}
