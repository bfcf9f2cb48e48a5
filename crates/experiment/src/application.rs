//! Whether the folder holds an application that the server can start: asked before Ruby, and before a person waits.

use crate::error::Stopped;
use crate::request::{Experiment, ServerKind};
use servers::ServerCommand;

/// What Rack servers start.
const RACKUP: &str = "config.ru";

/// Refuses a folder without an application. It is not known what a command of the user's own starts, nor what `app.prepare`
/// or a hook writes first.
pub fn check(experiment: &Experiment) -> Result<(), Stopped> {
    let its_own = [
        &experiment.command,
        &experiment.prepare,
        &experiment.before_trial,
    ];
    let unknown = experiment.workload_command.is_some() || its_own.iter().any(|own| own.is_some());
    if unknown || is_there(experiment) {
        return Ok(());
    }
    Err(Stopped::Configuration(format!(
        "{} holds no application: it has no {RACKUP}; give the application's folder with --app DIR, or the command that \
         starts its server with --server COMMAND",
        experiment.app_dir.display()
    )))
}

fn is_there(experiment: &Experiment) -> bool {
    let folder = &experiment.app_dir;
    if folder.join(RACKUP).is_file() {
        return true;
    }
    // Puma's own configuration may name another file, or hold the application.
    let puma = ServerCommand::Puma {
        program: Vec::new(),
        config: experiment.server_config.clone(),
    };
    experiment.kind == ServerKind::Puma
        && servers::configuration(&puma, folder, &experiment.environment).is_some()
}
