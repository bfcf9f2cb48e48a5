//! What may be typed. Values are text here; `experiment::config` checks them, all at once.

mod calc;
mod capture;
mod compare;
mod doctor;
mod inspect;
mod load;
mod mirror;
mod predict;
mod trace;

pub use calc::{AmdahlArgs, CalcArgs, Calculation, PoolArgs, QueueArgs, ThreadsArgs, UslArgs};
pub use capture::{
    CaptureArgs, CaptureInfoArgs, Captured, ConvertArgs, FilterArgs, MergeArgs, OutArgs,
    RedactArgs, To,
};
pub use compare::{ShadowLogArgs, SideBySideArgs};
pub use doctor::DoctorArgs;
pub use inspect::InspectArgs;
pub use load::{LoadArgs, RequestArgs, TargetArgs};
pub use mirror::MirrorArgs;
pub use predict::{PredictArgs, ValidateArgs};
pub use trace::TraceArgs;

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Finds the configuration in which a Ruby server does its best work, and proves it.
#[derive(Debug, Parser)]
#[command(
    name = "powerband",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 done; 1 done, and the answer is no; 2 wrong usage or configuration; 3 no honest answer.\nSettings come from flags, then POWERBAND_* variables, then powerband.toml."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the thread and process counts that serve the most within your limits
    Tune(TuneArgs),
    /// Measure named configurations head to head, e.g. threads=3 threads=5,workers=2; or compare what a mirror logged
    Compare(CompareArgs),
    /// Measure one knob at several values, e.g. threads=1,2,3
    Sweep(SweepArgs),
    /// Send load to a URL and measure what its users would see
    Load(LoadArgs),
    /// Find the highest arrival rate that meets an objective, and what happens beyond it
    Capacity(CapacityArgs),
    /// Give live traffic to a server, and copies of it to others that you compare with it
    Mirror(Box<MirrorArgs>),
    /// Start any Ruby server with the agent inside, nothing in the application changed
    Run(RunArgs),
    /// Show where request time goes, from the flight files of servers that run or have ended
    Inspect(InspectArgs),
    /// Calculate threads, queues, scaling and connections from figures that you give
    Calc(CalcArgs),
    /// Predict other numbers of processes and threads from a trace, or score such predictions
    Predict(Box<PredictArgs>),
    /// Record what the threads of a running server do, for Perfetto
    Trace(TraceArgs),
    /// Look into files of recorded traffic, convert, cut, redact and join them
    Capture(CaptureArgs),
    /// Tell what on this host, or in an application's configuration, spoils measurements or harms a server
    Doctor(DoctorArgs),
    /// Show a run again (the newest one unless told otherwise)
    Report(ReportArgs),
    /// List the runs
    Runs(RunsArgs),
    /// Print a shell's completions
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What every experiment takes.
#[derive(Debug, Args)]
pub struct ExperimentArgs {
    /// Configuration file [default: powerband.toml in the application's folder, if there]
    #[arg(long, value_name = "FILE", env = "POWERBAND_CONFIG")]
    pub config: Option<PathBuf>,
    /// Folder of the application [default: the configuration file's, or this one]
    #[arg(long, value_name = "DIR", env = "POWERBAND_APP")]
    pub app: Option<String>,
    /// File of weighted requests
    #[arg(long, value_name = "FILE", env = "POWERBAND_WORKLOAD")]
    pub workload: Option<String>,
    /// One path to GET instead of a workload file
    #[arg(long, value_name = "PATH", conflicts_with = "workload")]
    pub path: Option<String>,
    /// Latency that must be kept, e.g. p99=250ms
    #[arg(long, value_name = "OBJECTIVE", env = "POWERBAND_SLO")]
    pub slo: Option<String>,
    /// Memory that the whole process tree may use, e.g. 1GiB
    #[arg(long, value_name = "SIZE", env = "POWERBAND_MAX_MEMORY")]
    pub max_memory: Option<String>,
    /// Arrival rate at which latency is measured [default: 70 % of what the baseline carries]
    #[arg(long, value_name = "PER_SECOND", env = "POWERBAND_RATE")]
    pub rate: Option<String>,
    /// Time that the run may take, e.g. 8m
    #[arg(long, value_name = "DURATION", env = "POWERBAND_BUDGET")]
    pub budget: Option<String>,
    /// Blocks of the deciding comparison, 6 to 24
    #[arg(long, value_name = "N", env = "POWERBAND_BLOCKS")]
    pub blocks: Option<String>,
    /// First compare the baseline with itself in N blocks, 6 to 24 [without N: 10]
    #[arg(long, value_name = "N", env = "POWERBAND_CALIBRATE", num_args = 0..=1, require_equals = true,
          default_missing_value = "10")]
    pub calibrate: Option<String>,
    /// Length of each measured window, e.g. 5s [default: what the budget allows]
    #[arg(long, value_name = "DURATION", env = "POWERBAND_WINDOW")]
    pub window: Option<String>,
    /// Difference that does not matter, e.g. 3%
    #[arg(long, value_name = "SHARE", env = "POWERBAND_MARGIN")]
    pub margin: Option<String>,
    /// Longest wait for an answer before it counts as failed [default: 10s]
    #[arg(long, value_name = "DURATION", env = "POWERBAND_TIMEOUT")]
    pub timeout: Option<String>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", env = "POWERBAND_SEED")]
    pub seed: Option<String>,
    /// Start the server with this command instead of puma; {port}, {threads} and {workers} are filled in
    #[arg(long, value_name = "COMMAND", env = "POWERBAND_SERVER")]
    pub server: Option<String>,
    /// Puma's configuration file [default: what Puma finds, e.g. config/puma.rb]
    #[arg(long, value_name = "FILE", env = "POWERBAND_PUMA_CONFIG")]
    pub puma_config: Option<String>,
    /// Clients of the closed loop [default: twice the most that a configuration serves at once]
    #[arg(long, value_name = "N", env = "POWERBAND_CONNECTIONS")]
    pub connections: Option<String>,
    /// Whether the load generator has a core of its own [default: true where it takes more than 2 % of one]
    #[arg(long, value_name = "true|false", env = "POWERBAND_GENERATOR_CORE")]
    pub generator_core: Option<String>,
    /// Port of the server [default: a free one]
    #[arg(long, value_name = "PORT", env = "POWERBAND_PORT")]
    pub port: Option<String>,
    /// RAILS_ENV and RACK_ENV of the server [default: production]
    #[arg(long, value_name = "NAME", env = "POWERBAND_ENVIRONMENT")]
    pub environment: Option<String>,
    /// A variable of the server's environment; may be repeated
    #[arg(long = "env", value_name = "KEY=VALUE")]
    pub env: Vec<String>,
    /// Command before each trial (reset a database, clear a cache)
    #[arg(long, value_name = "COMMAND", env = "POWERBAND_BEFORE_TRIAL")]
    pub before_trial: Option<String>,
    /// Command after each trial
    #[arg(long, value_name = "COMMAND", env = "POWERBAND_AFTER_TRIAL")]
    pub after_trial: Option<String>,
    /// Allow requests other than GET and HEAD
    #[arg(long)]
    pub allow_unsafe: bool,
    /// Allow databases, caches and upstreams that are not on this machine
    #[arg(long)]
    pub allow_remote: bool,
    /// Where run folders are made [default: powerband-runs]
    #[arg(long, value_name = "DIR", env = "POWERBAND_RUNS")]
    pub runs: Option<String>,
    /// Go on with a run that was interrupted
    #[arg(long, value_name = "RUN")]
    pub resume: Option<PathBuf>,
    /// Folder of the agent's gem [default: beside this program]
    #[arg(long, value_name = "DIR", env = "POWERBAND_GEM", hide = true)]
    pub gem: Option<PathBuf>,
    /// How to speak.
    #[command(flatten)]
    pub speech: SpeechArgs,
}

