//! What `verdict` takes.

use super::PrometheusArgs;
use clap::Args;
use std::path::PathBuf;

/// `verdict`.
#[derive(Debug, Args)]
pub struct VerdictArgs {
    /// The experiment's file
    #[arg(
        value_name = "FILE",
        required_unless_present = "before",
        conflicts_with_all = ["before", "after"]
    )]
    pub file: Option<PathBuf>,
    /// Without an experiment: the period before a change, FROM/TO in whole days, e.g. 2026-11-09/2026-11-16 (UTC)
    #[arg(long, value_name = "PERIOD", requires = "after")]
    pub before: Option<String>,
    /// The period after the change, with as many days; each hour is compared with the same hour of --before
    #[arg(long, value_name = "PERIOD", requires = "before")]
    pub after: Option<String>,
    /// Prometheus' address, e.g. https://prometheus.internal:9090
    #[arg(
        long,
        value_name = "URL",
        env = "POWERBAND_PROMETHEUS",
        hide_env_values = true
    )]
    pub prometheus: String,
    #[command(flatten)]
    pub access: PrometheusArgs,
    /// Write the arms whose guardrail is broken into FILE.halted, so that they are not drawn any more
    #[arg(long, conflicts_with = "before")]
    pub halt: bool,
    /// Print one JSON document instead of the page
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
