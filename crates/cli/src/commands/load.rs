//! `load`: drives a URL and shows what its users would have seen.

mod assertions;
mod csv_file;
mod document;
mod doubts;
mod follow;
mod found;
mod group;
mod hdr_log;
mod interval;
mod merge;
mod mode;
mod order;
mod reporter;
mod requests;
mod target;

use super::experiments::fallback_seed;
use super::junit::{JunitFile, Suite};
use crate::args::{AssertedArgs, LoadArgs, LoadVerb};
use crate::signals::Signals;
use crate::{Failure, asked, output};
use ::load::{Header, Https, LoadError, Observer, Outcome, Plan};
use assertions::Limit;
use csv_file::CsvFile;
use experiment::sending;
use follow::Follow;
use group::Joined;
use hdr_log::{Entry, HdrLog};
use jiff::Timestamp;
use order::{Order, order};
use reporter::{Extent, Reporter};
use run::load::{Assertion, AssertionOutcome, Document, State};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::Sender;

/// `powerband load`.
pub fn load(args: LoadArgs) -> Result<u8, Failure> {
    if let Some(LoadVerb::Merge(args)) = &args.verb {
        return merge::merge(args);
    }
    let seed = fallback_seed(Timestamp::now());
    let grouped = group::asked(&args).map_err(|problems| asked::failure(&problems))?;
    let stand_in = grouped.as_ref().map(|_| group::stand_in());
    let mut order = order(&args, seed, stand_in).map_err(|problems| asked::failure(&problems))?;
    let rows_on_stdout = args.csv.as_deref() == Some(Path::new("-"));
    if rows_on_stdout && args.speech.json {
        return Err(Failure::usage(
            "--json and --csv - both want stdout; name a file for --csv",
        ));
    }
    junit_has_assertions(&args.asserted, &order.limits)?;
    let csv = args.csv.as_deref().map(CsvFile::create).transpose();
    let csv = csv.map_err(Failure::usage)?;
    let log = args.hdr_log.as_deref().map(HdrLog::create).transpose();
    let (to_log, log) = log.map_err(Failure::usage)?.unzip();
    let junit = JunitFile::asked(args.asserted.junit.as_deref())?;
    let signals = Signals::taken()?;
    let quiet = args.speech.quiet;
    let joined = match grouped {
        None => None,
        Some(asked) => match share(&args, asked.join(&order, &signals, quiet)?, &mut order)? {
            Some(joined) => Some(joined),
            None => return Ok(0),
        },
    };
    asked::tell_notes(&order.notes);
    if let Some(joined) = &joined {
        joined.wait_for_start(&signals);
    }
    if let Some(warmup) = &mut order.warmup {
        // Its figures are not wanted, and it writes no file.
        let _ = window(warmup, "warming up", &signals, quiet, None, None, true)?;
        order.plan.headers.clone_from(&warmup.headers);
    }
    let headers = order.asked.sending.headers.len();
    let measured = window(
        &mut order.plan,
        "measuring",
        &signals,
        quiet,
        csv,
        to_log.as_ref(),
        joined.is_none(),
    );
    drop(to_log);
    let logged = log.map_or(Ok(()), HdrLog::finish);
    let (joined, (outcome, reached, written)) = match measured {
        Ok(measured) => (joined, measured),
        Err(failure) => return Err(in_vain(joined, failure)),
    };
    order.asked.sending.forwarded_https = order.plan.headers.len() > headers;
    let https = https_trouble(&order.plan, &outcome, &signals);
    if let Some(https) = &https {
        output::error(&https.said);
    }
    let document = document::document(
        &order,
        &outcome,
        https.as_ref(),
        joined
            .as_ref()
            .and_then(|one| one.late(outcome.wall_started_ns)),
        signals.received(),
        reached,
    );
    let shown = if rows_on_stdout && quiet {
        Ok(())
    } else {
        show(&document, args.speech.json, rows_on_stdout)
    };
    let why = no_answer(&document, https.as_ref());
    let told = joined.map_or(Ok(()), |joined| joined.done(Some(&document)));
    let told = told.map_err(|failure| failure.message);
    let files = vec![written, logged, told];
    Ok(ended(&document, shown, why, junit, files))
}

/// Puts this generator's share of the topic into the order; `None` where it has no request.
fn share(
    args: &LoadArgs,
    mut joined: Joined,
    whole: &mut Order,
) -> Result<Option<Joined>, Failure> {
    if !args.speech.quiet {
        output::say(&joined.said());
    }
    let Some(recording) = joined.recording() else {
        joined.done(None)?;
        return Ok(None);
    };
    match order(args, joined.seed, Some(recording)) {
        Ok(order) => *whole = order,
        Err(problems) => return Err(in_vain(Some(joined), asked::failure(&problems))),
    }
    Ok(Some(joined))
}

