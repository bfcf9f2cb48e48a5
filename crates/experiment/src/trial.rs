//! One trial: start the server, see what it really runs with, warm it up, measure two windows, age it where asked, end it.
//!
//! Whatever goes wrong with the server is the trial's result, not an error: the other arms go on.

mod ageing;
mod configured;
mod drive;
pub(crate) mod pages;
mod services;
mod serving;
mod start;

use crate::bench::Bench;
use crate::budget;
use crate::error::{Failure, Stopped};
use crate::flights;
use crate::judge;
use crate::progress::{Event, Watcher};
use crate::windows;
pub use drive::Driver;
use drive::Loop;
use load::GeneratorTrouble;
use run::{
    Age, MachineMemory, Memory, Profile, Stage, Timing, Trial, TrialStatus, UsageSample, Warmup,
};
use servers::Running;
pub use serving::{Begun, Ended, Serving, WarmupLength, with_server};
pub use start::{hook, hook_to_its_end};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What one trial is to be.
#[derive(Debug, Clone)]
pub struct Assignment<'a> {
    /// Unique in the run.
    pub id: String,
    /// Part of the procedure.
    pub stage: Stage,
    /// Block, from 1.
    pub block: u32,
    /// Place in the block's order, from 1.
    pub place: u32,
    /// The arm's server.
    pub serving: Serving<'a>,
    /// Lengths of the windows.
    pub timing: Timing,
    /// When memory is compared; `None`: after the windows.
    pub age: Option<Age>,
    /// Rate of the open loop; `None`: 70 % of this very trial's saturated throughput.
    pub rate_per_s: Option<f64>,
    /// Seconds since the run began.
    pub started_s: f64,
}

/// What a trial gave in addition to its result.
#[derive(Debug)]
pub struct Measured {
    /// The trial.
    pub trial: Trial,
    /// What its processes say they are.
    pub versions: BTreeMap<String, String>,
    /// Means per request in the saturation window; `None` where the trial does not count, or the agent could not split their time.
    pub profile: Option<Profile>,
}

/// Runs one trial.
pub fn run(
    bench: &Bench<'_>,
    assignment: Assignment<'_>,
    watcher: &dyn Watcher,
) -> Result<Measured, Stopped> {
    let began = Instant::now();
    let mut measured = Measured {
        trial: blank(bench, &assignment),
        versions: BTreeMap::new(),
        profile: None,
    };
    let flight_dir = assignment.serving.folder.join(flights::FOLDER);
    let mut begun = Begun::default();
    let result = with_server(bench, &assignment.serving, watcher, &mut begun, |driver| {
        measure(bench, &assignment, driver, watcher, &mut measured)
    })
    .and_then(Ended::with_its_hook);
    measured.trial.boot_s = begun.boot_s;
    measured.trial.warmup = begun.warmup;
    measured.trial.beside = Some(begun.beside);
    let snapshots = flights::counters(&flight_dir);
    measured.versions = flights::versions(&snapshots);
    match result {
        Ok(()) => note_whether_steady(&mut measured.trial),
        Err(Failure::Interrupted) => return Err(Stopped::Interrupted),
        Err(Failure::Fatal(message)) => return Err(Stopped::Configuration(message)),
        Err(Failure::Trial(reason)) => {
            let lacks = match measured.trial.boot_s {
                None => bench
                    .place(assignment.serving.arm)
                    .lacks(&bench.experiment.app_dir),
                Some(_) => None,
            };
            measured.trial.status = TrialStatus::Failed;
            measured.trial.reason = Some(match lacks {
                Some(lacks) => format!("{lacks}; {reason}"),
                None => reason,
            });
        }
    }
    if flights::has_fibers(&snapshots) {
        measured.trial.split = None;
    }
    if !measured.trial.counts() || flights::unusable(&snapshots).is_some() {
        measured.profile = None;
    }
    measured.trial.took_s = began.elapsed().as_secs_f64();
    Ok(measured)
}

fn blank(bench: &Bench<'_>, assignment: &Assignment<'_>) -> Trial {
    Trial {
        id: assignment.id.clone(),
        stage: assignment.stage,
        block: assignment.block,
        place: assignment.place,
        arm: assignment.serving.arm.name.clone(),
        settings: assignment.serving.arm.settings,
        environment: bench.told(assignment.serving.arm),
        status: TrialStatus::Ok,
        reason: None,
        started_s: assignment.started_s,
        took_s: 0.0,
        boot_s: None,
        beside: None,
        warmup: None,
        saturation: None,
        objective: None,
        memory: None,
        split: None,
        pod: None,
        predicted: None,
    }
}

