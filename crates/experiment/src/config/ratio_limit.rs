//! `check --assert`: a change against another revision that is not to be exceeded.

use super::{Asked, Problem};
use crate::request::RatioLimit;
use run::Metric;

const REMEDY: &str = "write limits such as 'throughput >= -3%', 'p95 <= +5%' or 'memory <= +10%', of the change against the other revision";

/// Reads one limit.
///
/// # Errors
/// What is wrong with it.
pub fn parse_ratio_limit(asked: &Asked) -> Result<RatioLimit, Problem> {
    let wrong = |what: &str| Problem::of(asked, what, REMEDY);
    let text = asked.text.trim();
    let (name, least, value) = match (text.split_once(">="), text.split_once("<=")) {
        (Some((name, value)), None) => (name.trim(), true, value.trim()),
        (None, Some((name, value))) => (name.trim(), false, value.trim()),
        _ => return Err(wrong("no limit: it needs one >= or <=")),
    };
    let metric = match name {
        "throughput" => Metric::Capacity,
        "p95" => Metric::ResponseTime,
        "memory" => Metric::Memory,
        "p99" => {
            return Err(wrong(
                "the blocks of a run compare p95, since their windows are too short for p99",
            ));
        }
        _ => return Err(wrong("not a figure that is compared")),
    };
    if least == metric.less_is_better() {
        return Err(wrong(
            "the wrong way round: throughput has a least (>=), p95 and memory have a most (<=)",
        ));
    }
    let percent = value
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok());
    let change = percent.ok_or_else(|| wrong("no change in per cent"))? / 100.0;
    if !(-0.99..=10.0).contains(&change) {
        return Err(wrong("out of range: a change is from -99% to +1000%"));
    }
    Ok(RatioLimit {
        text: text.to_owned(),
        metric,
        change,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Metric, f64), String> {
        let limit = parse_ratio_limit(&Asked::new(text, "--assert"));
        limit
            .map(|l| (l.metric, l.change))
            .map_err(|p| p.to_string())
    }

    #[test]
    fn a_limit_is_a_figure_a_direction_and_a_change() {
        assert_eq!(read("throughput >= -3%"), Ok((Metric::Capacity, -0.03)));
        assert_eq!(read("p95<=+5%"), Ok((Metric::ResponseTime, 0.05)));
        assert_eq!(read(" memory <= 10 % "), Ok((Metric::Memory, 0.1)));
    }

    #[test]
    fn what_is_no_limit_is_refused_with_an_example() {
        for (text, said) in [
            ("throughput", ">= or <="),
            ("p99 <= +5%", "p95"),
            ("speed >= 1%", "not a figure"),
            ("throughput <= 3%", "wrong way round"),
            ("memory >= 3%", "wrong way round"),
            ("memory <= 3", "per cent"),
            ("memory <= NaN%", "out of range"),
            ("throughput >= -100%", "out of range"),
        ] {
            let message = read(text).unwrap_err();
            assert!(
                message.contains(said) && message.contains("'throughput >= -3%'"),
                "{message}"
            );
        }
    }
}
