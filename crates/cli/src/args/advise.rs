//! What `advise` takes.

use super::ExperimentArgs;
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
    /// Make only this check, e.g. "malloc limit" (docs/advise.md lists them); may be repeated
    #[arg(long = "check", value_name = "NAME")]
    pub checks: Vec<String>,
    /// Measure each suggestion against today's settings, then all kept suggestions set together; takes the options of compare
    #[arg(long)]
    pub prove: bool,
    /// With --prove: start each configuration once, for a short time, to see whether it works; nothing is compared
    #[arg(long, requires = "prove")]
    pub rehearse: bool,
    /// With --prove: write the tables as Markdown too
    #[arg(long, value_name = "FILE", requires = "prove")]
    pub markdown: Option<PathBuf>,
    /// How they are measured.
    #[command(flatten, next_help_heading = "With --prove")]
    pub experiment: ExperimentArgs,
}
