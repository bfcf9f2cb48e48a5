//! What `run` takes.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Where flight files are written [default: $XDG_RUNTIME_DIR/powerband or /tmp/powerband]
    #[arg(long, value_name = "DIR", env = "POWERBAND_DIR")]
    pub flight_dir: Option<PathBuf>,
    /// Folder of the agent's gem [default: the one that was installed with this program]
    #[arg(long, value_name = "DIR", env = "POWERBAND_GEM", hide = true)]
    pub gem: Option<PathBuf>,
    /// Draw the arm of an experiment in production for this unit (POWERBAND_UNIT, else HOSTNAME), and set its variables
    #[arg(long, value_name = "FILE", env = "POWERBAND_EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    /// Print the draw and the variables, and start nothing
    #[arg(long, requires = "experiment")]
    pub dry_run: bool,
    /// The server's command
    #[arg(required_unless_present = "dry_run", last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}
