//! Drives load at a trial's server and watches the server meanwhile.

use super::{Assignment, Failure, warmup_of};
use crate::progress::Watcher;
use crate::request::Experiment;
use load::{Arrivals, LoadError, Mode, Observer, Outcome, Plan, Progress, Stop};
use run::{UsageSample, Warmup};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use servers::Running;
use stats::{Figure, Flatness, Steadiness};
use std::ops::ControlFlow;
use std::time::Duration;

/// Requests that every thread of the server serves before steadiness is asked for.
const LEAST_REQUESTS_A_THREAD: u64 = 20;
/// Connections that an open loop may hold.
const MOST_CONNECTIONS: usize = 512;
/// The open loop's requests differ from the closed loop's, so that neither window warms a cache for the other.
const OPEN_LOOP: u64 = 0x9e37_79b9_7f4a_7c15;

/// How requests start.
#[derive(Debug, Clone, Copy)]
pub enum Loop {
    /// As many connections as the assignment says, each asking again when it has its answer.
    Closed,
    /// Poisson arrivals.
    Open {
        /// Requests per second.
        rate: f64,
    },
}

/// The server's tree at one moment, and how much it had answered by then.
#[derive(Debug, Clone, Copy)]
pub struct Sampled {
    /// What was read.
    pub usage: UsageSample,
    /// Requests answered since the first of the trial.
    pub requests: u64,
}

/// A window and what the server spent in it.
#[derive(Debug)]
pub struct Driven {
    /// The generator's outcome.
    pub outcome: Outcome,
    /// CPU time of the server's tree.
    pub server_cpu: Duration,
    /// The tree over the window.
    pub samples: Vec<Sampled>,
}

/// Drives one trial's windows.
pub struct Driver<'a> {
    experiment: &'a Experiment,
    assignment: &'a Assignment<'a>,
    server: &'a Running,
    watcher: &'a dyn Watcher,
    answered: std::cell::Cell<u64>,
    driven_s: std::cell::Cell<f64>,
}

impl<'a> Driver<'a> {
    /// For a server that is ready.
    pub fn new(
        experiment: &'a Experiment,
        assignment: &'a Assignment<'a>,
        server: &'a Running,
        watcher: &'a dyn Watcher,
    ) -> Driver<'a> {
        Driver {
            experiment,
            assignment,
            server,
            watcher,
            answered: std::cell::Cell::new(0),
            driven_s: std::cell::Cell::new(0.0),
        }
    }

    /// Closed loop until every thread has served its share and the last three windows are flat, or time is up.
    pub fn warm_up(&self) -> Result<(Warmup, Outcome), Failure> {
        let longest = Duration::from_secs_f64(self.assignment.timing.warmup_max_s);
        let slice =
            Duration::from_secs_f64((self.assignment.timing.saturation_s / 8.0).clamp(0.3, 1.0));
        let mut plan = self.plan(Loop::Closed, Stop::after(longest), self.assignment.seed ^ 1);
        plan.slice = slice;
        let mut observer = Steadying {
            watch: Watch::new(self),
            least: LEAST_REQUESTS_A_THREAD * u64::from(self.assignment.arm.settings.concurrency()),
            windows: Vec::new(),
            cpu_before: self.cpu(),
            steady: false,
        };
        let outcome = self.run(&plan, &mut observer)?;
        let (steady, watch) = (observer.steady, observer.watch);
        watch.end()?;
        self.count(&outcome);
        Ok((warmup_of(&outcome, steady), outcome))
    }

    /// A measured window. Memory is sampled on a thread of its own: the generator's has a schedule to keep.
    pub fn window(&self, how: Loop, length: Duration) -> Result<Driven, Failure> {
        let seed = match how {
            Loop::Closed => self.assignment.seed,
            Loop::Open { .. } => self.assignment.seed ^ OPEN_LOOP,
        };
        let slice = Duration::from_secs_f64((length.as_secs_f64() / 20.0).clamp(0.1, 1.0));
        let mut plan = self.plan(how, Stop::after(length), seed);
        plan.slice = slice;
        let before = self.cpu();
        let monitor = host::Monitor::start(self.server.server_pid(), slice).ok();
        let mut watch = Watch::new(self);
        let outcome = self.run(&plan, &mut watch)?;
        let server_cpu = self.cpu().saturating_sub(before);
        let samples = monitor.map(host::Monitor::stop).unwrap_or_default();
        watch.end()?;
        let samples = self.placed(&outcome, &samples);
        self.count(&outcome);
        Ok(Driven {
            outcome,
            server_cpu,
            samples,
        })
    }

    /// The samples with the requests answered by then, at the window's mean rate.
    fn placed(&self, outcome: &Outcome, samples: &[host::Sample]) -> Vec<Sampled> {
        let span_ns = outcome.ended_ns.saturating_sub(outcome.started_ns).max(1) as f64;
        let per_ns = outcome.counts.completed as f64 / span_ns;
        let inside = samples
            .iter()
            .filter(|s| (outcome.started_ns..=outcome.ended_ns).contains(&s.at_mono_ns));
        let place = |sample: &host::Sample| {
            let since_ns = (sample.at_mono_ns - outcome.started_ns) as f64;
            Sampled {
                usage: UsageSample {
                    at_s: self.driven_s.get() + since_ns / 1e9,
                    rss_bytes: sample.rss_bytes,
                    pss_bytes: sample.pss_bytes,
                    cpu_s: sample.cpu.total().as_secs_f64(),
                },
                requests: self.answered.get() + (since_ns * per_ns) as u64,
            }
        };
        inside.map(place).collect()
    }

    fn count(&self, outcome: &Outcome) {
        self.answered
            .set(self.answered.get() + outcome.counts.completed);
        self.driven_s
            .set(self.driven_s.get() + outcome.window().as_secs_f64());
    }

    /// The generator runs on this thread, on its own cores only while it does: hooks and samplers keep off them.
    fn run(&self, plan: &Plan, observer: &mut dyn Observer) -> Result<Outcome, Failure> {
        let _pinned = Pinned::to(&self.assignment.pinning.generator_cores);
        load::run(plan, observer).map_err(|error| match error {
            // The outcome is lost, the other arms are not.
            LoadError::NoPorts { .. } | LoadError::NoFiles { .. } => {
                Failure::Trial(error.to_string())
            }
            error => Failure::Fatal(error.to_string()),
        })
    }

    fn plan(&self, how: Loop, stop: Stop, seed: u64) -> Plan {
        let mode = match how {
            Loop::Closed => Mode::Closed {
                connections: self.assignment.connections as usize,
            },
            Loop::Open { rate } => Mode::Open {
                arrivals: Arrivals::Poisson { rate, seed },
                max_connections: MOST_CONNECTIONS,
            },
        };
        let mut plan = Plan::new(
            self.server.addr(),
            self.experiment.workload.clone(),
            mode,
            stop,
        );
        plan.seed = seed;
        plan.timeout = self.experiment.timeout;
        plan.drain = self.experiment.timeout;
        // One connection a request, as nginx does it unless told otherwise. Kept connections stay with the worker
        // that accepted them, and their chance distribution would be measured instead of the configuration.
        plan.keep_alive = false;
        plan.objective = self
            .experiment
            .objective
            .latency
            .map(|l| Duration::from_secs_f64(l.limit_ms / 1e3));
        plan
    }

    fn cpu(&self) -> Duration {
        host::cpu::tree_cpu(self.server.server_pid())
            .map(|cpu| cpu.total())
            .unwrap_or_default()
    }

    fn rss(&self) -> u64 {
        host::memory::rss_tree(self.server.server_pid()).unwrap_or_default()
    }
}

