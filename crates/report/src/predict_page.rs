//! The page of `powerband predict`: what it means, how well the model does where the truth is known, the configurations.

use crate::Style;
use crate::figures::{bytes, counted, number_of_ms, rate, rounded_change};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts, table};
use run::predict::{Answer, Document, Figures, Point, Rate, Size};

/// The whole page.
pub fn predict_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&document.sentence);
    traced(&mut sheet, document);
    check(&mut sheet, document);
    if document.self_check.failed {
        sheet.listed("Likely causes", &document.self_check.causes);
        sheet.prose(
            "Predictions are left out here, because they are as wrong as this; --json has them.",
        );
        sheet.listed("What this takes for granted", &document.assumptions);
        return sheet;
    }
    if !document.asked.rates_per_s.is_empty() {
        first_rate(&mut sheet, document);
    }
    if document.asked.rates_per_s.len() > 1 {
        other_rates(&mut sheet, document);
    }
    capacities(&mut sheet, document);
    sheet.listed("Before you believe it", &document.warnings);
    sheet.listed("What this takes for granted", &document.assumptions);
    sheet
}

fn traced(sheet: &mut Sheet, document: &Document) {
    let traced = &document.traced;
    let size = Size {
        processes: traced.processes,
        threads: traced.threads,
    };
    sheet.line("");
    sheet.labelled(
        "Traced  ",
        &format!(
            "{} on Ruby {}, {}: {}, {} a second (pauses of the traffic left out); in the application each holds the GVL for {} ms and waits {} ms for I/O; \
             the GVL of a process is held {} of the time, and a thread is busy with requests {} of it",
            traced.server,
            traced.ruby,
            words(size),
            counted(traced.requests, "request"),
            rate(traced.rate_per_s),
            number_of_ms(Some(traced.held_ms)),
            number_of_ms(Some(traced.io_ms)),
            percent(traced.utilisation_gvl),
            percent(traced.utilisation_threads)
        ),
    );
}

fn check(sheet: &mut Sheet, document: &Document) {
    sheet.heading("The traced configuration: predicted under its own arrivals, and as it was");
    let head = ["", "answers/s", "mean ms", "p50 ms", "p95 ms", "p99 ms"];
    let mut table = table(sheet.style(), &head, 1);
    let check = &document.self_check;
    let times = |name: &str, found: &Figures| {
        let mut row = vec![name.to_owned(), rate(found.throughput_per_s)];
        let ms = [found.mean_ms, found.p50_ms, found.p95_ms, found.p99_ms];
        row.extend(ms.map(|ms| number_of_ms(Some(ms))));
        row
    };
    table.add_row(times("recorded", &check.recorded));
    table.add_row(times("predicted", &check.predicted));
    let off = &check.error;
    let mut row = vec!["off by".to_owned()];
    row.extend(
        [
            off.throughput_per_s,
            off.mean_ms,
            off.p50_ms,
            off.p95_ms,
            off.p99_ms,
        ]
        .map(|error| rounded_change(1.0 + error)),
    );
    table.add_row(row);
    sheet.table(table);
    let from = match document.traced.queue_ms {
        Some(_) => "the moments in X-Request-Start, which a proxy or the load generator sets",
        None => {
            "the moments at which a thread began them, because nothing set X-Request-Start: time that they waited before is in neither row"
        }
    };
    sheet.prose(&format!(
        "Both rows count from the same instants to the end of the answer: {from}."
    ));
}

