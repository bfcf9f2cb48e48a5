//! The page of `powerband predict`: what it means, how well the model does where the truth is known, the configurations.

use crate::Style;
use crate::figures::{bytes, grouped, number_of_ms, rate, rounded_change};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, table, trimmed};
use run::predict::{Answer, Document, Figures, Point, Size};

/// The whole page.
pub fn predict_page(document: &Document, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.bold(&document.sentence);
    traced(&mut sheet, document);
    check(&mut sheet, document);
    if !document.asked.rates_per_s.is_empty() {
        first_rate(&mut sheet, document);
    }
    if document.asked.rates_per_s.len() > 1 {
        other_rates(&mut sheet, document);
    }
    capacities(&mut sheet, document);
    sheet.listed("Before you believe it", &document.warnings);
    sheet.listed("What this takes for granted", &document.assumptions);
    sheet.into_text()
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
            "{} on Ruby {}, {}: {} requests, {} a second; each holds the GVL for {} ms and waits {} ms for I/O; GVL busy \
             {} of the time, threads {}",
            traced.server,
            traced.ruby,
            words(size),
            grouped(traced.requests),
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
    sheet.block(&trimmed(&table));
}

fn first_rate(sheet: &mut Sheet, document: &Document) {
    let per_s = document.asked.rates_per_s[0];
    sheet.heading(&format!("At {} a second", rate(per_s)));
    let head = [
        "",
        "mean ms",
        "p50",
        "p95",
        "p99",
        "90 % of p99",
        "queue",
        "GVL wait",
        "busy",
        "",
    ];
    let mut table = table(sheet.style(), &head, 1);
    align_left(&mut table, head.len() - 1);
    let mut over = Vec::new();
    for point in &document.points {
        let Some(at) = point.rates.first() else {
            continue;
        };
        match &at.answer {
            Some(answer) => {
                table.add_row(answered(document, point, answer, at.meets));
            }
            None => over.push(short(point.size)),
        }
    }
    if over.len() < document.points.len() {
        sheet.block(&trimmed(&table));
    }
    if !over.is_empty() {
        sheet.labelled("Too little: ", &over.join(", "));
    }
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
    let mut table = table(sheet.style(), &head, 1);
    for point in &document.points {
        let answers = point.rates.iter().skip(1).map(|at| at.answer.as_ref());
        let mut row = vec![short(point.size)];
        row.extend(answers.map(|answer| {
            let p99_ms = answer.map(|answer| answer.figures.p99_ms);
            p99_ms.map_or(NONE.to_owned(), |ms| number_of_ms(Some(ms)))
        }));
        if row[1..].iter().any(|cell| cell != NONE) {
            table.add_row(row);
        }
    }
    sheet.block(&trimmed(&table));
}

fn answered(
    document: &Document,
    point: &Point,
    answer: &Answer,
    meets: Option<bool>,
) -> Vec<String> {
    let found = &answer.figures;
    let ms = |ms: f64| number_of_ms(Some(ms));
    let mut marks = Vec::new();
    if meets == Some(true) {
        marks.push("meets it");
    }
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
        busiest(answer),
        marks.join(", "),
    ]
}

/// `GVL 87 %`: whichever is the busiest.
fn busiest(answer: &Answer) -> String {
    let all = [
        ("GVL", answer.utilisation_gvl),
        ("cores", answer.utilisation_cores),
        ("threads", answer.utilisation_threads),
    ];
    let (what, share) = all.into_iter().fold(
        ("", -1.0),
        |most, one| if one.1 > most.1 { one } else { most },
    );
    format!("{what} {}", percent(share))
}

fn capacities(sheet: &mut Sheet, document: &Document) {
    sheet.heading("What each can do, requests a second");
    let objective = document.asked.objective;
    let mut head = vec!["".to_owned(), "at most".to_owned(), "knee".to_owned()];
    if let Some(objective) = objective {
        head.push(format!(
            "p{} = {} ms",
            objective.percentile,
            number_of_ms(Some(objective.limit_ms))
        ));
        head.push("90 %".to_owned());
    }
    head.push("add capacity at".to_owned());
    let memory = document.memory.is_some();
    if memory {
        head.extend(["memory".to_owned(), String::new()]);
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = table(sheet.style(), &head, 1);
    for point in &document.points {
        let mut row = vec![
            short(point.size),
            rate(point.most_per_s),
            rate(point.knee_per_s),
        ];
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
        table.add_row(row);
    }
    sheet.block(&trimmed(&table));
    sheet.prose(
        "Knee: the mean response is twice that of a request that comes alone. Add capacity at 80 % of it, or of the rate that \
         meets the objective where that is less.",
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
