//! Refuses services on other machines before anything that may harm them is started.

use crate::arm_environment;
use crate::error::Stopped;
use crate::request::Experiment;
use servers::safety;
use std::collections::BTreeMap;
use std::path::Path;

/// Refuses addresses on other machines that were not allowed, and what cannot be judged. Where commands of the user's own are
/// still to run, which may reset a database, no allowed service is enough for the latter.
pub fn refuse(
    experiment: &Experiment,
    dir: &Path,
    env: &BTreeMap<String, String>,
    prepares: bool,
) -> Result<(), Stopped> {
    let allowed = &experiment.allow_remote;
    let commands = commands(experiment, prepares);
    let unclear = match commands.is_empty() {
        true => Vec::new(),
        false => safety::unclear(env, dir),
    };
    let mut dangers: Vec<String> = unclear
        .iter()
        .map(|danger| danger.with_commands(&commands))
        .collect();
    let of_all = safety::check(env, dir, allowed).into_iter();
    for danger in of_all.chain(arm_environment::remote(experiment, env)) {
        let is_there = unclear.contains(&danger);
        let danger = danger.to_string();
        if !is_there && !dangers.contains(&danger) {
            dangers.push(danger);
        }
    }
    match dangers.is_empty() {
        true => Ok(()),
        false => Err(Stopped::Configuration(dangers.join("\n"))),
    }
}

/// The commands of the user's own that are still to run in the environment of all arms, in words.
fn commands(experiment: &Experiment, prepares: bool) -> String {
    let of_run = [
        ("app.prepare", prepares),
        ("before_trial", experiment.before_trial.is_some()),
        ("after_trial", experiment.after_trial.is_some()),
    ];
    let there = of_run.into_iter().filter(|(_, is_there)| *is_there);
    let names: Vec<&str> = there.map(|(name, _)| name).collect();
    names.join(", ")
}
