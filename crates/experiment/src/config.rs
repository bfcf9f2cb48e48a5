//! What the user asked for: flags, environment and `powerband.toml` merged as text ([`Asked`]), then resolved
//! into an [`Experiment`](crate::Experiment) with every problem reported at once.

mod arm;
mod check;
mod command;
mod command_knobs;
mod editor_schema;
mod file;
mod headers;
mod memory_limit;
mod named_files;
mod placeholders;
mod quick;
mod ratio_limit;
mod recording;
mod resolve;
mod search_knobs;
mod sections;
mod server;
mod values;

pub use arm::{parse_arm, parse_baseline, parse_named, parse_settings, parse_sweep};
pub use command::of_servers;
pub use editor_schema::editor_schema;
pub use file::{read_all, read_file, short_name, tables};
pub use headers::parse_headers;
pub use named_files::NamedFiles;
pub use placeholders::filled;
pub use recording::{Hosts, Recording, read_recording, read_traffic, recording};
pub use resolve::collected;
pub use sections::scalar;
pub use server::named as server_kind;
pub(crate) use values::LEAST_AGE;
pub use values::{
    parse_duration, parse_latency, parse_load, parse_part, parse_rate, parse_share, parse_size,
    whole_u64 as parse_whole,
};

use crate::request::{Experiment, Goal};
use ratio_limit::parse_ratio_limit;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A value as the user wrote it, and where, so that a message can name both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The text.
    pub text: String,
    /// `--budget` or `tune.budget in powerband.toml`.
    pub origin: String,
}

impl Asked {
    /// A value and its origin.
    pub fn new(text: impl Into<String>, origin: impl Into<String>) -> Asked {
        Asked {
            text: text.into(),
            origin: origin.into(),
        }
    }
}

