//! How Prometheus is asked.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct PrometheusArgs {
    /// Further label matchers of every query, e.g. 'job="shop"'
    #[arg(
        long = "match",
        value_name = "MATCHERS",
        default_value = "",
        hide_default_value = true
    )]
    pub matchers: String,
    /// File with a bearer token [else the variable POWERBAND_PROMETHEUS_TOKEN]
    #[arg(long, value_name = "FILE", conflicts_with = "basic_file")]
    pub token_file: Option<PathBuf>,
    /// File with user:password for basic authentication [else the variable POWERBAND_PROMETHEUS_BASIC]
    #[arg(long, value_name = "FILE")]
    pub basic_file: Option<PathBuf>,
}
