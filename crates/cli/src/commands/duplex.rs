//! `compare --shadow-log`: what a mirror logged, as a comparison.

mod flights;
mod log;
mod rows;

use crate::args::{Cli, CompareArgs, ShadowLogArgs};
use crate::{Failure, output};
use clap::CommandFactory;
use experiment::config::{Asked as Given, parse_share};
use jiff::Timestamp;

/// Flags of `compare` that mean something of a log as well.
const OF_A_LOG: [&str; 10] = [
    "shadow-log",
    "twin",
    "flights",
    "limit",
    "csv",
    "json",
    "quiet",
    "margin",
    "help",
    "version",
];

/// `powerband compare --shadow-log FILE…`.
pub fn compare(args: &CompareArgs) -> Result<u8, Failure> {
    refuse_what_is_of_experiments()?;
    let margin = match &args.experiment.margin {
        None => ::duplex::MARGIN,
        Some(text) => parse_share(&Given::new(text.clone(), "--margin"))
            .map_err(|problem| Failure::usage(problem.to_string()))?,
    };
    let inside = flights::named(&args.log.flights)?;
    let (comparison, not_read) = log::read(&args.log.shadow_log, args.log.twin.as_deref(), margin)?;
    let mut document = comparison.document(&::duplex::Asked {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        length_was_chosen: true,
        sources: args
            .log
            .shadow_log
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        not_read,
    });
    flights::fill(&mut document, &inside)?;
    if args.experiment.speech.json {
        output::json(&document)?;
    } else if args.log.csv {
        output::print(&rows::csv(&document)?)?;
    } else {
        let limit = args.log.limit.unwrap_or(report::USUAL_ENDPOINTS);
        output::print(&report::duplex_page(&document, limit, output::style()))?;
    }
    Ok(document.exit_code)
}

/// Without a log its flags mean nothing. clap does not see it where configurations are named, which conflict with the log
/// that the flags require.
pub fn refuse_what_is_of_a_log(args: &ShadowLogArgs) -> Result<(), Failure> {
    let typed = [
        ("--twin", args.twin.is_some()),
        ("--flights", !args.flights.is_empty()),
        ("--limit", args.limit.is_some()),
        ("--csv", args.csv),
    ];
    match typed.into_iter().find(|(_, typed)| *typed) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag}: of a mirror's log, and configurations are measured here; name the log with --shadow-log, or leave {flag} out"
        ))),
        None => Ok(()),
    }
}

/// A flag that was typed and means nothing here is a misunderstanding. Variables of the environment are not typed.
fn refuse_what_is_of_experiments() -> Result<(), Failure> {
    let cli = Cli::command();
    let known = cli
        .find_subcommand("compare")
        .into_iter()
        .flat_map(|command| command.get_arguments());
    let longs = known
        .filter_map(|arg| arg.get_long())
        .filter(|long| !OF_A_LOG.contains(long));
    let typed: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let in_vain: Vec<String> = longs
        .map(|long| format!("--{long}"))
        .filter(|flag| {
            let is = |word: &String| {
                word == flag
                    || word
                        .strip_prefix(flag)
                        .is_some_and(|rest| rest.starts_with('='))
            };
            typed.iter().any(is)
        })
        .collect();
    if in_vain.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: of measuring named configurations, and --shadow-log measures nothing; leave out one or the other",
        in_vain.join(", ")
    )))
}
