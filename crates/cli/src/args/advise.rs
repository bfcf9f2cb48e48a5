//! What `advise` takes.

use clap::Args;
use std::path::PathBuf;

/// `advise`.
#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// Folders of flight files, or flight files [default: this user's files where the agent writes: $POWERBAND_DIR, else powerband in
    /// $XDG_RUNTIME_DIR or /tmp]
    #[arg(value_name = "DIR|FILE")]
    pub sources: Vec<PathBuf>,
    /// Only the application with this root folder [default: of files of several that the agent writes here, that of the current folder]
    #[arg(long, value_name = "FOLDER")]
    pub application: Option<String>,
    /// Print one JSON document instead of the page
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
