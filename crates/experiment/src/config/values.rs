//! Values with units: text in, a checked value or a [`Problem`] out.

use super::{Asked, Problem};
use run::{LatencyObjective, Least};
use servers::safety::Remote;
use std::time::Duration;

/// `250ms`, `8m`, `1h 30m`; never a bare number.
pub fn parse_duration(asked: &Asked) -> Result<Duration, Problem> {
    let remedy = "give a number and a unit, such as 250ms, 30s or 8m";
    let text = asked.text.trim();
    if text.parse::<f64>().is_ok() {
        return Err(Problem::of(asked, "a time without a unit", remedy));
    }
    let duration = humantime::parse_duration(text).map_err(|e| Problem::of(asked, e, remedy))?;
    if duration.is_zero() {
        return Err(Problem::of(asked, "no time at all", remedy));
    }
    Ok(duration)
}

/// `512MiB`, `2GB`; never a bare number.
pub fn parse_size(asked: &Asked) -> Result<u64, Problem> {
    let remedy = "give a number and a unit, such as 512MiB or 2GiB";
    let text = asked.text.trim();
    if text.parse::<f64>().is_ok() {
        return Err(Problem::of(asked, "a size without a unit", remedy));
    }
    if ["Kb", "Mb", "Gb", "Tb"]
        .iter()
        .any(|bits| text.ends_with(bits))
    {
        let wrong = "a small b is a bit, and memory is counted in bytes";
        return Err(Problem::of(asked, wrong, remedy));
    }
    let size: bytesize::ByteSize = text
        .parse()
        .map_err(|_| Problem::of(asked, "no size", remedy))?;
    if size.as_u64() == 0 {
        Err(Problem::of(asked, "no memory at all", remedy))
    } else {
        Ok(size.as_u64())
    }
}

/// `p99=250ms`.
pub fn parse_latency(asked: &Asked) -> Result<LatencyObjective, Problem> {
    let remedy = "write it as a percentile and a limit with a unit, such as p99=250ms";
    let Some((percentile, limit)) = asked.text.split_once('=') else {
        return Err(Problem::of(asked, "no objective", remedy));
    };
    let percentile = percentile
        .trim()
        .strip_prefix(['p', 'P'])
        .and_then(|p| p.parse::<f64>().ok());
    let Some(percentile) = percentile.filter(|p| (1.0..100.0).contains(p)) else {
        return Err(Problem::of(
            asked,
            "the percentile must be from p1 to p99.99",
            remedy,
        ));
    };
    let limit = parse_duration(&Asked::new(limit, asked.origin.clone()))
        .map_err(|_| Problem::of(asked, "the limit must be above 0 and have a unit", remedy))?;
    Ok(LatencyObjective {
        percentile,
        limit_ms: limit.as_secs_f64() * 1e3,
    })
}

pub(super) fn parse_threads(asked: &Asked) -> Result<u16, Problem> {
    whole(asked, 1, 256, "threads")
}

pub(super) fn parse_workers(asked: &Asked) -> Result<u16, Problem> {
    whole(asked, 0, 256, "workers")
}

/// A whole number in a range.
pub(super) fn whole(asked: &Asked, least: u64, most: u64, noun: &str) -> Result<u16, Problem> {
    whole_u64(asked, least, most, noun).map(|v| v as u16)
}

/// A whole number in a range, up to 64 bits.
pub fn whole_u64(asked: &Asked, least: u64, most: u64, noun: &str) -> Result<u64, Problem> {
    let remedy = format!("give a whole number from {least} to {most}");
    let value: u64 = asked
        .text
        .trim()
        .parse()
        .map_err(|_| Problem::of(asked, format_args!("no number of {noun}"), &remedy))?;
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(Problem::of(
            asked,
            format_args!("{value} is out of range for {noun}"),
            remedy,
        ))
    }
}

pub(super) fn parse_bool(asked: &Asked) -> Result<bool, Problem> {
    match asked.text.trim() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(Problem::of(
            asked,
            "neither yes nor no",
            "write true or false",
        )),
    }
}

