//! Flags that only `--validate` uses: with a trace they have no effect, so giving one is an error.

use crate::Failure;
use crate::args::ValidateArgs;
use crate::asked;

/// # Errors
/// Names the flags that have no effect.
pub fn refuse(args: &ValidateArgs) -> Result<(), Failure> {
    let typed = typed(args, |name| std::env::var(name).ok());
    if typed.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} {} no meaning for predictions from a trace; leave {} out, or give --validate to start the application and score \
         predictions",
        typed.join(" and "),
        match typed.len() {
            1 => "has",
            _ => "have",
        },
        match typed.len() {
            1 => "it",
            _ => "them",
        },
    )))
}

fn typed(args: &ValidateArgs, variable: impl Fn(&str) -> Option<String>) -> Vec<&'static str> {
    let of = &args.experiment;
    let path = |path: &Option<std::path::PathBuf>| path.as_ref().map(|p| p.display().to_string());
    let resume = of.resume.as_ref();
    let resume = resume.map(|run| path(run).unwrap_or_default());
    let texts = [
        ("--baseline", args.baseline.clone(), "POWERBAND_BASELINE"),
        ("--config", path(&of.config), "POWERBAND_CONFIG"),
        ("--app", of.app.clone(), "POWERBAND_APP"),
        ("--workload", of.workload.clone(), "POWERBAND_WORKLOAD"),
        ("--path", of.path.clone(), ""),
        ("--budget", of.budget.clone(), "POWERBAND_BUDGET"),
        ("--blocks", of.blocks.clone(), "POWERBAND_BLOCKS"),
        ("--calibrate", of.calibrate.clone(), "POWERBAND_CALIBRATE"),
        ("--window", of.window.clone(), "POWERBAND_WINDOW"),
        ("--age", of.age.clone(), "POWERBAND_AGE"),
        ("--margin", of.margin.clone(), "POWERBAND_MARGIN"),
        ("--timeout", of.timeout.clone(), "POWERBAND_TIMEOUT"),
        (
            "--connections",
            of.connections.clone(),
            "POWERBAND_CONNECTIONS",
        ),
        (
            "--generator-core",
            of.generator_core.clone(),
            "POWERBAND_GENERATOR_CORE",
        ),
        ("--server", of.server.clone(), "POWERBAND_SERVER"),
        (
            "--puma-config",
            of.puma_config.clone(),
            "POWERBAND_PUMA_CONFIG",
        ),
        ("--header", of.header.first().cloned(), ""),
        ("--port", of.port.clone(), "POWERBAND_PORT"),
        (
            "--environment",
            of.environment.clone(),
            "POWERBAND_ENVIRONMENT",
        ),
        ("--env", of.env.first().cloned(), ""),
        (
            "--before-trial",
            of.before_trial.clone(),
            "POWERBAND_BEFORE_TRIAL",
        ),
        (
            "--after-trial",
            of.after_trial.clone(),
            "POWERBAND_AFTER_TRIAL",
        ),
        ("--runs", of.runs.clone(), "POWERBAND_RUNS"),
        ("--resume", resume, ""),
    ];
    let given = texts.into_iter().filter(|(_, text, name)| {
        let said = (!name.is_empty()).then(|| variable(name)).flatten();
        asked::is_typed(text.as_ref(), said.as_ref())
    });
    let switches = [
        ("--allow-unsafe", of.allow_unsafe),
        ("--replay-host", of.replay_host),
        ("--keep-flights", of.keep_flights),
        ("--allow-remote", !of.allow_remote.is_empty()),
    ];
    let on = switches.into_iter().filter(|(_, on)| *on);
    given
        .map(|(flag, _, _)| flag)
        .chain(on.map(|(flag, _)| flag))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn found(words: &str) -> Vec<&'static str> {
        let cli = Cli::try_parse_from(words.split_whitespace()).unwrap();
        let Command::Predict(predict) = cli.command else {
            panic!("{words} is another command");
        };
        typed(&predict.validation, |name| {
            (name == "POWERBAND_WINDOW").then(|| "5s".to_owned())
        })
    }

    #[test]
    fn what_is_of_no_use_is_named_and_what_the_environment_says_is_not() {
        let useful = "powerband predict /tmp/flight --rate 50 --threads 1,2 --workers 2 --slo p99=1s --max-memory 1GiB --seed 4 --json -q";
        assert!(found(useful).is_empty());
        let useless = "powerband predict /tmp/flight --workload w.toml --blocks 3 --window 5s --allow-remote db:5432";
        assert_eq!(found(useless), ["--workload", "--blocks", "--allow-remote"]);
        assert_eq!(
            found("powerband predict --window 6s --env A=1"),
            ["--window", "--env"]
        );
    }
}
