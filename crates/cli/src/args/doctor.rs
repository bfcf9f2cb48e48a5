//! What `doctor` takes.

use clap::Args;
use std::path::PathBuf;

/// `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing found that spoils measurements or harms the server; 1 something found; 2 wrong usage."
)]
pub struct DoctorArgs {
    /// Configuration file of the application [default: powerband.toml in this folder, if there; with --pid: none]
    #[arg(long, value_name = "FILE", env = "POWERBAND_CONFIG")]
    pub config: Option<PathBuf>,
    /// A server that runs: its limits, its environment, its folder
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Print one JSON document instead of the page
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
