//! The page of `powerband inspect`: who was read, where a request's time goes, and what follows for the threads.

mod arms;
mod causes;
mod collections;
mod conclusions;
mod endpoints;
mod locks;
mod memory;
mod part_of_time;
mod parts;
mod pools;
mod queue_cause;
mod threads;

pub(crate) use collections::{name as collection_name, no_longer_logged};

use crate::Style;
use crate::figures::{counted, duration, grouped, rate, share};
use crate::sheet::Sheet;
use conclusions::Served;
use run::inspect::{Document, Interval, IntervalProcess, ProcessChange, ProcessState, Traffic};

/// Endpoints shown by default.
pub const USUAL_ENDPOINTS: usize = 20;

/// Sources named.
const SOURCES: usize = 3;
/// From this age on, the last request may be of another day's server.
const OLD_S: f64 = 60.0;

/// The page, with at most so many endpoints and as many job classes.
pub fn inspect_page(document: &Document, endpoints: usize, style: Style) -> String {
    sheet(document, endpoints, Sheet::new(style)).into_text()
}

/// The same with what experts want.
pub fn inspect_page_in_full(document: &Document, endpoints: usize, style: Style) -> String {
    sheet(document, endpoints, Sheet::in_full(style)).into_text()
}

pub(crate) fn sheet(document: &Document, endpoints: usize, mut sheet: Sheet) -> Sheet {
    sheet.bold(&what(document));
    sheet.prose(&reach(document));
    for warning in &document.warnings {
        sheet.prose(warning);
    }
    if let Some(memory) = &document.memory {
        memory::write(&mut sheet, memory);
    }
    if let Some(requests) = &document.requests {
        let served = Served::of(document, false);
        traffic(&mut sheet, requests, served, "request");
        endpoints::table(
            &mut sheet,
            "Requests by endpoint",
            &document.endpoints,
            endpoints,
        );
        causes::write(&mut sheet, &document.endpoints, "request");
        parts::calls(&mut sheet, requests, "request");
        parts::bands(&mut sheet, requests);
    }
    if let Some(interval) = &document.interval {
        arms::table_of(&mut sheet, &interval.arms);
        let each: Vec<Traffic> = interval.processes.iter().map(of_process).collect();
        endpoints::table(
            &mut sheet,
            "Requests and jobs by process",
            &each,
            each.len(),
        );
    }
    locks::write(&mut sheet, document);
    pools::write(&mut sheet, document);
    parts::collector(&mut sheet, document);
    collections::write(&mut sheet, document);
    if let Some(advice) = &document.threads {
        threads::advice(&mut sheet, advice);
    }
    if let Some(jobs) = &document.jobs {
        traffic(&mut sheet, jobs, Served::of(document, true), "job");
        endpoints::table(
            &mut sheet,
            "Jobs by class",
            &document.job_classes,
            endpoints,
        );
        causes::write(&mut sheet, &document.job_classes, "job");
        parts::calls(&mut sheet, jobs, "job");
    }
    not_read(&mut sheet, document);
    sheet
}

/// `12,345 requests and 12 jobs in 3 processes of puma 6.6.0 (2 live, 1 died), ruby 3.3.8`
fn what(document: &Document) -> String {
    let traffic = [(&document.requests, "request"), (&document.jobs, "job")];
    let counts: Vec<String> = traffic
        .iter()
        .filter_map(|(traffic, name)| traffic.as_ref().map(|t| counted(t.requests, name)))
        .collect();
    let states = [
        (ProcessState::Live, "live"),
        (ProcessState::Closed, "ended"),
        (ProcessState::Died, "died"),
        (ProcessState::Unknown, "unknown"),
    ];
    let states: Vec<String> = states
        .iter()
        .filter_map(|(state, word)| {
            let count = document
                .processes
                .iter()
                .filter(|p| p.state == *state)
                .count();
            match (count, document.processes.len()) {
                (0, _) => None,
                (1, 1) => Some((*word).to_owned()),
                _ => Some(format!("{count} {word}")),
            }
        })
        .collect();
    let mut text = format!(
        "{} in {} ({})",
        counts.join(" and "),
        counted(document.processes.len() as u64, "process"),
        states.join(", ")
    );
    if let Some(process) = document.processes.last() {
        let named = [&process.server, &process.framework];
        for name in named.into_iter().filter(|name| !name.is_empty()) {
            text.push_str(", ");
            text.push_str(name);
        }
        if !process.ruby.is_empty() {
            text.push_str(", ruby ");
            text.push_str(&process.ruby);
        }
        if let Some(threads) = threads(document) {
            let processes = document.processes.iter();
            let live = processes
                .filter(|p| p.state == ProcessState::Live && p.threads.is_some())
                .count();
            let now = match live > 0 && live < document.processes.len() {
                true => "in each process that runs",
                false => "per process",
            };
            text.push_str(&format!(", {threads} {now}"));
        }
    }
    text + "."
}