/// This thread on some cores, and back where it was at the end.
struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// No cores: no change. A refusal is harmless: the layout is then the scheduler's.
    fn to(cores: &[u32]) -> Pinned {
        if cores.is_empty() {
            return Pinned { before: None };
        }
        let before = sched_getaffinity(None).ok();
        let mut set = CpuSet::new();
        for core in cores {
            set.set(*core as usize);
        }
        let _ = sched_setaffinity(None, &set);
        Pinned { before }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Ends a window early when the server died or the user stopped everything.
struct Watch<'a> {
    driver: &'a Driver<'a>,
    died: Option<String>,
}

impl<'a> Watch<'a> {
    fn new(driver: &'a Driver<'a>) -> Watch<'a> {
        Watch { driver, died: None }
    }

    fn end(self) -> Result<(), Failure> {
        if self.driver.watcher.cancelled() {
            return Err(Failure::Interrupted);
        }
        self.died.map_or(Ok(()), |why| Err(Failure::Trial(why)))
    }
}

impl Observer for Watch<'_> {
    fn tick(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        if let Err(died) = self.driver.server.alive() {
            self.died = Some(died.to_string());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn cancelled(&mut self) -> bool {
        self.driver.watcher.cancelled() || self.died.is_some()
    }
}

/// Ends the warm-up once it is flat.
struct Steadying<'a> {
    watch: Watch<'a>,
    least: u64,
    windows: Vec<stats::Window>,
    cpu_before: Duration,
    steady: bool,
}

impl Observer for Steadying<'_> {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if self.watch.tick(progress).is_break() {
            return ControlFlow::Break(());
        }
        let slice = progress.slice;
        let served = slice.ok + slice.errors;
        let cpu = self.watch.driver.cpu();
        if progress.draining || served == 0 {
            return ControlFlow::Continue(());
        }
        // The spread of a mean over n requests whose times scatter about as much as their mean.
        let relative_error = 1.0 / (served as f64).sqrt();
        let figure = |value: f64| Figure {
            value,
            standard_error: value * relative_error,
        };
        let spent = cpu.saturating_sub(self.cpu_before).as_secs_f64();
        self.cpu_before = cpu;
        let memory = self.watch.driver.rss() as f64;
        self.windows.push(stats::Window {
            latency: figure(slice.mean_us),
            cpu_per_request: figure(spent / served as f64),
            memory: Figure::exact(memory),
        });
        let rule = Flatness {
            most_windows: usize::MAX,
            ..Flatness::default()
        };
        let flat = matches!(stats::flat(&self.windows, &rule), Steadiness::Steady { .. });
        if flat && progress.counts.completed >= self.least {
            self.steady = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn cancelled(&mut self) -> bool {
        self.watch.cancelled()
    }
}
