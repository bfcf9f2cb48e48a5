//! What `compare` takes when it reads the log of a mirror.

use clap::Args;
use std::path::PathBuf;

/// What `compare` and `sweep` take in addition to what every experiment takes.
#[derive(Debug, Clone, Default, Args)]
pub struct SideBySideArgs {
    /// Start each configuration once, for a short time, to see whether it works; nothing is compared
    #[arg(long)]
    pub rehearse: bool,
    /// What is run instead of a server.
    #[command(flatten)]
    pub command: CommandArgs,
    /// Write the tables as Markdown too
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// What `compare`, `sweep` and `tune` can run instead of a server.
#[derive(Debug, Clone, Default, Args)]
pub struct CommandArgs {
    /// Run this command in each configuration's environment instead of a server, e.g. "bin/rails test". compare and sweep
    /// compare its wall time and the memory of its processes; tune searches the values of --knobs for the least wall time. Flags
    /// of a server are refused
    #[arg(long, value_name = "COMMAND", env = "POWERBAND_WORKLOAD_COMMAND", conflicts_with_all = ["path", "workload"])]
    pub workload_command: Option<String>,
    /// Longest time that one run of --workload-command may take [default: 30m]
    #[arg(long, value_name = "DURATION", env = "POWERBAND_COMMAND_TIMEOUT")]
    pub command_timeout: Option<String>,
}

/// `compare --shadow-log`. Of the other flags `--margin`, `--json` and `--quiet` hold here too.
#[derive(Debug, Args)]
pub struct ShadowLogArgs {
    /// Compare nothing anew: read which shadow answered better, and what differed, from logs of powerband mirror
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "arms")]
    pub shadow_log: Vec<PathBuf>,
    /// Shadow with the same configuration as the primary, the server that answers the clients [default: as the log says]
    #[arg(long, value_name = "NAME", requires = "shadow_log")]
    pub twin: Option<String>,
    /// Flight files of a shadow on this machine, e.g. new=/run/powerband/1000: its GVL wait, GC, CPU and memory; may be
    /// repeated
    #[arg(long, value_name = "NAME=DIR", requires = "shadow_log")]
    pub flights: Vec<String>,
    /// Endpoints shown of each comparison, those with the most requests [default: 20]
    #[arg(long, value_name = "N", requires = "shadow_log")]
    pub limit: Option<usize>,
    /// Print CSV instead of the page: a row for each endpoint
    #[arg(long, requires = "shadow_log", conflicts_with = "json")]
    pub csv: bool,
}
