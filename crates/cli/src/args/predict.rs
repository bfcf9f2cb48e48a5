//! What `predict` takes.

use super::ExperimentArgs;
use clap::Args;
use std::path::PathBuf;

/// `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// Trace the application, predict other configurations, run them for real and score the predictions
    #[arg(long)]
    pub validate: bool,
    /// What `--validate` takes.
    #[command(flatten, next_help_heading = "With --validate")]
    pub validation: ValidateArgs,
}

/// What `predict --validate` takes. The experiment's `--window` is of every measured window, its `--blocks` how often each
/// configuration is measured, its `--rate` that of the trace.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// What is traced, e.g. threads=3,workers=0 [default: what the application's configuration says]
    #[arg(long, value_name = "SETTINGS", env = "POWERBAND_BASELINE")]
    pub baseline: Option<String>,
    /// Thread counts that are predicted and tried [default: 1,2,3,5]
    #[arg(long, value_name = "LIST", env = "POWERBAND_THREADS")]
    pub threads: Option<String>,
    /// Worker counts that are predicted and tried [default: single mode, and as many as there are cores]
    #[arg(long, value_name = "LIST", env = "POWERBAND_WORKERS")]
    pub workers: Option<String>,
    /// Rates, as shares of each configuration's predicted capacity [default: 50%,70%,85%]
    #[arg(long, value_name = "SHARES")]
    pub loads: Option<String>,
    /// Length of the trace [default: 60s, and at least 700 requests]
    #[arg(long, value_name = "DURATION")]
    pub trace: Option<String>,
    /// Rate of the trace, as a share of what a closed loop shows [default: 60%]
    #[arg(long, value_name = "SHARE")]
    pub trace_load: Option<String>,
    /// Write the tables here too, as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// What every experiment takes.
    #[command(flatten, next_help_heading = "With --validate")]
    pub experiment: ExperimentArgs,
}
