//! The command line as clap reads it, with better tips where clap has none or a wrong one.

use crate::args::Cli;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error, Parser};

/// Ends the program where the words are wrong, or ask for help.
pub fn parsed() -> Cli {
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Cli::try_parse().unwrap_or_else(|error| with_tip(error, &words).exit())
}

fn with_tip(mut error: Error, words: &[String]) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    if word.starts_with('/') && takes_path(words) {
        let tip = StyledStr::from(format!("to ask for this page, use '--path {word}'"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    } else if word.starts_with('-') && !is_flag_of_another(&error) {
        // Else clap advises to pass it as a value behind `--`, where nobody wants one that begins with a hyphen.
        error.remove(ContextKind::Suggested);
    }
    error
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
    fn an_unknown_flag_is_never_advised_as_a_value() {
        let unknown = said("powerband inspect --pid 1");
        assert!(unknown.contains("unexpected argument '--pid'"), "{unknown}");
        assert!(!unknown.contains("as a value"), "{unknown}");
        let misspelt = said("powerband load http://127.0.0.1:1 --duratoin 5s");
        assert!(misspelt.contains("--duration"), "{misspelt}");
    }
}