/// One thing wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The flag or key, the value, and what is wrong with it.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl Problem {
    /// A problem with a value.
    pub fn of(asked: &Asked, wrong: impl std::fmt::Display, remedy: impl Into<String>) -> Problem {
        Problem {
            what: format!("{} = {:?}: {wrong}", asked.origin, asked.text),
            remedy: remedy.into(),
        }
    }

    /// A problem with a key rather than its value.
    pub fn with(what: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

/// Turns a merged request into an experiment, or names all that is wrong.
pub fn resolve(
    request: Request,
    goal: Goal,
    fallback_seed: u64,
) -> Result<Experiment, Vec<Problem>> {
    match collected(request, goal, fallback_seed) {
        (experiment, problems) if problems.is_empty() => Ok(experiment),
        (_, problems) => Err(problems),
    }
}

/// Everything that can be asked, unparsed. Flags make one, the file another; [`Request::or`] merges them.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Folder of the application.
    pub app_dir: Option<Asked>,
    /// Folder that relative commands and files of the configuration start from.
    pub base_dir: PathBuf,
    /// Command run once before the first trial; the `KEY=VALUE` lines it prints join the environment.
    pub prepare: Option<Asked>,
    /// `RAILS_ENV` and `RACK_ENV`.
    pub environment: Option<Asked>,
    /// Environment of the server.
    pub env: BTreeMap<String, Asked>,
    /// Which server it is: `puma`, `unicorn`, `pitchfork`, `falcon` or `passenger`.
    pub kind: Option<Asked>,
    /// The server's command instead of the one of its kind.
    pub command: Option<Asked>,
    /// The server's own configuration file.
    pub server_config: Option<Asked>,
    /// What stands in front of it: `nginx`, or `none`.
    pub front: Option<Asked>,
    /// Whether what stands in front speaks TLS.
    pub tls: Option<Asked>,
    /// Path asked until the server is ready.
    pub ready_path: Option<Asked>,
    /// Longest start.
    pub boot_timeout: Option<Asked>,
    /// Port of the server instead of a free one.
    pub port: Option<Asked>,
    /// Other processes that the application needs.
    pub services: Vec<ServiceRequest>,
    /// Configuration to compare with.
    pub baseline: Option<Asked>,
    /// Named configurations, for a comparison that names none on the command line.
    pub arms: Vec<ArmRequest>,
    /// Connections of the closed loop.
    pub connections: Option<Asked>,
    /// Latency objectives such as `p99=250ms`.
    pub slo: Option<Asked>,
    /// Memory limit.
    pub max_memory: Option<Asked>,
    /// The memory limit of the cgroup that this process is in.
    pub cgroup_memory_bytes: Option<u64>,
    /// Whether the load generator has a core of its own.
    pub generator_core: Option<Asked>,
    /// What there is to be least of instead of most throughput.
    pub least: Option<Asked>,
    /// Time for the whole run.
    pub budget: Option<Asked>,
    /// Blocks of the deciding comparison.
    pub blocks: Option<Asked>,
    /// Blocks of the baseline against itself that come first.
    pub calibrate: Option<Asked>,
    /// Most arms in the race, baseline included.
    pub max_arms: Option<Asked>,
    /// Whether the plan uses what earlier runs showed.
    pub earlier_runs: Option<Asked>,
    /// Equivalence margin, such as `3%`.
    pub margin: Option<Asked>,
    /// Seed.
    pub seed: Option<Asked>,
    /// Knobs that are searched, each `KNOB=V1,V2,…`, or `usual`.
    pub knobs: Vec<Asked>,
    /// Thread counts that may be tried.
    pub threads: Option<Asked>,
    /// Worker counts that may be tried.
    pub workers: Option<Asked>,
    /// Arrival rate of the objective windows.
    pub rate: Option<Asked>,
    /// What all servers together are to carry.
    pub total_rate: Option<Asked>,
    /// What one server costs.
    pub server_cost: Option<Asked>,
    /// Length of a window.
    pub window: Option<Asked>,
    /// Requests after which memory is compared.
    pub age: Option<Asked>,
    /// Per-request timeout.
    pub timeout: Option<Asked>,
    /// Whether connections are kept.
    pub keep_alive: Option<Asked>,
    /// Sent with each request, each `NAME: VALUE`.
    pub headers: Vec<Asked>,
    /// Methods other than GET and HEAD are allowed.
    pub allow_unsafe: Option<Asked>,
    /// Databases, caches and upstreams that are not on loopback are allowed.
    pub allow_remote: Vec<Asked>,
    /// Command before each trial.
    pub before_trial: Option<Asked>,
    /// Command after each trial.
    pub after_trial: Option<Asked>,
    /// Workload file.
    pub workload_file: Option<Asked>,
    /// Each request of a recording is sent with the `Host` that it was recorded with.
    pub replay_host: Option<Asked>,
    /// Workload written in the configuration itself, as TOML.
    pub workload_inline: Option<Asked>,
    /// One path to GET instead of a workload.
    pub path: Option<Asked>,
    /// A command to run instead of a server that is asked.
    pub workload_command: Option<Asked>,
    /// Longest that one run of it may take.
    pub command_timeout: Option<Asked>,
    /// The revision of the application to compare with.
    pub against: Option<Asked>,
    /// The revision that is compared with it.
    pub revision: Option<Asked>,
    /// Limits on the change from one to the other.
    pub assertions: Vec<Asked>,
    /// Each configuration once and shortly, to see whether it works.
    pub rehearse: Option<Asked>,
    /// Whether `tune` is to take about three minutes, with one candidate where no more fit.
    pub quick: Option<Asked>,
    /// The folder of the run of `tune` whose answer is judged again.
    pub since: Option<Asked>,
    /// The suggestions of `advise` that are measured.
    pub proof: Option<run::Proof>,
    /// Where run folders are made.
    pub runs_dir: Option<Asked>,
    /// Flight files stay in the run folder.
    pub keep_flights: Option<Asked>,
    /// Files that the answer is written down for.
    pub files: NamedFiles,
}

