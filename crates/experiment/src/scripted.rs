//! Trials of a scripted application, of which the truth is known: the procedure's unit tests measure on it in place of servers. It
//! keeps the time that servers would take on a clock that the trials move.

mod ageing;
mod assertions;
mod by_noise;
mod calibration;
mod failures;
mod fibers;
mod known;
mod promise;
mod proving;
mod quick;
mod resume;
mod since;

use crate::arm_environment::RejectedValue;
use crate::config::{Asked, Request, resolve};
use crate::error::{Failure, Stopped};
use crate::procedure::Procedure;
use crate::progress::{Event, Watcher};
use crate::rates::Started;
use crate::request::{Arm, Experiment, Goal};
use crate::store::Store;
use crate::trial::{Assignment, Measured};
use crate::trials::Trials;
use crate::{arms, sample, session, tune};
use capacity::{Config, Demand};
use hdrhistogram::Histogram;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use run::{
    Document, FileChange, Hdr, Host, Latency, Memory, Profile, RateEnding, RateSearch, Sending,
    SetVariable, Settings, Trial, TrialStatus, Warmup, Window,
};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Cores of the scripted machine.
const CORES: f64 = 2.0;
const MIB: u64 = 1 << 20;

/// What a trial of an arm does in place of serving; the argument is the number of the arm's trials before it.
type Fails = fn(&Arm, u32) -> Option<Failure>;

/// The application and what becomes of its trials.
pub struct Script {
    /// What a request takes.
    pub demand: Demand,
    /// Standard deviation of the logarithm of a trial's capacity.
    pub noise: f64,
    /// The same of all trials of a block together.
    pub noise_of_blocks: f64,
    /// Whether every configuration is as quick as the smallest.
    pub alike: bool,
    /// Whether fibers serve the requests, so that no trial has a profile.
    pub fibers: bool,
    /// The generator is late, so that no latency counts.
    pub late: bool,
    /// What an arm's server keeps after so many requests, bytes, in addition to what it holds at its start.
    pub keeps: fn(&Arm, u64) -> u64,
    /// Which trials fail.
    pub fails: Fails,
    /// Seconds that a trial takes for its start, warm-up and end.
    pub around_trial_s: f64,
    /// The user stops the run after so many trials.
    pub stopped_after: Option<u32>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    clock: Duration,
    trials: u32,
    of_arms: BTreeMap<String, u32>,
    notes: Vec<String>,
}

impl Script {
    /// An application that holds the GVL and waits for I/O for so many milliseconds a request.
    pub fn of(held_ms: f64, io_ms: f64) -> Script {
        Script {
            demand: Demand::new(held_ms / 1e3, io_ms / 1e3, 0.0).unwrap(),
            noise: 0.01,
            noise_of_blocks: 0.02,
            alike: false,
            fibers: false,
            late: false,
            keeps: |_, _| 0,
            fails: |_, _| None,
            around_trial_s: 3.0,
            stopped_after: None,
            state: Mutex::default(),
        }
    }

    /// The truth: good answers per second under saturation.
    pub fn capacity_per_s(&self, settings: Settings) -> f64 {
        let config = match self.alike {
            true => Config {
                workers: 0,
                threads: 1,
            },
            false => Config {
                workers: settings.workers,
                threads: settings.threads,
            },
        };
        let predicted = capacity::predict(&self.demand, CORES, config);
        predicted.unwrap().throughput
    }

    /// Trials that were measured in this sitting.
    pub fn trials(&self) -> u32 {
        self.state.lock().unwrap().trials
    }

    /// What was said in this sitting.
    pub fn notes(&self) -> Vec<String> {
        self.state.lock().unwrap().notes.clone()
    }

    /// Seconds on the scripted clock.
    pub fn clock_s(&self) -> f64 {
        self.state.lock().unwrap().clock.as_secs_f64()
    }

    fn pss_bytes(settings: Settings) -> u64 {
        let threads = u64::from(settings.processes()) * u64::from(settings.threads);
        80 * MIB + 60 * MIB * u64::from(settings.processes()) + MIB * threads
    }

