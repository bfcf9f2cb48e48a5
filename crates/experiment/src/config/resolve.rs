//! From what was written to what will be done; every problem at once.

use super::memory_limit::{self, MemoryLimit};
use super::recording::{Hosts, read_recording};
use super::values::{
    parse_bool, parse_cost, parse_least, parse_list, parse_rate, parse_remote, parse_requests,
    parse_share, parse_threads, parse_workers, whole, whole_u64,
};
use super::{
    Asked, Problem, Request, parse_arm, parse_duration, parse_headers, parse_latency,
    parse_settings,
};
use super::{
    ServiceRequest, check, command, command_knobs, placeholders, quick, search_knobs, server,
};
use crate::budget;
use crate::earlier::Earlier;
use crate::request::{Arm, Experiment, Goal, MOST_BLOCKS, Service, Total};
use load::Workload;
use run::{Least, Objective};
use servers::safety::Remote;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Blocks below which no two-sided test at 5 % can decide (design of the exact signed-rank test).
const LEAST_BLOCKS: u64 = 6;

/// Connections of the closed loop: what a port range and file descriptors allow without setting anything up.
const MOST_CONNECTIONS: u64 = 10_000;

/// Turns a merged request into an experiment, and names all that is wrong; a wrong value is as one that is not given.
pub fn collected(request: Request, goal: Goal, fallback_seed: u64) -> (Experiment, Vec<Problem>) {
    let mut all = Collected(Vec::new());
    let base = &absolute(&request.base_dir);
    let app_dir = base.join(request.app_dir.as_ref().map_or(".", |a| a.text.as_str()));
    if !app_dir.is_dir() {
        let asked = request
            .app_dir
            .clone()
            .unwrap_or_else(|| Asked::new(".", "the application's folder"));
        all.0.push(Problem::of(
            &asked,
            format_args!("{} is no folder", app_dir.display()),
            "give the application's folder with --app",
        ));
    }
    let mut workload_command = command::resolved(&request, &goal, &mut all.0);
    let knobs = match (&mut workload_command, &goal) {
        (Some(command), Goal::Tune) => {
            let (knobs, today) = command_knobs::searched(&request, &mut all.0);
            command.today = today;
            knobs
        }
        _ => search_knobs::resolve(&request.knobs, &goal).unwrap_or_else(|problems| {
            all.0.extend(problems);
            Vec::new()
        }),
    };
    let (assertions, revisions) = check::resolve(&request, &goal, &app_dir, &mut all.0);
    let mut notes = Vec::new();
    let workload = all.workload(&request, base, &mut notes);
    let allow_unsafe = all
        .take(request.allow_unsafe.as_ref(), parse_bool)
        .unwrap_or(false);
    if let Some(workload) = &workload {
        let methods = workload.unsafe_methods();
        if !methods.is_empty() && !allow_unsafe {
            all.0.push(Problem::with(
                format!(
                    "the workload has {} requests, which may change data",
                    methods.join(", ")
                ),
                "leave them out, or pass --allow-unsafe and reset the data in a before_trial hook",
            ));
        }
    }
    let kind = server::kind(&request, &mut all.0);
    let front = server::front(&request, &mut all.0);
    let baseline = |asked: &Asked| match &goal {
        // The baseline of a command is resolved with the command.
        Goal::Tune if workload_command.is_some() => Ok(kind.defaults()),
        Goal::Tune => parse_settings(asked, kind.defaults()),
        Goal::Arms { .. } => parse_arm(asked, &Arm::of(kind.defaults())).map(|arm| arm.settings),
    };
    let baseline = match request.baseline.as_ref().map(baseline) {
        None => None,
        Some(Ok(settings)) => {
            // With named configurations it is the first of them.
            if let Goal::Tune = &goal {
                let origin = request.baseline.as_ref().map_or("", |asked| &asked.origin);
                all.0.extend(server::impossible(kind, origin, settings));
            }
            Some(settings)
        }
        Some(Err(problems)) => {
            all.0.extend(problems);
            None
        }
    };
    let latency = all.take(request.slo.as_ref(), parse_latency);
    let of_cgroup = request
        .cgroup_memory_bytes
        .filter(|_| matches!(goal, Goal::Tune) && workload_command.is_none());
    let memory = memory_limit::resolve(request.max_memory.as_ref(), of_cgroup);
    let memory = memory.unwrap_or_else(|problem| {
        all.0.push(problem);
        MemoryLimit::default()
    });
    let least = all.least(&request, &goal);
    all.0.extend(quick::misfit(&request));
    let budget = quick::budget(&request).or_else(|| request.budget.clone());
    let rate = all.take(request.rate.as_ref(), parse_rate);
    let most_blocks = |asked: &Asked| whole(asked, LEAST_BLOCKS, u64::from(MOST_BLOCKS), "blocks");
    let blocks = all
        .take(request.blocks.as_ref(), most_blocks)
        .map(u32::from);
    let calibrate = all
        .take(request.calibrate.as_ref(), most_blocks)
        .map(u32::from);
    if let Goal::Arms { arms, .. } = &goal
        && let ([alone], None) = (arms.as_slice(), &request.calibrate)
        && workload_command.is_none()
    {
        all.0.push(Problem::with(
            format!("{alone} is compared with nothing"),
            "name a second configuration, or pass --calibrate to measure it against itself",
        ));
    }
    let window = all.take(request.window.as_ref(), parse_duration);
    if let (Some(asked), Some(window)) = (&request.window, window)
        && window < Duration::from_millis(500)
    {
        all.0.push(Problem::of(
            asked,
            "a window under 500ms holds too few requests",
            "give 500ms or more; 2s is the least that is advisable",
        ));
    }
    let age = all.take(request.age.as_ref(), parse_requests);
    for service in &request.services {
        let told = service.port_env.is_some() || service.template.is_some();
        if !told && !service.command.text.contains("{port}") {
            all.0.push(Problem::of(
                &service.command,
                "nothing gives the service its port",
                "write {port} where the command takes it, or name the variable in port_env",
            ));
        }
    }
    all.0.extend(told_by_services(&goal, &request.services));
    if workload_command.is_none() {
        all.0
            .extend(server::misplaced(&request, kind, front.as_ref(), &goal));
    }
    all.0.extend(placeholders::unused(&request, base, &goal));
    let services = request.services.iter().map(|s| Service {
        name: s.name.text.clone(),
        command: s.command.text.clone(),
        port_env: s.port_env.as_ref().map(|p| p.text.clone()),
        template: s.template.as_ref().map(|t| base.join(&t.text)),
        ready_path: s.ready_path.as_ref().map(|p| p.text.clone()),
    });
    let goal = match workload_command {
        Some(_) => command::goal(goal),
        None => goal,
    }
    .with_distinct_names();
    let text = |asked: &Option<Asked>| asked.as_ref().map(|a| a.text.clone());
    let experiment = Experiment {
        prepare: text(&request.prepare),
        environment: text(&request.environment).unwrap_or_else(|| {
            // A test suite may empty its database, so this must not be one in use.
            let usual = workload_command.as_ref().map_or("production", |_| "test");
            usual.to_owned()
        }),
        env: request
            .env
            .iter()
            .map(|(k, v)| (k.clone(), v.text.clone()))
            .collect::<BTreeMap<_, _>>(),
        kind,
        front,
        command: text(&request.command),
        server_config: request
            .server_config
            .as_ref()
            .map(|p| existing(&mut all, p, &app_dir)),
        ready_path: text(&request.ready_path)
            .or_else(|| workload.as_ref().map(first_path))
            .unwrap_or_else(|| "/".to_owned()),
        boot_timeout: all
            .take(request.boot_timeout.as_ref(), parse_duration)
            .unwrap_or(Duration::from_secs(60)),
        port: all.take(request.port.as_ref(), |a| whole(a, 1, 65_535, "a port")),
        services: services.collect(),
        baseline,
        objective: Objective {
            latency,
            max_memory_bytes: memory.bytes,
            least,
            must_carry_per_s: rate
                .filter(|_| matches!(least, Some(Least::Memory | Least::Processes))),
        },
        cgroup_memory_bytes: memory.of_cgroup,
        budget: all.take(budget.as_ref(), parse_duration),
        budget_is_of_file: (budget.as_ref())
            .is_some_and(|asked| asked.origin.starts_with("tune.budget")),
        quick: request.quick.is_some(),
        since: all.take(request.since.as_ref(), parse_earlier),
        proof: request.proof.clone(),
        budget_asked: (budget.as_ref()).map(|asked| format!("{} = {:?}", asked.origin, asked.text)),
        blocks,
        calibrate,
        max_arms: all
            .take(request.max_arms.as_ref(), |a| {
                whole(a, 2, budget::MOST_ARMS as u64, "arms")
            })
            .map(usize::from),
        margin: all
            .take(request.margin.as_ref(), parse_share)
            .unwrap_or(0.03),
        seed: all
            .take(request.seed.as_ref(), |a| {
                whole_u64(a, 0, u64::MAX, "a seed")
            })
            .unwrap_or(fallback_seed),
        knobs,
        threads: all.list(request.threads.as_ref(), parse_threads),
        workers: all.list(request.workers.as_ref(), parse_workers),
        connections: all
            .take(request.connections.as_ref(), |a| {
                whole(a, 1, MOST_CONNECTIONS, "connections")
            })
            .map(u32::from),
        earlier_runs: all
            .take(request.earlier_runs.as_ref(), parse_bool)
            .unwrap_or(true),
        known: None,
        generator_core: all.take(request.generator_core.as_ref(), parse_bool),
        keep_alive: all
            .take(request.keep_alive.as_ref(), parse_bool)
            .unwrap_or(false),
        headers: parse_headers(&request.headers).unwrap_or_else(|problems| {
            all.0.extend(problems);
            Vec::new()
        }),
        rehearse: all
            .take(request.rehearse.as_ref(), parse_bool)
            .unwrap_or(false),
        rate,
        total: all.total(&request),
        window,
        age,
        timeout: all
            .take(request.timeout.as_ref(), parse_duration)
            .unwrap_or(Duration::from_secs(10)),
        allow_remote: all.remotes(&request.allow_remote),
        before_trial: text(&request.before_trial),
        after_trial: text(&request.after_trial),
        recording_notes: notes,
        workload_command,
        workload: workload.unwrap_or_else(|| Workload::get("/").expect("/ is a path")),
        keep_flights: all
            .take(request.keep_flights.as_ref(), parse_bool)
            .unwrap_or(false),
        runs_dir: request
            .runs_dir
            .as_ref()
            .map_or_else(|| PathBuf::from("powerband-runs"), |p| base.join(&p.text)),
        files: request
            .files
            .resolved(server::named(&request), base, &mut all.0),
        base_dir: absolute(base),
        app_dir: absolute(&app_dir),
        assertions,
        revisions,
        goal,
    };
    if let (Some(limit), Some(asked)) = (experiment.objective.latency, &request.slo)
        && limit.limit_ms >= experiment.timeout.as_secs_f64() * 1e3
    {
        let remedy = "give a longer --timeout, or a tighter objective";
        all.0.push(Problem::of(
            asked,
            format_args!("not under the request timeout of {:?}", experiment.timeout),
            remedy,
        ));
    }
    (experiment, all.0)
}