fn first_rate(sheet: &mut Sheet, document: &Document) {
    let per_s = document.asked.rates_per_s[0];
    sheet.heading(&match document.asked.what_if {
        Some(_) => format!(
            "Today, and if it were so, at {} a second (intervals of 90 %)",
            rate(per_s)
        ),
        None => format!("At {} a second (intervals of 90 %)", rate(per_s)),
    });
    let head = [
        "",
        "mean ms",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "p99 interval, ms",
        "queue ms",
        "GVL wait ms",
        "GVL in use",
        "cores in use",
        "threads in use",
        "",
    ];
    let mut rows = Vec::new();
    let mut over = Vec::new();
    if let Some(today) = &document.today {
        rows.push(measured_today(document, today));
        let at = today.rates.first();
        if let (Some(at), Some(answer)) = (at, at.and_then(|at| at.answer.as_ref())) {
            let mut row = answered(document, today, answer, at);
            row[0] = format!("{} today, predicted", short(today.size));
            let last = row.len() - 1;
            row[last] = format!("at {}/s", rate(at.rate_per_s));
            rows.push(row);
        }
    }
    for point in &document.points {
        let Some(at) = point.rates.first() else {
            continue;
        };
        match &at.answer {
            Some(answer) => {
                rows.push(answered(document, point, answer, at));
            }
            None => over.push(point),
        }
    }
    if over.len() < document.points.len() || document.today.is_some() {
        sheet.tables(in_parts(sheet.style(), &head, &rows));
        sheet.prose(what_is_counted(document.today.is_some()));
    }
    if !over.is_empty() {
        sheet.prose(&too_small(&over, per_s));
    }
}

/// Why figures of the trace and of the simulation differ although the configuration is the same.
fn what_is_counted(with_measured: bool) -> &'static str {
    match with_measured {
        true => {
            "Measured: the arrivals of the trace, and the use of GVL and cores by the threads that serve. Predicted: Poisson arrivals \
             at the rate asked for, and the use by these threads and the server's own, which accept connections."
        }
        false => {
            "The use of GVL and cores is predicted for Poisson arrivals, and includes the server's own threads, which accept \
             connections; of the trace (above) it is that of the threads that serve."
        }
    }
}

/// Which configurations have no figures at a rate, and why.
fn too_small(over: &[&Point], per_s: f64) -> String {
    let each = over
        .iter()
        .map(|point| format!("{} (at most {})", short(point.size), rate(point.most_per_s)));
    format!(
        "Too small to serve {} requests a second, so that their queue would grow without end (processes x threads, and the most \
         that each can serve a second): {}.",
        rate(per_s),
        each.collect::<Vec<_>>().join(", ")
    )
}

fn other_rates(sheet: &mut Sheet, document: &Document) {
    sheet.heading("p99, ms, at other rates");
    let rates = &document.asked.rates_per_s[1..];
    let mut head = vec![String::new()];
    head.extend(
        rates
            .iter()
            .map(|per_s| format!("{} a second", rate(*per_s))),
    );
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut rows = Vec::new();
    for point in &document.points {
        let mut row = vec![short(point.size)];
        row.extend(point.rates.iter().skip(1).map(|at| {
            let Some(answer) = &at.answer else {
                return NONE.to_owned();
            };
            let p99_ms = number_of_ms(Some(answer.figures.p99_ms));
            match standing(point, at) {
                Some(standing) => format!("{p99_ms} ({standing})"),
                None => p99_ms,
            }
        }));
        if row[1..].iter().any(|cell| cell != NONE) {
            rows.push(row);
        }
    }
    sheet.tables(in_parts(sheet.style(), &head, &rows));
}

fn answered(document: &Document, point: &Point, answer: &Answer, at: &Rate) -> Vec<String> {
    let found = &answer.figures;
    let ms = |ms: f64| number_of_ms(Some(ms));
    let mut marks = Vec::new();
    marks.extend(standing(point, at));
    if document.begin_with == Some(point.size) {
        marks.push("begin here");
    }
    if (point.size.processes, point.size.threads)
        == (document.traced.processes, document.traced.threads)
    {
        marks.push("traced");
    }
    vec![
        short(point.size),
        ms(found.mean_ms),
        ms(found.p50_ms),
        ms(found.p95_ms),
        ms(found.p99_ms),
        format!("{}-{}", ms(answer.low.p99_ms), ms(answer.high.p99_ms)),
        ms(answer.queue_ms),
        ms(answer.gvl_wait_ms),
        percent(answer.utilisation_gvl),
        percent(answer.utilisation_cores),
        percent(answer.utilisation_threads),
        marks.join(", "),
    ]
}

