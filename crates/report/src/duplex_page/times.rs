//! Response times of two servers side by side.

use crate::figures::{
    change_with_interval, counted, grouped, is_change_of, last_digit, number_of_ms, share,
};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, table};
use run::duplex::{Comparison, Document, EndpointTimes, Figure, PRIMARY, Purpose, Times};

/// One comparison in full.
pub fn comparison(sheet: &mut Sheet, document: &Document, one: &Comparison, endpoints: usize) {
    let reference = document.called(&one.reference);
    sheet.heading(&format!(
        "Response times: {} against {reference}",
        one.candidate
    ));
    let head = [
        "ms",
        one.candidate.as_str(),
        one.reference.as_str(),
        "difference (95 %)",
    ];
    let mut figures = table(sheet.style(), &head, 1);
    for (name, figure) in one.all.figures() {
        figures.add_row(vec![
            name.to_owned(),
            ms(figure.candidate_ms, &one.all),
            ms(figure.reference_ms, &one.all),
            change(figure),
        ]);
    }
    sheet.table(figures);
    let endless = |(_, figure): (_, &Figure)| {
        one.all.mean.candidate_ms.is_some()
            && (figure.candidate_ms.is_none() || figure.reference_ms.is_none())
    };
    if one.all.figures().into_iter().any(endless) {
        sheet.prose("∞: percentiles count a request without an answer, or with a server error, as one that takes for ever.");
    }
    sheet.prose(&behind(one));
    if one.endpoints.len() > 1 || (one.endpoints.len() == 1 && endpoints > 0) {
        by_endpoint(sheet, one, endpoints);
    }
    if let Some(why) = of_stretches(one, endpoints) {
        sheet.prose(&why);
    }
}

fn by_endpoint(sheet: &mut Sheet, one: &Comparison, endpoints: usize) {
    sheet.line("");
    let head = [
        "by endpoint",
        "requests",
        one.candidate.as_str(),
        one.reference.as_str(),
        "mean",
        "p95",
        "",
    ];
    let mut rows = table(sheet.style(), &head, 1);
    align_left(&mut rows, head.len() - 1);
    for endpoint in one.endpoints.iter().take(endpoints) {
        let times = &endpoint.times;
        rows.add_row(vec![
            endpoint.endpoint.clone(),
            grouped(times.requests),
            ms(times.mean.candidate_ms, times),
            ms(times.mean.reference_ms, times),
            change(&times.mean),
            change(&times.p95),
            judged(one, endpoint),
        ]);
    }
    sheet.table(rows);
    reasons(sheet, one, endpoints);
    if one.endpoints.len() > endpoints {
        sheet.prose(&format!(
            "{} more: --limit N, or --json.",
            one.endpoints.len() - endpoints
        ));
    }
}

/// Why rows are undecided although their intervals suggest a verdict, each reason once.
fn reasons(sheet: &mut Sheet, one: &Comparison, endpoints: usize) {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for endpoint in one.endpoints.iter().take(endpoints) {
        let Some(why) = endpoint.why.as_deref() else {
            continue;
        };
        match found.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, named)) => named.push(&endpoint.endpoint),
            None => found.push((why, vec![&endpoint.endpoint])),
        }
    }
    for (why, named) in found {
        sheet.prose(&format!("Undecided ({}): {why}.", named.join(", ")));
    }
}

/// The verdict, and what may stand in its way.
fn judged(one: &Comparison, endpoint: &EndpointTimes) -> String {
    let times = &endpoint.times;
    let failed = [
        (times.candidate_failed, &one.candidate),
        (times.reference_failed, &one.reference),
    ];
    let failed = failed.into_iter().filter(|(count, _)| *count > 0);
    let failed: Vec<String> = failed
        .map(|(count, name)| format!("{} of {name}", grouped(count)))
        .collect();
    let word = endpoint.outcome.map(|outcome| outcome.word().to_owned());
    let failed =
        (!failed.is_empty()).then(|| format!("without answer or 5xx: {}", failed.join(" and ")));
    word.into_iter()
        .chain(failed)
        .collect::<Vec<_>>()
        .join("; ")
}

/// What the differences are of, where the columns give others, and why some have another sign than these.
fn of_stretches(one: &Comparison, endpoints: usize) -> Option<String> {
    let shown = || one.endpoints.iter().take(endpoints);
    let means = shown().map(|endpoint| &endpoint.times.mean);
    let figures = one.all.figures().into_iter().map(|(_, figure)| figure);
    if figures.chain(means).all(is_of_columns) {
        return None;
    }
    let mut text = "The columns are over all requests that both answered; the difference is the typical one of stretches of time that \
                    each count the same, and need not be that of the columns."
        .to_owned();
    let figures = one.all.figures().into_iter();
    let rows = figures.filter(|(_, figure)| is_opposite(figure));
    let mut named: Vec<String> = rows.map(|(name, _)| name.to_owned()).collect();
    let endpoints = shown().filter(|endpoint| is_opposite(&endpoint.times.mean));
    named.extend(endpoints.map(|endpoint| format!("the mean of {}", endpoint.endpoint)));
    if !named.is_empty() {
        text += &format!(
            " The two point in different directions in {}: this happens where a few stretches outweigh the others in the columns.",
            named.join(", ")
        );
    }
    Some(text)
}

