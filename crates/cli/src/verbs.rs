//! The help in groups by what a user wants: the verbs of `powerband --help`, and the flags of the verbs that measure.
//! clap itself lists verbs in one group.

use clap::Command;

const GROUPS: &[(&str, &[&str])] = &[
    (
        "Tune",
        &["init", "tune", "compare", "sweep", "check", "capacity"],
    ),
    (
        "Look inside",
        &[
            "run", "inspect", "watch", "memory", "leak", "trace", "advise", "doctor",
        ],
    ),
    ("Production", &["export", "verdict", "drift"]),
    ("Traffic", &["load", "mirror", "capture"]),
    ("Formulas and predictions", &["calc", "predict"]),
    ("Runs", &["report", "runs"]),
    ("Help", &["help", "completions", "man"]),
];

/// Verbs that take the flags of an experiment, which are too many for one list.
const MEASURING: [&str; 7] = [
    "tune", "compare", "sweep", "check", "capacity", "leak", "predict",
];

/// Headings in the help of a verb that measures, and the flags below each. Flags of none stay in the first list: they are the
/// verb's own.
const HEADINGS: &[(&str, &[&str])] = &[
    (
        "Requests",
        &[
            "workload",
            "replay-host",
            "path",
            "header",
            "keep-alive",
            "no-keep-alive",
            "timeout",
            "allow-unsafe",
        ],
    ),
    ("Limits", &["slo", "max-memory"]),
    (
        "Application and server",
        &[
            "config",
            "app",
            "server",
            "puma-config",
            "environment",
            "env",
            "port",
            "allow-remote",
            "before-trial",
            "after-trial",
        ],
    ),
    (
        "Measurement",
        &[
            "rate",
            "budget",
            "blocks",
            "calibrate",
            "window",
            "age",
            "margin",
            "connections",
            "generator-core",
            "seed",
        ],
    ),
    (
        "Run folder and output",
        &["runs", "keep-flights", "resume", "json", "quiet", "full"],
    ),
];

/// Flags of an experiment that `predict` takes without `--validate`, too.
const OF_TRACES: [&str; 6] = [
    "slo",
    "max-memory",
    "rate",
    "keep-alive",
    "no-keep-alive",
    "seed",
];

/// How every verb speaks.
const SPEECH: [&str; 2] = ["json", "quiet"];

/// The command with its verbs, and their flags, in groups.
pub fn grouped(mut command: Command) -> Command {
    for verb_name in MEASURING {
        command = command.mut_subcommand(verb_name, |verb| {
            verb.mut_args(|flag| {
                let name = flag.get_long().unwrap_or_default().to_owned();
                let found = HEADINGS.iter().find(|(_, flags)| flags.contains(&&*name));
                match found {
                    // SpeechArgs puts them under "Output".
                    Some(_) if verb_name == "predict" && SPEECH.contains(&&*name) => flag,
                    Some(_) if verb_name == "predict" && OF_TRACES.contains(&&*name) => {
                        flag.help_heading("From a trace")
                    }
                    // Without it, predict measures nothing.
                    Some(_) if verb_name == "predict" => {
                        flag.help_heading("With --validate, which measures")
                    }
                    Some((heading, _)) => flag.help_heading(*heading),
                    None => flag,
                }
            })
        });
    }
    let mut list = String::new();
    for (group, verbs) in GROUPS {
        list += &format!("\n{group}:\n");
        for verb in *verbs {
            list += &format!("  {verb:<12} {}\n", about(&command, verb));
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}"
    ))
}

fn about(command: &Command, verb: &str) -> String {
    let found = command.find_subcommand(verb);
    // clap adds the verb `help` itself, later.
    found.and_then(Command::get_about).map_or_else(
        || "Print this list, or the help of a verb".to_owned(),
        ToString::to_string,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_verb_is_in_one_group_and_its_line_fits() {
        let mut command = Cli::command();
        command.build();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| *verbs)
            .copied()
            .collect();
        listed.sort_unstable();
        let mut there: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        there.sort_unstable();
        assert_eq!(listed, there);
        let help = grouped(Cli::command()).render_help().to_string();
        let long = help
            .lines()
            .find(|line| line.starts_with("  ") && line.chars().count() > 80);
        assert_eq!(long, None);
    }

    #[test]
    fn flags_that_predict_takes_of_a_trace_are_not_listed_as_of_validate() {
        let mut command = grouped(Cli::command());
        command.build();
        let predict = command.find_subcommand("predict").unwrap();
        for flag in OF_TRACES {
            let found = predict
                .get_arguments()
                .find(|one| one.get_long() == Some(flag));
            let heading = found.and_then(|flag| flag.get_help_heading());
            assert_eq!(heading, Some("From a trace"), "--{flag}");
        }
    }

    #[test]
    fn every_flag_with_a_heading_is_a_flag_of_tune() {
        let mut command = grouped(Cli::command());
        command.build();
        let tune = command.find_subcommand("tune").unwrap();
        for (heading, flags) in HEADINGS {
            for flag in *flags {
                let mut all = tune.get_arguments();
                let found = all.find(|one| one.get_long() == Some(flag));
                let found = found.unwrap_or_else(|| panic!("tune has no --{flag}"));
                assert_eq!(found.get_help_heading(), Some(*heading), "--{flag}");
            }
        }
    }
}
