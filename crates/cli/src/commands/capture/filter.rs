//! Which requests `capture filter` keeps.

use crate::args::FilterArgs;
use crate::{Failure, asked};
use ::capture::{Exchange, number_hash};
use experiment::config::{Asked, Problem, parse_duration, parse_part};
use regex::Regex;
use std::ops::RangeInclusive;

/// What is wanted, checked.
#[derive(Debug)]
pub struct Wanted {
    methods: Vec<String>,
    path: Option<Regex>,
    statuses: Vec<RangeInclusive<u16>>,
    from_ns: u64,
    to_ns: u64,
    /// Of the hashes of connections, those up to this one.
    sample: Option<u64>,
    /// The instant of the first record.
    began_ns: Option<u64>,
}

impl Wanted {
    /// Checks everything; reports all problems at once.
    pub fn resolve(args: &FilterArgs) -> Result<Self, Failure> {
        let mut problems = Vec::new();
        let path = args.path.as_ref().and_then(|text| {
            let wrong =
                |e| Problem::of(&Asked::new(text, "--path"), e, "write a regular expression");
            Regex::new(text).map_err(|e| problems.push(wrong(e))).ok()
        });
        let mut statuses = Vec::new();
        for text in &args.status {
            match parse_statuses(text) {
                Some(range) => statuses.push(range),
                None => problems.push(Problem::of(
                    &Asked::new(text, "--status"),
                    "no status",
                    "write 200, 5xx or 300-399",
                )),
            }
        }
        let mut offset = |text: &Option<String>, flag: &str, otherwise: u64| match text {
            None => otherwise,
            Some(text) => parse_duration(&Asked::new(text, flag)).map_or_else(
                |problem| {
                    problems.push(problem);
                    otherwise
                },
                |offset| u64::try_from(offset.as_nanos()).unwrap_or(u64::MAX),
            ),
        };
        let from_ns = offset(&args.from, "--from", 0);
        let to_ns = offset(&args.to, "--to", u64::MAX);
        if from_ns >= to_ns {
            problems.push(Problem::with(
                "--from is not before --to",
                "give --to the later offset",
            ));
        }
        let sample = args.sample.as_ref().and_then(|text| {
            parse_part(&Asked::new(text, "--sample"))
                .map_err(|p| problems.push(p))
                .ok()
        });
        if !problems.is_empty() {
            return Err(asked::failure(&problems));
        }
        Ok(Self {
            methods: args.method.clone(),
            path,
            statuses,
            from_ns,
            to_ns,
            // Saturates: a share of 1 is all.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            sample: sample.map(|share| (share * u64::MAX as f64) as u64),
            began_ns: None,
        })
    }

    /// Whether a request is kept; they are to be shown in the file's order.
    pub fn takes(&mut self, exchange: &Exchange) -> bool {
        let began_ns = *self.began_ns.get_or_insert(exchange.at_ns);
        let offset_ns = exchange.at_ns.saturating_sub(began_ns);
        let status = exchange.answer.as_ref().map(|answer| answer.status);
        let of_status = |range: &RangeInclusive<u16>| status.is_some_and(|s| range.contains(&s));
        let method = |wanted: &String| wanted.eq_ignore_ascii_case(&exchange.method);
        (self.methods.is_empty() || self.methods.iter().any(method))
            && self
                .path
                .as_ref()
                .is_none_or(|path| path.is_match(&exchange.target))
            && (self.statuses.is_empty() || self.statuses.iter().any(of_status))
            && (self.from_ns..self.to_ns).contains(&offset_ns)
            && self
                .sample
                .is_none_or(|most| number_hash(of_sample(exchange)) <= most)
    }
}

/// Where the file knows no connections, each request is drawn for itself.
fn of_sample(exchange: &Exchange) -> u64 {
    match exchange.connection {
        0 => exchange.id,
        connection => connection,
    }
}

/// `200`, `5xx` or `300-399`.
fn parse_statuses(text: &str) -> Option<RangeInclusive<u16>> {
    let text = text.trim();
    let status = |text: &str| text.parse().ok().filter(|s| (100..=599).contains(s));
    if let Some(class) = text.to_ascii_lowercase().strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|c| (1..=5).contains(c))?;
        return Some(class * 100..=class * 100 + 99);
    }
    match text.split_once('-') {
        Some((from, to)) => Some(status(from)?..=status(to)?).filter(|range| !range.is_empty()),
        None => status(text).map(|s| s..=s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        assert_eq!(parse_statuses("404"), Some(404..=404));
        assert_eq!(parse_statuses("5XX"), Some(500..=599));
        assert_eq!(parse_statuses("300-399"), Some(300..=399));
        for wrong in ["", "6xx", "xx", "99", "400-300", "2", "ok", "200-"] {
            assert_eq!(parse_statuses(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_sample_has_about_its_share_and_is_always_the_same() {
        let most = (0.1 * u64::MAX as f64) as u64;
        let taken = (1..=100_000_u64)
            .filter(|n| number_hash(*n) <= most)
            .count();
        assert!((9_700..10_300).contains(&taken), "{taken}");
        let share = |text: &str| parse_part(&Asked::new(text, "--sample")).ok();
        assert_eq!(
            (share("10%"), share("0.5"), share("1")),
            (Some(0.1), Some(0.5), Some(1.0))
        );
        for wrong in ["0", "-1", "101%", "2", "many", "NaN"] {
            assert_eq!(share(wrong), None, "{wrong}");
        }
    }
}