/// The others learn that this generator sent nothing that counts.
fn in_vain(joined: Option<Joined>, failure: Failure) -> Failure {
    if let Some(joined) = joined {
        let told = joined.failed(&failure.message);
        if let Err(untold) = told {
            output::error(&untold.message);
        }
    }
    failure
}

fn junit_has_assertions(asserted: &AssertedArgs, limits: &[Limit]) -> Result<(), Failure> {
    if asserted.junit.is_some() && limits.is_empty() {
        return Err(Failure::usage(
            "--junit reports assertions, and there is none; add --assert, such as --assert p99=250ms",
        ));
    }
    Ok(())
}

/// What is said and written once the document is shown, and the exit code. `why`: why the figures are no honest answer;
/// `files`: whether the files that the flags name could be written.
fn ended(
    document: &Document,
    shown: Result<(), Failure>,
    why: Option<String>,
    junit: Option<JunitFile>,
    mut files: Vec<Result<(), String>>,
) -> u8 {
    explain(document, why.as_deref());
    let name = match document.merged.is_empty() {
        true => format!("load {}", document.asked.url),
        false => "load merge".to_owned(),
    };
    let suite = Suite {
        name: &name,
        started_at: &document.started_at,
        elapsed_s: document.elapsed_s,
        assertions: &document.assertions,
    };
    let reported = junit.map_or(Ok(()), |file| file.write(&suite, None));
    files.insert(0, shown.map_err(|failure| failure.message));
    files.push(reported);
    with_files(document.exit_code, &files, output::error)
}

/// A window was redirected to https: sends a proxy's header from here on, where that helps.
fn settle(plan: &mut Plan, redirected: &Outcome, signals: &Signals) -> Result<(), Failure> {
    if ::load::asked_for_https(plan, redirected).is_none() {
        return Ok(());
    }
    let run = |plan: &Plan| ::load::run(plan, &mut Asking(signals));
    let takes = ::load::takes_forwarded(plan, run).map_err(refused)?;
    // An interruption leaves the question open.
    if takes && signals.received().is_none() {
        plan.headers.push(Header::forwarded_https());
        output::error(&format!("{}: the run starts again", run::FORWARDED));
    }
    Ok(())
}

/// Answers of the measured window redirect to https.
#[derive(Debug)]
pub struct HttpsTrouble {
    /// Where to, and the remedy.
    pub said: String,
    /// A proxy's header would have prevented it.
    pub avoidable: bool,
}

/// A server that still boots may redirect for the first time when the run can no longer start again with a proxy's header.
fn https_trouble(plan: &Plan, outcome: &Outcome, signals: &Signals) -> Option<HttpsTrouble> {
    let location = ::load::asked_for_https(plan, outcome)?;
    let run = |plan: &Plan| ::load::run(plan, &mut Asking(signals));
    let was_interrupted = || signals.received().is_some();
    let avoidable = !was_interrupted() && ::load::takes_forwarded(plan, run).unwrap_or(false);
    if was_interrupted() && plan.may_be_forwarded() {
        return Some(HttpsTrouble {
            said: format!(
                "the server redirects to {location}: --header \"X-Forwarded-Proto: https\" may help; it was not tried, because the run was \
                 interrupted"
            ),
            avoidable: true,
        });
    }
    let said = match avoidable {
        true => format!(
            "the server redirects to {location} without X-Forwarded-Proto: https, and did so too late for the run to start again: \
             repeat it with --header \"X-Forwarded-Proto: https\""
        ),
        false => sending::trouble(&Https::Asked { location }, plan)?,
    };
    Some(HttpsTrouble { said, avoidable })
}

/// Ends such requests when the user does.
struct Asking<'a>(&'a Signals);

impl Observer for Asking<'_> {
    fn cancelled(&mut self) -> bool {
        self.0.received().is_some()
    }
}

/// Files that could not be written are reported after the answer, each once. They change the exit
/// code of a run that went well; every other code stays.
fn with_files(code: u8, files: &[Result<(), String>], tell: impl Fn(&str)) -> u8 {
    let failures: Vec<&String> = files.iter().filter_map(|f| f.as_ref().err()).collect();
    failures.iter().for_each(|failure| tell(failure));
    if code == 0 && !failures.is_empty() {
        2
    } else {
        code
    }
}

/// One window, and whether its files could be written. `may_start_again`: with a proxy's header, where it is redirected to https.
fn window(
    plan: &mut Plan,
    what: &'static str,
    signals: &Signals,
    quiet: bool,
    csv: Option<CsvFile>,
    log: Option<&Sender<Entry>>,
    may_start_again: bool,
) -> Result<(Outcome, bool, Result<(), String>), Failure> {
    let extent = Extent {
        requests: plan.stop.requests,
        length: plan.stop.after,
    };
    let (to, reporter) = Reporter::start(what, extent, quiet, csv);
    let mut follow = Follow::new(signals, &to, log);
    follow.look_for_https(may_start_again && plan.may_be_forwarded());
    let mut outcome = ::load::run(plan, &mut follow);
    if follow.redirected()
        && let Ok(redirected) = &outcome
    {
        settle(plan, redirected, signals)?;
        follow.look_for_https(false);
        outcome = ::load::run(plan, &mut follow);
    }
    let reached = follow.reached();
    drop(to);
    let written = reporter.finish();
    Ok((outcome.map_err(refused)?, reached, written))
}

