//! Drives load at a trial's server and watches the server meanwhile.

use super::{Serving, warmup_of};
use crate::error::Failure;
use crate::generator::{self, Generator};
use crate::pod::{self, Pod};
use capture::mix64;
use load::{Mode, Outcome, Plan, Progress, Stop};
use run::{Throttled, UsageSample, Warmup};
use servers::Running;
use stats::{Figure, Flatness, Steadiness};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Requests that every thread of the server serves before steadiness is asked for.
const LEAST_REQUESTS_A_THREAD: u64 = 20;
/// The open loop's requests differ from the closed loop's, so that neither window warms a cache for the other.
const OPEN_LOOP: u64 = 0x9e37_79b9_7f4a_7c15;
/// And those after the windows from both.
const AGEING: u64 = 0xd1b5_4a32_d192_ed03;

/// How requests start.
#[derive(Debug, Clone, Copy)]
pub enum Loop {
    /// As many connections as the server is to have, each asking again when it has its answer.
    Closed,
    /// Poisson arrivals.
    Open {
        /// Requests per second.
        rate: f64,
    },
}

/// A window and what the server spent in it.
#[derive(Debug)]
pub struct Driven {
    /// The generator's outcome.
    pub outcome: Outcome,
    /// CPU time of the server's tree.
    pub server_cpu: Duration,
    /// What a CPU quota did; `None` without one.
    pub throttled: Option<Throttled>,
    /// The tree over the window.
    pub samples: Vec<UsageSample>,
}

/// Drives one trial's windows.
pub struct Driver<'a> {
    generator: Generator<'a>,
    server: &'a Running,
    serving: &'a Serving<'a>,
    pod: Option<&'a Pod>,
    answered: std::cell::Cell<u64>,
    driven_s: std::cell::Cell<f64>,
    drained_s: std::cell::Cell<f64>,
}

impl<'a> Driver<'a> {
    /// For a server that is ready, with its pod where it has one.
    pub fn new(
        generator: Generator<'a>,
        server: &'a Running,
        serving: &'a Serving<'a>,
        pod: Option<&'a Pod>,
    ) -> Self {
        Driver {
            generator,
            server,
            serving,
            pod,
            answered: std::cell::Cell::new(0),
            driven_s: std::cell::Cell::new(0.0),
            drained_s: std::cell::Cell::new(0.0),
        }
    }

