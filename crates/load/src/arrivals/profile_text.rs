//! A profile as people write it: parts with commas between them, each a rate
//! or a ramp, with a time or a share of the run's.

use std::time::Duration;

use super::HIGHEST_RATE;
use super::profile::{Part, Profile};

const FORMS: &str = "give requests a second as 100, a ramp as 10..200x60s, steps as \
                     50x30s,100x30s, or bursts as 200x2s,20x28s,...";

/// What is wrong with a profile's text, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?}: {remedy}")]
pub struct ProfileProblem {
    /// The part that is wrong.
    pub value: String,
    /// What to write instead.
    pub remedy: String,
}

/// A part as written: its time may be left to be shared out.
struct Written<'a> {
    text: &'a str,
    from: f64,
    to: f64,
    length: Option<Duration>,
}

impl Profile {
    /// Reads a rate over time: `100`, `100/s`, `90/min`; a ramp, `10..200`;
    /// steps, `50,100,200`; any part with its time, `0..100x30s,100x5min`; and
    /// parts that repeat, `200x2s,20x28s,...`. Parts without a time share what
    /// the others leave of `total`, the run's duration, equally. After the last
    /// part its rate holds.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str, total: Option<Duration>) -> Result<Self, ProfileProblem> {
        let mut texts: Vec<&str> = text.split(',').map(str::trim).collect();
        let repeats = texts.len() > 1 && texts.last() == Some(&"...");
        if repeats {
            texts.pop();
        }
        let mut written = Vec::with_capacity(texts.len());
        for text in texts {
            written.push(Written::read(text)?);
        }
        if written
            .iter()
            .all(|part| part.from == 0.0 && part.to == 0.0)
        {
            return Err(problem(text, "nothing is ever due; give a rate above 0"));
        }
        if repeats {
            return Ok(Self::repeating(&all_timed(&written)?));
        }
        if let [only] = &written[..]
            && only.length.is_none()
            && only.from == only.to
        {
            return Ok(Self::constant(only.to));
        }
        Ok(Self::holding(&shared_out(text, &written, total)?))
    }
}

impl<'a> Written<'a> {
    fn read(text: &'a str) -> Result<Self, ProfileProblem> {
        if text.contains('+') {
            let remedy = "bursts are parts that repeat: 200x2s,20x28s,... is 200 a second for 2 s, \
                          then 20 a second for 28 s, and so on";
            return Err(problem(text, remedy));
        }
        let (rates, length) = match text.split_once('x') {
            Some((rates, length)) => (rates, Some(read_length(text, length)?)),
            None => (text, None),
        };
        let (from, to) = match rates.split_once("..") {
            Some((from, to)) => (read_rate(text, from)?, read_rate(text, to)?),
            None => {
                let rate = read_rate(text, rates)?;
                (rate, rate)
            }
        };
        Ok(Self {
            text,
            from,
            to,
            length,
        })
    }

    fn timed(&self, length: Duration) -> Part {
        Part::ramp(self.from, self.to, length)
    }
}