/// `5 threads`, `3 to 5 threads`: of the processes that run, or of all where none does.
fn threads(document: &Document) -> Option<String> {
    let of = |live: bool| {
        let processes = document.processes.iter();
        let processes = processes.filter(move |p| !live || p.state == ProcessState::Live);
        processes.filter_map(|process| process.threads)
    };
    let all = || of(of(true).next().is_some());
    let (least, most) = (all().min()?, all().max()?);
    Some(match least == most {
        true => counted(most, "thread"),
        false => format!("{least} to {}", counted(most, "thread")),
    })
}

/// From where, over which time, and what percentiles are taken from.
fn reach(document: &Document) -> String {
    let scope = &document.scope;
    let sources: Vec<&str> = document.sources.iter().map(String::as_str).collect();
    let mut text = format!(
        "Read from {}: {} to {} ({}). ",
        run::first_of(&sources, SOURCES),
        scope.from,
        scope.to,
        duration(scope.span_s)
    );
    if let Some(ago_s) = scope.last_ended_before_s.filter(|s| *s >= OLD_S) {
        let one = match document.requests {
            Some(_) => "request",
            None => "job",
        };
        text.push_str(&format!("The last {one} ended {} ago. ", duration(ago_s)));
    }
    if let Some(interval) = &document.interval {
        text.push_str(&between(interval));
        return text;
    }
    text.push_str(&if scope.since.is_some() {
        format!("All figures are from the latest requests, which each process keeps one by one: {} of that time.", counted(scope.records, "record"))
    } else if scope.records_are_all {
        "Counts and means are of all requests; percentiles are exact, because each request is still on record.".to_owned()
    } else {
        format!(
            "Counts and means are of all requests. The latest {} are kept one by one, every one since {}; percentiles marked ≤ are from histograms of all requests, at most 25 % above the exact value.",
            grouped(scope.records),
            scope.records_from
        )
    });
    text
}

/// What became of the processes between the two readings.
fn between(interval: &Interval) -> String {
    let mut changes = vec![format!("{} continued", interval.continued)];
    for (count, word) in [
        (interval.started, "started"),
        (interval.ended, "ended"),
        (interval.gone, "left no file"),
    ] {
        if count > 0 {
            changes.push(format!("{count} {word}"));
        }
    }
    format!(
        "Counts, means and shares are of all requests since the counters were saved; percentiles marked ≤ are from histograms, at most 25 % above the truth. Processes: {}.",
        changes.join(", ")
    )
}

fn of_process(process: &IntervalProcess) -> Traffic {
    let mut traffic = process.traffic.clone();
    let state = match process.state {
        ProcessState::Live => "",
        ProcessState::Closed => ", ended",
        ProcessState::Died => ", died",
        ProcessState::Unknown => ", unknown",
    };
    let change = match process.change {
        ProcessChange::Started => ", started",
        ProcessChange::Continued => "",
    };
    traffic.name = format!("{}{change}{state}", traffic.name);
    traffic
}

fn traffic(sheet: &mut Sheet, traffic: &Traffic, served: Served, one: &str) {
    sheet.heading(&format!("Where a {one}'s time goes"));
    let mut counts = counted(traffic.requests, one);
    if let Some(per_s) = traffic.rate_per_s {
        counts.push_str(&format!(", {} a second", rate(per_s)));
    }
    if traffic.requests > 0 {
        counts.push_str(&format!(
            ", {} failed ({})",
            grouped(traffic.errors),
            share(traffic.errors as f64 / traffic.requests as f64)
        ));
    }
    if let Some(busy) = traffic.busy_threads {
        counts.push_str(&format!(
            "; when one began, {busy:.1} were in progress in its process, itself included"
        ));
    }
    sheet.prose(&(counts + "."));
    sheet.line("");
    parts::split(sheet, traffic, one);
    conclusions::write(sheet, traffic, served);
    sheet.line("");
    parts::times(sheet, traffic, one);
    parts::objects(sheet, traffic, one);
}

fn not_read(sheet: &mut Sheet, document: &Document) {
    if document.not_read.is_empty() {
        return;
    }
    sheet.heading("Not read");
    for file in &document.not_read {
        let how = if file.partly { "in part: " } else { "" };
        sheet.labelled("- ", &format!("{}: {how}{}", file.file, file.reason));
    }
}

/// Three digits, so that neither 0.031 nor 1,250 is lost.
pub(crate) fn ms(ms: f64) -> String {
    match ms {
        ms if ms >= 100.0 => grouped(ms.round() as u64),
        ms if ms >= 10.0 => format!("{ms:.1}"),
        ms if ms >= 1.0 => format!("{ms:.2}"),
        ms => format!("{ms:.3}"),
    }
}

fn ms_or_none(value: Option<f64>) -> String {
    value.map_or(crate::tables::NONE.to_owned(), ms)
}
