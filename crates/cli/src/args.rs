//! What may be typed. Values are text here; `experiment::config` checks them, all at once.

mod advise;
mod calc;
mod capture;
mod check;
mod compare;
mod doctor;
mod drift;
mod export;
mod init;
mod inspect;
mod kafka;
mod leak;
mod load;
mod memory;
mod mirror;
mod predict;
mod prometheus;
mod run;
mod runs;
mod trace;
mod verdict;
mod watch;

pub use advise::AdviseArgs;
pub use calc::{AmdahlArgs, CalcArgs, Calculation, PoolArgs, QueueArgs, ThreadsArgs, UslArgs};
pub use capture::{
    CaptureArgs, CaptureInfoArgs, Captured, ConvertArgs, FilterArgs, MergeArgs, OutArgs,
    RedactArgs, To,
};
pub use check::CheckArgs;
pub use compare::{CommandArgs, ShadowLogArgs, SideBySideArgs};
pub use doctor::DoctorArgs;
pub use drift::DriftArgs;
pub use export::ExportArgs;
pub use init::InitArgs;
pub use inspect::InspectArgs;
pub use kafka::KafkaArgs;
pub use leak::LeakArgs;
pub use load::{AssertedArgs, LoadArgs, LoadMergeArgs, LoadVerb, RequestArgs, TargetArgs};
pub use memory::MemoryArgs;
pub use mirror::MirrorArgs;
pub use predict::{PredictArgs, ValidateArgs};
pub use prometheus::PrometheusArgs;
pub use run::RunArgs;
pub use runs::{RunsArgs, RunsDirArgs};
pub use trace::TraceArgs;
pub use verdict::VerdictArgs;
pub use watch::WatchArgs;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Finds the configuration in which a Ruby server does its best work, and proves it.
#[derive(Debug, Parser)]
#[command(
    name = "powerband",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 done; 1 done, with a negative result: a limit or an assertion is not met, doctor found a problem, or leak found a leak; 2 wrong usage or configuration; 3 the measurements are not enough for an answer.\nSettings come from flags, then POWERBAND_* variables, then powerband.toml."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a powerband.toml with the requests that users send
    Init(InitArgs),
    /// Find the threads and processes that serve the most
    Tune(TuneArgs),
    /// Compare named settings, or what a mirror logged
    Compare(CompareArgs),
    /// Compare two revisions of the application in CI
    Check(Box<CheckArgs>),
    /// Measure one setting at several values
    Sweep(SweepArgs),
    /// Send load to a URL and measure the response times
    Load(LoadArgs),
    /// Find the highest arrival rate that meets an objective
    Capacity(CapacityArgs),
    /// Copy live traffic to candidates and compare their answers
    Mirror(Box<MirrorArgs>),
    /// Start a Ruby server with the agent inside
    Run(RunArgs),
    /// Show where request time goes, from the agent's flight files
    Inspect(InspectArgs),
    /// Show where request time goes now, in a terminal or a browser
    Watch(WatchArgs),
    /// Show what the memory of a server is and whether it grows
    Memory(Box<MemoryArgs>),
    /// Find the line and endpoint that leak memory, and what keeps it
    Leak(Box<LeakArgs>),
    /// Name memory and garbage collection settings that are worth a test
    Advise(Box<AdviseArgs>),
    /// Calculate threads, queues, scaling and connections
    Calc(CalcArgs),
    /// Predict other numbers of processes and threads from flight files
    Predict(Box<PredictArgs>),
    /// Give counters to Prometheus, OpenTelemetry or Parquet files
    Export(Box<ExportArgs>),
    /// Judge an experiment in production, or compare two periods
    Verdict(VerdictArgs),
    /// Compare what a run assumed with the metrics of a fleet
    Drift(DriftArgs),
    /// Record threads, garbage collections, or objects that survive
    Trace(TraceArgs),
    /// Convert, cut, redact and join files of recorded traffic
    Capture(CaptureArgs),
    /// Find what spoils measurements or harms a server
    Doctor(DoctorArgs),
    /// Show a run or a document again, also as HTML
    Report(ReportArgs),
    /// List runs, and delete old ones
    Runs(RunsArgs),
    /// Print a shell's completions
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// Write the manual page and one for each verb into this folder instead
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
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
    /// Send each request of recorded traffic with the Host that it was recorded with
    #[arg(long, conflicts_with = "path")]
    pub replay_host: bool,
    /// One path to GET instead of a workload file
    #[arg(long, value_name = "PATH", conflicts_with = "workload")]
    pub path: Option<String>,
    /// Latency that must be kept, e.g. p99=250ms
    #[arg(long, value_name = "OBJECTIVE", env = "POWERBAND_SLO")]
    pub slo: Option<String>,
    /// Memory that the whole process tree may use, e.g. 1GiB; none: no limit [default: for tune 90 % of the cgroup's limit, where there is one]
    #[arg(long, value_name = "SIZE", env = "POWERBAND_MAX_MEMORY")]
    pub max_memory: Option<String>,
    /// Arrival rate at which latency is measured [default: 70 % of what the baseline answers at full load]
    #[arg(long, value_name = "PER_SECOND", env = "POWERBAND_RATE")]
    pub rate: Option<String>,
    /// Time that the run may take, e.g. 8m [default: 20m for tune, else as long as the blocks take]
    #[arg(long, value_name = "DURATION", env = "POWERBAND_BUDGET")]
    pub budget: Option<String>,
    /// Blocks of the deciding comparison, 6 to 24
    #[arg(long, value_name = "N", env = "POWERBAND_BLOCKS")]
    pub blocks: Option<String>,
    /// First compare the baseline with itself in N blocks, 6 to 24 [without N: 10]
    #[arg(long, value_name = "N", env = "POWERBAND_CALIBRATE", num_args = 0..=1, require_equals = true,
          default_missing_value = "10")]
    pub calibrate: Option<String>,
    /// Length of each measured window, e.g. 5s [default: 5s; for tune, and with --budget, what the budget allows]
    #[arg(long, value_name = "DURATION", env = "POWERBAND_WINDOW")]
    pub window: Option<String>,
    /// Requests that each trial answers before its memory is compared, e.g. 50k-requests [default: those of its windows]
    #[arg(long, value_name = "REQUESTS", env = "POWERBAND_AGE")]
    pub age: Option<String>,
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
    /// Clients at full load, each of which sends its next request as soon as it is answered [default: twice the most that a
    /// configuration serves at once]
    #[arg(long, value_name = "N", env = "POWERBAND_CONNECTIONS")]
    pub connections: Option<String>,
    /// Whether the load generator has a core for itself [default: true with four cores or more, where it takes more than 2 % of one]
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
    /// Header to add to each request that has no header of this name, e.g. "Authorization: Bearer …"; may be repeated
    #[arg(long, short = 'H', value_name = "HEADER")]
    pub header: Vec<String>,
    /// How requests are sent.
    #[command(flatten)]
    pub kept: KeptArgs,
    /// Allow requests other than GET and HEAD
    #[arg(long)]
    pub allow_unsafe: bool,
    /// Allow this database, cache or upstream on another machine; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    pub allow_remote: Vec<String>,
    /// Where run folders are made [default: powerband-runs]
    #[arg(long, value_name = "DIR", env = "POWERBAND_RUNS")]
    pub runs: Option<String>,
    /// Keep the agent's flight files and whole server logs of every trial [default: deleted once the trial's figures are on disk]
    #[arg(long)]
    pub keep_flights: bool,
    /// Go on with a run that was interrupted, by its folder or its name; options with values that may be secret (--env, --header) must
    /// be given again, others need not be [without RUN: only prints the newest that can go on]
    #[arg(long, value_name = "RUN")]
    pub resume: Option<Option<PathBuf>>,
    /// Folder of the agent's gem [default: the one that was installed with this program]
    #[arg(long, value_name = "DIR", env = "POWERBAND_GEM", hide = true)]
    pub gem: Option<PathBuf>,
    /// How to speak.
    #[command(flatten)]
    pub speech: SpeechArgs,
    /// Print the parts of the page for experts too (powerband report --full prints them later)
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    pub full: bool,
}

