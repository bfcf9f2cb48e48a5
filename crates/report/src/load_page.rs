//! The page of `powerband load`: what was sent, what came back, how long it took, and whether to believe it.

use crate::Style;
use crate::figures::{counted, grouped, rate, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, table};
use comfy_table::Table;
use run::load::{
    Assertion, AssertionOutcome, Document, Endpoint, Latency, Mode, Recorded, Sessions, State,
    least_values,
};
use std::fmt::Write;

/// Endpoints shown; the document has all.
const MOST_ENDPOINTS: usize = 20;

/// Pages named that failed entirely.
const MOST_NAMED: usize = 5;

/// The whole page.
pub fn load_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    let files: Vec<&str> = document
        .merged
        .iter()
        .map(|part| part.file.as_str())
        .collect();
    if !files.is_empty() {
        sheet.bold(&merged(&files, "run"));
        sheet.line("");
    }
    if let Some(trouble) = &document.generator.trouble {
        sheet.bold(&format!("Do not quote these figures: {trouble}."));
        sheet.line("");
    }
    if let Some(failed) = failed_entirely(document) {
        sheet.bold(&failed);
        sheet.line("");
    }
    sheet.bold(&what(document));
    sheet.prose(&came_back(document));
    let sending = &document.asked.sending;
    sheet.prose(&format!(
        "{}.",
        sending.sentence(document.asked.connections)
    ));
    if document.asked.replay_host {
        sheet.prose("Host: as recorded.");
    }
    if let Some(sessions) = &document.sessions {
        sheet.prose(&of_sessions(sessions));
    }
    if document.counts.failed > 0 {
        sheet.prose(&failures(document));
    }
    if let Some(recorded) = &document.recorded {
        compared(&mut sheet, recorded);
    }
    for warning in &document.warnings {
        sheet.prose(warning);
    }
    if document.counts.answered > 0 {
        sheet.line("");
        sheet.table(latencies(document, style));
    }
    if document.endpoints.len() > 1 {
        sheet.line("");
        endpoints(&mut sheet, document);
    }
    if document.statuses.len() > 1 {
        sheet.line("");
        sheet.table(statuses(document, style));
    }
    sheet.line("");
    judged(&mut sheet, document);
    sheet.prose(&generator(document));
    sheet
}

/// Every request failed, or every one of some pages: nothing below describes a working page then.
fn failed_entirely(document: &Document) -> Option<String> {
    let counts = &document.counts;
    if counts.ok == 0 && counts.failed > 0 {
        return Some(format!("All {} requests failed.", grouped(counts.failed)));
    }
    let failed = |e: &&Endpoint| e.ok == 0 && e.failed > 0;
    let names: Vec<&str> = document
        .endpoints
        .iter()
        .filter(failed)
        .map(|e| e.name.as_str())
        .collect();
    let named = || run::first_of(&names, MOST_NAMED);
    let exit_code = match document.assertions.is_empty() {
        true => {
            " Nothing was asserted, so that this does not change the exit code: --assert errors=0.1% does."
        }
        false => "",
    };
    (!names.is_empty()).then(|| format!("Every request failed of: {}.{exit_code}", named()))
}

/// The first line of what was merged.
pub(crate) fn merged(files: &[&str], what: &str) -> String {
    format!(
        "{} merged: {}.",
        counted(files.len() as u64, what),
        run::first_of(files, MOST_NAMED)
    )
}