/// A service on another machine.
pub(super) fn parse_remote(asked: &Asked) -> Result<Remote, Problem> {
    let remedy =
        "name each service that may be used, as in --allow-remote db.staging:5432, once for each";
    let wrong = match asked.text.trim() {
        "true" => "there is no switch for everything".to_owned(),
        text => match text.parse() {
            Ok(remote) => return Ok(remote),
            Err(wrong) => wrong,
        },
    };
    Err(Problem::of(asked, wrong, remedy))
}

/// `3%` or `0.03`, as a share.
pub fn parse_share(asked: &Asked) -> Result<f64, Problem> {
    let remedy = "give a share from 0.5% to 50%, such as 3% or 0.03";
    share(asked, 0.005..=0.5, remedy)
}

/// A rate as a share of a capacity, such as `85%`; beyond, a queue has no end that a window would show.
pub fn parse_load(asked: &Asked) -> Result<f64, Problem> {
    let remedy = "give a share of the capacity from 5% to 97%, such as 85%";
    share(asked, 0.05..=0.97, remedy)
}

/// Some of a whole: `10%` or `0.1`, and not nothing.
pub fn parse_part(asked: &Asked) -> Result<f64, Problem> {
    let remedy = "give more than 0 and at most 1, such as 0.1 or 10%";
    share(asked, f64::MIN_POSITIVE..=1.0, remedy)
}

fn share(
    asked: &Asked,
    range: std::ops::RangeInclusive<f64>,
    remedy: &str,
) -> Result<f64, Problem> {
    let text = asked.text.trim();
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|v| v / 100.0),
        None => text.parse::<f64>(),
    };
    match value {
        Ok(v) if range.contains(&v) => Ok(v),
        Ok(_) => Err(Problem::of(asked, "out of range", remedy)),
        Err(_) => Err(Problem::of(asked, "no share", remedy)),
    }
}

/// `300/s` or `300`, per second.
pub fn parse_rate(asked: &Asked) -> Result<f64, Problem> {
    let remedy = "give requests per second over 0, such as 40 or 40/s";
    let text = asked.text.trim();
    match text
        .strip_suffix("/s")
        .unwrap_or(text)
        .trim()
        .parse::<f64>()
    {
        Ok(v) if v > 0.0 && v <= 1e6 => Ok(v),
        _ => Err(Problem::of(asked, "no arrival rate", remedy)),
    }
}

/// Fewest and most requests that a server is aged with.
const AGES: std::ops::RangeInclusive<u64> = LEAST_AGE..=1_000_000_000;
/// The fewest of them.
pub const LEAST_AGE: u64 = 1_000;

/// `50k-requests`, `1M` or `20000`: how many requests.
pub(super) fn parse_requests(asked: &Asked) -> Result<u64, Problem> {
    let remedy = "give a number of requests from 1000 to 1000M, such as 20000, 50k-requests or 1M";
    let text = asked.text.trim();
    let number = text.strip_suffix("-requests").unwrap_or(text);
    let (number, times) = match number.strip_suffix('k') {
        Some(thousands) => (thousands, 1_000),
        None => match number.strip_suffix('M') {
            Some(millions) => (millions, 1_000_000),
            None => (number, 1),
        },
    };
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let Some(number) = number.parse::<u64>().ok().filter(|_| digits) else {
        return Err(Problem::of(asked, "no number of requests", remedy));
    };
    let requests = number.saturating_mul(times);
    match AGES.contains(&requests) {
        true => Ok(requests),
        false => Err(Problem::of(
            asked,
            format_args!("{requests} requests are out of range"),
            remedy,
        )),
    }
}

/// What there is to be least of.
pub(super) fn parse_least(asked: &Asked) -> Result<Least, Problem> {
    match asked.text.trim() {
        "latency" => Ok(Least::Latency),
        "memory" => Ok(Least::Memory),
        "processes" => Ok(Least::Processes),
        _ => Err(Problem::of(
            asked,
            "nothing that can be made least",
            "write latency, memory or processes",
        )),
    }
}

/// What something costs, a number without its unit.
pub(super) fn parse_cost(asked: &Asked) -> Result<f64, Problem> {
    match asked.text.trim().parse::<f64>() {
        Ok(v) if v > 0.0 && v.is_finite() => Ok(v),
        _ => Err(Problem::of(
            asked,
            "no cost",
            "give a number over 0 without its unit, such as 140",
        )),
    }
}

