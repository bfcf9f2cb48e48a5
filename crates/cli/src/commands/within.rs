//! A duration that has to lie in a range.

use experiment::config::{Asked, Problem, parse_duration};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The duration of a flag. `words` name the range, such as `1s to 1h`.
pub fn within(
    text: &str,
    flag: &'static str,
    range: &RangeInclusive<Duration>,
    words: &str,
) -> Result<Duration, Problem> {
    let asked = Asked::new(text.to_owned(), flag);
    match parse_duration(&asked)? {
        length if range.contains(&length) => Ok(length),
        _ => Err(Problem::of(
            &asked,
            "out of range",
            format!("give a time from {words}"),
        )),
    }
}
