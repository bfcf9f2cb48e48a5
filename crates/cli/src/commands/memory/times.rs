//! How long is read, and how often.

use crate::Failure;
use crate::args::MemoryArgs;
use crate::commands::within::within;
use experiment::config::{Asked, Problem};
use std::ops::RangeInclusive;
use std::time::Duration;

const LENGTHS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30 * 86_400);
const INTERVALS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3_600);
const USUAL_LENGTH: Duration = Duration::from_secs(60);
const USUAL_INTERVAL: Duration = Duration::from_secs(1);
/// Unless another interval is asked for: a chart shows no more, and a verdict needs fewer.
const READINGS: u32 = 600;
/// Of a document: with more of them nothing opens it. Where a command runs on, every second reading is dropped and the interval doubled.
pub const MOST_READINGS: usize = 20_000;

/// What was asked for, checked.
#[derive(Debug, PartialEq, Eq)]
pub struct Times {
    /// `None`: until a command ends.
    pub length: Option<Duration>,
    pub interval: Duration,
}

/// Checks both at once.
pub fn of(args: &MemoryArgs) -> Result<Times, Failure> {
    resolved(
        args.length.as_deref(),
        args.interval.as_deref(),
        args.command.is_empty(),
    )
    .map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::usage(lines.join("\n"))
    })
}

fn resolved(
    length: Option<&str>,
    interval: Option<&str>,
    ends: bool,
) -> Result<Times, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut checked = |text: Option<&str>, flag, range: RangeInclusive<Duration>, words| {
        let parsed = within(text?, flag, &range, words);
        parsed.map_err(|problem| problems.push(problem)).ok()
    };
    let long = checked(length, "--for", LENGTHS, "1s to 30d");
    let every = checked(interval, "--interval", INTERVALS, "100ms to 1h");
    if !problems.is_empty() {
        return Err(problems);
    }
    let long = long.or(ends.then_some(USUAL_LENGTH));
    let usual = long.map_or(USUAL_INTERVAL, |long| USUAL_INTERVAL.max(long / READINGS));
    let every = every.unwrap_or(usual);
    if let (Some(long), Some(text)) = (long.filter(|long| every > *long), interval) {
        let asked = Asked::new(text.to_owned(), "--interval");
        let remedy = format!("give at most {} s, or a longer --for", long.as_secs_f64());
        return Err(vec![Problem::of(
            &asked,
            "longer than the time that is read",
            remedy,
        )]);
    }
    if let (Some(long), Some(text)) = (long, interval)
        && long.as_millis() / every.as_millis() > MOST_READINGS as u128
    {
        let asked = Asked::new(text.to_owned(), "--interval");
        let least = long / MOST_READINGS as u32;
        return Err(vec![Problem::of(
            &asked,
            "more readings than a document holds",
            format!("give {} s or more", least.as_secs() + 1),
        )]);
    }
    Ok(Times {
        length: long,
        interval: every,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_follows_the_length() {
        let of = |length, interval, ends| {
            let times = resolved(length, interval, ends).unwrap();
            (
                times.length.map(|length| length.as_secs()),
                times.interval.as_millis(),
            )
        };
        assert_eq!(of(None, None, true), (Some(60), 1_000));
        assert_eq!(of(None, None, false), (None, 1_000));
        assert_eq!(of(Some("1h"), None, true), (Some(3_600), 6_000));
        assert_eq!(of(Some("1h"), Some("500ms"), true), (Some(3_600), 500));
    }

    #[test]
    fn wrong_times_are_named_all_at_once() {
        let said = |length, interval| {
            let problems = resolved(length, interval, true).unwrap_err();
            problems.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(said(Some("0s"), Some("2h")).len(), 2);
        let late = said(Some("5s"), Some("10s"));
        assert!(late[0].contains("at most 5 s"), "{late:?}");
        let many = said(Some("7d"), Some("1s"));
        assert!(
            many[0].contains("--interval") && many[0].contains("31 s"),
            "{many:?}"
        );
    }
}
