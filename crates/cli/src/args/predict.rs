//! What `predict` takes.

use super::ExperimentArgs;
use clap::Args;
use std::path::PathBuf;

/// `predict`. Of a trace, and with `--validate`, the same flags say which configurations (`--threads`, `--workers`), which rates
/// (`--rate`, several of a trace), which seed, and how to speak.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// Folder of flight files, or a flight file; a second trace of the same requests, made at another rate, shows how
    /// much longer I/O takes when more of them are served at once [default: this user's files where the agent writes]
    #[arg(value_name = "FLIGHT_DIR", num_args = 0..=2, conflicts_with = "validate")]
    pub sources: Vec<PathBuf>,
    /// What predictions from a trace take.
    #[command(flatten, next_help_heading = "From a trace")]
    pub prediction: PredictionArgs,
    /// Trace the application, predict other configurations, run them for real and score the predictions
    #[arg(long)]
    pub validate: bool,
    /// What `--validate` takes.
    #[command(
        flatten,
        next_help_heading = "Configurations, and the experiment of --validate"
    )]
    pub validation: ValidateArgs,
}

/// What predictions from a trace take.
#[derive(Debug, Args)]
pub struct PredictionArgs {
    /// Latency that must be kept, e.g. p99=250ms
    #[arg(long, value_name = "OBJECTIVE")]
    pub objective: Option<String>,
    /// Memory that all processes may use, e.g. 2GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Memory (PSS) that configurations were seen to use, processes x threads, e.g. 2x3=610MiB,4x3=1.1GiB [default: of the
    /// traced server, where it still runs]
    #[arg(long, value_name = "LIST")]
    pub measured_memory: Option<String>,
    /// What would be different, e.g. io=2x,cpu=0.8x,traffic=2x,cores=+1
    #[arg(long, value_name = "LIST")]
    pub what_if: Option<String>,
    /// Cores that the server had and has, e.g. 4 or 1.8 where a load generator took some [default: this machine's]
    #[arg(long, value_name = "N")]
    pub cores: Option<String>,
    /// CPU quota of the server's control group, in cores, e.g. 1.5 [default: that of the control group in which predict runs; no quota
    /// where --cores is given]
    #[arg(long, value_name = "N")]
    pub quota: Option<String>,
    /// Only requests of this last period, e.g. 10m
    #[arg(long, value_name = "DURATION", conflicts_with = "since")]
    pub last: Option<String>,
    /// Only requests since then, e.g. 2025-11-21T16:00:00Z
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only requests before then
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only the application with this root folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "validate")]
    pub application: Option<String>,
    /// Requests of each simulation, 500 to 1000000 [default: 5000]
    #[arg(long, value_name = "N")]
    pub requests: Option<String>,
}

/// What `predict --validate` takes. The experiment's `--window` is of every measured window, its `--blocks` how often each
/// configuration is measured, its `--rate` that of the trace. The hidden flags are refused with and without `--validate`.
#[derive(Debug, Args)]
#[command(
    mut_arg("resume", |arg| arg.hide(true)),
    mut_arg("budget", |arg| arg.hide(true)),
    mut_arg("calibrate", |arg| arg.hide(true)),
    mut_arg("age", |arg| arg.hide(true)),
    mut_arg("generator_core", |arg| arg.hide(true)),
    mut_arg("margin", |arg| arg.hide(true)),
    mut_arg("connections", |arg| arg.hide(true)),
    mut_arg("keep_alive", |arg| arg
        .help("Clients keep their connections [default: as the trace shows; with --validate a connection for each request]")),
    mut_arg("no_keep_alive", |arg| arg.help("Each request opens a connection")),
    mut_arg("slo", |arg| arg.help("Another name of --objective")),
    mut_arg("max_memory", |arg| arg.help("Another name of --memory")),
    mut_arg("rate", |arg| arg
        .value_name("LIST")
        .help("Arrival rates to predict, e.g. 50,100 [default: that of the trace, 1.5 and 2 times as many]; with --validate \
               the rate at which the trace is made, in place of --trace-load")),
    mut_arg("blocks", |arg| arg.help("How often each configuration is measured, 1 to 24 [default: 2]")),
    mut_arg("window", |arg| arg.help("Length of each measured window, e.g. 5s [default: 20s]"))
)]
pub struct ValidateArgs {
    /// What is traced, e.g. threads=3,workers=0 [default: what the application's configuration says]
    #[arg(long, value_name = "SETTINGS", env = "POWERBAND_BASELINE")]
    pub baseline: Option<String>,
    /// Thread counts, e.g. 1,3,5, or a range such as 1..5 (not with --validate) [default: usual ones up to twice those that keep a
    /// process busy; with --validate 1,2,3,5]
    #[arg(long, value_name = "LIST", env = "POWERBAND_THREADS")]
    pub threads: Option<String>,
    /// Worker counts, e.g. 0,2, or a range such as 1..4 (not with --validate) [default: up to twice the cores, at most 8; with
    /// --validate single mode, and as many as there are cores]
    #[arg(long, value_name = "LIST", env = "POWERBAND_WORKERS")]
    pub workers: Option<String>,
    /// Rates, as shares of each configuration's predicted capacity [default: 50%,70%,85%]
    #[arg(long, value_name = "SHARES", requires = "validate")]
    pub loads: Option<String>,
    /// Length of the trace [default: 60s, and at least 700 requests]
    #[arg(long, value_name = "DURATION", requires = "validate")]
    pub trace: Option<String>,
    /// Rate of the trace, as a share of what the server answers at full load [default: 70%]
    #[arg(long, value_name = "SHARE", requires = "validate")]
    pub trace_load: Option<String>,
    /// Write the tables here too, as Markdown
    #[arg(long, value_name = "FILE", requires = "validate")]
    pub markdown: Option<PathBuf>,
    /// What every experiment takes.
    #[command(flatten, next_help_heading = "With --validate")]
    pub experiment: ExperimentArgs,
}