/// Whether the columns, as they are shown, give the difference. Without an interval it is theirs.
fn is_of_columns(figure: &Figure) -> bool {
    let figures = figure.candidate_ms.zip(figure.reference_ms);
    let ratio = figure.ratio.filter(|_| figure.low.is_some());
    let both = figures.zip(ratio);
    both.is_none_or(|(figures, ratio)| is_change_of(ratio, figures, last_digit))
}

/// As a reader sees it: figures that round to the same have no sign.
fn is_opposite(figure: &Figure) -> bool {
    let (Some(candidate), Some(reference), Some(ratio), Some(_)) = (
        figure.candidate_ms,
        figure.reference_ms,
        figure.ratio,
        figure.low,
    ) else {
        return false;
    };
    let columns = number_of_ms(Some(candidate)) != number_of_ms(Some(reference));
    let difference = (ratio - 1.0).abs() >= 0.0005;
    columns && difference && (candidate > reference) != (ratio > 1.0)
}

/// What the answers rest on, a row each: the twin against the primary, and candidates against it where the twin is fairer.
pub fn background(sheet: &mut Sheet, document: &Document) {
    let behind = |one: &&Comparison| matches!(one.purpose, Purpose::Setup | Purpose::Primary);
    let mut rows = document.comparisons.iter().filter(behind).peekable();
    if rows.peek().is_none() {
        return;
    }
    sheet.heading("Against the primary");
    sheet.prose(
        "The primary gets all requests, and each of them before the shadows do: this alone can make its response times differ.",
    );
    let head = ["", "requests", "mean", "p99", ""];
    let mut reasons = Vec::new();
    let mut all = table(sheet.style(), &head, 1);
    align_left(&mut all, head.len() - 1);
    for one in rows {
        all.add_row(vec![
            document.called(&one.candidate),
            grouped(one.requests),
            change(&one.all.mean),
            change(&one.all.p99),
            one.outcome.word().to_owned(),
        ]);
        if let Some(why) = &one.why {
            reasons.push(format!(
                "{} is {}: {why}.",
                document.called(&one.candidate),
                one.outcome.word()
            ));
        }
    }
    sheet.table(all);
    for reason in reasons {
        sheet.prose(&reason);
    }
}

/// What the interval rests on, and what was lost.
fn behind(one: &Comparison) -> String {
    let times = &one.all;
    let mut parts = vec![format!(
        "{} that both answered",
        counted(one.requests, "request")
    )];
    if times.batches > 0 {
        // Each counts the same; docs/method.md calls them batches.
        parts.push(format!("{} of time", counted(times.batches, "stretch")));
    }
    if times.widened > 1.005 {
        parts.push(format!(
            "intervals already widened {:.2} times, because neighbouring stretches resemble each other (correlation {:.2}, plus its standard \
             error)",
            times.widened,
            times.correlation.unwrap_or_default()
        ));
    }
    // Less is not to be seen in the interval.
    if one.allowance >= 0.0005 {
        let reason = match one.reference.as_str() {
            PRIMARY => "the mirror's own wait for a CPU core",
            _ => "what the twin differs by",
        };
        parts.push(format!("and {} wider for {reason}", share(one.allowance)));
    }
    let lost = [
        (one.candidate_lost, &one.candidate),
        (one.reference_lost, &one.reference),
    ];
    for (count, name) in lost.into_iter().filter(|(count, _)| *count > 0) {
        parts.push(format!(
            "{} that {name} lost (dropped, no answer, or a server error)",
            grouped(count)
        ));
    }
    if one.other_status > 0 {
        parts.push(format!(
            "{} with another status, left out",
            grouped(one.other_status)
        ));
    }
    format!(
        "Verdict on the mean: {}. {}.",
        one.outcome.word(),
        parts.join(", ")
    )
}

/// Infinite where failures make it so, unknown without requests.
fn ms(ms: Option<f64>, times: &Times) -> String {
    let none = times.requests + times.candidate_failed + times.reference_failed == 0;
    if none {
        NONE.to_owned()
    } else {
        number_of_ms(ms)
    }
}

fn change(figure: &Figure) -> String {
    match figure.ratio {
        None => NONE.to_owned(),
        Some(ratio) if figure.low.is_none() => crate::figures::rounded_change(ratio),
        Some(ratio) => change_with_interval(ratio, figure.low, figure.high),
    }
}
