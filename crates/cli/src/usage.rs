//! The command line as clap reads it, with better tips where clap has none or a wrong one.

use crate::args::Cli;
use crate::{examples, verbs};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Error, FromArgMatches};

/// Verbs that take no URL, because they start the server with other settings.
const STARTS_THE_APPLICATION: [&str; 4] = ["tune", "compare", "sweep", "check"];

/// Ends the program where the words are wrong, or ask for help.
pub fn parsed() -> Cli {
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut command = with_negative_numbers(verbs::grouped(examples::added(Cli::command())));
    let cli = command.try_get_matches_from_mut(std::env::args_os());
    let cli = cli.and_then(|matches| {
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    });
    cli.unwrap_or_else(|error| with_tip(error, &words).exit())
}

/// Flags take negative numbers as values, so that our own message names the range.
fn with_negative_numbers(command: Command) -> Command {
    let takes_value = |arg: &Arg| !arg.is_positional() && arg.get_action().takes_values();
    command
        .mut_args(|arg| match takes_value(&arg) {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
        .mut_subcommands(with_negative_numbers)
}

fn with_tip(mut error: Error, words: &[String]) -> Error {
    let is_path = |value: &ContextValue| match value {
        ContextValue::String(flag) => flag.starts_with("--path"),
        _ => false,
    };
    if error.kind() == ErrorKind::ArgumentConflict
        && error.get(ContextKind::PriorArg).is_some_and(is_path)
        && error.get(ContextKind::InvalidArg).is_some_and(is_path)
    {
        tip(
            &mut error,
            "--path names one page; a workload file (--workload FILE) names several, each in a [[request]] with its path and weight",
        );
        return error;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    if words.get(1).is_some_and(|verb| verb == "run")
        && !words.iter().any(|word| word == "--")
        && let Some(command) = command_without_separator(words)
    {
        tip(
            &mut error,
            &format!("the command stands behind '--': powerband run -- {command}"),
        );
        return error;
    }
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    if let Some(verb) = words.get(1)
        && STARTS_THE_APPLICATION.contains(&verb.as_str())
        && (word.starts_with("--url") || word.contains("://"))
    {
        tip(
            &mut error,
            &format!(
                "{verb} starts the application itself, with each setting; 'powerband capacity URL' and 'powerband load URL' measure a server \
                 that runs"
            ),
        );
        // Both name a flag that is spelled alike.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    } else if word.starts_with('/') && takes_path(words) {
        tip(
            &mut error,
            &format!("to ask for this page, use '--path {word}'"),
        );
    } else if word.starts_with('-') && !is_flag_of_another(&error) {
        // Else clap advises to pass it as a value behind `--`, although no value may begin with a hyphen.
        error.remove(ContextKind::Suggested);
    }
    error
}

fn tip(error: &mut Error, words: &str) {
    let tip = ContextValue::StyledStrs(vec![StyledStr::from(words.to_owned())]);
    error.insert(ContextKind::Suggested, tip);
}

/// From the first word behind `run` that is no flag; `None` where none is.
fn command_without_separator(words: &[String]) -> Option<String> {
    let at = words
        .iter()
        .skip(2)
        .position(|word| !word.starts_with('-'))?
        + 2;
    Some(words[at..].join(" "))
}

fn takes_path(words: &[String]) -> bool {
    let command = Cli::command();
    let verb = words.get(1).and_then(|verb| command.find_subcommand(verb));
    verb.is_some_and(|verb| {
        verb.get_arguments()
            .any(|one| one.get_long() == Some("path"))
    })
}

/// Whether clap knows a flag or a verb that may be meant.
fn is_flag_of_another(error: &Error) -> bool {
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    suggested.iter().any(|kind| error.get(*kind).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn said(words: &str) -> String {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let error = Cli::try_parse_from(&words).unwrap_err();
        with_tip(error, &words).render().to_string()
    }

    #[test]
    fn a_page_is_a_value_of_path() {
        let of_tune = said("powerband tune /products");
        assert!(
            of_tune.contains("tip: to ask for this page, use '--path /products'"),
            "{of_tune}"
        );
        let of_runs = said("powerband runs /products");
        assert!(!of_runs.contains("--path"), "{of_runs}");
    }

    #[test]
    fn a_server_that_runs_is_measured_by_other_verbs() {
        for words in [
            "powerband tune --url http://127.0.0.1:3000",
            "powerband tune --url=http://127.0.0.1:3000",
            "powerband tune http://127.0.0.1:3000",
        ] {
            let said = said(words);
            assert!(said.contains("'powerband capacity URL'"), "{said}");
            assert!(!said.contains("--full"), "{said}");
        }
        let of_runs = said("powerband runs --url http://127.0.0.1:3000");
        assert!(!of_runs.contains("capacity"), "{of_runs}");
    }

    #[test]
    fn several_pages_stand_in_a_workload_file() {
        let twice = said("powerband tune --path /a --path /b");
        assert!(twice.contains("tip: --path names one page"), "{twice}");
        let budgets = said("powerband tune --budget 5m --budget 6m");
        assert!(!budgets.contains("tip:"), "{budgets}");
    }

    #[test]
    fn a_command_to_run_stands_behind_the_separator() {
        let bare = said("powerband run bundle exec puma -p 3000");
        let tip = "the command stands behind '--': powerband run -- bundle exec puma -p 3000";
        assert!(bare.contains(tip), "{bare}");
        let flag = said("powerband run -t 3 -- puma");
        assert!(!flag.contains("behind '--'"), "{flag}");
    }

    #[test]
    fn a_negative_number_is_a_value() {
        let matches = |words: &str| {
            with_negative_numbers(Cli::command()).try_get_matches_from(words.split(' '))
        };
        for words in [
            "powerband tune --rate -4 --blocks -3 --margin -0.5",
            "powerband load http://127.0.0.1:1 -n -4 --rate -1",
            "powerband capacity --at-least -90",
        ] {
            assert!(matches(words).is_ok(), "{words}: {:?}", matches(words));
        }
        assert!(matches("powerband tune --rate --blocks 3").is_err());
        assert!(matches("powerband tune -4").is_err());
    }

    #[test]
    fn an_unknown_flag_is_never_advised_as_a_value() {
        let unknown = said("powerband load http://127.0.0.1:1 --pid 1");
        assert!(unknown.contains("unexpected argument '--pid'"), "{unknown}");
        assert!(!unknown.contains("as a value"), "{unknown}");
        let misspelt = said("powerband load http://127.0.0.1:1 --duratoin 5s");
        assert!(misspelt.contains("--duration"), "{misspelt}");
    }
}