/// How to speak.
#[derive(Debug, Clone, Copy, Args)]
pub struct SpeechArgs {
    /// Print one JSON document instead of the page
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

/// `tune`.
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// What runs today, e.g. threads=3,workers=0 [default: what the application's configuration says]
    #[arg(long, value_name = "SETTINGS", env = "POWERBAND_BASELINE")]
    pub baseline: Option<String>,
    /// Search this knob too, e.g. malloc_arena_max=2 or allocator=jemalloc,tcmalloc (all knobs: docs/knobs.md), or usual for
    /// those that are worth a try on most applications; may be repeated
    #[arg(long, value_name = "KNOB=V1,V2,…")]
    pub knobs: Vec<String>,
    /// Thread counts that may be tried, e.g. 1,2,3,5
    #[arg(long, value_name = "LIST", env = "POWERBAND_THREADS")]
    pub threads: Option<String>,
    /// Worker counts that may be tried, e.g. 0,2,4 (0 is single mode)
    #[arg(long, value_name = "LIST", env = "POWERBAND_WORKERS")]
    pub workers: Option<String>,
    /// What to make as little as possible within the limits, instead of the most throughput: latency at the rate, or memory
    /// or processes that carry --rate within --slo
    #[arg(long, value_name = "latency|memory|processes", env = "POWERBAND_LEAST")]
    pub least: Option<String>,
    /// What all your servers together are to carry, e.g. 2000/s: how many that takes is told, today and as recommended
    #[arg(long, value_name = "PER_SECOND", env = "POWERBAND_TOTAL_RATE")]
    pub total_rate: Option<String>,
    /// What one server costs, a number in any unit and period
    #[arg(long, value_name = "NUMBER", env = "POWERBAND_SERVER_COST")]
    pub server_cost: Option<String>,
    /// Most configurations in the race, the baseline among them
    #[arg(long, value_name = "N", env = "POWERBAND_MAX_ARMS")]
    pub max_arms: Option<String>,
    /// What every experiment takes.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
}

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Configurations, the first is compared with: threads=3 threads=5,workers=2 threads=3,allocator=jemalloc (all knobs:
    /// docs/knobs.md); one alone with --calibrate [default: those of [[arm]] in powerband.toml]
    #[arg(num_args = 0.., value_name = "SETTINGS")]
    pub arms: Vec<String>,
    /// What every experiment takes.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// What configurations side by side take.
    #[command(flatten)]
    pub side_by_side: SideBySideArgs,
    /// What is compared instead.
    #[command(flatten, next_help_heading = "Of a mirror's log")]
    pub log: ShadowLogArgs,
}