    /// The server.
    pub fn server(&self) -> &'a Running {
        self.server
    }

    /// Its pod, where it has one.
    pub fn pod(&self) -> Option<&'a Pod> {
        self.pod
    }

    /// Requests answered so far, those of the warm-up included.
    pub fn answered(&self) -> u64 {
        self.answered.get()
    }

    /// Seconds between the ends of the warm-up and of windows and their last answers.
    pub fn drained_s(&self) -> f64 {
        self.drained_s.get()
    }

    /// What drives it.
    pub fn generator(&self) -> &Generator<'a> {
        &self.generator
    }

    /// Closed loop until every thread has served its share and the last three windows are flat, or time is up.
    pub fn warm_up(&self) -> Result<(Warmup, Outcome), Failure> {
        let warmup = self.serving.warmup;
        let mut plan = self.plan(
            Loop::Closed,
            Stop::after(warmup.longest),
            self.serving.seed ^ 1,
        );
        plan.slice = warmup.slice;
        let mut steadying = Steadying {
            driver: self,
            least: LEAST_REQUESTS_A_THREAD * u64::from(self.serving.arm.settings.concurrency()),
            windows: Vec::new(),
            cpu_before: self.cpu(),
            steady: false,
        };
        let began = Instant::now();
        let outcome = self
            .generator
            .run_until(&plan, &mut |progress| steadying.tick(progress))?;
        self.count(&outcome, began.elapsed());
        Ok((warmup_of(&outcome, steadying.steady), outcome))
    }

    /// A measured window. Memory is sampled on a thread of its own: the generator's has a schedule to keep.
    pub fn window(&self, how: Loop, length: Duration) -> Result<Driven, Failure> {
        let seed = match how {
            Loop::Closed => self.serving.seed,
            Loop::Open { .. } => self.serving.seed ^ OPEN_LOOP,
        };
        let slice = Duration::from_secs_f64((length.as_secs_f64() / 20.0).clamp(0.1, 1.0));
        let plan = self.plan(how, Stop::after(length), seed);
        self.sampled(plan, slice, host::monitor::PSS_EVERY)
    }

    /// So many requests of the closed loop, or as many as so long a time allows, with the exact memory in every sample.
    pub fn requests(
        &self,
        count: u64,
        longest: Duration,
        slice: Duration,
    ) -> Result<Driven, Failure> {
        let stop = counted(count, longest);
        let plan = self.plan(Loop::Closed, stop, self.serving.seed ^ AGEING);
        self.sampled(plan, slice, 1)
    }

    /// So many requests of the closed loop, others in each round, with nothing measured.
    pub fn round(&self, round: u64, count: u64, longest: Duration) -> Result<Outcome, Failure> {
        let seed = mix64(self.serving.seed ^ AGEING ^ round);
        let plan = self.plan(Loop::Closed, counted(count, longest), seed);
        self.generator.run(&plan)
    }

    fn sampled(&self, mut plan: Plan, slice: Duration, pss_every: u32) -> Result<Driven, Failure> {
        plan.slice = slice;
        let before = self.cpu();
        let throttling = self.pod.and_then(Pod::throttling);
        let tree = super::tree(self.server);
        let monitor = host::Monitor::start_with(tree, slice, pss_every).ok();
        let began = Instant::now();
        let outcome = self.generator.run(&plan)?;
        let ended = began.elapsed();
        let server_cpu = self.cpu().saturating_sub(before);
        let throttled = pod::between(throttling, self.pod.and_then(Pod::throttling));
        let samples = monitor.map(host::Monitor::stop).unwrap_or_default();
        let samples = self.placed(&outcome, &samples);
        self.count(&outcome, ended);
        Ok(Driven {
            outcome,
            server_cpu,
            throttled,
            samples,
        })
    }

    /// The samples with the requests answered by then, at the window's mean rate.
    fn placed(&self, outcome: &Outcome, samples: &[host::Sample]) -> Vec<UsageSample> {
        let span_ns = outcome.ended_ns.saturating_sub(outcome.started_ns).max(1) as f64;
        let per_ns = outcome.counts.completed as f64 / span_ns;
        let inside = samples
            .iter()
            .filter(|s| (outcome.started_ns..=outcome.ended_ns).contains(&s.at_mono_ns));
        let place = |sample: &host::Sample| {
            let since_ns = (sample.at_mono_ns - outcome.started_ns) as f64;
            UsageSample {
                at_s: self.driven_s.get() + since_ns / 1e9,
                requests: Some(self.answered.get() + (since_ns * per_ns) as u64),
                rss_bytes: sample.rss_bytes,
                pss_bytes: sample.pss_bytes,
                cpu_s: sample.cpu.total().as_secs_f64(),
            }
        };
        inside.map(place).collect()
    }

    fn count(&self, outcome: &Outcome, took: Duration) {
        let window = outcome.window();
        let drained = took.saturating_sub(window).as_secs_f64();
        self.drained_s.set(self.drained_s.get() + drained);
        self.answered
            .set(self.answered.get() + outcome.counts.completed);
        self.driven_s
            .set(self.driven_s.get() + window.as_secs_f64());
    }

    fn plan(&self, how: Loop, stop: Stop, seed: u64) -> Plan {
        let mode = match how {
            Loop::Closed => Mode::closed(self.serving.connections as usize),
            Loop::Open { rate } => generator::open(rate, seed),
        };
        self.generator.plan(mode, stop, seed)
    }

    fn cpu(&self) -> Duration {
        host::cpu::tree_cpu(super::tree(self.server))
            .map(|cpu| cpu.total())
            .unwrap_or_default()
    }

    fn rss(&self) -> u64 {
        host::memory::rss_tree(super::tree(self.server)).unwrap_or_default()
    }
}

fn counted(count: u64, longest: Duration) -> Stop {
    Stop {
        after: Some(longest),
        requests: Some(count),
    }
}

/// Ends the warm-up once it is flat.
struct Steadying<'a> {
    driver: &'a Driver<'a>,
    least: u64,
    windows: Vec<stats::Window>,
    cpu_before: Duration,
    steady: bool,
}

impl Steadying<'_> {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        let slice = progress.slice;
        let served = slice.ok + slice.errors;
        let cpu = self.driver.cpu();
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
        let memory = self.driver.rss() as f64;
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
}