    /// Moves the scripted clock.
    pub fn pass(&self, seconds: f64) {
        self.state.lock().unwrap().clock += Duration::from_secs_f64(seconds);
    }

    fn measure(&self, assignment: &Assignment<'_>, trial: &mut Trial) {
        let arm = assignment.serving.arm;
        let block = (
            assignment.stage.word(),
            assignment.block,
            assignment.serving.seed,
        );
        let factor = (self.noise_of_blocks * normal(&block)
            + self.noise * normal(&(block, &arm.name)))
        .exp();
        let capacity = self.capacity_per_s(arm.settings) * factor;
        let alone_ms = 1e3 * (self.demand.held_s() + self.demand.io_s());
        let timing = &assignment.timing;
        let full_ms = 1e3 * f64::from(assignment.serving.connections) / capacity;
        trial.saturation =
            Some(self.window(timing.saturation_s, capacity, full_ms, None, assignment));
        let rate = assignment.rate_per_s.unwrap_or(0.7 * capacity);
        let busy = rate / capacity;
        // As of one queue of exponential service times; beyond the capacity it only grows.
        let open_ms = match busy < 0.98 {
            true => alone_ms / (1.0 - busy),
            false => 50.0 * alone_ms,
        };
        let answered = rate.min(capacity);
        let window = self.window(
            timing.objective_s,
            answered,
            open_ms,
            Some(rate),
            assignment,
        );
        match self.late {
            false => trial.objective = Some(window),
            true => trial.reason = Some(format!("{}the generator started late", Trial::NO_LATENCY)),
        }
        let age = |age| self.age(age, trial.answered(), capacity, arm);
        let aged = assignment.age.map(age);
        let pss_bytes = Script::pss_bytes(arm.settings);
        trial.memory = Some(Memory {
            processes: arm.settings.processes(),
            pss_bytes,
            uss_bytes: pss_bytes,
            rss_bytes: pss_bytes,
            growth_bytes_per_thousand: 0.0,
            samples: Vec::new(),
            machine: None,
            aged,
        });
    }

    /// A window of answers that follow an exponential distribution around this mean.
    fn window(
        &self,
        seconds: f64,
        per_s: f64,
        mean_ms: f64,
        asked_per_s: Option<f64>,
        assignment: &Assignment<'_>,
    ) -> Window {
        let good = (per_s * seconds).round() as u64;
        // Two digits: histograms of three take most of a test's time.
        let mut histogram = Histogram::<u64>::new_with_bounds(1, load::HIGHEST_US, 2).unwrap();
        const SLICES: u64 = 50;
        let of_share = |share: f64| (-(1.0 - share).ln() * mean_ms * 1e3).max(1.0) as u64;
        for slice in 0..SLICES {
            let share = (slice as f64 + 0.5) / SLICES as f64;
            let answers = good * (slice + 1) / SLICES - good * slice / SLICES;
            histogram.record_n(of_share(share), answers).unwrap();
        }
        let at = |quantile: f64| (good > 0).then(|| of_share(quantile) as f64 / 1e3);
        let latency = Latency {
            mean_ms: (good > 0).then_some(mean_ms),
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: at(0.99),
            hdr: Some(Hdr::encode(&histogram)),
        };
        let none = Latency {
            mean_ms: Some(0.0),
            p50_ms: Some(0.0),
            p95_ms: Some(0.0),
            p99_ms: Some(0.0),
            max_ms: Some(0.0),
            hdr: None,
        };
        let limit = assignment.serving.limit.filter(|_| asked_per_s.is_some());
        let late = |limit: Duration| (-(limit.as_secs_f64() * 1e3) / mean_ms).exp();
        Window {
            seconds,
            requests: good,
            good,
            errors: 0,
            timeouts: 0,
            good_per_s: good as f64 / seconds,
            asked_per_s,
            response: latency.clone(),
            service: latency,
            lateness: none,
            violations: limit.map(|limit| (late(limit) * good as f64) as u64),
            cpu_ms_per_request: 1e3 * self.demand.cpu_s(),
            generator_cpu: 0.001,
            endpoints: Vec::new(),
        }
    }

