//! An arm against the first one: whether both had the same traffic, and whether the response times differ.

use super::evidence::{self, Pair, ratio};
use super::shown;
use crate::experiment::Experiment;
use crate::join::Fleet;
use run::production::{Comparison, Ratio, Verdict};
use stats::LAST_LEVEL;

/// A completed look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked {
    pub(super) number: u32,
    /// Slices until it.
    pub(super) slices: usize,
    pub(super) level: f64,
}

/// Level of the test of the request rates.
const RATE_LEVEL: f64 = 0.05;
/// Rates that differ by less do not change response times noticeably.
const SAME_RATE: f64 = 0.02;
/// The interval of the rates has to exclude larger differences than this.
const OTHER_RATE: f64 = 0.10;

pub(super) fn refused(experiment: &Experiment, arm: usize, why: &str) -> Comparison {
    without(experiment, arm, Verdict::Refused, why, None)
}

fn without(
    experiment: &Experiment,
    arm: usize,
    verdict: Verdict,
    why: &str,
    request_rate: Option<Ratio>,
) -> Comparison {
    let name = experiment.arms[arm].name.clone();
    Comparison {
        sentence: no_answer(&name, verdict, why),
        arm: name,
        verdict,
        response_time: None,
        detectable: None,
        request_rate,
        why_not: Some(why.to_owned()),
    }
}

/// The sentence for arms without an answer.
pub(super) fn no_answer(names: &str, verdict: Verdict, why: &str) -> String {
    let head = match verdict {
        Verdict::Refused => "not judged",
        _ => "not enough for an answer",
    };
    format!("{names}: {head}: {why}.")
}

/// The comparison at a look.
pub(super) fn comparison(
    experiment: &Experiment,
    fleet: &Fleet,
    arm: usize,
    look: &Looked,
) -> Comparison {
    let pair = Pair::of(experiment, fleet, arm);
    let others = experiment.arms.len() - 1;
    let too_few =
        |why: &str, rate: Option<Ratio>| without(experiment, arm, Verdict::NotEnough, why, rate);
    let found = pair.of_slices(look.slices, look.level, evidence::response);
    let rate = pair.of_slices(look.slices, RATE_LEVEL, evidence::rate);
    let (Some(found), Some(rate)) = (found, rate) else {
        return too_few(
            "no unit of each arm has requests in the same slices; wait, or give the arm a larger share",
            None,
        );
    };
    let rate_ratio = ratio(&rate, RATE_LEVEL);
    if found.least_p > LAST_LEVEL / others as f64 {
        let why = format!(
            "with {} draws of {} and {} of {name} no result could have a p below {:.3}; more units, or more periods in which they start \
             again, are needed",
            found.units.0,
            experiment.arms[0].name,
            found.units.1,
            found.least_p,
            name = experiment.arms[arm].name,
        );
        return too_few(&why, Some(rate_ratio));
    }
    if let Some((verdict, why)) = coupled(&rate_ratio) {
        return without(experiment, arm, verdict, &why, Some(rate_ratio));
    }
    let response = ratio(&found, look.level);
    let is_last = look.number == experiment.looks;
    let verdict = verdict(found.interval, is_last);
    if verdict == Verdict::NotEnough {
        return too_few(
            "the units of the two arms share too few slices for an interval; more units, or more time in which both have requests, are needed",
            Some(rate_ratio),
        );
    }
    let name = &experiment.arms[arm].name;
    let says = match verdict {
        Verdict::Better => format!("{name} is better"),
        Verdict::Worse => format!("{name} is worse"),
        Verdict::NoDifference => format!("{name}: no difference found"),
        _ => format!("{name}: not decided yet"),
    };
    let last = if is_last { ", the last" } else { "" };
    Comparison {
        arm: name.clone(),
        verdict,
        sentence: format!(
            "{says}: mean response time {}, look {} of {}{last}.",
            shown(&response),
            look.number,
            experiment.looks
        ),
        response_time: Some(response),
        detectable: Some(found.detectable(LAST_LEVEL / others as f64).exp_m1()),
        request_rate: Some(rate_ratio),
        why_not: None,
    }
}

