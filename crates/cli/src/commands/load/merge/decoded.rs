//! A document of `load --json` as the outcome that it was made of, with what the document holds of it.

use hdrhistogram::Histogram;
use load::{
    Counts, EndpointOutcome, Errors, LateAnswers, Outcome, Redirect, StatusChange, StatusClass,
    new_histogram,
};
use run::Hdr;
use run::load::{Class, Document, Endpoint, Latency};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Larger counts are no counts of requests, and their sums might not fit.
const MOST: u64 = 1 << 53;

/// Of a document that an earlier version wrote.
const NO_HISTOGRAMS: &str = "it holds no histograms, of which percentiles are merged; write it again with this version of \
                             powerband load --json";

/// What was measured.
pub fn outcome(document: &Document) -> Result<Outcome, String> {
    let counts = counts(document)?;
    let response = histogram("response", &document.response)?;
    if response.len() != counts.ok + document.counts.failed {
        return Err(damaged("`response` and `counts` differ"));
    }
    let violations = document.objective.as_ref().map_or(0, |o| o.violations);
    if violations > response.len() {
        return Err(damaged("`violations` are more than the requests"));
    }
    checked("connections", document.asked.connections)?;
    checked("requests", document.asked.requests.unwrap_or(0))?;
    let mut outcome = Outcome {
        counts,
        errors: errors(&document.errors, document.counts.failed)?,
        statuses: statuses(&document.statuses)?,
        first_error: document.first_error.clone(),
        violations,
        response,
        service: histogram("service", &document.service)?,
        first_byte: histogram("first_byte", &document.first_byte)?,
        lateness: histogram("lateness", &document.lateness)?,
        connection_wait: histogram("connection_wait", &document.connection_wait)?,
        connect: histogram("connect", &document.connect)?,
        ..Outcome::empty()
    };
    if let Some(late) = &document.generator.late_answers {
        let late = LateAnswers {
            counted: read(&late.counted)?,
            without: read(&late.without)?,
        };
        let answers = late.counted.len();
        if late.without.len() != answers || answers > outcome.response.len() {
            return Err(damaged("`late_answers` do not add up"));
        }
        outcome.late_answers = Some(Box::new(late));
    }
    for (class, response) in classes(&document.classes)? {
        outcome.classes.add_to(class, &response);
    }
    let endpoints: Result<_, String> = document.endpoints.iter().map(endpoint).collect();
    outcome.endpoints = endpoints?;
    compared(document, &mut outcome)?;
    Ok(outcome)
}

fn damaged(what: impl Display) -> String {
    format!("{what}; the file was damaged after it was written")
}

/// A count that may be added to others.
fn checked(name: &str, count: u64) -> Result<u64, String> {
    match count {
        ..=MOST => Ok(count),
        _ => Err(damaged(format!("`{name}` = {count}"))),
    }
}

fn counts(document: &Document) -> Result<Counts, String> {
    let (of, sessions) = (&document.counts, document.sessions);
    let ok_in_window = (document.throughput_per_s * document.window_s).round() as u64;
    let counts = Counts {
        scheduled: of.asked,
        sent: of.sent,
        completed: of.answered,
        ok: of.ok,
        ok_in_window,
        cut: of.cut,
        reconnects: of.sent_again,
        connections: of.connections,
        idle_closed: of.idle_closed,
        surplus: of.surplus,
        waited: of.waited,
        session_waited: sessions.map_or(0, |s| s.waited),
        sessions: sessions.map_or(0, |s| s.begun),
        cut_short: sessions.map_or(0, |s| s.cut_short),
        abandoned: sessions.map_or(0, |s| s.abandoned),
    };
    let all = [
        counts.session_waited,
        counts.sessions,
        counts.cut_short,
        counts.abandoned,
        of.asked,
        of.sent,
        of.answered,
        of.ok,
        of.failed,
        of.cut,
        of.sent_again,
        of.connections,
        of.idle_closed,
        of.surplus,
        of.waited,
        ok_in_window,
    ];
    if all.iter().any(|count| *count > MOST)
        || of.asked != of.ok + of.failed + of.cut
        || ok_in_window > of.ok
    {
        return Err(damaged("`counts` do not add up"));
    }
    Ok(counts)
}

fn errors(kinds: &BTreeMap<String, u64>, failed: u64) -> Result<Errors, String> {
    if kinds.values().any(|count| *count > MOST) {
        return Err(damaged("`errors` are too many"));
    }
    let errors: Errors = serde_json::to_vec(kinds)
        .and_then(|bytes| serde_json::from_slice(&bytes))
        .map_err(|e| damaged(format!("`errors`: {e}")))?;
    if errors.total() != failed {
        return Err(damaged("`errors` and `failed` differ"));
    }
    Ok(errors)
}