/// Variables that arms set although a service passes its port to the application in them.
fn told_by_services(goal: &Goal, services: &[ServiceRequest]) -> Vec<Problem> {
    let Goal::Arms { arms, .. } = goal else {
        return Vec::new();
    };
    let sets = |asked: &&Asked| {
        let mut overlays = arms.iter().map(|arm| arm.overlay.variables());
        overlays.any(|variables| variables.contains_key(&asked.text))
    };
    let problem = |asked: &Asked| {
        Problem::of(
            asked,
            "a configuration sets this variable too",
            "let one of them set it",
        )
    };
    let told = services.iter().filter_map(|s| s.port_env.as_ref());
    told.filter(sets).map(problem).collect()
}

/// Problems found so far.
struct Collected(Vec<Problem>);

impl Collected {
    fn take<T>(
        &mut self,
        asked: Option<&Asked>,
        parse: impl Fn(&Asked) -> Result<T, Problem>,
    ) -> Option<T> {
        parse(asked?).map_err(|problem| self.0.push(problem)).ok()
    }

    /// Of `tune` alone, which others may share a file with.
    fn least(&mut self, request: &Request, goal: &Goal) -> Option<Least> {
        let asked = request.least.as_ref()?;
        let least = self.take(Some(asked), parse_least)?;
        if !matches!(goal, Goal::Tune) {
            return None;
        }
        if least != Least::Latency && (request.slo.is_none() || request.rate.is_none()) {
            self.0.push(Problem::of(
                asked,
                "the least is wanted that serves a rate within an objective, and one of these is missing",
                "add both, such as --rate 80/s --slo p99=250ms",
            ));
        }
        if let Some(calibrate) = &request.calibrate {
            self.0.push(Problem::of(
                calibrate,
                "identical configurations are told apart by their throughput, and something else is wanted",
                "leave out one of --calibrate and --least",
            ));
        }
        Some(least)
    }

