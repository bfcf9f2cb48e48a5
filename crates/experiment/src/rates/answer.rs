//! What a search comes to: its sentence, its exit code, its document.

use super::Found;
use super::figure::figure;
use super::undecided::undecided;
use crate::described::{host_of_run, workload};
use crate::request::Experiment;
use run::capacity::{Document, SCHEMA, Target};
use run::{RateEnding, RateSearch};
use std::time::Duration;

/// The answer for a person, and the exit code: 0 found, 1 nothing meets it, 3 no honest answer; with `--at-least`, 0 it is
/// carried, 1 it is not, 3 not decided. The code of
/// an interruption is that of the signal, which the caller knows.
pub fn answer(search: &RateSearch) -> (String, u8) {
    let (found, code) = highest(search);
    let Some(at_least) = search.at_least else {
        return (found, code);
    };
    let objective = search.objective;
    let asked = format!(
        "{} requests a second with {objective}",
        figure(at_least.per_s)
    );
    let confidence = 100.0 * search.confidence;
    let (said, code) = match at_least.met {
        Some(true) => (
            format!("It serves {asked} ({confidence:.0} % confidence)."),
            0,
        ),
        Some(false) => (
            format!("It does not serve {asked} ({confidence:.0} % confidence)."),
            1,
        ),
        None => (undecided(search, at_least.per_s, &asked), 3),
    };
    (format!("{said} {found}"), code)
}

/// The highest rate that meets the objective.
fn highest(search: &RateSearch) -> (String, u8) {
    let objective = search.objective;
    let kept = objective.to_string();
    let interval = match (search.low_per_s, search.high_per_s) {
        (Some(low), Some(high)) => format!(
            "with 95 % confidence the highest rate lies between {} and {}",
            figure(low),
            figure(high)
        ),
        (Some(low), None) => format!(
            "with 95 % confidence it is {} or more, and no upper bound was found",
            figure(low)
        ),
        (None, Some(high)) => format!(
            "with 95 % confidence it is less than {}; a lower bound takes a longer --budget",
            figure(high)
        ),
        (None, None) => "how sure that is takes a longer --budget to show".to_owned(),
    };
    let doubt = doubt(search).map_or_else(String::new, |why| {
        format!(" This rate may be too high: {why}.")
    });
    let doubt = match search.plan_for_per_s {
        Some(rate) => format!(
            "{doubt} Plan for at most {} (80 % of that): {GROWS}.",
            figure(rate)
        ),
        None => doubt,
    };
    if let Some(why) = &search.out_of_reach {
        return (format!("No rate meets {kept}: {why}."), 1);
    }
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
                "It serves at least {} requests a second with {kept}{}; more could not be offered from here.{doubt}",
                figure(met),
                not_in_each(search, met)
            ),
            0,
        ),
        (RateEnding::Found, Some(met)) => (
            format!(
                "It serves {} requests a second with {kept}{}: {interval}.{doubt}",
                figure(met),
                not_in_each(search, met)
            ),
            0,
        ),
        (RateEnding::OutOfTime, Some(met)) if search.decided => (
            format!(
                "It serves {} requests a second with {kept}{}, perhaps more: the time ran out before the next higher rate was decided; \
                 {interval}.{doubt}",
                figure(met),
                not_in_each(search, met)
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
            let refused = search.trials.iter().filter_map(|t| t.refused.as_deref());
            let why = match refused.clone().next_back() {
                Some(why) => format!(
                    "the time ran out first, because {} of {} could not be used, the last for this reason: {why}",
                    refused.count(),
                    run::counted(search.trials.len(), "window")
                ),
                None => "the time ran out first; give a longer --budget".to_owned(),
            };
            (format!("No answer: {why}.{impression}"), 3)
        }
    }
}

/// Why not to plan for the highest rate.
pub(crate) const GROWS: &str = "at the highest rate the server is so busy that its queue still grows when the windows of this search end";

/// Why the rate found may be too high, where the search could not look.
pub(crate) fn doubt(search: &RateSearch) -> Option<String> {
    // Below a rate that is met with confidence one window that was not met is chance.
    let sure = |rate: f64| search.low_per_s.is_some_and(|low| rate <= low);
    if let Some(doubted) = search.doubted_per_s.filter(|rate| !sure(*rate)) {
        return Some(format!(
            "a window at {} requests a second did not meet the objective, and too few windows were measured there to decide; give a longer --budget",
            figure(doubted)
        ));
    }
    match search.met_per_s.zip(search.saturated_per_s) {
        Some((met, saturated)) if met >= saturated => Some(format!(
            "the saturated throughput, measured once, is only {} answers a second; give a longer --budget",
            figure(saturated)
        )),
        _ => None,
    }
}

