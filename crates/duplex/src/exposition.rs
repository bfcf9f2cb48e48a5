//! A document as Prometheus reads it, in addition to the mirror's own counters. An estimate comes with the bounds of its
//! 95 % interval, as three families, or not at all.

use exposition::{Text, join, label};
use run::Outcome;
use run::duplex::{Comparison, Document, Figure, PRIMARY, Purpose};

use crate::excess::Excess;

/// No share is shown of fewer answers.
const LEAST_ANSWERS: u64 = 30;

/// An estimate with its lower and its upper bound.
type Bounded = (String, [f64; 3]);

/// Text exposition 0.0.4. Labels are names of shadows and words of this file, so that the number of series is bounded.
#[must_use]
pub fn exposition(document: &Document) -> String {
    let mut text = Text::new("powerband_mirror_");
    let contests = || document.comparisons.iter();
    estimates(
        &mut text,
        "response_time_ratio",
        "Response time of a shadow over that of what it is compared with, 1 is as fast",
        contests().flat_map(ratios).collect(),
    );
    let judged = contests().filter(|one| one.all.mean.low.is_some());
    gauge(
        &mut text,
        "verdict",
        "1 for what is said of mean response time: better, worse, equivalent or undecided; absent without an interval.",
        judged.flat_map(verdicts),
    );
    gauge(
        &mut text,
        "compared_requests",
        "Requests that both servers of a comparison answered.",
        contests().map(|one| (servers(one), one.requests as f64)),
    );
    gauge(
        &mut text,
        "coverage_ratio",
        "Requests whose two answers were compared, of those that were to go to a shadow.",
        (document.shadows.iter()).map(|shadow| (label("shadow", &shadow.name), shadow.coverage)),
    );
    let answers = || {
        let all = document.answers.iter();
        all.map(|one| (label("shadow", &one.shadow), one))
    };
    gauge(
        &mut text,
        "compared_answers",
        "Answers of a shadow that were compared with the primary's.",
        answers().map(|(labels, one)| (labels, one.compared as f64)),
    );
    gauge(
        &mut text,
        "differing_answers",
        "Answers of a shadow that differ from the primary's in anything.",
        answers().map(|(labels, one)| (labels, one.differ as f64)),
    );
    estimates(
        &mut text,
        "differing_answers_ratio",
        "Answers of a shadow that differ from the primary's in anything, of those compared",
        answers()
            .filter(|(_, one)| one.compared >= LEAST_ANSWERS)
            .map(|(labels, one)| (labels, stats::share(one.differ, one.compared)))
            .collect(),
    );
    let beside_twin = answers().filter_map(|(labels, one)| {
        let labels = join(&labels, &label("twin", one.twin.as_deref()?));
        let counts = (one.only_shadow, one.only_twin);
        let found = Excess::of(counts, one.paired, 1).filter(|_| one.paired >= LEAST_ANSWERS)?;
        Some((labels, [found.estimate, found.low, found.high]))
    });
    estimates(
        &mut text,
        "differing_answers_excess_ratio",
        "Share of a shadow's answers that differ from the primary's, less that of the A/A twin on the same requests",
        beside_twin.collect(),
    );
    text.finish()
}

fn ratios(one: &Comparison) -> impl Iterator<Item = Bounded> {
    let figures = one.all.figures().into_iter();
    figures.filter_map(move |(name, of)| {
        let Figure {
            ratio: Some(ratio),
            low: Some(low),
            high: Some(high),
            ..
        } = *of
        else {
            return None;
        };
        let labels = join(&servers(one), &label("figure", name));
        Some((labels, [ratio, low, high]))
    })
}

fn verdicts(one: &Comparison) -> impl Iterator<Item = (String, f64)> {
    let all = [
        Outcome::Better,
        Outcome::Worse,
        Outcome::Equivalent,
        Outcome::Undecided,
    ];
    all.into_iter().map(move |outcome| {
        let labels = join(&servers(one), &label("verdict", outcome.word()));
        (labels, f64::from(u8::from(one.outcome == outcome)))
    })
}

fn servers(one: &Comparison) -> String {
    let reference = match one.purpose {
        Purpose::Setup | Purpose::Primary => PRIMARY,
        Purpose::Claim | Purpose::Between => one.reference.as_str(),
    };
    join(
        &label("shadow", &one.candidate),
        &label("reference", reference),
    )
}

fn estimates(text: &mut Text, name: &str, help: &str, found: Vec<Bounded>) {
    let families = [
        ("", ""),
        ("_lower", ", lower bound of the 95 % interval"),
        ("_upper", ", upper bound of the 95 % interval"),
    ];
    for (at, (suffix, more)) in families.into_iter().enumerate() {
        let samples = found.iter();
        gauge(
            text,
            &format!("{name}{suffix}"),
            &format!("{help}{more}."),
            samples.map(|(labels, values)| (labels.clone(), values[at])),
        );
    }
}

fn gauge(text: &mut Text, name: &str, help: &str, samples: impl Iterator<Item = (String, f64)>) {
    text.family(name, "gauge", help);
    samples.for_each(|(labels, value)| text.sample(&labels, value));
}