/// The verdict by the interval of the effect.
fn verdict(interval: Option<(f64, f64)>, is_last: bool) -> Verdict {
    match interval {
        Some((_, high)) if high < 0.0 => Verdict::Better,
        Some((low, _)) if low > 0.0 => Verdict::Worse,
        Some(_) if is_last => Verdict::NoDifference,
        // Without an interval, any difference is possible.
        None if is_last => Verdict::NotEnough,
        _ => Verdict::Undecided,
    }
}

/// The reason not to compare response times, if the arms have different traffic or this is not known.
fn coupled(rate: &Ratio) -> Option<(Verdict, String)> {
    let (Some(low), Some(high)) = (rate.low, rate.high) else {
        return Some((
            Verdict::NotEnough,
            "there are too few units to tell whether the arms have the same traffic; more units, or more periods, are needed".to_owned(),
        ));
    };
    if low > 1.0 + SAME_RATE || high < 1.0 - SAME_RATE {
        let why = format!(
            "the load balancer gives the arms different traffic (least connections?): requests a unit {}; an arm that is faster then gets \
             more requests, and its response times are those of another load. Use round robin or random balancing without weights",
            shown(rate)
        );
        return Some((Verdict::Refused, why));
    }
    if low < 1.0 - OTHER_RATE || high > 1.0 + OTHER_RATE {
        // The width falls with the root of the number of units.
        let wide = f64::max(
            high.ln() / OTHER_RATE.ln_1p(),
            low.ln() / (-OTHER_RATE).ln_1p(),
        );
        let draws = (rate.draws_of_first + rate.draws) as f64 * wide * wide;
        let why = format!(
            "whether the arms have the same traffic is not known to within 10 %: requests a unit {}; about {} draws (units, or periods in \
             which they start again) are needed, now there are {}",
            shown(rate),
            draws.ceil(),
            rate.draws_of_first + rate.draws
        );
        return Some((Verdict::NotEnough, why));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(low: Option<f64>, high: Option<f64>) -> Ratio {
        Ratio {
            estimate: 1.0,
            low,
            high,
            p: 0.5,
            confidence: 0.95,
            draws_of_first: 10,
            draws: 10,
        }
    }

    #[test]
    fn without_an_interval_the_last_look_finds_nothing_out() {
        assert_eq!(verdict(Some((-0.2, -0.1)), false), Verdict::Better);
        assert_eq!(verdict(Some((0.1, 0.2)), true), Verdict::Worse);
        assert_eq!(verdict(Some((-0.1, 0.2)), true), Verdict::NoDifference);
        assert_eq!(verdict(Some((-0.1, 0.2)), false), Verdict::Undecided);
        assert_eq!(verdict(None, true), Verdict::NotEnough);
        assert_eq!(verdict(None, false), Verdict::Undecided);
    }

    #[test]
    fn response_times_are_compared_under_the_same_traffic_alone() {
        let verdict = |low, high| coupled(&rate(Some(low), Some(high))).map(|(verdict, _)| verdict);
        assert_eq!(verdict(0.95, 1.05), None);
        // Round robin is so even that a thousandth is significant.
        assert_eq!(verdict(1.001, 1.003), None);
        assert_eq!(verdict(1.021, 1.2), Some(Verdict::Refused));
        assert_eq!(verdict(0.7, 0.97), Some(Verdict::Refused));
        assert_eq!(verdict(0.8, 1.02), Some(Verdict::NotEnough));
        let (verdict, why) = coupled(&rate(Some(0.85), Some(1.21))).unwrap();
        assert_eq!(verdict, Verdict::NotEnough);
        assert!(why.contains("about 80 draws"), "{why}");
        assert!(coupled(&rate(None, None)).is_some());
    }
}
