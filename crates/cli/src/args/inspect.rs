//! What `inspect` takes.

use clap::Args;
use std::path::PathBuf;

/// `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Folders of flight files, flight files, or files that --save wrote [default: this user's files where the agent writes: $POWERBAND_DIR,
    /// else powerband in $XDG_RUNTIME_DIR or /tmp]
    #[arg(value_name = "DIR|FILE")]
    pub sources: Vec<PathBuf>,
    /// Endpoints shown, those with the most time [default: 20]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Only requests of this last period, e.g. 10m; from the rings, which hold the latest requests
    #[arg(long, value_name = "DURATION", conflicts_with = "since")]
    pub last: Option<String>,
    /// Only requests since then: a file that --save wrote (several, for several pods), whose counters are subtracted, so
    /// that every request counts; or an instant, e.g. 2025-11-21T16:00:00Z, from the rings, which hold the latest requests
    #[arg(long, value_name = "FILE|TIME")]
    pub since: Vec<String>,
    /// Save the counters to FILE instead of printing the page, for a later --since FILE; - is standard output
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Output",
        conflicts_with_all = ["last", "since", "threads", "pid", "application", "full", "json", "csv", "prometheus", "opentelemetry", "limit"]
    )]
    pub save: Option<PathBuf>,
    /// Only the process with this number and those that it forked itself: a server's master, or one worker
    #[arg(long, value_name = "PID", conflicts_with_all = ["application", "prometheus"])]
    pub pid: Option<u32>,
    /// Only processes with this many threads
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Only the application with this root folder; all: every one [default: without DIR the current folder's, if there are files of it;
    /// else every one]
    #[arg(long, value_name = "FOLDER")]
    pub application: Option<String>,
    /// Print the parts for experts too: the numbers of threads by Amdahl's law, by the waiting of a request (T*) and by rule of thumb
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv", "prometheus"])]
    pub full: bool,
    /// Print one JSON document instead of the page
    #[arg(long, help_heading = "Output", conflicts_with = "csv")]
    pub json: bool,
    /// Print CSV instead of the page: a row for each endpoint or job class
    #[arg(long, help_heading = "Output")]
    pub csv: bool,
    /// Print counters and histograms over all processes of one folder as Prometheus' text. Where the folder has one for each user, as
    /// /tmp/powerband has, only this user's is read. --limit is then the largest number of endpoints with series [default: 20]
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv", "last", "since", "threads"])]
    pub prometheus: bool,
    /// With --prometheus: also http_server_request_duration_seconds, by OpenTelemetry's labels http_route and http_request_method
    #[arg(long, help_heading = "Output", requires = "prometheus")]
    pub opentelemetry: bool,
}