fn read_rate(part: &str, text: &str) -> Result<f64, ProfileProblem> {
    let text = text.trim();
    let (number, seconds) = if let Some(number) = text.strip_suffix("/s") {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix("/min") {
        (number, 60.0)
    } else {
        (text, 1.0)
    };
    let rate = number
        .trim()
        .parse::<f64>()
        .map_err(|_| problem(part, FORMS))?
        / seconds;
    if (0.0..=HIGHEST_RATE).contains(&rate) {
        Ok(rate)
    } else {
        Err(problem(part, "a rate is from 0 to 10 million a second"))
    }
}

fn read_length(part: &str, text: &str) -> Result<Duration, ProfileProblem> {
    match humantime::parse_duration(text.trim()) {
        Ok(length) if !length.is_zero() => Ok(length),
        Ok(_) => Err(problem(part, "the time of a part is above 0")),
        Err(_) => Err(problem(
            part,
            "after x comes the part's time with its unit, as 500ms, 30s or 5min",
        )),
    }
}

fn all_timed(parts: &[Written<'_>]) -> Result<Vec<Part>, ProfileProblem> {
    let timed = parts.iter().map(|part| match part.length {
        Some(length) => Ok(part.timed(length)),
        None => Err(problem(
            part.text,
            format!("parts that repeat need a time each, as {}x30s", part.text),
        )),
    });
    timed.collect()
}

/// Gives the parts without a time equal shares of what the others leave.
fn shared_out(
    text: &str,
    parts: &[Written<'_>],
    total: Option<Duration>,
) -> Result<Vec<Part>, ProfileProblem> {
    let own: Duration = parts.iter().filter_map(|part| part.length).sum();
    let sharing = parts.iter().filter(|part| part.length.is_none()).count();
    if let Some(total) = total
        && (own > total || (sharing > 0 && own == total))
    {
        let (own, total) = (show(own), show(total));
        let rest = if sharing > 0 {
            ", and others need some too"
        } else {
            ""
        };
        return Err(problem(
            text,
            format!("its parts take {own}{rest}, but the run {total}: let the run take longer"),
        ));
    }
    let share =
        total.map(|total| (total - own) / u32::try_from(sharing.max(1)).unwrap_or(u32::MAX));
    let timed = parts.iter().map(|part| match part.length.or(share) {
        Some(length) => Ok(part.timed(length)),
        None => Err(problem(
            part.text,
            format!(
                "over how long? Give it a time, as {}x30s, or the run a duration",
                part.text
            ),
        )),
    });
    timed.collect()
}

fn show(length: Duration) -> String {
    humantime::format_duration(length).to_string()
}

fn problem(value: &str, remedy: impl Into<String>) -> ProfileProblem {
    ProfileProblem {
        value: value.to_owned(),
        remedy: remedy.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(parts: &[(f64, f64, u64)]) -> Vec<Part> {
        let part = |(from, to, seconds): &(f64, f64, u64)| {
            Part::ramp(*from, *to, Duration::from_secs(*seconds))
        };
        parts.iter().map(part).collect()
    }

    const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

    #[test]
    fn what_people_write_is_read() {
        let cases = [
            ("100", None, Profile::constant(100.0)),
            (" 100 /s", MINUTE, Profile::constant(100.0)),
            ("90/min", None, Profile::constant(1.5)),
            (
                "10..200",
                MINUTE,
                Profile::holding(&parts(&[(10.0, 200.0, 60)])),
            ),
            (
                "10/s .. 200/s x 90s",
                None,
                Profile::holding(&parts(&[(10.0, 200.0, 90)])),
            ),
            (
                "50,100,200",
                MINUTE,
                Profile::holding(&parts(&[
                    (50.0, 50.0, 20),
                    (100.0, 100.0, 20),
                    (200.0, 200.0, 20),
                ])),
            ),
            (
                "50x30s,100x1min",
                None,
                Profile::holding(&parts(&[(50.0, 50.0, 30), (100.0, 100.0, 60)])),
            ),
            (
                "0..100x20s, 100, 100..0x30s",
                MINUTE,
                Profile::holding(&parts(&[
                    (0.0, 100.0, 20),
                    (100.0, 100.0, 10),
                    (100.0, 0.0, 30),
                ])),
            ),
            (
                "200x2s,20x28s,...",
                MINUTE,
                Profile::repeating(&parts(&[(200.0, 200.0, 2), (20.0, 20.0, 28)])),
            ),
        ];
        for (text, total, profile) in cases {
            assert_eq!(Profile::parse(text, total), Ok(profile), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_part_and_the_remedy() {
        let cases = [
            ("", None, "\"\": give requests a second as 100"),
            ("fast", None, "\"fast\": give requests a second as 100"),
            ("10ms", None, "\"10ms\": give requests a second"),
            ("inf", None, "from 0 to 10 million"),
            ("NaN", None, "from 0 to 10 million"),
            ("-5", None, "from 0 to 10 million"),
            ("10,,20", MINUTE, "\"\": give requests"),
            ("0", None, "nothing is ever due"),
            ("0,0..0", MINUTE, "nothing is ever due"),
            ("10..200", None, "\"10..200\": over how long?"),
            ("10x5s,100", None, "\"100\": over how long?"),
            ("10x30", None, "with its unit"),
            ("10x0s", None, "above 0"),
            ("20+200x2s/30s", None, "200x2s,20x28s,..."),
            (
                "10x5s,20,...",
                MINUTE,
                "\"20\": parts that repeat need a time each, as 20x30s",
            ),
            ("...", None, "\"...\""),
            ("10x40s,20x40s", MINUTE, "take 1m 20s, but the run 1m"),
            (
                "10x60s,20",
                MINUTE,
                "take 1m, and others need some too, but the run 1m",
            ),
        ];
        for (text, total, expected) in cases {
            let problem = Profile::parse(text, total).expect_err(text).to_string();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
