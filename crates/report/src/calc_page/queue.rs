//! `calc queue`.

use crate::figures::{milliseconds, percent, rate};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, table};
use run::calc::{Queue, QueueAnswer, QueueModel};

pub fn page(sheet: &mut Sheet, queue: &Queue) {
    if let (Some(offered), Some(busy)) = (queue.offered, queue.utilisation) {
        sheet.line("");
        sheet.labelled(
            "Little  ",
            &format!(
                "{offered:.2} of {} {} busy on average, {} of the time each; they can do {} a second",
                queue.servers,
                if queue.servers == 1 { "server" } else { "servers" },
                percent(busy),
                rate(queue.most_per_s)
            ),
        );
    }
    if !queue.answers.is_empty() {
        answers(sheet, queue);
    }
    if !queue.rates.is_empty() {
        sheet.heading(&format!("At other rates, by {}", name(queue.believed)));
        rates(sheet, queue);
    }
}

/// A column for each formula, because there are more figures than formulas.
fn answers(sheet: &mut Sheet, queue: &Queue) {
    sheet.heading("What each formula says");
    let mark = |fits: bool| if fits { "" } else { ", not this case" };
    let mut head = vec![String::new()];
    head.extend(
        queue
            .answers
            .iter()
            .map(|a| format!("{}{}", name(a.model), mark(a.fits))),
    );
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = table(sheet.style(), &head, 1);
    let mut row = |figure: String, of: &dyn Fn(&QueueAnswer) -> Option<String>| {
        let mut row = vec![figure];
        row.extend(
            queue
                .answers
                .iter()
                .map(|a| of(a).unwrap_or_else(|| NONE.to_owned())),
        );
        table.add_row(row);
    };
    let time = |ms: f64| milliseconds(Some(ms));
    let shown: Vec<f64> = queue.answers[0]
        .percentiles
        .iter()
        .map(|p| p.percentile)
        .collect();
    row("have to wait".to_owned(), &|a| a.delayed.map(percent));
    row("mean wait".to_owned(), &|a| a.wait_ms.map(time));
    for (index, percentile) in shown.iter().enumerate() {
        let of = |a: &QueueAnswer| a.percentiles.get(index).map(|p| time(p.wait_ms));
        row(format!("p{percentile} wait"), &of);
    }
    row("mean response".to_owned(), &|a| Some(time(a.response_ms)));
    for (index, percentile) in shown.iter().enumerate() {
        let of = |a: &QueueAnswer| a.percentiles.get(index).map(|p| time(p.response_ms));
        row(format!("p{percentile} response"), &of);
    }
    row("in the queue".to_owned(), &|a| {
        a.in_queue.map(|n| format!("{n:.2}"))
    });
    row("in queue and service".to_owned(), &|a| {
        Some(format!("{:.2}", a.in_system))
    });
    sheet.table(table);
}

fn rates(sheet: &mut Sheet, queue: &Queue) {
    let mut head = vec![
        "rate/s".to_owned(),
        "busy".to_owned(),
        "mean wait".to_owned(),
        "mean resp.".to_owned(),
    ];
    let percentiles = queue.rates.first().map_or(&[][..], |r| &r.percentiles);
    head.extend(
        percentiles
            .iter()
            .map(|p| format!("p{} resp.", p.percentile)),
    );
    head.push(String::new());
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = table(sheet.style(), &head, 0);
    align_left(&mut table, head.len() - 1);
    let is = |a: Option<f64>, b: f64| a.is_some_and(|a| (a / b - 1.0).abs() < 1e-9);
    for at in &queue.rates {
        let marks = [
            (is(queue.rate_per_s, at.rate_per_s), "asked"),
            (
                is(queue.objective.and_then(|o| o.knee_per_s), at.rate_per_s),
                "just meets the objective",
            ),
        ];
        let marks: Vec<&str> = marks.iter().filter(|m| m.0).map(|m| m.1).collect();
        let mut row = vec![
            rate(at.rate_per_s),
            percent(at.utilisation),
            milliseconds(Some(at.wait_ms)),
            milliseconds(Some(at.response_ms)),
        ];
        row.extend(
            at.percentiles
                .iter()
                .map(|p| milliseconds(Some(p.response_ms))),
        );
        row.push(marks.join(", "));
        table.add_row(row);
    }
    sheet.table(table);
}

fn name(model: QueueModel) -> &'static str {
    match model {
        QueueModel::Mmc => "M/M/c, Erlang C",
        QueueModel::Mg1 => "M/G/1, Pollaczek-Khinchine",
        QueueModel::Sharing => "processor sharing",
        QueueModel::Ggc => "G/G/c, Allen-Cunneen",
    }
}