/// What the objective's interval says of a rate, in the words of every table.
fn standing(point: &Point, at: &Rate) -> Option<&'static str> {
    match point.objective?.decides(at.rate_per_s) {
        Some(true) => Some("meets it"),
        Some(false) => None,
        None => Some("undecided"),
    }
}

/// What was recorded of the traced configuration, at its own rate.
fn measured_today(document: &Document, today: &Point) -> Vec<String> {
    let (traced, found) = (&document.traced, &document.self_check.recorded);
    let ms = |ms: f64| number_of_ms(Some(ms));
    let more = document.asked.what_if.map_or(0.0, |what_if| what_if.cores);
    let cores = traced.busy_cores / (document.asked.cores - more);
    vec![
        format!("{} today, measured", short(today.size)),
        ms(found.mean_ms),
        ms(found.p50_ms),
        ms(found.p95_ms),
        ms(found.p99_ms),
        NONE.to_owned(),
        number_of_ms(traced.queue_ms),
        ms(traced.gvl_wait_ms),
        percent(traced.utilisation_gvl),
        percent(cores),
        percent(traced.utilisation_threads),
        format!("at {}/s", rate(traced.rate_per_s)),
    ]
}

fn capacities(sheet: &mut Sheet, document: &Document) {
    sheet.heading("What each can do, requests a second");
    let objective = document.asked.objective;
    let mut head = vec!["".to_owned(), "at most".to_owned(), "knee".to_owned()];
    if let Some(objective) = objective {
        head.push(format!(
            "p{} ≤ {} ms",
            objective.percentile,
            number_of_ms(Some(objective.limit_ms))
        ));
        head.push("interval".to_owned());
    }
    head.push("add capacity at".to_owned());
    let memory = document.memory.is_some();
    if memory {
        head.extend(["memory".to_owned(), String::new()]);
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut rows = Vec::new();
    let today = document.today.iter();
    let named = today.map(|point| (format!("{} today, predicted", short(point.size)), point));
    let named = named.chain(
        document
            .points
            .iter()
            .map(|point| (short(point.size), point)),
    );
    for (name, point) in named {
        let mut row = vec![name, rate(point.most_per_s), rate(point.knee_per_s)];
        if objective.is_some() {
            let at = point.objective;
            row.push(at.map_or(NONE.to_owned(), |at| match at.rate_per_s {
                0.0 => "never".to_owned(),
                per_s => rate(per_s),
            }));
            row.push(at.map_or(NONE.to_owned(), |at| {
                format!("{}-{}", rate(at.low_per_s), rate(at.high_per_s))
            }));
        }
        row.push(rate(point.add_at_per_s));
        if memory {
            row.push(point.memory_bytes.map_or(NONE.to_owned(), bytes));
            row.push(match point.fits {
                Some(false) => "too much".to_owned(),
                _ => String::new(),
            });
        }
        rows.push(row);
    }
    sheet.tables(in_parts(sheet.style(), &head, &rows));
    if let Some(objective) = objective {
        sheet.prose(&format!(
            "Interval (90 %): up to its lower end the p{} keeps the limit, beyond its upper end it does not. Rates within it \
             are undecided, and marked so above.",
            objective.percentile
        ));
    }
    if document
        .memory
        .as_ref()
        .is_some_and(|m| m.shared_bytes == 0)
    {
        sheet.prose(
            "Memory: nothing is counted as shared between processes, so that with more processes than it was fitted to a configuration \
             takes at most this.",
        );
    }
    sheet.prose(
        "Knee: the rate at which the mean response time is twice that of a request alone. Add capacity at: 80 % of the knee, or \
         of the rate that meets the objective, whichever is lower.",
    );
}

/// `2x3`.
fn short(size: Size) -> String {
    format!("{}x{}", size.processes, size.threads)
}

fn words(size: Size) -> String {
    let many = |count: u16, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    };
    format!(
        "{} of {}",
        many(size.processes, "process", "processes"),
        many(size.threads, "thread", "threads")
    )
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
