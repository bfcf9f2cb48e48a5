//! `--at-least`, not decided: what was seen at that rate, why that is not enough, and what would be.

use super::figure::figure;
use run::{RateEnding, RatePurpose, RateSearch};

/// `asked` names the rate and the objective.
pub(super) fn undecided(search: &RateSearch, per_s: f64, asked: &str) -> String {
    let confidence = 100.0 * search.confidence;
    // The answer says that this rate is met: only the confidence is missing.
    let met = search.met_per_s.filter(|_| search.decided);
    let seen = match met.is_some_and(|met| per_s <= met) {
        true => format!(
            "It met {asked} in the windows measured, but not yet with {confidence:.0} % confidence"
        ),
        false => {
            format!("Whether it serves {asked} is not decided at {confidence:.0} % confidence")
        }
    };
    format!("{seen}: {}.", why(search, per_s))
}

fn why(search: &RateSearch, per_s: f64) -> String {
    // The answer that follows names the cause.
    if let RateEnding::Broken | RateEnding::GeneratorLate | RateEnding::Interrupted = search.ending
    {
        return "the search ended early".to_owned();
    }
    let allowed = search.objective.allowed_violation_rate();
    let wanted = capacity::requests_to_be_sure(allowed);
    // Windows at higher rates speak for this one, below the first that did not meet the objective.
    let broke = search.broke_per_s.filter(|broke| per_s < *broke);
    let speaks = |rate: f64| rate >= per_s && broke.is_none_or(|broke| rate < broke);
    let windows = search.trials.iter().filter(|t| {
        let full = matches!(t.purpose, RatePurpose::Decide | RatePurpose::Assure);
        full && t.refused.is_none() && speaks(t.asked_per_s)
    });
    let (requests, violating) = windows.fold((0, 0), |(requests, violating), t| {
        (requests + t.requests, violating + t.late + t.failed)
    });
    let rate = figure(per_s);
    if let Some(doubted) = search.doubted_per_s.filter(|doubted| *doubted <= per_s) {
        return format!(
            "a window at {} a second did not meet the objective, and too few were measured there; give a longer --budget",
            figure(doubted)
        );
    }
    if let Some(saturated) = search.saturated_per_s.filter(|most| *most <= per_s) {
        return format!(
            "the saturated throughput is only {} answers a second, but a sure no needs more windows; give a longer --budget",
            figure(saturated)
        );
    }
    if requests < wanted && violating as f64 <= allowed * requests as f64 {
        return format!(
            "that takes about {} requests at {rate} a second or more, and {} were measured; at {rate} a second the others take {}, so \
             give a --budget that is longer by more than that",
            run::grouped(wanted),
            run::grouped(requests),
            time((wanted - requests) as f64 / per_s)
        );
    }
    format!(
        "of {} requests at {rate} a second or more, {} were late or failed, and the objective allows {}: too near to decide; give a \
         longer --budget or a quieter machine",
        run::grouped(requests),
        run::grouped(violating),
        run::grouped((allowed * requests as f64) as u64)
    )
}

/// Rounded up: less would not be enough.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{:.0} s", s.ceil()),
        s => format!("{:.0} min", (s / 60.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{rate_window as window, rates as sample_rates};
    use run::{RateEnding, RateTrial};

    #[test]
    fn what_is_missing_is_said_in_requests_and_in_time() {
        let mut search = sample_rates(5, RateEnding::Found, 21.7, None).search;
        search.trials = vec![window(3.0, 60), window(21.7, 540), window(25.0, 9000)];
        let said = undecided(&search, 3.0, "3 requests a second");
        assert_eq!(
            said,
            "It met 3 requests a second in the windows measured, but not yet with 95 % confidence: that takes about 3,000 \
             requests at 3.00 a second or more, and 600 were measured; at 3.00 a second the others take 14 min, so give a \
             --budget that is longer by more than that."
        );
        // Above the answer nothing was seen that the answer says.
        let said = undecided(&search, 24.0, "24 requests a second");
        assert!(said.starts_with("Whether it serves 24"), "{said}");
        search.trials = vec![window(21.7, 4000)];
        let said = undecided(&search, 3.0, "3 requests a second");
        assert!(
            said.contains("of 4,000 requests") && said.contains("too near"),
            "{said}"
        );
        search.trials = vec![RateTrial {
            late: 2,
            ..window(3.0, 60)
        }];
        let said = undecided(&search, 3.0, "3 requests a second");
        assert!(
            said.contains("of 60 requests") && said.contains("2 were late or failed"),
            "{said}"
        );
    }

    #[test]
    fn an_early_end_is_no_lack_of_requests() {
        for ending in [
            RateEnding::Broken,
            RateEnding::GeneratorLate,
            RateEnding::Interrupted,
        ] {
            let search = sample_rates(5, ending, 21.7, None).search;
            let said = undecided(&search, 3.0, "3 requests a second");
            assert!(
                said.ends_with("confidence: the search ended early."),
                "{said}"
            );
        }
    }

    #[test]
    fn a_doubt_or_a_slower_closed_loop_is_the_reason() {
        let mut search = sample_rates(5, RateEnding::Found, 21.7, None).search;
        search.saturated_per_s = Some(20.5);
        let said = undecided(&search, 21.0, "21");
        assert!(
            said.contains("is only 20.5 answers a second, but"),
            "{said}"
        );
        search.doubted_per_s = Some(18.0);
        let said = undecided(&search, 21.0, "21");
        assert!(said.contains("a window at 18 a second"), "{said}");
    }
}