/// `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The knob and its values: threads=1,2,3 or workers=0,2,4 or gc.malloc_limit=16MiB,64MiB (all knobs: docs/knobs.md)
    #[arg(value_name = "KNOB=V1,V2,…")]
    pub sweep: String,
    /// The other knobs, e.g. workers=2
    #[arg(long, value_name = "SETTINGS", env = "POWERBAND_BASELINE")]
    pub baseline: Option<String>,
    /// What every experiment takes.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// What configurations side by side take.
    #[command(flatten)]
    pub side_by_side: SideBySideArgs,
}

/// `capacity`.
#[derive(Debug, Args)]
pub struct CapacityArgs {
    /// A server that runs already, e.g. http://127.0.0.1:3000/ [default: the application is started]
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// What the application is started with, e.g. threads=3,workers=2 [default: what its configuration says]
    #[arg(long, value_name = "SETTINGS", env = "POWERBAND_BASELINE")]
    pub baseline: Option<String>,
    /// Rates of the curve beside those of the search, e.g. 50,100,200 [default: 0.2 to 1.5 times saturation]
    #[arg(long, value_name = "RATES")]
    pub at: Option<String>,
    /// Write the chart here too
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// What every experiment takes.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
}

/// `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Where flight files are written [default: $XDG_RUNTIME_DIR/powerband or /tmp/powerband]
    #[arg(long, value_name = "DIR", env = "POWERBAND_DIR")]
    pub flight_dir: Option<PathBuf>,
    /// Folder of the agent's gem [default: beside this program]
    #[arg(long, value_name = "DIR", env = "POWERBAND_GEM", hide = true)]
    pub gem: Option<PathBuf>,
    /// The server's command
    #[arg(required = true, last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run's name or folder [default: the newest]
    pub run: Option<PathBuf>,
    /// Where run folders are [default: powerband-runs]
    #[arg(
        long,
        value_name = "DIR",
        env = "POWERBAND_RUNS",
        default_value = "powerband-runs",
        hide_default_value = true
    )]
    pub runs: PathBuf,
    /// Print the JSON document instead
    #[arg(long)]
    pub json: bool,
}

/// `runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Where run folders are [default: powerband-runs]
    #[arg(
        long,
        value_name = "DIR",
        env = "POWERBAND_RUNS",
        default_value = "powerband-runs",
        hide_default_value = true
    )]
    pub runs: PathBuf,
}