/// `GET /products at http://…: 100 a second (Poisson) for 10.0 s`.
fn what(document: &Document) -> String {
    let asked = &document.asked;
    let how = match asked.mode {
        Mode::Open if asked.speed.is_some() => {
            format!("as recorded, at {}x", asked.speed.unwrap_or(1.0))
        }
        Mode::Open => format!(
            "{} requests a second ({})",
            asked.rate.as_deref().unwrap_or(NONE),
            match asked.arrivals.as_deref() {
                Some("poisson") => "open loop, Poisson",
                _ => "open loop, evenly spaced",
            }
        ),
        Mode::Closed => counted(asked.connections, "client"),
    };
    let thinking = asked.think_ms.map_or(String::new(), |ms| {
        format!(" who think for {} ms", milliseconds(ms))
    });
    let ended = match document.state {
        State::Done => "",
        State::Interrupted => ", interrupted",
        State::Unreachable => ", given up",
    };
    format!(
        "{} at {}: {how}{thinking}, {:.1} s{ended}",
        asked.workload, asked.url, document.window_s
    )
}

fn came_back(document: &Document) -> String {
    let counts = &document.counts;
    let mut text = format!(
        "{} scheduled, {} sent, {} answered, {} failed",
        counted(counts.asked, "request"),
        grouped(counts.sent),
        grouped(counts.answered),
        grouped(counts.failed),
    );
    if counts.cut > 0 {
        let _ = write!(text, ", {} cut short", grouped(counts.cut));
    }
    let _ = write!(
        text,
        ". Throughput {} a second: {} good answers within the {:.1} s",
        rate(document.throughput_per_s),
        grouped((document.throughput_per_s * document.window_s).round() as u64),
        document.window_s
    );
    if let Some(target_per_s) = document.asked.mean_rate_per_s {
        // Of merged runs, requests are counted over the time of all.
        let drawn_per_s = counts.asked as f64 / document.window_s;
        let drawn_per_s = Some(drawn_per_s).filter(|_| document.merged.is_empty());
        text.push_str(&target_rate(target_per_s, drawn_per_s));
    }
    text.push('.');
    text
}

/// The rate that was asked for, and the rate of the arrivals that the schedule drew for it.
fn target_rate(target_per_s: f64, drawn_per_s: Option<f64>) -> String {
    let target = format!("; target rate {} a second", rate(target_per_s));
    match drawn_per_s.filter(|drawn| drawn.is_finite()) {
        Some(drawn) if rate(drawn) != rate(target_per_s) => format!(
            "{target}, for which the schedule drew {} arrivals a second",
            rate(drawn)
        ),
        _ => target,
    }
}

/// The answers next to the recorded ones.
fn compared(sheet: &mut Sheet, recorded: &Recorded) {
    match &recorded.warning {
        Some(warning) if recorded.other_work => sheet.bold(&format!("{warning}.")),
        Some(warning) => sheet.prose(&format!("{warning}.")),
        None if recorded.compared > 0 => sheet.prose(&format!(
            "Statuses: as recorded ({} answers compared).",
            grouped(recorded.compared)
        )),
        None => {}
    }
    if recorded.revalidated > 0 {
        sheet.prose(&format!(
            "{} conditional requests were answered 304 in place of 200, or the reverse; they count as answered as recorded.",
            grouped(recorded.revalidated)
        ));
    }
}

fn failures(document: &Document) -> String {
    let counts = &document.counts;
    let counted = (counts.ok + counts.failed).max(1);
    let kinds: Vec<String> = document
        .errors
        .iter()
        .map(|(kind, count)| format!("{} {}", grouped(*count), kind.replace('_', " ")))
        .collect();
    let mut text = format!(
        "Failed: {} of the requests ({})",
        share(counts.failed as f64 / counted as f64),
        kinds.join(", ")
    );
    if let Some(first) = &document.first_error {
        let _ = write!(text, "; the first: {first}");
    }
    text + "."
}

fn latencies(document: &Document, style: Style) -> Table {
    let due = match document.asked.mode {
        Mode::Open => "request due",
        Mode::Closed => "request begun",
    };
    latency_table(
        style,
        [
            (
                "response",
                &document.response,
                format!("{due} to last byte: what users wait"),
            ),
            (
                "service",
                &document.service,
                "request sent to last byte".to_owned(),
            ),
            (
                "first byte",
                &document.first_byte,
                "request sent to first byte".to_owned(),
            ),
            (
                "connect",
                &document.connect,
                "opening a connection".to_owned(),
            ),
            (
                "wait",
                &document.connection_wait,
                "for a free connection, where all were busy".to_owned(),
            ),
            (
                "lateness",
                &document.lateness,
                "how late Powerband itself sent: not the server's".to_owned(),
            ),
        ],
    )
}

