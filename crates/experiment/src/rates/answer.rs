//! What a search comes to: its sentence, its exit code, its document.

use super::Found;
use crate::request::Experiment;
use crate::session::{host_of_run, workload};
use run::capacity::{Document, SCHEMA, Target};
use run::{RateEnding, RateSearch};
use std::time::Duration;

/// The answer in one sentence for a person, and the exit code: 0 found, 1 nothing meets it, 3 no honest answer. The code of
/// an interruption is that of the signal, which the caller knows.
pub fn answer(search: &RateSearch) -> (String, u8) {
    let objective = search.objective;
    let kept = format!("p{} = {} ms", objective.percentile, objective.limit_ms);
    let interval = match (search.low_per_s, search.high_per_s) {
        (Some(low), Some(high)) => {
            format!(
                "{} surely meets it, {} surely does not",
                figure(low),
                figure(high)
            )
        }
        (Some(low), None) => format!(
            "{} surely meets it; no rate is surely too high",
            figure(low)
        ),
        (None, Some(high)) => {
            format!(
                "{} is surely too much; which rate surely meets it takes a longer --budget to show",
                figure(high)
            )
        }
        (None, None) => "how sure that is takes a longer --budget to show".to_owned(),
    };
    match (search.ending, search.met_per_s) {
        (RateEnding::NotEven, _) => {
            let least = search
                .broke_per_s
                .map_or_else(|| "the lowest rate".to_owned(), figure);
            (
                format!("Not even {least} requests a second meet {kept}."),
                1,
            )
        }
        (RateEnding::AtLeast, Some(met)) => (
            format!(
                "It carries at least {} requests a second with {kept}; more could not be offered from here.",
                figure(met)
            ),
            0,
        ),
        (RateEnding::Found, Some(met)) => (
            format!(
                "It carries {} requests a second with {kept}: {interval}.",
                figure(met)
            ),
            0,
        ),
        (RateEnding::OutOfTime, Some(met)) if search.decided => (
            format!(
                "It carries {} requests a second with {kept}, perhaps more: the time ran out before the bounds were near; \
                 {interval}.",
                figure(met)
            ),
            0,
        ),
        (RateEnding::Broken | RateEnding::GeneratorLate | RateEnding::Interrupted, met) => {
            let so_far = met.map_or_else(String::new, |met| {
                let impression = if search.decided {
                    ""
                } else {
                    ", at first impression"
                };
                format!(
                    " Until then {} requests a second met {kept}{impression}.",
                    figure(met)
                )
            });
            let why = search
                .warnings
                .first()
                .map_or("nothing more could be measured", String::as_str);
            (format!("No answer: {why}.{so_far}"), 3)
        }
        (_, met) => {
            let impression = met.map_or_else(String::new, |met| {
                format!(" At first impression {} a second meet {kept}.", figure(met))
            });
            (
                format!("No answer: the time ran out first; give a longer --budget.{impression}"),
                3,
            )
        }
    }
}

/// The document of `powerband capacity`.
pub fn document(
    experiment: &Experiment,
    found: Found,
    url: Option<String>,
    started_at: &str,
    elapsed: Duration,
    budget: Duration,
) -> Document {
    let (sentence, exit_code) = answer(&found.search);
    let app_dir = url
        .is_none()
        .then(|| experiment.app_dir.display().to_string());
    Document {
        schema: SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: started_at.to_owned(),
        elapsed_s: elapsed.as_secs_f64(),
        seed: experiment.seed,
        host: host_of_run(),
        target: Target {
            url,
            app_dir,
            settings: found.settings,
        },
        workload: workload(experiment),
        budget_s: budget.as_secs_f64(),
        timeout_s: experiment.timeout.as_secs_f64(),
        connections: found.connections,
        search: found.search,
        sentence,
        exit_code,
    }
}

/// Three significant digits, as the search has them.
pub fn figure(per_s: f64) -> String {
    match per_s {
        r if r >= 100.0 => format!("{r:.0}"),
        r if r >= 10.0 => format!("{r:.1}").trim_end_matches(".0").to_owned(),
        r => format!("{r:.2}"),
    }
}
