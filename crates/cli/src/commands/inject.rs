//! `run -- CMD`: becomes the command, with the agent in its environment.

use super::cache_dir;
use crate::args::RunArgs;
use crate::{Failure, output};
use servers::{agent, ruby};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What the agent takes for "stay off" (`gem/lib/powerband/config.rb`).
const OFF: [&str; 3] = ["0", "false", "off"];

/// `powerband run`.
pub fn run(args: RunArgs) -> Result<u8, Failure> {
    let found = ruby::probe("ruby").map_err(|e| Failure::usage(e.to_string()))?;
    let gem = agent::locate(args.gem.as_deref(), &cache_dir())
        .map_err(|e| Failure::usage(e.to_string()))?;
    let extension = agent::ensure_built(&gem, &found, &cache_dir())
        .map_err(|e| Failure::usage(e.to_string()))?;
    let (program, words) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::usage("no command; write powerband run -- CMD"))?;
    let mut command = Command::new(program);
    command.args(words);
    let given = |key: &str| std::env::var(key).ok();
    command.envs(agent::injection(
        &gem.lib_dir(),
        &extension,
        args.flight_dir.as_deref(),
        given,
    ));
    let folder = args
        .flight_dir
        .unwrap_or_else(super::flight_root::flight_root);
    output::say(&match given("POWERBAND_ENABLED") {
        Some(off) if OFF.contains(&off.to_lowercase().as_str()) => {
            format!("powerband: POWERBAND_ENABLED={off}: the agent records nothing")
        }
        _ => format!("powerband: the agent records into {}", folder.display()),
    });
    // The command takes this process's place, so that signals and the exit code are its own.
    let refused = command.exec();
    Err(Failure::usage(format!(
        "{} cannot be started: {refused}; is it installed and on PATH?",
        program.to_string_lossy()
    )))
}