/// A row for each kind of which there were any.
pub(crate) fn latency_table<'a>(
    style: Style,
    rows: impl IntoIterator<Item = (&'a str, &'a Latency, String)>,
) -> Table {
    let head = ["ms", "p50", "p90", "p99", "p99.9", "max", "mean", ""];
    let mut table = table(style, &head, 1);
    align_left(&mut table, head.len() - 1);
    for (name, latency, about) in rows {
        if latency.count > 0 {
            let mut row = vec![name.to_owned()];
            row.extend(quantiles(latency));
            row.push(about);
            table.add_row(row);
        }
    }
    table
}

/// p50, p90, p99, p99.9, largest and mean.
fn quantiles(latency: &Latency) -> [String; 6] {
    let at = |percentile: f64, ms: Option<f64>| match ms {
        Some(ms) => milliseconds(ms),
        None if latency.count < least_values(percentile) => NONE.to_owned(),
        None => "failed".to_owned(),
    };
    let max = match latency.max_ms {
        Some(ms) => milliseconds(ms),
        None if latency.count == 0 => NONE.to_owned(),
        None => "failed".to_owned(),
    };
    [
        at(50.0, latency.p50_ms),
        at(90.0, latency.p90_ms),
        at(99.0, latency.p99_ms),
        at(99.9, latency.p99_9_ms),
        max,
        latency.mean_ms.map_or(NONE.to_owned(), milliseconds),
    ]
}

fn of_sessions(sessions: &Sessions) -> String {
    let mut text = format!("{} begun", counted(sessions.begun, "session"));
    for (count, what) in [
        (
            sessions.cut_short,
            "cut short (the first of a user, or the rest after a failed request)",
        ),
        (sessions.abandoned, "abandoned after a failed request"),
    ] {
        if count > 0 {
            text += &format!(", {} {what}", grouped(count));
        }
    }
    if sessions.waited > 0 {
        let waited = counted(sessions.waited, "request");
        text += &format!("; {waited} fell due before the user had the answer to the one before");
    }
    text + "."
}

/// Three digits, so that neither 0.031 nor 1,250 is lost.
fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms >= 100.0 => grouped(ms.round() as u64),
        ms if ms >= 10.0 => format!("{ms:.1}"),
        ms if ms >= 1.0 => format!("{ms:.2}"),
        ms => format!("{ms:.3}"),
    }
}

fn endpoints(sheet: &mut Sheet, document: &Document) {
    let redirects = document.endpoints.iter().any(|e| led_away(e) > 0);
    let mut head = vec!["request, response in ms", "scheduled", "failed"];
    head.extend(redirects.then_some("redirects"));
    head.extend(["p50", "p90", "p99", "p99.9", "max", "mean"]);
    let mut table = table(sheet.style(), &head, 1);
    for endpoint in document.endpoints.iter().take(MOST_ENDPOINTS) {
        let mut row = vec![
            endpoint.name.clone(),
            grouped(endpoint.asked),
            grouped(endpoint.failed),
        ];
        row.extend(redirects.then(|| redirected(endpoint)));
        row.extend(quantiles(&endpoint.response));
        table.add_row(row);
    }
    sheet.table(table);
    let more = document.endpoints.len().saturating_sub(MOST_ENDPOINTS);
    if more > 0 {
        sheet.line(&format!("and {more} more, which --json has"));
    }
}

/// Redirects that the workload does not expect: others, such as the answer to a login, are what it asks for.
fn led_away(endpoint: &Endpoint) -> u64 {
    let unexpected = endpoint.redirects.iter().filter(|r| !r.expected);
    unexpected.map(|r| r.answers).sum()
}

