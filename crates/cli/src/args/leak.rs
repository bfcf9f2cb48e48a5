//! What `leak` takes.

use super::ExperimentArgs;
use clap::Args;

/// `leak`. What it refuses is not listed.
#[derive(Debug, Args)]
#[command(
    mut_arg("resume", |arg| arg.hide(true)),
    mut_arg("budget", |arg| arg.hide(true)),
    mut_arg("blocks", |arg| arg.hide(true)),
    mut_arg("calibrate", |arg| arg.hide(true)),
    mut_arg("rate", |arg| arg.hide(true)),
    mut_arg("slo", |arg| arg.hide(true)),
    mut_arg("max_memory", |arg| arg.hide(true)),
    mut_arg("age", |arg| arg.hide(true)),
    mut_arg("margin", |arg| arg.hide(true)),
    mut_arg("window", |arg| arg.hide(true)),
    mut_arg("connections", |arg| arg.hide(true)),
    mut_arg("generator_core", |arg| arg.hide(true)),
    after_help = "The server is started for the search, with one process and one thread; a server that serves users is never dumped. The dump of \
its heap holds secrets: it is written with mode 0600 and deleted at the end.\n\nExit codes: 0 no leak found; 1 a leak found; 2 wrong \
usage or configuration; 3 not decided: the server did not start, or too few requests were answered or left something."
)]
pub struct LeakArgs {
    /// Requests of all rounds together, 30 to 1000000: more find rarer and smaller leaks [default: 3000]
    #[arg(long, value_name = "N")]
    pub requests: Option<String>,
    /// Keep the dump of the heap and its log in the run folder; the dump holds whatever the application holds, secrets included
    #[arg(long)]
    pub keep_dump: bool,
    /// What every experiment takes.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
}
