//! What `watch` takes.

use clap::Args;
use std::path::PathBuf;

/// `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Folders of flight files, or flight files [default: this user's files where the agent writes: $POWERBAND_DIR, else
    /// powerband in $XDG_RUNTIME_DIR or /tmp]
    #[arg(value_name = "DIR|FILE")]
    pub sources: Vec<PathBuf>,
    /// Length of the window that figures are of, 1s to 5m
    #[arg(long = "for", value_name = "DURATION", default_value = "5s")]
    pub length: String,
    /// Time between two readings, 200ms to 1m
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub interval: String,
    /// Print one window as text and end; the default where stdin or stdout is no terminal
    #[arg(long, conflicts_with = "interval")]
    pub once: bool,
    /// Show it in a browser instead: print the address of a page that this process serves, and open it on a desktop unless
    /// the address needs a token [default address: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, conflicts_with = "once")]
    pub serve: Option<Option<String>>,
    /// With --serve: do not open the page in a browser
    #[arg(long, requires = "serve")]
    pub no_open: bool,
    /// Begin with this process in detail: its figures over the last minutes, its slowest requests
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Begin with this endpoint or job class in detail, named as the table has it
    #[arg(long, value_name = "NAME", conflicts_with = "pid")]
    pub endpoint: Option<String>,
    /// Only the application with this root folder
    #[arg(long, value_name = "FOLDER")]
    pub application: Option<String>,
}
