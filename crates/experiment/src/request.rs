//! What will be done: the experiment after every value was checked.

use crate::budget;
use crate::earlier::Earlier;
use crate::revisions::Revisions;
use crate::server_kind::ServerKind;
use knobs::Overlay;
use load::Workload;
use run::{Kind, Known, Metric, Objective, Settings};
use servers::safety::Remote;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Most blocks that a comparison may have.
pub const MOST_BLOCKS: u32 = 24;

/// A checked request.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// What is to be found out.
    pub goal: Goal,
    /// Folder of the application, absolute.
    pub app_dir: PathBuf,
    /// Folder of the configuration file, absolute; commands start there.
    pub base_dir: PathBuf,
    /// Command run once before the first trial; the `KEY=VALUE` lines it prints join the environment.
    pub prepare: Option<String>,
    /// `RAILS_ENV` and `RACK_ENV`.
    pub environment: String,
    /// Environment of the server.
    pub env: BTreeMap<String, String>,
    /// Which server it is.
    pub kind: ServerKind,
    /// The server's command instead of the one of its kind.
    pub command: Option<String>,
    /// The server's own configuration instead of the one that it would find.
    pub server_config: Option<PathBuf>,
    /// nginx in front of it.
    pub front: Option<Front>,
    /// Path asked until the server is ready.
    pub ready_path: String,
    /// Longest start.
    pub boot_timeout: Duration,
    /// Port of the server instead of a free one.
    pub port: Option<u16>,
    /// Other processes that the application needs.
    pub services: Vec<Service>,
    /// Configuration to compare with; without one, what the application has.
    pub baseline: Option<Settings>,
    /// Limits.
    pub objective: Objective,
    /// The cgroup's memory limit that the objective's is a share of.
    pub cgroup_memory_bytes: Option<u64>,
    /// Time for the whole run.
    pub budget: Option<Duration>,
    /// Whether the budget may only shorten the windows of a comparison: a file gives it, and there it is meant for `tune`.
    pub budget_is_of_file: bool,
    /// Whether the run may take longer than its budget rather than be refused, but no longer than a verdict needs.
    pub quick: bool,
    /// The earlier run whose answer is judged again.
    pub since: Option<Earlier>,
    /// Suggestions of `advise` that the arms after the first are.
    pub proof: Option<run::Proof>,
    /// The budget as it was written, behind the place that it came from.
    pub budget_asked: Option<String>,
    /// Blocks of the deciding comparison.
    pub blocks: Option<u32>,
    /// Blocks of the baseline against itself that come first.
    pub calibrate: Option<u32>,
    /// Most arms in the race.
    pub max_arms: Option<usize>,
    /// Whether what earlier runs showed may set the plan.
    pub earlier_runs: bool,
    /// What they showed.
    pub known: Option<Known>,
    /// Equivalence margin, a share.
    pub margin: f64,
    /// Seed.
    pub seed: u64,
    /// Knobs that are searched in addition to workers, threads and preloading, where a server has these.
    pub knobs: Vec<SearchKnob>,
    /// Thread counts that may be tried.
    pub threads: Option<Vec<u16>>,
    /// Worker counts that may be tried.
    pub workers: Option<Vec<u16>>,
    /// Connections of the closed loop; `None`: twice the most that a configuration serves at once.
    pub connections: Option<u32>,
    /// Whether the load generator has a core of its own; `None`: where it takes more than a little of one.
    pub generator_core: Option<bool>,
    /// Whether connections are kept; otherwise each request has one of its own.
    pub keep_alive: bool,
    /// Sent with each request that has none of the same name.
    pub headers: Vec<load::Header>,
    /// Each configuration once and shortly, to see whether it works: nothing is claimed.
    pub rehearse: bool,
    /// Arrival rate of the objective windows.
    pub rate: Option<f64>,
    /// What all servers together are to carry, and what one costs.
    pub total: Option<Total>,
    /// Length of a window.
    pub window: Option<Duration>,
    /// Requests that a trial answers before its memory is compared; `None`: those of its windows.
    pub age: Option<u64>,
    /// Per-request timeout.
    pub timeout: Duration,
    /// Services on other machines that the run may use.
    pub allow_remote: Vec<Remote>,
    /// Command before each trial.
    pub before_trial: Option<String>,
    /// Command after each trial.
    pub after_trial: Option<String>,
    /// The requests.
    pub workload: Workload,
    /// A command to run instead of a server that is asked.
    pub workload_command: Option<WorkloadCommand>,
    /// What is to be known of a recording, in sentences.
    pub recording_notes: Vec<String>,
    /// Where run folders are made.
    pub runs_dir: PathBuf,
    /// Whether flight files stay in the run folder once their figures are on disk.
    pub keep_flights: bool,
    /// Files that the answer is written down for, in addition to the application's own.
    pub files: ServersFiles,
    /// Limits on the change from the first arm to the second.
    pub assertions: Vec<RatioLimit>,
    /// What arms run that name a revision.
    pub revisions: Revisions,
}

