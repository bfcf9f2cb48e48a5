//! A document as Prometheus reads it, beside what the mirror counts itself.

use exposition::{Text, join, label};
use run::Outcome;
use run::duplex::{Comparison, Document, Figure, PRIMARY, Purpose};

/// Text exposition 0.0.4. Labels are names of shadows and words of this file, so that the number of series is bounded.
#[must_use]
pub fn exposition(document: &Document) -> String {
    let mut text = Text::new("powerband_mirror_");
    let contests = || document.comparisons.iter();
    family(
        &mut text,
        "response_time_ratio",
        "Response time of a shadow over that of what it is compared with, 1 is as fast; with the ends of its 95 % interval.",
        contests().flat_map(|one| {
            one.all
                .figures()
                .into_iter()
                .flat_map(move |(name, figure)| ratios(one, name, *figure))
        }),
    );
    family(
        &mut text,
        "verdict",
        "1 for what is said of mean response time: better, worse, equivalent or undecided.",
        contests().flat_map(|one| {
            let all = [
                Outcome::Better,
                Outcome::Worse,
                Outcome::Equivalent,
                Outcome::Undecided,
            ];
            let labels =
                move |outcome: Outcome| join(&servers(one), &label("verdict", outcome.word()));
            all.into_iter()
                .map(move |outcome| (labels(outcome), f64::from(u8::from(one.outcome == outcome))))
        }),
    );
    family(
        &mut text,
        "compared_requests",
        "Requests that both servers of a comparison answered.",
        contests().map(|one| (servers(one), one.requests as f64)),
    );
    family(
        &mut text,
        "coverage_ratio",
        "Requests whose two answers were compared, of those that were to go to a shadow.",
        document
            .shadows
            .iter()
            .map(|shadow| (label("shadow", &shadow.name), shadow.coverage)),
    );
    family(
        &mut text,
        "differing_answers_ratio",
        "Answers of a shadow that differ from the primary's in anything, of those compared.",
        document
            .answers
            .iter()
            .filter(|one| one.compared > 0)
            .map(|one| {
                (
                    label("shadow", &one.shadow),
                    one.differ as f64 / one.compared as f64,
                )
            }),
    );
    text.finish()
}

fn ratios(one: &Comparison, figure: &str, of: Figure) -> impl Iterator<Item = (String, f64)> {
    let labels = join(&servers(one), &label("figure", figure));
    let bounds = [("estimate", of.ratio), ("low", of.low), ("high", of.high)];
    bounds
        .into_iter()
        .filter_map(move |(bound, value)| Some((join(&labels, &label("bound", bound)), value?)))
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

fn family(text: &mut Text, name: &str, help: &str, samples: impl Iterator<Item = (String, f64)>) {
    text.family(name, "gauge", help);
    samples.for_each(|(labels, value)| text.sample(&labels, value));
}
