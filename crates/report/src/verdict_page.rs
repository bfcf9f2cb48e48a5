//! The page of `powerband verdict`: the answer first, then the arms, guardrails, balance, and what was left out.

use crate::Style;
use crate::figures::{bytes, change_with_interval, grouped, number_of_ms, plain, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts};
use run::production::{Arm, Comparison, Document, State, Verdict, short_digest};

/// The whole page.
pub fn verdict_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&plain(&document.sentence));
    let digest = short_digest(&document.digest);
    sheet.labelled(
        "Experiment  ",
        &plain(&format!(
            "{} ({digest}), {} to {}",
            document.name, document.starts, document.ends
        )),
    );
    sheet.labelled(
        "Read        ",
        &plain(&format!("{} at {}", document.prometheus, document.read_at)),
    );
    if let Some(look) = &document.look {
        let confidence = (1.0 - look.level) * 100.0;
        let text = format!(
            "{} of {}, at {}: level {}, intervals of {confidence:.2} %",
            look.number,
            look.of,
            look.at,
            three_digits(look.level)
        );
        sheet.labelled("Look        ", &plain(&text));
    }
    sheet.heading(match document.look {
        Some(_) => "Arms, until the look",
        None => "Arms, until now",
    });
    arms(&mut sheet, document);
    for one in &document.comparisons {
        let is_open = matches!(one.verdict, Verdict::NoDifference | Verdict::Undecided);
        if let Some(change) = one.detectable.filter(|_| is_open) {
            let text = format!(
                "{}: with as many draws as now, the last look finds a change of {:.1} % with a probability of 80 %.",
                one.arm,
                change * 100.0
            );
            sheet.prose(&plain(&text));
        }
    }
    if !document.guardrails.is_empty() {
        sheet.heading("Guardrails, until now");
    }
    for one in &document.guardrails {
        let state = match one.state {
            State::Holds => "holds",
            State::Broken => "BROKEN",
            State::Unknown => "not known",
        };
        let text = format!("{} {}: {state}: {}", one.arm, one.figure, one.sentence);
        sheet.labelled("- ", &plain(&text));
    }
    let mut balance: Vec<String> = Vec::new();
    for check in &document.balance {
        let state = match check.passed {
            Some(true) => "passed",
            Some(false) => "FAILED",
            None => "not known",
        };
        balance.push(plain(&format!(
            "{}: {state}: {}",
            check.name, check.sentence
        )));
    }
    balance.extend(document.comparisons.iter().filter_map(traffic));
    sheet.listed("Balance", &balance);
    let notes: Vec<String> = document.notes.iter().map(|note| plain(note)).collect();
    sheet.listed("Left out, and unusual", &notes);
    let halted = document.halted.iter();
    let halted: Vec<String> = halted
        .map(|one| plain(&format!("{} since {}: {}", one.arm, one.at, one.reason)))
        .collect();
    sheet.listed("Not drawn any more", &halted);
    sheet
}

fn traffic(comparison: &Comparison) -> Option<String> {
    let rate = comparison.request_rate?;
    let change = change_with_interval(rate.estimate, rate.low, rate.high);
    Some(plain(&format!(
        "requests a unit, {}: {change}",
        comparison.arm
    )))
}

fn arms(sheet: &mut Sheet, document: &Document) {
    let head = [
        "arm",
        "share",
        "draws",
        "requests",
        "failed",
        "mean, ms",
        "change",
        "p95, ms",
        "p99, ms",
        "queue, ms",
        "GVL wait, ms",
        "memory",
        "slices left out",
    ];
    let rows: Vec<Vec<String>> = document
        .arms
        .iter()
        .map(|arm| {
            let mut comparisons = document.comparisons.iter();
            let of = comparisons.find(|one| one.arm == arm.name);
            row(arm, of)
        })
        .collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
}

fn row(arm: &Arm, comparison: Option<&Comparison>) -> Vec<String> {
    let ms = |ms: Option<f64>| ms.map_or(NONE.to_owned(), |ms| number_of_ms(Some(ms)));
    let ratio = comparison.and_then(|one| one.response_time);
    vec![
        plain(&arm.name),
        format!("{} %", three_digits(arm.share * 100.0)),
        grouped(arm.draws),
        grouped(arm.requests),
        arm.errors.map_or(NONE.to_owned(), share),
        ms(arm.response_ms),
        ratio.map_or(NONE.to_owned(), |ratio| {
            change_with_interval(ratio.estimate, ratio.low, ratio.high)
        }),
        ms(arm.p95_ms),
        ms(arm.p99_ms),
        ms(arm.queue_ms),
        ms(arm.gvl_wait_ms),
        arm.memory_bytes
            .map_or(NONE.to_owned(), |of| bytes(of as u64)),
        format!(
            "{} of {}",
            grouped(arm.slices_left_out),
            grouped(arm.slices + arm.slices_left_out)
        ),
    ]
}

/// A number with its first three digits, without zeros at the end.
fn three_digits(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}