/// In how many of its windows a rate met the objective, where it was not all: most of them are enough.
fn not_in_each(search: &RateSearch, rate: f64) -> String {
    let mut curve = search.curve.iter();
    let of_rate =
        curve.find(|point| point.asked_per_s == rate && point.windows_met < point.windows);
    of_rate.map_or_else(String::new, |point| {
        format!(" (in {} of {} windows)", point.windows_met, point.windows)
    })
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
        sending: Some(found.sending),
        budget_s: budget.as_secs_f64(),
        timeout_s: experiment.timeout.as_secs_f64(),
        connections: found.connections,
        search: found.search,
        sentence,
        exit_code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{rate_window, rates as sample_rates};

    #[test]
    fn a_rate_that_must_be_carried_decides_the_exit_code() {
        let mut search = sample_rates(5, RateEnding::Found, 103.0, None).search;
        for (met, code, words) in [
            (Some(true), 0, "It serves 90 requests a second"),
            (Some(false), 1, "It does not serve 90 requests"),
            (None, 3, "It met 90 requests a second"),
        ] {
            search.at_least = Some(run::AtLeast { per_s: 90.0, met });
            let (said, found) = answer(&search);
            assert_eq!(found, code, "{said}");
            assert!(said.starts_with(words), "{said}");
            assert!(said.contains("It serves 103 requests a second"), "{said}");
        }
    }

    #[test]
    fn a_rate_that_not_every_window_met_says_so() {
        let mut search = sample_rates(5, RateEnding::Found, 103.0, None).search;
        let point = |asked_per_s, windows_met| run::RatePoint {
            asked_per_s,
            offered_per_s: asked_per_s,
            in_time_per_s: asked_per_s,
            late_per_s: 0.0,
            failed_per_s: 0.0,
            violation_rate: 0.0,
            p50_ms: None,
            p99_ms: None,
            utilisation: None,
            seconds: 40.0,
            windows: 4,
            windows_met,
            requests: 4_000,
            recovered: true,
        };
        search.curve = vec![point(90.0, 2), point(103.0, 4)];
        assert!(!answer(&search).0.contains("windows"));
        search.curve = vec![point(90.0, 4), point(103.0, 3)];
        for ending in [
            RateEnding::Found,
            RateEnding::AtLeast,
            RateEnding::OutOfTime,
        ] {
            search.ending = ending;
            let (said, _) = answer(&search);
            assert!(said.contains(" (in 3 of 4 windows)"), "{said}");
        }
    }

    #[test]
    fn windows_that_could_not_be_used_are_the_reason_for_no_answer() {
        let mut search = sample_rates(5, RateEnding::OutOfTime, 103.0, None).search;
        search.decided = false;
        search.trials = vec![rate_window(90.0, 900), rate_window(100.0, 1_000)];
        assert!(
            answer(&search)
                .0
                .starts_with("No answer: the time ran out first; give a longer --budget.")
        );
        search.trials[0].refused =
            Some("other processes had the CPU: end the other work".to_owned());
        let (said, code) = answer(&search);
        let begun = "No answer: the time ran out first, because 1 of 2 windows could not be used, the last for this reason: other processes";
        assert!(said.starts_with(begun), "{said}");
        assert_eq!(code, 3);
    }

    #[test]
    fn the_rate_to_plan_for_follows_the_highest() {
        let mut search = sample_rates(5, RateEnding::Found, 103.0, None).search;
        assert!(!answer(&search).0.contains("Plan for"));
        search.plan_for_per_s = Some(82.4);
        let said = answer(&search).0;
        assert!(
            said.ends_with(&format!(" Plan for at most 82.4 (80 % of that): {GROWS}.")),
            "{said}"
        );
    }

    #[test]
    fn a_rate_that_other_figures_contradict_is_not_sure() {
        let mut search = sample_rates(5, RateEnding::Found, 103.0, None).search;
        search.saturated_per_s = Some(120.0);
        assert!(!answer(&search).0.contains("too high"));
        search.saturated_per_s = Some(102.0);
        let (said, code) = answer(&search);
        assert!(said.contains("is only 102 answers a second"), "{said}");
        assert_eq!(code, 0);
        assert!(!said.contains("no time was left"), "{said}");
        search.doubted_per_s = Some(80.0);
        let (said, _) = answer(&search);
        assert!(
            said.contains("a window at 80 requests a second did not"),
            "{said}"
        );
        // What is met with confidence is not in doubt for one window.
        (search.low_per_s, search.saturated_per_s) = (Some(90.0), Some(120.0));
        let (said, _) = answer(&search);
        assert!(!said.contains("too high"), "{said}");
    }
}