/// A configuration of the file with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmRequest {
    /// What tables call it.
    pub name: Asked,
    /// Its knobs as they would be typed.
    pub knobs: Asked,
}

/// A process that the application needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRequest {
    /// Its name in messages.
    pub name: Asked,
    /// Its command; `{port}` becomes a free port.
    pub command: Asked,
    /// Variable in which the application gets the service's port.
    pub port_env: Option<Asked>,
    /// File whose placeholders are filled for each trial; `{template}` in the command is where that lies.
    pub template: Option<Asked>,
    /// Path that answers when it is ready.
    pub ready_path: Option<Asked>,
}

impl Request {
    /// What a file of this name gives, for a message: the values of its `[objective]` and `[tune]`, and the names of its other
    /// sections, whose values may be long or secret. Empty where it gives nothing.
    #[must_use]
    pub fn given_by(&self, file: &str) -> String {
        let within = format!(" in {file}");
        let (mut values, mut sections) = (Vec::new(), Vec::new());
        // A quick run has its own budget.
        let unused = self.budget.as_ref().filter(|_| self.quick.is_some());
        for asked in self.all().filter(|asked| Some(*asked) != unused) {
            let Some(place) = asked.origin.strip_suffix(&within) else {
                continue;
            };
            match place.split_once('.') {
                Some(("objective" | "tune", key)) => {
                    values.push(format!("{key} = {:?}", knobs::masked(&asked.text)));
                }
                Some((section, _)) => sections.push(format!("[{section}]")),
                None => sections.push(format!("[{place}]")),
            }
        }
        sections.dedup();
        values.append(&mut sections);
        values.join(", ")
    }

    /// Every value that a file can give, section by section. The pattern has every field, so that none is forgotten.
    fn all(&self) -> impl Iterator<Item = &Asked> {
        let Request {
            base_dir: _,
            app_dir,
            prepare,
            environment,
            env,
            kind,
            command,
            server_config,
            front,
            tls,
            ready_path,
            boot_timeout,
            port,
            services,
            baseline,
            arms,
            connections,
            slo,
            max_memory,
            cgroup_memory_bytes: _,
            generator_core,
            least,
            budget,
            blocks,
            calibrate,
            max_arms,
            earlier_runs,
            margin,
            seed,
            knobs,
            threads,
            workers,
            rate,
            total_rate,
            server_cost,
            window,
            age,
            timeout,
            keep_alive,
            headers,
            allow_unsafe,
            allow_remote,
            before_trial,
            after_trial,
            workload_file,
            replay_host,
            workload_inline,
            path,
            workload_command,
            command_timeout,
            against,
            revision,
            assertions,
            rehearse: _,
            quick: _,
            since: _,
            proof: _,
            runs_dir,
            keep_flights: _,
            files,
        } = self;
        let objective = [slo, max_memory, rate, least, total_rate, server_cost];
        let tune = [
            budget,
            blocks,
            calibrate,
            max_arms,
            earlier_runs,
            margin,
            seed,
            threads,
            workers,
            window,
            age,
            timeout,
            connections,
            generator_core,
            keep_alive,
            runs_dir,
        ];
        let app = [app_dir, prepare, environment];
        let server = [
            kind,
            command,
            server_config,
            front,
            tls,
            ready_path,
            boot_timeout,
            port,
        ];
        let workload = [
            workload_file,
            replay_host,
            path,
            workload_command,
            command_timeout,
            workload_inline,
        ];
        (objective.into_iter().chain(tune).flatten())
            .chain(knobs)
            .chain(app.into_iter().flatten())
            .chain(env.values())
            .chain(server.into_iter().flatten())
            .chain(services.iter().map(|service| &service.name))
            .chain(baseline)
            .chain(arms.iter().map(|arm| &arm.name))
            .chain([against, revision].into_iter().flatten())
            .chain(assertions)
            .chain(files.each().into_iter().flatten())
            .chain(allow_unsafe)
            .chain(allow_remote)
            .chain([before_trial, after_trial].into_iter().flatten())
            .chain(workload.into_iter().flatten())
            .chain(headers)
    }

