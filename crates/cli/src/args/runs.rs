//! What `runs` takes.

use clap::Args;
use std::path::PathBuf;

/// The folder of runs.
#[derive(Debug, Args)]
pub struct RunsDirArgs {
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

/// `runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// List which runs --keep or --older-than would delete; with --yes delete them
    #[arg(long)]
    pub prune: bool,
    /// The newest N stay
    #[arg(long, value_name = "N", requires = "prune")]
    pub keep: Option<usize>,
    /// What was started later than so long ago stays, e.g. 30d
    #[arg(long, value_name = "DURATION", requires = "prune")]
    pub older_than: Option<String>,
    /// Delete runs, too, that --resume could go on with, and those whose document cannot be read
    #[arg(long, requires = "prune")]
    pub unfinished: bool,
    /// Delete
    #[arg(long, requires = "prune")]
    pub yes: bool,
    /// Write trials, comparisons and answers of tune, compare, sweep and check as Parquet files below this folder, for DuckDB and others
    #[arg(
        long,
        value_name = "DIR",
        requires = "service",
        conflicts_with = "prune"
    )]
    pub parquet: Option<PathBuf>,
    /// The name of the application in the paths of these files
    #[arg(long, value_name = "NAME", env = "OTEL_SERVICE_NAME", hide_env = true)]
    pub service: Option<String>,
    #[command(flatten)]
    pub kept: RunsDirArgs,
}