fn measure(
    bench: &Bench<'_>,
    assignment: &Assignment<'_>,
    driver: &Driver<'_>,
    watcher: &dyn Watcher,
    measured: &mut Measured,
) -> Result<(), Failure> {
    let trial = &mut measured.trial;
    let server = driver.server();
    let flight_dir = assignment.serving.folder.join(flights::FOLDER);

    watcher.on(Event::Phase("saturating"));
    let before = flights::counters(&flight_dir);
    let saturation = driver.window(
        Loop::Closed,
        Duration::from_secs_f64(assignment.timing.saturation_s),
    )?;
    let after = flights::counters(&flight_dir);
    let memory_at_end = host::memory::sample_tree(tree(server));
    let machine = host::cores::memory().ok();
    let seen = flight::Window::between(&before, &after);
    let why = replaced(server, &seen, "during the window");
    if let Some(why) = why.filter(|_| seen.totals.requests > 0) {
        return Err(Failure::Trial(why));
    }
    let locks_apart = flights::tells_locks(&after);
    trial.split = Some(flights::split(&seen, locks_apart)).filter(|s| s.requests > 0);
    let window = windows::window(&saturation.outcome, saturation.server_cpu, false);
    measured.profile = flights::profile(&seen, locks_apart, window.cpu_ms_per_request);
    trial.saturation = Some(window);
    trial.pod = driver.pod().map(|pod| run::Pod {
        saturation: saturation.throttled,
        ..pod.seen()
    });
    pages::answer(&saturation.outcome, "at full load", Some(server))?;
    let share = saturation.outcome.generator_cpu_share();
    if share > load::MAX_CPU_SHARE {
        return Err(Failure::Trial(GeneratorTrouble::Busy { share }.to_string()));
    }

    watcher.on(Event::Phase("measuring latency"));
    let rate = assignment
        .rate_per_s
        .unwrap_or(budget::OBJECTIVE_LOAD * saturation.outcome.throughput_per_s());
    let with_limit = bench.experiment.objective.latency.is_some();
    let mut samples = saturation.samples;
    if rate > 0.0 {
        let length = Duration::from_secs_f64(assignment.timing.objective_s);
        let objective = driver.window(Loop::Open { rate }, length)?;
        match objective.outcome.generator_ok() {
            Ok(()) => {
                let window = windows::window(&objective.outcome, objective.server_cpu, with_limit);
                trial.objective = Some(window);
            }
            // A closed loop has no schedule to be late for, so the capacity stands; the latency does not.
            Err(trouble) => trial.reason = Some(format!("{}{trouble}", Trial::NO_LATENCY)),
        }
        if let (Some(pod), Some(seen)) = (driver.pod(), &mut trial.pod) {
            *seen = run::Pod {
                saturation: seen.saturation,
                objective: objective.throttled,
                ..pod.seen()
            };
        }
        samples.extend(objective.samples);
    }
    trial.memory = memory_at_end
        .ok()
        .and_then(|end| memory(&end, &samples, machine));
    if let (Some(age), Some(memory)) = (assignment.age, &mut trial.memory) {
        watcher.on(Event::Phase("ageing"));
        let per_s = saturation.outcome.throughput_per_s();
        let processes = trial.settings.processes();
        let before = flights::counters(&flight_dir);
        let mut aged = ageing::age(driver, age, per_s, memory, processes)?;
        let seen = flight::Window::between(&before, &flights::counters(&flight_dir));
        if let Some(why) = replaced(server, &seen, "while the server aged") {
            (aged.pss_bytes, aged.why_not) = (None, Some(why));
        }
        memory.aged = Some(aged);
    }
    server
        .alive()
        .map_err(|died| Failure::Trial(died.to_string()))?;
    match ended(server, "during the trial") {
        Some(why) => Err(Failure::Trial(why)),
        None => Ok(()),
    }
}

/// That a process has ended and none has taken its place.
fn ended(server: &Running, when: &str) -> Option<String> {
    let left = server.ended()?;
    Some(format!(
        "a process ended {when}, and {left}; the server's log says why"
    ))
}

/// That a new process has taken a worker's place, where one has and that is not what the server is set to do.
fn replaced(server: &Running, seen: &flight::Window, when: &str) -> Option<String> {
    (seen.started + seen.vanished > 0 && !server.replaces_workers())
        .then(|| format!("a worker process ended and was replaced {when}; its log says why"))
}

fn note_whether_steady(trial: &mut Trial) {
    let Some(warmup) = trial.warmup.filter(|warmup| !warmup.steady) else {
        return;
    };
    trial.status = TrialStatus::NotSteady;
    let unsteady = format!(
        "latency, CPU per request or memory was not flat after {:.0} s of warm-up",
        warmup.seconds
    );
    trial.reason = Some(match trial.reason.take() {
        Some(reason) => format!("{unsteady}; {reason}"),
        None => unsteady,
    });
}

/// The processes of a server, also those with another parent by now: a proxy in front is among them, services are not.
pub(crate) fn tree(server: &Running) -> host::Tree {
    host::Tree::from(server.guard_pid())
        .without(server.service_pids())
        .without_root()
}

fn memory(
    end: &host::memory::TreeMemory,
    samples: &[UsageSample],
    machine: Option<host::procfs::MemInfo>,
) -> Option<Memory> {
    let growth = judge::resident(samples);
    // A process that cannot be read would make the tree look smaller than it is.
    if !end.unreadable.is_empty() || end.pss_bytes == 0 {
        return None;
    }
    let seen = samples.iter().filter_map(|s| s.pss_bytes);
    Some(Memory {
        processes: end.processes.len() as u32,
        pss_bytes: seen.fold(end.pss_bytes, u64::max),
        uss_bytes: end.uss_bytes,
        rss_bytes: end.rss_bytes,
        growth_bytes_per_thousand: stats::growth_per_thousand(&growth).unwrap_or(0.0),
        samples: samples.to_vec(),
        machine: machine.map(|info| MachineMemory {
            total_bytes: info.total_bytes,
            used_bytes: info.used_bytes(),
            free_bytes: info.free_bytes,
            shared_bytes: info.shared_bytes,
            buffers_bytes: info.buffers_bytes,
            cached_bytes: info.cached_bytes,
        }),
        aged: None,
    })
}

/// A warm-up as the document has it.
fn warmup_of(outcome: &load::Outcome, steady: bool) -> Warmup {
    Warmup {
        requests: outcome.counts.completed,
        seconds: outcome.window().as_secs_f64(),
        steady,
    }
}