impl Experiment {
    /// Clients of the closed loop, for configurations of which the largest has so many threads in all.
    pub fn clients(&self, threads: u32) -> u32 {
        self.connections
            .unwrap_or_else(|| self.kind.clients(threads))
    }

    /// Trials of the calibration: two in each of its blocks.
    pub fn calibrating_trials(&self) -> u32 {
        2 * self.calibrate.unwrap_or(0)
    }

    /// The longest windows that a budget gives `compare`, `sweep` and `check`, seconds.
    pub fn longest_window_s(&self) -> f64 {
        match self.budget_is_of_file {
            true => budget::COMPARE_WINDOW_S,
            false => budget::MOST_WINDOW_S,
        }
    }
}

/// A limit on the change of a figure, from the first configuration to the second.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioLimit {
    /// As it was given.
    pub text: String,
    /// Which figure.
    pub metric: Metric,
    /// Where the limit is: -0.03 is 3 % less than the first.
    pub change: f64,
}

/// Files of the machine that runs the application, where they were named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServersFiles {
    /// The unit that starts the server; its drop-in is written.
    pub systemd_unit: Option<String>,
    /// `nginx.conf`, or a file that its `http` includes; absolute.
    pub nginx: Option<PathBuf>,
    /// Apache's configuration of Passenger, absolute.
    pub apache: Option<PathBuf>,
    /// Manifest with the server's Deployment, absolute.
    pub deployment: Option<PathBuf>,
    /// Manifest with the ConfigMap of its variables, absolute.
    pub configmap: Option<PathBuf>,
    /// Kamal's configuration, absolute.
    pub kamal: Option<PathBuf>,
    /// Processes with their commands, absolute.
    pub procfile: Option<PathBuf>,
}

/// What all servers together are to carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Total {
    /// Requests per second.
    pub rate_per_s: f64,
    /// What one server costs, in whatever unit and period are meant.
    pub server_cost: Option<f64>,
}

/// A command that is itself what is measured.
#[derive(Debug, Clone)]
pub struct WorkloadCommand {
    /// For a shell, its placeholders not yet filled.
    pub text: String,
    /// Longest that one run may take.
    pub timeout: Duration,
    /// What runs today, with which `tune` compares: no other verb asks for it.
    pub today: Overlay,
}

/// nginx in front of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Front {
    /// Whether it speaks TLS, with a certificate made for the run.
    pub tls: bool,
}

/// A process that the application needs.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name in messages.
    pub name: String,
    /// Its command; `{port}` becomes a free port.
    pub command: String,
    /// Variable in which the application gets the port.
    pub port_env: Option<String>,
    /// File whose placeholders are filled for each trial.
    pub template: Option<PathBuf>,
    /// Path that answers when it is ready.
    pub ready_path: Option<String>,
}

/// A knob that `tune` searches, and the values that it tries in addition to today's.
#[derive(Clone, PartialEq, Eq)]
pub struct SearchKnob {
    /// As it is typed.
    pub name: String,
    /// Checked, as they are typed.
    pub values: Vec<String>,
    /// Nobody named it: where no Ruby takes it, it is left out in place of refused.
    pub usual: bool,
}

/// Without the values, which may be secrets.
impl std::fmt::Debug for SearchKnob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} values", self.name, self.values.len())
    }
}

/// What is to be found out.
#[derive(Debug, Clone)]
pub enum Goal {
    /// The best configuration.
    Tune,
    /// How named configurations compare; the first is the baseline.
    Arms {
        /// `compare`, `sweep`, `check` or `advise`.
        kind: Kind,
        /// The arms.
        arms: Vec<Arm>,
    },
}

impl Goal {
    /// The same, with a number after the name of each arm that would have another's: names leave out free values.
    #[must_use]
    pub fn with_distinct_names(self) -> Goal {
        let Goal::Arms { kind, mut arms } = self else {
            return self;
        };
        for nth in 1..arms.len() {
            let (before, rest) = arms.split_at_mut(nth);
            let taken = |name: &str| before.iter().any(|arm| arm.name == name);
            let numbered = |n: usize| format!("{}-{n}", rest[0].name);
            if taken(&rest[0].name) {
                let free = (2..).map(numbered).find(|name| !taken(name));
                rest[0].name = free.expect("there are fewer arms than numbers");
            }
        }
        Goal::Arms { kind, arms }
    }

    /// The kind of run document it makes.
    pub fn kind(&self) -> Kind {
        match self {
            Goal::Tune => Kind::Tune,
            Goal::Arms { kind, .. } => *kind,
        }
    }

