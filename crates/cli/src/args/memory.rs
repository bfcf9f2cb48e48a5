//! What `memory` takes.

use super::SpeechArgs;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `memory`.
#[derive(Debug, Args)]
#[command(
    override_usage = "powerband memory [OPTIONS] [DIR|FILE]...\n       powerband memory [OPTIONS] -- CMD...\n       powerband memory --compare BEFORE AFTER"
)]
pub struct MemoryArgs {
    /// Folders of flight files, or flight files, of servers that run [default: this user's files where the agent writes:
    /// $POWERBAND_DIR, else powerband in $XDG_RUNTIME_DIR or /tmp]
    #[arg(value_name = "DIR|FILE")]
    pub sources: Vec<PathBuf>,
    /// A process, and all that descends from it, instead; may be repeated
    #[arg(long, value_name = "PID", conflicts_with_all = ["sources", "application"])]
    pub pid: Vec<u32>,
    /// Only servers of the application with this root folder
    #[arg(long, value_name = "FOLDER")]
    pub application: Option<String>,
    /// How long, 1s to 30d [default: 1m; with a command, until it ends]
    #[arg(long = "for", value_name = "DURATION")]
    pub length: Option<String>,
    /// Time between two readings, 100ms to 1h [default: 1s, and more where --for is longer than 10m]
    #[arg(long, value_name = "DURATION")]
    pub interval: Option<String>,
    /// Also write every sample of every process as CSV; - is standard output, in place of the page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,
    /// Compare two documents that --json wrote, such as of two weeks, and read nothing
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2,
          conflicts_with_all = ["sources", "pid", "application", "length", "interval", "csv", "command"])]
    pub compare: Vec<PathBuf>,
    /// Folder of the agent's gem [default: the one that was installed with this program]
    #[arg(long, value_name = "DIR", env = "POWERBAND_GEM", hide = true)]
    pub gem: Option<PathBuf>,
    /// How to speak.
    #[command(flatten)]
    pub speech: SpeechArgs,
    /// A command to start with the agent, instead: its output goes to standard error
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["sources", "pid", "application"])]
    pub command: Vec<OsString>,
}