fn refused(error: LoadError) -> Failure {
    match error {
        // What the machine lacked while the run was under way.
        LoadError::NoFiles { .. }
        | LoadError::NoPorts { .. }
        | LoadError::NoAddress { .. }
        | LoadError::System { .. } => Failure::no_answer(error.to_string()),
        error => Failure::usage(error.to_string()),
    }
}

fn show(document: &Document, json: bool, rows_on_stdout: bool) -> Result<(), Failure> {
    if json {
        return output::json(document);
    }
    let page = report::load_page(document, output::style());
    if rows_on_stdout {
        page.lines().for_each(output::say);
        return Ok(());
    }
    output::print(&page)
}

/// On stderr, what led to the exit code, and whether the answers were those of the pages.
fn explain(document: &Document, no_answer: Option<&str>) {
    if let Some(warning) = document.recorded.as_ref().and_then(|r| r.warning.as_ref()) {
        output::error(warning);
    }
    for said in doubts::redirects_in_doubt(document) {
        output::error(&said);
    }
    tell_assertions(&document.assertions);
    if let Some(why) = no_answer {
        output::error(why);
    }
}

/// Those that do not hold.
fn tell_assertions(assertions: &[Assertion]) {
    let broken = assertions.iter();
    broken
        .filter(|a| a.outcome != AssertionOutcome::Holds)
        .for_each(|assertion| output::error(&assertion.sentence));
}

/// Why the figures are no honest answer.
fn no_answer(document: &Document, https: Option<&HttpsTrouble>) -> Option<String> {
    match (&document.generator.trouble, &document.first_error) {
        _ if document.state == State::Interrupted => {
            Some("interrupted: these are the figures until then".to_owned())
        }
        (_, first) if document.counts.answered == 0 => Some(match first {
            Some(first) => format!(
                "no request was answered; {first}; is the server running at {}?",
                document.asked.url
            ),
            None => "no request was answered; give it more time with --duration".to_owned(),
        }),
        (_, first) if document.counts.ok == 0 => Some(every_failed(
            first.as_deref(),
            &document.statuses,
            &document.asked.url,
            https.is_some(),
        )),
        _ if https.is_some_and(|https| https.avoidable) => Some(
            "do not quote these figures: they include redirects to https, which are no answers of the application".to_owned(),
        ),
        _ if document::holds_although_late(document) => None,
        (Some(trouble), _) => Some(format!("do not quote these figures: {trouble}")),
        _ => None,
    }
}

/// `to_https`: what to do about redirects to https is said already.
fn every_failed(
    first: Option<&str>,
    statuses: &BTreeMap<String, u64>,
    url: &str,
    to_https: bool,
) -> String {
    let first = first.unwrap_or("none was answered as expected");
    let raised = statuses.keys().all(|status| status.starts_with('5'));
    let remedy = match (to_https, raised) {
        (true, _) => String::new(),
        (false, true) => "; the application failed: its log says why".to_owned(),
        (false, false) => format!("; check the path of {url}"),
    };
    format!("every request failed; {first}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn the_path_is_not_to_be_checked_where_the_server_redirects_to_https() {
        let every_failed = |status: &str, to_https| {
            let statuses = BTreeMap::from([(status.to_owned(), 30)]);
            let first = format!("GET /: answered {status}");
            every_failed(Some(&first), &statuses, "http://a.test/", to_https)
        };
        let said = |to_https| every_failed("301", to_https);
        assert_eq!(said(true), "every request failed; GET /: answered 301");
        assert!(said(false).ends_with("check the path of http://a.test/"));
        let raised = every_failed("500", false);
        assert!(raised.ends_with("its log says why"), "{raised}");
    }

    #[test]
    fn a_file_that_cannot_be_written_replaces_no_verdict() {
        let full = || {
            [
                Err("no room for the rows".to_owned()),
                Err("nor the log".to_owned()),
            ]
        };
        let told = RefCell::new(Vec::new());
        let tell = |failure: &str| told.borrow_mut().push(failure.to_owned());
        assert_eq!(
            [0, 1, 3, 130].map(|code| with_files(code, &full(), tell)),
            [2, 1, 3, 130]
        );
        assert_eq!(told.borrow().len(), 8, "each once");
        assert_eq!(with_files(0, &[Ok(()), Ok(())], tell), 0);
        assert_eq!(told.borrow().len(), 8);
    }
}
