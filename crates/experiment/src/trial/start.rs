//! Starts a trial's server and reads back what it really runs with.

use super::{Begun, Serving, configured, services};
use crate::bench::Bench;
use crate::error::Failure;
use crate::flights;
use crate::place::Place;
use crate::pod::Pod;
use crate::progress::{Event, Watcher};
use crate::request::Arm;
use crate::room;
use crate::server_kind::ServerKind;
use crate::set_up;
use servers::{Agent, Quiet, Running, ServerSpec, StartError, hooks};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest that a hook may take.
const HOOK_TIMEOUT: Duration = Duration::from_secs(300);
/// Longest wait for a started server to become quiet; a busy one is measured all the same, after its warm-up.
const SETTLE: Duration = Duration::from_secs(3);

/// The agent's variable: of one in so many requests the course is kept (`docs/agent.md`).
const BURSTS: &str = "POWERBAND_BURSTS";

/// Runs the hook before the trial, if there is one.
pub fn hook(
    bench: &Bench<'_>,
    place: &Place,
    command: Option<&str>,
    name: &str,
    folder: &Path,
    watcher: &dyn Watcher,
) -> Result<(), Failure> {
    let cancelled = || watcher.cancelled();
    run_hook(bench, place, command, name, folder, watcher, &cancelled).map_err(|failed| {
        if watcher.cancelled() {
            Failure::Interrupted
        } else {
            failed
        }
    })
}

/// Runs the hook after the trial. It puts back what others need, so a signal does not cut it short; its own time limit
/// does.
pub fn hook_to_its_end(
    bench: &Bench<'_>,
    place: &Place,
    command: Option<&str>,
    folder: &Path,
    watcher: &dyn Watcher,
) -> Result<(), Failure> {
    run_hook(
        bench,
        place,
        command,
        "after_trial",
        folder,
        watcher,
        &|| false,
    )
}

fn run_hook(
    bench: &Bench<'_>,
    place: &Place,
    command: Option<&str>,
    name: &str,
    folder: &Path,
    watcher: &dyn Watcher,
    cancelled: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let Some(command) = command else {
        return Ok(());
    };
    watcher.on(Event::Phase("running the hook"));
    let log = folder.join(format!("{name}.log"));
    hooks::run(
        &bench.guard,
        command,
        &place.base_dir,
        &place.env,
        HOOK_TIMEOUT,
        &log,
        cancelled,
    )
    .map_err(|e| Failure::Fatal(format!("the {name} hook failed: {e}")))
}

/// Starts the server and waits until it answers and is quiet, and notes how long both took.
pub(super) fn server(
    bench: &Bench<'_>,
    serving: &Serving<'_>,
    pod: Option<&Pod>,
    watcher: &dyn Watcher,
    begun: &mut Begun,
) -> Result<Running, Failure> {
    watcher.on(Event::Phase("starting"));
    let began = Instant::now();
    let mut spec = spec(bench, serving)?;
    spec.groups = pod.map(Pod::folders).unwrap_or_default();
    let cancelled = || watcher.cancelled();
    let server = servers::start(&spec, &cancelled).map_err(|error| match error {
        StartError::Cancelled => Failure::Interrupted,
        StartError::PortInUse { .. } => Failure::Fatal(error.to_string()),
        error => Failure::Trial(error.to_string()),
    })?;
    begun.boot_s = Some(began.elapsed().as_secs_f64());
    let answered = Instant::now();
    let quiet = Quiet {
        at_most: SETTLE,
        ..Quiet::default()
    };
    server
        .settle(&quiet, &cancelled)
        .map_err(|died| Failure::Trial(died.to_string()))?;
    begun.beside.settling_s = answered.elapsed().as_secs_f64();
    Ok(server)
}

fn spec(bench: &Bench<'_>, serving: &Serving<'_>) -> Result<ServerSpec, Failure> {
    let experiment = bench.experiment;
    let place = bench.place(serving.arm);
    let knobs = serving.arm.settings;
    let settings = servers::Settings {
        threads: knobs.threads,
        workers: knobs.workers,
        preload: knobs.preload,
    };
    let mut spec = ServerSpec::new(
        &place.app_dir,
        settings,
        serving.folder.join("server"),
        bench.guard.clone(),
    );
    configured::for_arm(&mut spec, bench, serving.arm);
    spec.env = place.env.clone();
    spec.env.extend(bench.variables(serving.arm));
    if serving.bursts {
        spec.env.insert(BURSTS.to_owned(), "1".to_owned());
    }
    spec.ready_path = experiment.ready_path.clone();
    spec.boot_timeout = experiment.boot_timeout;
    spec.stop_grace = Duration::from_secs(3);
    spec.log_path = serving.folder.join("server.log");
    spec.port = experiment.port;
    spec.agent = Some(Agent {
        lib_dir: bench.agent_lib.clone(),
        ext_path: bench.agent_ext(serving.arm).to_owned(),
        flight_dir: serving.folder.join(flights::FOLDER),
    });
    let cores: Vec<usize> = serving
        .pinning
        .server_cores
        .iter()
        .map(|c| *c as usize)
        .collect();
    spec.cpus = Some(cores).filter(|c| !c.is_empty());
    let beside = services::of_trial(bench, serving)?;
    spec.env.extend(beside.told);
    spec.services = beside.services;
    Ok(spec)
}

/// Why the server does not run with what was asked, from its own status, from the agent inside it, and from what its
/// processes were started with.
pub(super) fn not_taken(
    bench: &Bench<'_>,
    server: &Running,
    flight_dir: &Path,
    arm: &Arm,
    pod: Option<&Pod>,
) -> Option<String> {
    let own = match server.read_back() {
        Ok(found) => found.mismatches.first().map(ToString::to_string),
        // The agent inside reports the same of Puma; the other servers, and a proxy in front, have no other report.
        Err(_) if bench.experiment.kind == ServerKind::Puma => {
            let front = server.read_back_front();
            front
                .and_then(|(_, mismatch)| mismatch)
                .map(|m| m.to_string())
        }
        Err(error) => Some(format!("what it runs with cannot be read back: {error}")),
    };
    let counters = flights::counters(flight_dir);
    if let (true, Some(full)) = (counters.is_empty(), room::full(flight_dir)) {
        return Some(full);
    }
    let bundle = bench.arm_environments.bundle(&arm.overlay);
    let versions = bundle
        .map(|bundle| bundle.versions.clone())
        .unwrap_or_default();
    own.or_else(|| flights::mismatch(&counters, arm.settings))
        .or_else(|| {
            set_up::not_taken(&arm.overlay, &versions, &counters, flight_dir).map(|m| m.to_string())
        })
        .or_else(|| {
            if arm.overlay.is_empty() {
                return None;
            }
            let serving: BTreeSet<u32> = flights::serving_pids(&counters).collect();
            if let (Some(ruby), Some(named)) = (bench.ruby(arm), arm.overlay.ruby())
                && let Some(other) = ruby.not_running(named, &serving)
            {
                return Some(other.to_string());
            }
            let mut pids = server.own_pids();
            pids.extend(serving);
            let environments = &bench.arm_environments;
            let variables = environments.not_taken(arm, &bench.place(arm).env, &pids);
            let mismatch = variables.or_else(|| pod?.not_taken(&pids))?;
            Some(mismatch.to_string())
        })
}