    fn profile(&self) -> Profile {
        let (held_ms, io_ms) = (1e3 * self.demand.held_s(), 1e3 * self.demand.io_s());
        Profile {
            requests: 1_000,
            wall_ms: held_ms + io_ms,
            held_ms,
            gvl_wait_ms: 0.0,
            lock_wait_ms: None,
            lock: None,
            io_ms,
            cpu_ms: held_ms,
            tree_cpu_ms: held_ms,
            useful_threads: 1.0 + io_ms / held_ms,
            endpoints: Vec::new(),
        }
    }
}

/// A standard normal number that is a function of this key alone, so that a trial that is measured again in the same block of the
/// same run is the same.
pub fn normal(key: &impl Hash) -> f64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    StandardNormal.sample(&mut Pcg64Mcg::seed_from_u64(hasher.finish()))
}

impl Trials for Script {
    fn run(&self, assignment: Assignment<'_>, watcher: &dyn Watcher) -> Result<Measured, Stopped> {
        let arm = assignment.serving.arm;
        let before = {
            let mut state = self.state.lock().unwrap();
            state.trials += 1;
            let of_arm = state.of_arms.entry(arm.name.clone()).or_default();
            *of_arm += 1;
            *of_arm - 1
        };
        let timing = &assignment.timing;
        self.pass(self.around_trial_s);
        if watcher.cancelled() {
            return Err(Stopped::Interrupted);
        }
        let mut trial = blank(&assignment);
        match (self.fails)(arm, before) {
            None => {
                self.pass(timing.saturation_s + timing.objective_s);
                self.measure(&assignment, &mut trial);
            }
            Some(Failure::Trial(why)) => {
                trial.status = TrialStatus::Failed;
                trial.reason = Some(why);
            }
            Some(Failure::Fatal(why)) => return Err(Stopped::Configuration(why)),
            Some(Failure::Interrupted) => return Err(Stopped::Interrupted),
        }
        trial.took_s = self.clock_s() - assignment.started_s;
        let is_split = trial.counts() && !self.fibers;
        let profile = is_split.then(|| self.profile());
        Ok(Measured {
            trial,
            versions: BTreeMap::new(),
            profile,
        })
    }

    fn highest_rate(&self, wanted: Started<'_>, _: &dyn Watcher) -> Result<RateSearch, Stopped> {
        self.pass(wanted.budget.as_secs_f64());
        let met = 0.9 * self.capacity_per_s(wanted.arm.settings);
        let ends = Some((0.97 * met, 1.03 * met));
        Ok(sample::rates(1, RateEnding::Found, met, ends).search)
    }

    fn sending(&self) -> Sending {
        Sending::default()
    }

    fn sending_caveats(&self) -> Vec<String> {
        Vec::new()
    }

    fn environment(&self, _: &Arm) -> Vec<SetVariable> {
        Vec::new()
    }

    fn rejected_values(&self) -> &[RejectedValue] {
        &[]
    }

    fn changes(&self, _: &Arm) -> (Vec<FileChange>, Vec<String>) {
        Default::default()
    }

    fn host_warnings(&self, _: &dyn Watcher) -> Vec<String> {
        Vec::new()
    }
}

impl Watcher for Script {
    fn on(&self, event: Event<'_>) {
        if let Event::Note(note) = event {
            self.state.lock().unwrap().notes.push(note);
        }
    }

    fn cancelled(&self) -> bool {
        self.stopped_after.is_some_and(|most| self.trials() > most)
    }

    fn elapsed(&self) -> Duration {
        self.state.lock().unwrap().clock
    }
}

