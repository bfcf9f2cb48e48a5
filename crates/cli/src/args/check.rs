//! What `check` takes.

use super::ExperimentArgs;
use clap::Args;
use std::path::PathBuf;

/// `check`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each revision runs from a git worktree below the run folder, prepared by app.prepare of powerband.toml.\n\n\
                  Exit codes: 0 every assertion holds; 1 one fails; 2 wrong usage or configuration; 3 one is undecided."
)]
pub struct CheckArgs {
    /// The revision to compare with: a branch, a tag or a commit [default: check.against in powerband.toml]
    #[arg(long, value_name = "REF", env = "POWERBAND_AGAINST")]
    pub against: Option<String>,
    /// The revision to check [default: HEAD, with nothing changed that is not committed]
    #[arg(long, value_name = "REF", env = "POWERBAND_REVISION")]
    pub revision: Option<String>,
    /// A limit on the change of throughput, p95 or memory, e.g. 'p95 <= +5%'; may be repeated [default: throughput >= -3%]
    #[arg(long = "assert", value_name = "LIMIT")]
    pub assertions: Vec<String>,
    /// Write the assertions as JUnit XML too
    #[arg(long, value_name = "FILE", conflicts_with = "rehearse")]
    pub junit: Option<PathBuf>,
    /// Write the assertions and the tables as Markdown too
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Start each revision once, for a short time, to see whether it works; nothing is compared
    #[arg(long)]
    pub rehearse: bool,
    /// What both run with, e.g. threads=3,workers=2 [default: what the configuration of each revision says]
    #[arg(long, value_name = "SETTINGS", env = "POWERBAND_BASELINE")]
    pub baseline: Option<String>,
    /// What every experiment takes.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
}