    /// The first configuration, with which the others are compared; `None` in a search, which has no other application.
    pub fn first_arm(&self) -> Option<&Arm> {
        match self {
            Goal::Tune => None,
            Goal::Arms { arms, .. } => arms.first(),
        }
    }

    /// What the baseline sets in the server's environment; `None` where no configuration sets anything.
    pub fn baseline_overlay(&self) -> Option<&Overlay> {
        self.first_arm().map(|arm| &arm.overlay)
    }
}

/// A configuration with its short name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Unique within the run; part of file names.
    pub name: String,
    /// Its threads, workers and preloading.
    pub settings: Settings,
    /// What it also sets.
    pub overlay: Overlay,
    /// What the user calls it; else it is called by its knobs.
    pub label: Option<String>,
    /// The revision of the application that it runs, as it was named; else the folder as it is.
    pub revision: Option<String>,
}

impl Arm {
    /// The same where no server is started: its threads, workers and preloading name nothing.
    #[must_use]
    pub fn of_command(self) -> Arm {
        if self.label.is_some() {
            return self;
        }
        let again = self.name.ends_with("-again");
        let (mut name, mut label) = match self.overlay.is_empty() {
            true => ("as-it-is".to_owned(), "as it is".to_owned()),
            false => (self.overlay.name(), self.overlay.to_string()),
        };
        if again {
            name.push_str("-again");
            label.push_str(" (again)");
        }
        Arm {
            name,
            label: Some(label),
            ..self
        }
    }

    /// As it is shown among others; with its name where that is not enough, since secrets look alike.
    pub fn called_among(&self, arms: &[Arm]) -> String {
        let shown = self.to_string();
        let alike = arms.iter().filter(|other| other.to_string() == shown);
        if self.overlay.is_empty() || alike.count() < 2 {
            return shown;
        }
        format!("{shown} ({})", self.name)
    }

    /// An arm named after its knobs: `w2t3p` is two workers of three threads, preloaded.
    pub fn of(settings: Settings) -> Arm {
        Arm::with(settings, Overlay::default())
    }

    /// The same with what it sets in the environment: `w0t5-yjit-on`.
    pub fn with(settings: Settings, overlay: Overlay) -> Arm {
        let preload = if settings.preload { "p" } else { "" };
        let beside = match overlay.is_empty() {
            true => String::new(),
            false => format!("-{}", overlay.name()),
        };
        Arm {
            name: format!(
                "w{}t{}{preload}{beside}",
                settings.workers, settings.threads
            ),
            settings,
            overlay,
            label: None,
            revision: None,
        }
    }

    /// The same settings with the application of a revision, by which it is called.
    #[must_use]
    pub fn at_revision(self, named: &str) -> Arm {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let spelt = named.chars().map(|c| if plain(c) { c } else { '-' });
        Arm {
            name: format!("revision-{}", spelt.collect::<String>()),
            label: Some(named.to_owned()),
            revision: Some(named.to_owned()),
            ..self
        }
    }
}

/// Its label, or `2 workers × 3 threads, gc.malloc_limit=32MiB`, as tables show it.
impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(label) = &self.label {
            return f.write_str(label);
        }
        write!(f, "{}", self.settings)?;
        match self.overlay.is_empty() {
            true => Ok(()),
            false => write!(f, ", {}", self.overlay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms(values: &[(&str, &str)]) -> Vec<String> {
        let arm = |pair: &(&str, &str)| {
            let overlay = Overlay::of(&[*pair]).unwrap();
            Arm::with(Settings::PUMA_DEFAULT, overlay)
        };
        let arms = values.iter().map(arm).collect();
        let kind = Kind::Compare;
        match (Goal::Arms { kind, arms }).with_distinct_names() {
            Goal::Arms { arms, .. } => arms.into_iter().map(|arm| arm.name).collect(),
            Goal::Tune => Vec::new(),
        }
    }

    #[test]
    fn arms_that_differ_in_a_secret_are_numbered() {
        let named = arms(&[
            ("env.PASSWORD", "hunter2"),
            ("env.PASSWORD", "correct horse"),
            ("yjit", "on"),
            ("env.PASSWORD", "fourth"),
        ]);
        let password = "w0t5-env.PASSWORD";
        let expected = [
            password.to_owned(),
            format!("{password}-2"),
            "w0t5-yjit-on".to_owned(),
            format!("{password}-3"),
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn a_searched_knob_is_printed_without_its_values() {
        let knob = SearchKnob {
            name: "env.TOKEN".to_owned(),
            values: vec!["hunter2".to_owned()],
            usual: false,
        };
        assert_eq!(format!("{knob:?}"), "env.TOKEN of 1 values");
    }
}
