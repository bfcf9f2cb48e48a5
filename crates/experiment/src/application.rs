//! Whether the folder holds an application that the server can start: asked before Ruby, and before a person waits.

use crate::error::Stopped;
use crate::request::Experiment;
use crate::server_kind::ServerKind;
use servers::ServerCommand;
use small_sort::SmallSort;
use std::path::Path;

/// What Rack servers start.
const RACKUP: &str = "config.ru";

/// What every Rails application has.
const OF_RAILS: &str = "config/application.rb";

/// Where Rails has a file for each environment.
const ENVIRONMENTS: &str = "config/environments";

/// Refuses a folder without an application, and an environment that a Rails application does not have: Rails would start
/// with its defaults, and another application would be measured.
pub fn check(experiment: &Experiment) -> Result<(), Stopped> {
    has_an_application(experiment)?;
    let (folder, environment) = (&experiment.app_dir, &experiment.environment);
    match unknown_environment(folder, environment) {
        Some(why) if experiment.workload_command.is_none() => Err(Stopped::Configuration(why)),
        _ => Ok(()),
    }
}

fn unknown_environment(folder: &Path, environment: &str) -> Option<String> {
    if !folder.join(OF_RAILS).is_file() {
        return None;
    }
    let there = std::fs::read_dir(folder.join(ENVIRONMENTS)).ok()?;
    let mut names: Vec<String> = there
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            Some(name.to_str()?.strip_suffix(".rb")?.to_owned())
        })
        .collect();
    names.small_sort();
    (!names.is_empty() && !names.iter().any(|name| name == environment)).then(|| {
        format!(
            "the environment {environment:?} has no {ENVIRONMENTS}/{environment}.rb in {}; give --environment {}, or write the file",
            folder.display(),
            names.join(" or ")
        )
    })
}

/// Refuses a folder without an application. What a command of the user's own starts is unknown, as is what `app.prepare` or a hook
/// writes first.
fn has_an_application(experiment: &Experiment) -> Result<(), Stopped> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_that_rails_does_not_have_is_refused_with_those_that_it_has() {
        let app = tempfile::tempdir().unwrap();
        assert_eq!(unknown_environment(app.path(), "staging"), None);
        let folder = app.path().join(ENVIRONMENTS);
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(unknown_environment(app.path(), "staging"), None);
        for name in ["test.rb", "production.rb", "README.md"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(unknown_environment(app.path(), "prodution"), None);
        std::fs::write(app.path().join(OF_RAILS), "").unwrap();
        assert_eq!(unknown_environment(app.path(), "production"), None);
        let why = unknown_environment(app.path(), "prodution").unwrap();
        assert!(
            why.contains("\"prodution\" has no config/environments/prodution.rb"),
            "{why}"
        );
        assert!(
            why.ends_with("give --environment production or test, or write the file"),
            "{why}"
        );
    }
}