/// Their share of the good answers.
fn redirected(endpoint: &Endpoint) -> String {
    match led_away(endpoint) {
        0 => NONE.to_owned(),
        answers => share(answers as f64 / endpoint.ok.max(1) as f64),
    }
}

fn statuses(document: &Document, style: Style) -> Table {
    let mut table = table(style, &["status", "answers"], 1);
    for (status, count) in &document.statuses {
        table.add_row(vec![status.clone(), grouped(*count)]);
    }
    table
}

fn judged(sheet: &mut Sheet, document: &Document) {
    if let Some(objective) = &document.objective {
        sheet.labelled(
            "Objective  ",
            &format!(
                "p{}={} ms: {} requests took longer or failed, {} of them; {} may",
                objective.percentile,
                objective.limit_ms,
                grouped(objective.violations),
                share(objective.violation_rate),
                share((100.0 - objective.percentile) / 100.0),
            ),
        );
    }
    asserted(sheet, &document.assertions);
}

/// A line each.
pub(crate) fn asserted(sheet: &mut Sheet, assertions: &[Assertion]) {
    for assertion in assertions {
        sheet.labelled(label(assertion.outcome), &assertion.sentence);
    }
}

fn label(outcome: AssertionOutcome) -> &'static str {
    match outcome {
        AssertionOutcome::Holds => "Asserted   ",
        AssertionOutcome::Fails => "NOT HELD   ",
        AssertionOutcome::Unknown => "UNDECIDED  ",
    }
}

fn generator(document: &Document) -> String {
    let generator = &document.generator;
    let cpu = generator.cpu_us_per_request.map_or(String::new(), |us| {
        format!("{} ms of CPU a request, ", milliseconds(us / 1e3))
    });
    // Where nothing answered there is no figure of a server.
    let verdict = match (document.counts.answered, generator.ok) {
        (0, _) => "",
        (_, true) => "; the figures are the server's",
        (_, false) if generator.only_late => {
            "; the response times are longer than the server's alone, so an assertion that holds, holds for the server"
        }
        (_, false) => "; the figures are not the server's alone",
    };
    format!(
        "Generator: {cpu}{:.1} % of a core{verdict}. {}.",
        generator.cpu_share * 100.0,
        seeds(document)
    )
}

fn seeds(document: &Document) -> String {
    let seeds: Vec<String> = document
        .merged
        .iter()
        .map(|part| part.seed.to_string())
        .collect();
    match seeds.is_empty() {
        true => format!("Seed {}", document.asked.seed),
        false => format!("Seeds {}", seeds.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_asked_for_and_the_rate_drawn_have_two_words() {
        assert_eq!(
            target_rate(50.0, Some(51.3)),
            "; target rate 50.0 a second, for which the schedule drew 51.3 arrivals a second"
        );
        for drawn in [None, Some(50.0), Some(f64::NAN)] {
            assert_eq!(target_rate(50.0, drawn), "; target rate 50.0 a second");
        }
    }

    #[test]
    fn sessions_are_counted_as_far_as_there_were_any() {
        let mut sessions = Sessions {
            begun: 1_200,
            cut_short: 8,
            abandoned: 3,
            waited: 1,
        };
        assert_eq!(
            of_sessions(&sessions),
            "1,200 sessions begun, 8 cut short (the first of a user, or the rest after a failed request), 3 abandoned after a failed \
             request; 1 request fell due before the user had the answer to the one before."
        );
        sessions = Sessions {
            begun: 1,
            cut_short: 0,
            abandoned: 0,
            waited: 0,
        };
        assert_eq!(of_sessions(&sessions), "1 session begun.");
    }

    #[test]
    fn an_undecided_assertion_is_not_called_not_held() {
        assert_eq!(label(AssertionOutcome::Unknown).trim(), "UNDECIDED");
        assert_eq!(label(AssertionOutcome::Fails).trim(), "NOT HELD");
    }
}