/// `1,2,3`, each checked by `one`, doubles removed, in order.
pub(super) fn parse_list(
    asked: &Asked,
    one: impl Fn(&Asked) -> Result<u16, Problem>,
) -> Result<Vec<u16>, Vec<Problem>> {
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for text in asked.text.split(',').map(str::trim) {
        if text.contains("..") || text.trim_start_matches('-').contains('-') {
            let remedy = "write each number, such as 3,4,5";
            problems.push(Problem::of(asked, "a range is no list", remedy));
            continue;
        }
        match one(&Asked::new(text, asked.origin.clone())) {
            Ok(v) if values.contains(&v) => {}
            Ok(v) => values.push(v),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(values)
    } else {
        Err(problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Asked {
        Asked::new(text, "--flag")
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(
            parse_duration(&asked("250ms")).unwrap(),
            Duration::from_millis(250)
        );
        assert_eq!(
            parse_duration(&asked("8m")).unwrap(),
            Duration::from_secs(480)
        );
        let bare = parse_duration(&asked("250")).unwrap_err().to_string();
        assert!(bare.contains("a time without a unit"), "{bare}");
        for wrong in ["250", "", "-1s", "0s", "fast"] {
            let problem = parse_duration(&asked(wrong)).unwrap_err().to_string();
            assert!(
                problem.contains("--flag") && problem.contains("250ms"),
                "{problem}"
            );
        }
    }

    #[test]
    fn sizes_need_a_unit() {
        assert_eq!(parse_size(&asked("2GiB")).unwrap(), 2 << 30);
        assert_eq!(parse_size(&asked("512 MiB")).unwrap(), 512 << 20);
        for wrong in ["512", "", "many", "0MiB", "1Gb", "512 Mb"] {
            assert!(parse_size(&asked(wrong)).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn requests_are_a_whole_number_with_or_without_a_unit() {
        let read = |text: &str| parse_requests(&asked(text));
        for (text, requests) in [
            ("20000", 20_000),
            ("20k", 20_000),
            ("50k-requests", 50_000),
            ("1M", 1_000_000),
            (" 2000-requests ", 2_000),
        ] {
            assert_eq!(read(text).unwrap(), requests, "{text:?}");
        }
        for wrong in [
            "",
            "k",
            "1h",
            "1.5M",
            "-5k",
            "+5k",
            "5K",
            "50k requests",
            "many",
        ] {
            let problem = read(wrong).unwrap_err().to_string();
            assert!(problem.contains("no number of requests; give"), "{problem}");
        }
        for wrong in ["999", "0", "2000M", "99999999999999999M"] {
            let problem = read(wrong).unwrap_err().to_string();
            assert!(
                problem.contains("requests are out of range; give"),
                "{problem}"
            );
        }
    }

    #[test]
    fn an_objective_is_a_percentile_and_a_limit_with_a_unit() {
        assert_eq!(
            parse_latency(&asked("p99=250ms")).unwrap(),
            LatencyObjective {
                percentile: 99.0,
                limit_ms: 250.0
            }
        );
        assert_eq!(parse_latency(&asked("p99.9=1s")).unwrap().percentile, 99.9);
        for wrong in ["p99=250", "250ms", "p100=1s", "p0=1s", "q99=1s", "p99="] {
            assert!(parse_latency(&asked(wrong)).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn shares_and_rates() {
        assert_eq!(parse_share(&asked("3%")).unwrap(), 0.03);
        assert_eq!(parse_rate(&asked("40/s")).unwrap(), 40.0);
        assert!(
            parse_share(&asked("0")).is_err()
                && parse_rate(&asked("0")).is_err()
                && parse_rate(&asked("NaN")).is_err()
        );
        assert_eq!(
            parse_list(&asked("1,2,2,5"), parse_threads).unwrap(),
            [1, 2, 5]
        );
        assert_eq!(
            parse_list(&asked("0,abc,3"), parse_threads)
                .unwrap_err()
                .len(),
            2
        );
    }
}