    fn total(&mut self, request: &Request) -> Option<Total> {
        let rate_per_s = self.take(request.total_rate.as_ref(), parse_rate);
        let server_cost = self.take(request.server_cost.as_ref(), parse_cost);
        if let (Some(asked), None) = (&request.server_cost, &request.total_rate) {
            self.0.push(Problem::of(
                asked,
                "nobody knows of how many servers",
                "say what they are to serve together with --total-rate",
            ));
        }
        Some(Total {
            rate_per_s: rate_per_s?,
            server_cost,
        })
    }

    fn list(
        &mut self,
        asked: Option<&Asked>,
        one: impl Fn(&Asked) -> Result<u16, Problem>,
    ) -> Option<Vec<u16>> {
        parse_list(asked?, one)
            .map_err(|problems| self.0.extend(problems))
            .ok()
    }

    fn remotes(&mut self, asked: &[Asked]) -> Vec<Remote> {
        // A file may say that nothing is allowed.
        let named = asked.iter().filter(|asked| asked.text != "false");
        named
            .filter_map(|asked| self.take(Some(asked), parse_remote))
            .collect()
    }

    /// The `Host` of a recording's requests.
    fn hosts(&mut self, request: &Request) -> Hosts {
        let asked = request.replay_host.as_ref();
        if !self.take(asked, parse_bool).unwrap_or(false) {
            return Hosts::Target;
        }
        let file = request.workload_file.as_ref();
        if request.path.is_some() || !file.is_some_and(|file| is_recording(&file.text)) {
            self.0.extend(asked.map(|asked| {
                Problem::of(
                    asked,
                    "only requests of a recording have a recorded Host",
                    "name a recording with --workload, or leave it out",
                )
            }));
        }
        Hosts::Recorded
    }