fn blank(assignment: &Assignment<'_>) -> Trial {
    let arm = assignment.serving.arm;
    Trial {
        id: assignment.id.clone(),
        stage: assignment.stage,
        block: assignment.block,
        place: assignment.place,
        arm: arm.name.clone(),
        settings: arm.settings,
        environment: Vec::new(),
        status: TrialStatus::Ok,
        reason: None,
        started_s: assignment.started_s,
        took_s: 0.0,
        boot_s: Some(1.0),
        beside: None,
        warmup: Some(Warmup {
            requests: 1_000,
            seconds: 1.0,
            steady: true,
        }),
        saturation: None,
        objective: None,
        memory: None,
        split: None,
        pod: None,
        predicted: None,
    }
}

/// What is asked of `tune`.
pub fn tuned(seed: u64, set: impl FnOnce(&mut Request)) -> Experiment {
    asked(Goal::Tune, seed, set)
}

/// What is asked of `compare`.
pub fn compared(seed: u64, arms: &[Arm], set: impl FnOnce(&mut Request)) -> Experiment {
    let goal = Goal::Arms {
        kind: run::Kind::Compare,
        arms: arms.to_vec(),
    };
    asked(goal, seed, set)
}

fn asked(goal: Goal, seed: u64, set: impl FnOnce(&mut Request)) -> Experiment {
    let mut request = Request {
        base_dir: env!("CARGO_MANIFEST_DIR").into(),
        ..Request::default()
    };
    set(&mut request);
    resolve(request, goal, seed).unwrap()
}

/// A value as it is typed.
pub fn typed(text: &str) -> Option<Asked> {
    Some(Asked::new(text, "a test"))
}

/// One process of so many threads.
pub fn threads(threads: u16) -> Arm {
    Arm::of(Settings {
        workers: 0,
        threads,
        preload: false,
    })
}

/// A folder for runs; in memory where the machine has such a place, because each trial is written to disk durably.
pub fn scratch() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}

/// The document of a run that must come to its end.
pub fn measured(script: &Script, experiment: &Experiment) -> Document {
    let runs = scratch();
    let (document, result) = conducted(script, experiment, runs.path());
    assert!(result.is_ok(), "{result:?}");
    document
}

fn with_runs_in(experiment: &Experiment, runs: &Path) -> Experiment {
    Experiment {
        runs_dir: runs.to_owned(),
        ..experiment.clone()
    }
}

/// Begins a run in this folder and conducts it to its end, or until it stops.
pub fn conducted(
    script: &Script,
    experiment: &Experiment,
    runs: &Path,
) -> (Document, Result<(), Stopped>) {
    let experiment = with_runs_in(experiment, runs);
    let mut store = session::begin(&experiment, "2026-11-20T21:45:12Z", "run").unwrap();
    store.document.host = Host {
        cpu_model: "scripted".to_owned(),
        cores: CORES as u32,
        effective_cores: CORES,
        memory_bytes: 8 << 30,
        kernel: String::new(),
        load_average: 0.0,
    };
    continued(script, &experiment, store)
}

/// Goes on with a run from what its folder has.
pub fn resumed(
    script: &Script,
    experiment: &Experiment,
    runs: &Path,
) -> (Document, Result<(), Stopped>) {
    let mut experiment = with_runs_in(experiment, runs);
    let store = session::resume(&mut experiment, &runs.join("run")).unwrap();
    continued(script, &experiment, store)
}

fn continued(
    script: &Script,
    experiment: &Experiment,
    store: Store,
) -> (Document, Result<(), Stopped>) {
    let mut procedure = Procedure::new(experiment, script, store, script);
    let result = match &experiment.goal {
        Goal::Tune => tune::tune(&mut procedure),
        Goal::Arms { arms, .. } => arms::compare(&mut procedure, arms),
    };
    let result = result.and_then(|()| procedure.end());
    match result {
        Ok(()) => (procedure.store.document, Ok(())),
        Err(stopped) => {
            let (store, stopped) = session::fail(procedure.store, stopped, script);
            (store.document, stopped)
        }
    }
}
