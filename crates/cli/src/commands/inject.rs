//! `run -- CMD`: becomes the command, with the agent in its environment.

use super::cache_dir;
use crate::args::RunArgs;
use crate::{Failure, output};
use servers::{agent, ruby};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What the agent takes for "stay off" (`gem/lib/powerband/config.rb`).
const OFF: [&str; 3] = ["0", "false", "off"];

/// What puts the agent into a command and all that it starts: variables on top of the environment.
pub(super) fn injection(
    gem: Option<&Path>,
    flight_dir: Option<&Path>,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let found = ruby::probe("ruby").map_err(|e| Failure::usage(e.to_string()))?;
    let gem = agent::locate(gem, &cache_dir()).map_err(|e| Failure::usage(e.to_string()))?;
    let said = || {
        output::say(&format!(
            "powerband: compiling the agent for Ruby {}, once",
            found.version
        ));
    };
    let extension = agent::ensure_built(&gem, &found, &cache_dir(), said)
        .map_err(|e| Failure::usage(e.to_string()))?;
    Ok(agent::injection(
        &gem.lib_dir(),
        &extension,
        flight_dir,
        given,
    ))
}

fn given(key: &str) -> Option<String> {
    std::env::var(key).ok()
}

/// The value that switches the agent off, where the environment has it.
pub(super) fn switched_off() -> Option<String> {
    given("POWERBAND_ENABLED").filter(|value| OFF.contains(&value.to_lowercase().as_str()))
}

/// The variables of the arm, if there is an experiment.
fn draw(experiment: Option<&Path>, dry_run: bool) -> Result<BTreeMap<String, String>, Failure> {
    experiment.map_or_else(
        || Ok(BTreeMap::new()),
        |file| super::draw::variables(file, dry_run),
    )
}

/// `powerband run`.
pub fn run(args: RunArgs) -> Result<u8, Failure> {
    if args.dry_run {
        draw(args.experiment.as_deref(), true)?;
        return Ok(0);
    }
    // Before the draw, so that no arm is announced that cannot start.
    let variables = injection(args.gem.as_deref(), args.flight_dir.as_deref())?;
    let drawn = draw(args.experiment.as_deref(), false)?;
    let (program, words) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::usage("no command; write powerband run -- CMD"))?;
    let mut command = Command::new(program);
    command.args(words);
    command.envs(drawn).envs(variables);
    // A Puma with the plugin, or a `run` within the command, would draw again.
    command.env_remove(servers::EXPERIMENT);
    let folder = args
        .flight_dir
        .unwrap_or_else(super::flight_root::flight_root);
    output::say(&match switched_off() {
        Some(off) => format!("powerband: POWERBAND_ENABLED={off}: the agent records nothing"),
        None => format!("powerband: the agent records into {}", folder.display()),
    });
    // The command takes this process's place, so that signals and the exit code are its own.
    let refused = command.exec();
    Err(Failure::usage(format!(
        "{} cannot be started: {refused}; is it installed and on PATH?",
        program.to_string_lossy()
    )))
}