/// The same for every verb that sends load, and for what `predict` takes for granted.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct KeptArgs {
    /// Keep connections for further requests [default: a new connection for each request]
    #[arg(long, overrides_with = "no_keep_alive", help_heading = "Connection")]
    pub keep_alive: bool,
    /// Open a connection for each request: the default
    #[arg(long, overrides_with = "keep_alive", help_heading = "Connection")]
    pub no_keep_alive: bool,
}

impl KeptArgs {
    /// As typed; `None` where nothing was.
    pub fn asked(self) -> Option<bool> {
        match (self.keep_alive, self.no_keep_alive) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
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
    /// A first verdict in about 3 minutes: today's configuration against the one that the model predicts to be the best
    #[arg(long, conflicts_with_all = ["knobs", "least", "age"])]
    pub quick: bool,
    /// Judge the answer of an earlier run again, given by its name or folder, for example after a change to the code. Takes about
    /// 3 minutes unless --budget is given
    #[arg(long, value_name = "RUN")]
    pub since: Option<PathBuf>,
    /// Whether earlier runs of the same application on this machine set the plan and the order of the candidates; no verdict
    /// uses them [default: true]
    #[arg(long, value_name = "true|false", env = "POWERBAND_EARLIER_RUNS")]
    pub earlier_runs: Option<String>,
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
    /// Minimise this figure within the limits instead of maximising throughput: latency at the rate, or the memory or
    /// processes that serve --rate within --slo
    #[arg(long, value_name = "latency|memory|processes", env = "POWERBAND_LEAST")]
    pub least: Option<String>,
    /// Rate that all your servers serve together, e.g. 2000/s: the page says how many servers that takes, today and as
    /// recommended
    #[arg(long, value_name = "PER_SECOND", env = "POWERBAND_TOTAL_RATE")]
    pub total_rate: Option<String>,
    /// What one server costs, a number in any unit and period
    #[arg(long, value_name = "NUMBER", env = "POWERBAND_SERVER_COST")]
    pub server_cost: Option<String>,
    /// Largest number of configurations that are tried, the baseline included; elimination rounds drop the slower ones before the deciding
    /// comparison
    #[arg(long, value_name = "N", env = "POWERBAND_MAX_ARMS")]
    pub max_arms: Option<String>,
    /// What is run instead of a server.
    #[command(flatten)]
    pub command: CommandArgs,
    /// What every experiment takes.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
}

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Configurations; each is compared with the first: threads=3 threads=5,workers=2 threads=3,allocator=jemalloc (all knobs:
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
    #[arg(value_name = "KNOB=V1,V2,…", required_unless_present = "resume")]
    pub sweep: Option<String>,
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

/// `capacity`. What it refuses is not listed.
#[derive(Debug, Args)]
#[command(mut_arg("resume", |arg| arg.hide(true)))]
#[command(mut_arg("blocks", |arg| arg.hide(true)))]
#[command(mut_arg("calibrate", |arg| arg.hide(true)))]
#[command(mut_arg("rate", |arg| arg.hide(true)))]
#[command(mut_arg("max_memory", |arg| arg.hide(true)))]
#[command(mut_arg("age", |arg| arg.hide(true)))]
#[command(mut_arg("margin", |arg| arg.hide(true)))]
#[command(mut_arg("window", |arg| arg.hide(true)))]
#[command(mut_arg("connections", |arg| arg.hide(true)))]
#[command(mut_arg("budget", |arg| arg.help("Time for everything, e.g. 8m [default: tune.budget of the file, else 5m]")))]
pub struct CapacityArgs {
    /// A server that runs already, e.g. http://127.0.0.1:3000/ [default: the application is started]
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// What the application is started with, e.g. threads=3,workers=2 [default: what its configuration says]
    #[arg(long, value_name = "SETTINGS", env = "POWERBAND_BASELINE")]
    pub baseline: Option<String>,
    /// Rate that must be carried with 95 % confidence, e.g. 90/s: exit 0 when it is, 1 when it is not, 3 when that is not decided
    #[arg(long, value_name = "PER_SECOND")]
    pub at_least: Option<String>,
    /// Rates of the curve in addition to those of the search, e.g. 50,100,200 [default: 0.2 to 1.5 times saturation]
    #[arg(long, value_name = "RATES")]
    pub at: Option<String>,
    /// Write the chart here too
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// What every experiment takes.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run's name or folder, or a file with the --json output of any verb [default: the newest run]
    pub run: Option<PathBuf>,
    #[command(flatten)]
    pub kept: RunsDirArgs,
    /// Print the JSON document instead
    #[arg(long)]
    pub json: bool,
    /// Write the page with charts as one HTML file [default: page.html in the run's folder; of a document, its name with .html, next to it]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with_all = ["json", "full"])]
    pub html: Option<Option<PathBuf>>,
    /// With --html: do not open the page in a browser, which is done on a desktop where no FILE is named
    #[arg(long, requires = "html")]
    pub no_open: bool,
    /// Print the parts for experts too: why each configuration was tried and how it left, elimination rounds, parts of a search
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print the changes to the application's files alone, for git apply --unidiff-zero
    #[arg(long, conflicts_with_all = ["json", "full", "html"])]
    pub diff: bool,
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    /// Every verb lists what it takes; these refuse some of what experiments have in common.
    #[test]
    fn a_flag_that_is_refused_is_not_listed() {
        let refused: [(&str, &[&str]); 3] = [
            (
                "leak",
                &[
                    "resume",
                    "budget",
                    "blocks",
                    "calibrate",
                    "rate",
                    "slo",
                    "max-memory",
                    "age",
                    "margin",
                    "window",
                    "connections",
                    "generator-core",
                ],
            ),
            (
                "capacity",
                &[
                    "resume",
                    "blocks",
                    "calibrate",
                    "rate",
                    "max-memory",
                    "age",
                    "margin",
                    "window",
                    "connections",
                ],
            ),
            (
                "predict",
                &[
                    "resume",
                    "budget",
                    "calibrate",
                    "generator-core",
                    "age",
                    "margin",
                    "connections",
                ],
            ),
        ];
        let mut cli = Cli::command();
        cli.build();
        for verb in cli.get_subcommands() {
            let refused = refused.iter().find(|(name, _)| *name == verb.get_name());
            for arg in verb.get_arguments() {
                let Some(flag) = arg.get_long() else { continue };
                let is_refused = refused.is_some_and(|(_, flags)| flags.contains(&flag));
                let may_be_hidden = is_refused || flag == "gem" || !arg.is_hide_set();
                assert!(may_be_hidden, "{} hides --{flag}", verb.get_name());
                assert!(
                    !is_refused || arg.is_hide_set(),
                    "{} lists --{flag}",
                    verb.get_name()
                );
            }
        }
    }
}
