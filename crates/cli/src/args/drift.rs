//! What `drift` takes.

use super::{PrometheusArgs, RunsDirArgs};
use clap::Args;
use std::path::PathBuf;

/// `drift`.
#[derive(Debug, Args)]
pub struct DriftArgs {
    /// A run of tune: its name or folder [default: the newest run of tune]
    pub run: Option<PathBuf>,
    #[command(flatten)]
    pub kept: RunsDirArgs,
    /// Prometheus' address, e.g. https://prometheus.internal:9090
    #[arg(
        long,
        value_name = "URL",
        env = "POWERBAND_PROMETHEUS",
        hide_env_values = true,
        required_unless_present = "rules"
    )]
    pub prometheus: Option<String>,
    #[command(flatten)]
    pub access: PrometheusArgs,
    /// Length of the period up to now that is compared with the run
    #[arg(long, value_name = "DURATION", default_value = "1d")]
    pub last: String,
    /// Print alerting rules for Prometheus instead of asking it
    #[arg(long, conflicts_with_all = ["json", "last"])]
    pub rules: bool,
    /// Print one JSON document instead of the page
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