    /// What is asked here, else what is asked there.
    pub fn or(self, there: Request) -> Request {
        let mut env = there.env;
        env.extend(self.env);
        // A path on the command line replaces the file's workload, not only its path.
        let here = self.workload_file.is_some()
            || self.workload_inline.is_some()
            || self.path.is_some()
            || self.workload_command.is_some();
        let (workload_file, workload_inline, path, workload_command) = if here {
            (
                self.workload_file,
                self.workload_inline,
                self.path,
                self.workload_command,
            )
        } else {
            (
                there.workload_file,
                there.workload_inline,
                there.path,
                there.workload_command,
            )
        };
        Request {
            app_dir: self.app_dir.or(there.app_dir),
            base_dir: there.base_dir,
            prepare: self.prepare.or(there.prepare),
            environment: self.environment.or(there.environment),
            env,
            command: self.command.or(there.command),
            kind: self.kind.or(there.kind),
            server_config: self.server_config.or(there.server_config),
            front: self.front.or(there.front),
            tls: self.tls.or(there.tls),
            rehearse: self.rehearse.or(there.rehearse),
            quick: self.quick.or(there.quick),
            since: self.since.or(there.since),
            proof: self.proof.or(there.proof),
            against: self.against.or(there.against),
            revision: self.revision.or(there.revision),
            assertions: listed(self.assertions, there.assertions),
            ready_path: self.ready_path.or(there.ready_path),
            boot_timeout: self.boot_timeout.or(there.boot_timeout),
            port: self.port.or(there.port),
            services: listed(self.services, there.services),
            baseline: self.baseline.or(there.baseline),
            arms: listed(self.arms, there.arms),
            connections: self.connections.or(there.connections),
            generator_core: self.generator_core.or(there.generator_core),
            least: self.least.or(there.least),
            total_rate: self.total_rate.or(there.total_rate),
            server_cost: self.server_cost.or(there.server_cost),
            slo: self.slo.or(there.slo),
            max_memory: self.max_memory.or(there.max_memory),
            cgroup_memory_bytes: self.cgroup_memory_bytes.or(there.cgroup_memory_bytes),
            budget: self.budget.or(there.budget),
            blocks: self.blocks.or(there.blocks),
            calibrate: self.calibrate.or(there.calibrate),
            max_arms: self.max_arms.or(there.max_arms),
            earlier_runs: self.earlier_runs.or(there.earlier_runs),
            margin: self.margin.or(there.margin),
            seed: self.seed.or(there.seed),
            knobs: listed(self.knobs, there.knobs),
            threads: self.threads.or(there.threads),
            workers: self.workers.or(there.workers),
            rate: self.rate.or(there.rate),
            window: self.window.or(there.window),
            age: self.age.or(there.age),
            timeout: self.timeout.or(there.timeout),
            allow_unsafe: self.allow_unsafe.or(there.allow_unsafe),
            replay_host: self.replay_host.or(there.replay_host),
            keep_alive: self.keep_alive.or(there.keep_alive),
            headers: listed(self.headers, there.headers),
            allow_remote: listed(self.allow_remote, there.allow_remote),
            before_trial: self.before_trial.or(there.before_trial),
            after_trial: self.after_trial.or(there.after_trial),
            workload_file,
            workload_inline,
            path,
            workload_command,
            command_timeout: self.command_timeout.or(there.command_timeout),
            runs_dir: self.runs_dir.or(there.runs_dir),
            keep_flights: self.keep_flights.or(there.keep_flights),
            files: self.files.or(there.files),
        }
    }
}

/// A list that was given takes the place of the other one whole.
fn listed<T>(here: Vec<T>, there: Vec<T>) -> Vec<T> {
    if here.is_empty() { there } else { here }
}
