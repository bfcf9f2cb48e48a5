//! The load generator at one server: the plan that all windows have in common, the cores that it
//! runs on, and its early end when the server died or the user stopped everything.

use crate::error::Failure;
use crate::progress::{Event, Watcher};
use crate::sending::Sender;
use host::{OtherWork, Roots, Tree};
use load::{
    Arrivals, HangingPage, LoadError, Mode, Observer, Outcome, Plan, Progress, Stop, Target,
    Workload,
};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use servers::Running;
use std::ops::ControlFlow;
use std::time::Duration;

/// Connections that an open loop may hold.
pub const MOST_CONNECTIONS: usize = 512;

/// Where load goes, and how.
#[derive(Clone)]
pub struct Generator<'a> {
    pub target: Target,
    pub workload: &'a Workload,
    pub timeout: Duration,
    /// Response time beyond which a request is late.
    pub limit: Option<Duration>,
    /// Whether a server on another machine may be loaded.
    pub allow_remote: bool,
    /// Cores to run on; none: wherever the scheduler puts it.
    pub cores: &'a [u32],
    /// The server, when powerband started it.
    pub server: Option<&'a Running>,
    pub watcher: &'a dyn Watcher,
    /// How requests are sent.
    pub sender: &'a Sender,
}

/// Poisson arrivals at this rate.
pub fn open(rate_per_s: f64, seed: u64) -> Mode {
    Mode::Open {
        arrivals: Arrivals::poisson(rate_per_s, seed),
        max_connections: MOST_CONNECTIONS,
    }
}

impl Generator<'_> {
    pub fn plan(&self, mode: Mode, stop: Stop, seed: u64) -> Plan {
        let mut plan = Plan::new(self.target.clone(), self.workload.clone(), mode, stop);
        plan.seed = seed;
        plan.timeout = self.timeout;
        plan.drain = self.timeout;
        plan.objective = self.limit;
        plan.allow_remote = self.allow_remote;
        self.sender.apply(&mut plan);
        plan
    }

    /// Carries out a plan that nothing but the server or the user ends early.
    pub fn run(&self, plan: &Plan) -> Result<Outcome, Failure> {
        self.run_until(plan, &mut |_| ControlFlow::Continue(()))
    }

    /// Carries out a plan, which `enough` may end as well; it is asked after every slice.
    pub fn run_until(
        &self,
        plan: &Plan,
        enough: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Outcome, Failure> {
        // Guards, servers and services descend from this process.
        let others = || OtherWork::read(&Roots::default(), &Tree::from(std::process::id()));
        let before = others();
        let mut outcome = self.uncounted(plan, enough)?;
        let span = Duration::from_nanos(outcome.finished_ns.saturating_sub(outcome.started_ns));
        outcome.others = others().since(&before, span, self.cores);
        outcome.own_cores = self.cores.to_vec();
        for said in self.sender.saw(&outcome, self.server) {
            self.watcher.on(Event::Note(said));
        }
        Ok(outcome)
    }

    /// Asks the server whether it wants the proxy's header, unless one has said so already. The page that made it stop
    /// answering, where one did.
    pub fn settle_https(&self) -> Result<Option<HangingPage>, Failure> {
        if self.sender.is_settled() {
            return Ok(None);
        }
        let plan = self.plan(Mode::closed(1), Stop::requests(1), 1);
        let mut hanging = None;
        let found = load::https(&plan, |plan| {
            let outcome = self.unseen(plan)?;
            hanging.clone_from(&outcome.hanging);
            Ok::<_, Failure>(outcome)
        })?;
        let said = found.and_then(|found| self.sender.settle(&found, &plan));
        if let Some(said) = said {
            self.watcher.on(Event::Note(said));
        }
        Ok(hanging)
    }

    /// Carries out a plan of which no figure is wanted.
    fn unseen(&self, plan: &Plan) -> Result<Outcome, Failure> {
        self.uncounted(plan, &mut |_| ControlFlow::Continue(()))
    }

    fn uncounted(
        &self,
        plan: &Plan,
        enough: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Outcome, Failure> {
        let mut watch = Watch {
            generator: self,
            enough,
            died: None,
        };
        // The generator runs on this thread, on its own cores only while it does: hooks and samplers keep off them.
        let pinned = Pinned::to(self.cores);
        let outcome = load::run(plan, &mut watch).map_err(failure)?;
        drop(pinned);
        if self.watcher.cancelled() {
            return Err(Failure::Interrupted);
        }
        watch
            .died
            .map_or(Ok(outcome), |why| Err(Failure::Trial(why)))
    }
}

/// What a run that could not be made means for the trial.
fn failure(error: LoadError) -> Failure {
    match error {
        // The outcome is lost, the other arms are not.
        LoadError::NoPorts { .. } | LoadError::NoFiles { .. } => Failure::Trial(error.to_string()),
        error => Failure::Fatal(error.to_string()),
    }
}

/// Ends a window early when the server died, the user stopped everything, or it has what it is for.
struct Watch<'a> {
    generator: &'a Generator<'a>,
    enough: &'a mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    died: Option<String>,
}

impl Observer for Watch<'_> {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if let Some(Err(died)) = self.generator.server.map(Running::alive) {
            self.died = Some(died.to_string());
            return ControlFlow::Break(());
        }
        (self.enough)(progress)
    }

    fn cancelled(&mut self) -> bool {
        self.generator.watcher.cancelled() || self.died.is_some()
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
