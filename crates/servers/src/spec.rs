//! What is asked for: the application, the command, the settings, and where things are written.

use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use crate::error::StartError;
use crate::files::failed;
use crate::guard::GuardProgram;
use crate::nginx::Nginx;

/// The settings under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Threads a process, at least 1: both the minimum and the maximum.
    pub threads: u16,
    /// Worker processes; 0 is Puma's single mode, and no other server's.
    pub workers: u16,
    /// Whether the application is loaded before the workers are forked. Means nothing with 0 workers.
    pub preload: bool,
}

/// How the server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerCommand {
    /// Puma, its settings passed by flag, by environment and in a generated configuration file.
    Puma {
        /// The words before the flags, see [`crate::default_puma_command`].
        program: Vec<String>,
        /// The application's configuration; `None` takes the one that Puma itself would find.
        config: Option<PathBuf>,
    },
    /// Unicorn or Pitchfork, its settings in a generated configuration file that evaluates the application's own first. It
    /// serves one request a process: `threads` is 1, `workers` at least 1.
    Prefork(PreforkSpec),
    /// `falcon serve`, its settings passed by flag. Fibers of one thread serve the requests of a process: `threads` is 1,
    /// `workers` at least 1, and each process loads the application by itself.
    Falcon {
        /// The words before the flags, see [`crate::default_falcon_command`].
        program: Vec<String>,
    },
    /// Passenger in an Apache httpd of this start's own, which is made and started without any of the system's
    /// configuration. `threads` is 1, `workers` at least 1.
    Passenger(PassengerSpec),
    /// Any command. `{port}`, `{threads}` and `{workers}` are replaced in each word, and `{config}`
    /// by the path of the generated Puma configuration (`puma … -C mine.rb -C {config}`), without
    /// which a custom command's status cannot be read.
    Custom { words: Vec<String> },
}

impl ServerCommand {
    /// The command as it is shown to people, without settings.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            ServerCommand::Puma { program, .. } | ServerCommand::Falcon { program } => {
                program.clone()
            }
            ServerCommand::Prefork(prefork) => prefork.program.clone(),
            ServerCommand::Passenger(passenger) => vec![passenger.apache.display().to_string()],
            ServerCommand::Custom { words } => words.clone(),
        }
    }
}

/// A server that forks its workers, of one request each, and takes one configuration file in Ruby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreforkServer {
    Unicorn,
    /// Unicorn's fork, whose workers fork the next ones once they are warm. It always loads the application before it forks.
    Pitchfork,
}

impl PreforkServer {
    /// As it calls itself.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PreforkServer::Unicorn => "Unicorn",
            PreforkServer::Pitchfork => "Pitchfork",
        }
    }

    /// Its program and its gem.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            PreforkServer::Unicorn => "unicorn",
            PreforkServer::Pitchfork => "pitchfork",
        }
    }
}

/// How one of these is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreforkSpec {
    pub server: PreforkServer,
    /// The words before the flags, see [`crate::default_prefork_command`].
    pub program: Vec<String>,
    /// The application's configuration; `None` takes the file that `program` names, else the one where applications keep it.
    pub config: Option<PathBuf>,
    /// Of Pitchfork alone; `None` leaves what the application's configuration says.
    pub refork_after: Option<ReforkAfter>,
    /// Likewise: workers that may be replaced at a time.
    pub refork_max_unavailable: Option<u16>,
}

impl PreforkSpec {
    /// With the application's own configuration where it usually is.
    #[must_use]
    pub fn of(server: PreforkServer, program: Vec<String>) -> Self {
        PreforkSpec {
            server,
            program,
            config: None,
            refork_after: None,
            refork_max_unavailable: None,
        }
    }
}

/// For each generation of workers: the requests of a worker after which it forks the mold of the next one. The last number
/// holds for all later generations; `None` in its place ends reforking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReforkAfter(Vec<Option<u32>>);

impl ReforkAfter {
    pub(crate) fn json(&self) -> Value {
        let count = |count: &Option<u32>| count.map_or(Value::Bool(false), Value::from);
        self.0.iter().map(count).collect()
    }
}

/// `50,100,false`
impl FromStr for ReforkAfter {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let count = |part: &str| match part {
            "false" => Ok(None),
            number => number.parse().map(Some),
        };
        text.split(',')
            .map(count)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// As Ruby and JSON write it: `[50,100,false]`.
impl fmt::Display for ReforkAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json().fmt(f)
    }
}

/// Passenger in Apache httpd. `Settings::workers` is `PassengerMaxPoolSize`, `threads` is 1, and `preload` chooses
/// between the spawn methods `smart` and `direct`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassengerSpec {
    /// A path, or a name that is looked for on the `PATH` and in `/usr/sbin`.
    pub apache: PathBuf,
    /// Where Apache's modules are.
    pub modules: PathBuf,
    /// `PassengerRoot`
    pub root: PathBuf,
    /// `PassengerRuby`; `None` takes the `ruby` on the `PATH`.
    pub ruby: Option<PathBuf>,
    /// `PassengerMinInstances`: so many are there before the server counts as started, as far as the others allow.
    pub min_instances: u16,
    /// `PassengerMaxInstancesPerApp`; 0 is no limit.
    pub max_instances_per_app: u16,
    /// `PassengerMaxRequestQueueSize`; 0 is no limit.
    pub max_request_queue_size: u32,
    /// `PassengerPoolIdleTime`, in whole seconds; zero keeps idle processes.
    pub pool_idle_time: Duration,
    /// `PassengerMaxRequests`; 0 is no limit.
    pub max_requests: u32,
}

