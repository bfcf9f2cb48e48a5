//! What `export` takes.

use clap::{ArgGroup, Args};
use std::path::PathBuf;

/// `export`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("sent").args(["otlp", "parquet"]).multiple(true)))]
pub struct ExportArgs {
    /// Folder of flight files; of a folder that has one for each user, this user's is read [default: where the agent writes:
    /// $POWERBAND_DIR, else powerband in $XDG_RUNTIME_DIR or /tmp]
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Endpoints, and job classes, that have series: those with the most requests [default: 20]
    #[arg(long, value_name = "N")]
    pub endpoints: Option<usize>,
    /// Only the application with this root folder; all: every application of the folder
    #[arg(long, value_name = "FOLDER|all", default_value = "all")]
    pub application: String,
    /// Also the duration of requests by OpenTelemetry's names: http_server_request_duration_seconds in scrapes,
    /// http.server.request.duration in pushes. Not where the application has OpenTelemetry's instrumentation, which counts the same
    #[arg(long)]
    pub opentelemetry: bool,
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
    /// Push to a receiver of OTLP over HTTP, e.g. http://127.0.0.1:4318; /v1/metrics is added where it is missing
    #[arg(long, value_name = "URL", help_heading = "OpenTelemetry")]
    pub otlp: Option<String>,
    /// Time between two pushes, 1s to 1h
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "15s",
        requires = "otlp",
        help_heading = "OpenTelemetry"
    )]
    pub interval: String,
    /// Push once or write files once, then exit: 0 if it worked, 3 if not
    #[arg(
        long,
        requires = "sent",
        conflicts_with_all = ["listen", "interval", "rotate"]
    )]
    pub once: bool,
    /// service.name, the name of the application in the receiver and in the paths of Parquet files
    #[arg(
        long,
        value_name = "NAME",
        env = "OTEL_SERVICE_NAME",
        help_heading = "OpenTelemetry"
    )]
    pub service: Option<String>,
    /// A further attribute of the resource, e.g. service.version=42 or k8s.pod.name=$POD; may be repeated, each key
    /// once. OTEL_RESOURCE_ATTRIBUTES gives more
    #[arg(
        long,
        value_name = "KEY=VALUE",
        requires = "sent",
        help_heading = "OpenTelemetry"
    )]
    pub resource: Vec<String>,
    /// File with a bearer token, read before each push
    #[arg(
        long,
        value_name = "FILE",
        requires = "otlp",
        conflicts_with = "header_file",
        help_heading = "OpenTelemetry"
    )]
    pub token_file: Option<PathBuf>,
    /// File with headers, a line such as "api-key: SECRET" for each, read before each push
    #[arg(
        long,
        value_name = "FILE",
        requires = "otlp",
        help_heading = "OpenTelemetry"
    )]
    pub header_file: Option<PathBuf>,
    /// PEM file of the authority that signed the certificate of an https receiver [default: the system's authorities]
    #[arg(
        long,
        value_name = "FILE",
        requires = "otlp",
        help_heading = "OpenTelemetry"
    )]
    pub ca: Option<PathBuf>,
    /// Write requests, collections, counters and memory as Parquet files below this folder, for DuckDB and others
    #[arg(long, value_name = "DIR", help_heading = "Parquet")]
    pub parquet: Option<PathBuf>,
    /// One request in N has a row; counters have them all
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        requires = "parquet",
        help_heading = "Parquet"
    )]
    pub sample: u32,
    /// How often a new file is begun, 1m to 1d
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1h",
        requires = "parquet",
        help_heading = "Parquet"
    )]
    pub rotate: String,
    /// How long files stay, in whole days of UTC, 1d to 3650d
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "30d",
        requires = "parquet",
        help_heading = "Parquet"
    )]
    pub keep: String,
    /// Largest total size of the files of all exporters in the folder; the oldest files are removed first
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "2GiB",
        requires = "parquet",
        help_heading = "Parquet"
    )]
    pub max_size: String,
}