    /// `notes`: what is to be known of a recording.
    fn workload(
        &mut self,
        request: &Request,
        base: &Path,
        notes: &mut Vec<String>,
    ) -> Option<Workload> {
        let hosts = self.hosts(request);
        let (parsed, origin) = if let Some(path) = &request.path {
            (Workload::get(&path.text), path.origin.clone())
        } else if let Some(file) = &request.workload_file {
            let path = base.join(&file.text);
            if is_recording(&file.text) {
                let recording = read_recording(&path, file, hosts)
                    .map_err(|problems| self.0.extend(problems))
                    .ok()?;
                *notes = recording.notes;
                // Many short windows see all of it, each from a place of its own on.
                return Some(recording.workload.begun_anywhere());
            }
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(e) => {
                    self.0.push(Problem::of(
                        file,
                        e,
                        "give a workload file that can be read",
                    ));
                    return None;
                }
            };
            let folder = path.parent().unwrap_or(base).to_owned();
            (
                Workload::from_toml_in(&text, &folder),
                format!("{}", path.display()),
            )
        } else if let Some(inline) = &request.workload_inline {
            (
                Workload::from_toml_in(&inline.text, base),
                inline.origin.clone(),
            )
        } else {
            (Workload::get("/"), "the default workload".to_owned())
        };
        match parsed {
            Ok(workload) => Some(workload),
            Err(problems) => {
                self.0.extend(problems.into_iter().map(|p| {
                    Problem::with(format!("{origin}: {} = {}", p.key, p.value), p.remedy)
                }));
                None
            }
        }
    }
}

/// The earlier run in this folder.
fn parse_earlier(asked: &Asked) -> Result<Earlier, Problem> {
    Earlier::read(Path::new(&asked.text)).map_err(|(why, remedy)| Problem::of(asked, why, remedy))
}

/// Whether a workload file is recorded traffic.
fn is_recording(file: &str) -> bool {
    Path::new(file).extension().is_none_or(|e| e != "toml")
}

fn existing(all: &mut Collected, asked: &Asked, app_dir: &Path) -> PathBuf {
    let path = app_dir.join(&asked.text);
    if !path.is_file() {
        all.0.push(Problem::of(
            asked,
            format_args!("{} is no file", path.display()),
            "give the path of the server's configuration, from the application's folder",
        ));
    }
    path
}

fn first_path(workload: &Workload) -> String {
    workload.plain_path().unwrap_or("/").to_owned()
}

/// The empty path of a file that was named without its folder means this one.
fn absolute(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