impl Default for PassengerSpec {
    /// Debian's places, and Passenger's own defaults.
    fn default() -> Self {
        PassengerSpec {
            apache: "apache2".into(),
            modules: "/usr/lib/apache2/modules".into(),
            root: "/usr/lib/ruby/vendor_ruby/phusion_passenger/locations.ini".into(),
            ruby: None,
            min_instances: 1,
            max_instances_per_app: 0,
            max_request_queue_size: 100,
            pool_idle_time: Duration::from_secs(300),
            max_requests: 0,
        }
    }
}

/// A statement of Puma's configuration, such as `max_keep_alive 100`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PumaStatement {
    /// Its method, which is also the name of Puma's option.
    pub name: &'static str,
    pub value: PumaValue,
}

/// What a statement sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PumaValue {
    /// Times are in seconds.
    Number(f64),
    Switch(bool),
}

/// As Ruby and JSON write it.
impl fmt::Display for PumaValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PumaValue::Number(number) => number.fmt(f),
            PumaValue::Switch(on) => on.fmt(f),
        }
    }
}

/// The agent to inject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Folder that holds `powerband/inject.rb`.
    pub lib_dir: PathBuf,
    /// The built extension.
    pub ext_path: PathBuf,
    /// Where flight files are written; made, private, when missing.
    pub flight_dir: PathBuf,
}

/// How a service shows that it is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// Something listens on this port of 127.0.0.1.
    Port(u16),
    /// `http://127.0.0.1:port/path` answers with a status below 500.
    Url(String),
}

/// A process that the server needs, started before it and ended with it. It stays in the foreground:
/// once its command has ended, it counts as dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSpec {
    pub name: String,
    pub command: Vec<String>,
    pub cwd: PathBuf,
    /// On top of powerband's own environment.
    pub env: BTreeMap<String, String>,
    /// `None`: running is ready.
    pub ready: Option<Ready>,
}

/// Everything that one server start needs to know.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    pub app_dir: PathBuf,
    pub command: ServerCommand,
    pub settings: Settings,
    /// Of Puma alone, and of a custom command that takes `{config}`.
    pub puma: Vec<PumaStatement>,
    /// Connections of each process's pool, where they are not to follow the threads: `RAILS_MAX_THREADS`.
    pub pool: Option<u32>,
    /// On top of powerband's own environment; the settings under test win over it.
    pub env: BTreeMap<String, String>,
    /// A path, with its leading slash, that a healthy server answers with a status below 500.
    pub ready_path: String,
    /// For each of: a service's readiness, the server's first answer, all workers booted.
    pub boot_timeout: Duration,
    /// Between SIGTERM and the end of whatever is left.
    pub stop_grace: Duration,
    /// Processors that the server and its services may use; `None`: all.
    pub cpus: Option<Vec<usize>>,
    /// Folders of control groups that the server is to be in, its services and what stands in front of it excluded. The caller makes
    /// and removes them; the guard removes them if the caller is gone.
    pub groups: Vec<PathBuf>,
    /// Standard output and error of the server and its services; appended to, private.
    pub log_path: PathBuf,
    /// A folder of this start's own; made, private, when missing.
    pub work_dir: PathBuf,
    pub agent: Option<Agent>,
    pub services: Vec<ServiceSpec>,
    /// What stands between clients and the server.
    pub front: Option<Nginx>,
    pub guard: GuardProgram,
    /// Where clients ask, the front's where there is one; `None` picks a free one.
    pub port: Option<u16>,
}

impl ServerSpec {
    /// A spec with the usual choices: plain `puma` with the application's configuration (whether
    /// Bundler is needed is asked once, with [`crate::default_puma_command`]), readiness by `GET /`
    /// within 60 s, 10 s to stop, any free port, all processors, no agent, nothing in front; log and files in `work_dir`.
    pub fn new(
        app_dir: impl Into<PathBuf>,
        settings: Settings,
        work_dir: impl Into<PathBuf>,
        guard: GuardProgram,
    ) -> Self {
        let (app_dir, work_dir) = (app_dir.into(), work_dir.into());
        ServerSpec {
            command: ServerCommand::Puma {
                program: vec!["puma".into()],
                config: None,
            },
            settings,
            puma: Vec::new(),
            pool: None,
            env: BTreeMap::new(),
            ready_path: "/".into(),
            boot_timeout: Duration::from_secs(60),
            stop_grace: Duration::from_secs(10),
            cpus: None,
            groups: Vec::new(),
            log_path: work_dir.join("server.log"),
            app_dir,
            work_dir,
            agent: None,
            services: Vec::new(),
            front: None,
            guard,
            port: None,
        }
    }

    /// The same with absolute paths: the server's current folder is not powerband's.
    pub(crate) fn absolute(&self) -> Result<Self, StartError> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(failed("find", path));
        let mut spec = self.clone();
        for path in [&mut spec.app_dir, &mut spec.log_path, &mut spec.work_dir] {
            *path = absolute(path)?;
        }
        if let ServerCommand::Puma {
            config: Some(path), ..
        }
        | ServerCommand::Prefork(PreforkSpec {
            config: Some(path), ..
        }) = &mut spec.command
        {
            *path = absolute(path)?;
        }
        if let ServerCommand::Passenger(passenger) = &mut spec.command {
            for path in [&mut passenger.modules, &mut passenger.root] {
                *path = absolute(path)?;
            }
        }
        if let Some(agent) = &mut spec.agent {
            for path in [
                &mut agent.lib_dir,
                &mut agent.ext_path,
                &mut agent.flight_dir,
            ] {
                *path = absolute(path)?;
            }
        }
        Ok(spec)
    }
}