fn statuses(statuses: &BTreeMap<String, u64>) -> Result<BTreeMap<u16, u64>, String> {
    let read = |(status, answers): (&String, &u64)| match status.parse() {
        Ok(status) if *answers <= MOST => Ok((status, *answers)),
        _ => Err(damaged(format!("`statuses`: {status:?} = {answers}"))),
    };
    statuses.iter().map(read).collect()
}

fn histogram(name: &str, latency: &Latency) -> Result<Histogram<u64>, String> {
    if latency.count == 0 {
        return Ok(new_histogram());
    }
    let hdr = latency.hdr.as_ref().ok_or(NO_HISTOGRAMS)?;
    let found = read(hdr).map_err(|why| format!("`{name}`: {why}"))?;
    if found.len() != latency.count {
        return Err(damaged(format!(
            "the histogram of `{name}` has {} values, its `count` is {}",
            found.len(),
            latency.count
        )));
    }
    Ok(found)
}

/// A histogram of the bounds that load writes.
pub fn read(hdr: &Hdr) -> Result<Histogram<u64>, String> {
    let found = hdr.decode(&new_histogram()).map_err(|e| e.to_string())?;
    few_enough(&found)?;
    Ok(found)
}

/// Or the number of its values is none of requests.
pub fn few_enough(histogram: &Histogram<u64>) -> Result<(), String> {
    match histogram.len() {
        ..=MOST => Ok(()),
        _ => Err(damaged("a histogram has too many values")),
    }
}

fn classes(classes: &[Class]) -> Result<Vec<(StatusClass, Histogram<u64>)>, String> {
    let read = |class: &Class| {
        let mut known = StatusClass::ALL.into_iter();
        let found = known.find(|c| c.label() == class.class);
        let found = found.ok_or_else(|| damaged(format!("`class` = {:?}", class.class)))?;
        Ok((found, histogram("classes", &class.response)?))
    };
    classes.iter().map(read).collect()
}

fn endpoint(of: &Endpoint) -> Result<EndpointOutcome, String> {
    let ended = of.ok.checked_add(of.failed);
    let cut = ended.and_then(|ended| of.asked.checked_sub(ended));
    let cut = cut.filter(|_| of.asked <= MOST);
    let cut = cut.ok_or_else(|| damaged(format!("the counts of {} do not add up", of.name)))?;
    let mut endpoint = EndpointOutcome::new(&of.name);
    endpoint.scheduled = of.asked;
    endpoint.ok = of.ok;
    endpoint.cut = cut;
    endpoint.errors = errors(&of.errors, of.failed)?;
    endpoint.response = histogram("response", &of.response)?;
    if endpoint.response.len() != of.ok + of.failed {
        return Err(damaged(format!(
            "`response` and the counts of {} differ",
            of.name
        )));
    }
    for (class, response) in classes(&of.classes)? {
        endpoint.classes.add_to(class, &response);
    }
    let mut redirected: u64 = 0;
    for redirect in &of.redirects {
        redirected = redirected.saturating_add(redirect.answers);
        endpoint.redirects.push(Redirect {
            status: redirect.status,
            expected: redirect.expected,
            answers: redirect.answers,
            location: redirect.location.clone(),
        });
    }
    if redirected > of.ok {
        return Err(damaged(format!(
            "the redirects of {} are more than its good answers",
            of.name
        )));
    }
    Ok(endpoint)
}

/// The totals are of all pages, and stand with the first one.
fn compared(document: &Document, outcome: &mut Outcome) -> Result<(), String> {
    let Some(recorded) = &document.recorded else {
        return Ok(());
    };
    let changed = recorded.changes.iter().map(|change| change.answers);
    let changed = changed.fold(0, u64::saturating_add);
    if recorded.compared > document.counts.answered
        || changed.saturating_add(recorded.revalidated) > recorded.compared
    {
        return Err(damaged("the counts of `recorded` do not add up"));
    }
    if let Some(first) = outcome.endpoints.first_mut() {
        first.recorded_statuses.compared = recorded.compared;
        first.recorded_statuses.revalidated = recorded.revalidated;
    }
    for change in &recorded.changes {
        let mut pages = outcome.endpoints.iter_mut();
        let page = pages.find(|page| page.name == change.endpoint);
        let page = page.ok_or_else(|| damaged(format!("no endpoint {:?}", change.endpoint)))?;
        page.recorded_statuses.changes.push(StatusChange {
            page: change.endpoint.clone(),
            recorded: change.recorded,
            replayed: change.replayed,
            answers: change.answers,
        });
    }
    Ok(())
}
