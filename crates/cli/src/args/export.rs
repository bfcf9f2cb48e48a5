//! What `export` takes.

use clap::Args;
use std::path::PathBuf;

/// `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Folder of flight files [default: this user's files where the agent writes: $POWERBAND_DIR, else powerband in
    /// $XDG_RUNTIME_DIR or /tmp]
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Endpoints, and job classes, that have series: those with the most requests [default: 20]
    #[arg(long, value_name = "N")]
    pub endpoints: Option<usize>,
    /// Only the application with this root folder; all: every application of the folder
    #[arg(long, value_name = "FOLDER|all", default_value = "all")]
    pub application: String,
    /// Answer Prometheus' scrapes at this address, e.g. 127.0.0.1:9401, or :9401 for loopback
    #[arg(long, value_name = "ADDRESS", help_heading = "Prometheus")]
    pub listen: Option<String>,
    /// Path of the scrapes
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/metrics",
        requires = "listen",
        help_heading = "Prometheus"
    )]
    pub path: String,
    /// A name that the Host header of a scrape may have, in addition to localhost and this machine's addresses; may be repeated
    #[arg(
        long,
        value_name = "NAME",
        requires = "listen",
        help_heading = "Prometheus"
    )]
    pub host: Vec<String>,
    /// Also http_server_request_duration_seconds, by OpenTelemetry's labels http_route and http_request_method
    #[arg(long, requires = "listen", help_heading = "Prometheus")]
    pub opentelemetry: bool,
}
