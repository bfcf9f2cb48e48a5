//! Figures from the command line: text in, a checked value out, and everything that is wrong with them, kept together.

use capacity::CapacityError;
use experiment::config::{Asked, Problem, parse_whole};

/// What is wrong so far.
#[derive(Debug, Default)]
pub struct Given {
    /// One for each value that cannot be used.
    pub problems: Vec<Problem>,
}

impl Given {
    /// A value that may be left out.
    pub fn optional<T>(
        &mut self,
        text: &Option<String>,
        flag: &str,
        parse: impl Fn(&Asked) -> Result<T, Problem>,
    ) -> Option<T> {
        match parse(&Asked::new(text.as_ref()?.clone(), flag)) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// A value that must be there; `remedy` says what to give.
    pub fn required<T>(
        &mut self,
        text: &Option<String>,
        flag: &str,
        remedy: &str,
        parse: impl Fn(&Asked) -> Result<T, Problem>,
    ) -> Option<T> {
        if text.is_none() {
            self.problems
                .push(Problem::with(format!("{flag} is missing"), remedy));
        }
        self.optional(text, flag, parse)
    }

    /// What a formula refuses although each of its figures is sound.
    pub fn formula<T>(
        &mut self,
        what: &str,
        remedy: &str,
        result: Result<T, CapacityError>,
    ) -> Option<T> {
        let refused = |e: CapacityError| Problem::with(format!("{what}: {e}"), remedy);
        result.map_err(|e| self.problems.push(refused(e))).ok()
    }
}

/// `20ms`, in seconds; none at all is allowed.
pub fn time_s(asked: &Asked) -> Result<f64, Problem> {
    let remedy = "give a time, 0s or more, with its unit, such as 20ms or 1.5s";
    let text = asked.text.trim();
    if let Ok(number) = text.parse::<f64>() {
        let wrong = if number == 0.0 {
            return Ok(0.0);
        } else {
            "a time without a unit"
        };
        return Err(Problem::of(asked, wrong, remedy));
    }
    if text.starts_with('-') {
        return Err(Problem::of(asked, "a negative time", remedy));
    }
    match humantime::parse_duration(text) {
        Ok(time) if time.as_secs_f64() <= 86_400.0 => Ok(time.as_secs_f64()),
        Ok(_) => Err(Problem::of(asked, "more than a day", remedy)),
        Err(e) => Err(Problem::of(asked, e, remedy)),
    }
}

/// A time that takes some.
pub fn some_time_s(asked: &Asked) -> Result<f64, Problem> {
    match time_s(asked)? {
        time if time > 0.0 => Ok(time),
        _ => Err(Problem::of(
            asked,
            "no time at all",
            "give a time over 0 with its unit, such as 20ms or 1.5s",
        )),
    }
}

/// `37%` or `0.37`.
pub fn share(asked: &Asked) -> Result<f64, Problem> {
    let remedy = "give a share from 0 to 1, such as 0.37 or 37%";
    let text = asked.text.trim();
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|v| v / 100.0),
        None => text.parse::<f64>(),
    };
    match value {
        Ok(v) if (0.0..=1.0).contains(&v) => Ok(v),
        Ok(v) if v > 1.0 && !text.ends_with('%') => Err(Problem::of(
            asked,
            "a share is at most 1",
            "give 0.37 or 37%",
        )),
        Ok(_) => Err(Problem::of(asked, "no share of a whole", remedy)),
        Err(_) => Err(Problem::of(asked, "no share", remedy)),
    }
}

/// A share that is neither nothing nor all.
pub fn part(asked: &Asked) -> Result<f64, Problem> {
    match share(asked)? {
        v if v > 0.0 && v < 1.0 => Ok(v),
        _ => Err(Problem::of(
            asked,
            "neither nothing nor all will do",
            "give a share between 0 and 1, such as 5%",
        )),
    }
}

/// A number within limits, which `range` says in words.
pub fn number(asked: &Asked, least: f64, most: f64, range: &str) -> Result<f64, Problem> {
    let remedy = format!("give a number {range}");
    match asked.text.trim().parse::<f64>() {
        Ok(v) if (least..=most).contains(&v) => Ok(v),
        Ok(v) if v.is_nan() => Err(Problem::of(asked, "no number", remedy)),
        Ok(v) => Err(Problem::of(
            asked,
            format_args!("{v} is out of range"),
            remedy,
        )),
        Err(_) => Err(Problem::of(asked, "no number", remedy)),
    }
}

/// A whole number in a range.
pub fn whole(asked: &Asked, least: u32, most: u32, noun: &str) -> Result<u32, Problem> {
    parse_whole(asked, least.into(), most.into(), noun).map(|v| v as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Asked {
        Asked::new(text, "--flag")
    }

    #[test]
    fn times_have_units_and_may_be_none() {
        for (text, seconds) in [
            ("20ms", 0.02),
            ("1.5s", 1.5),
            ("0", 0.0),
            ("0s", 0.0),
            ("300us", 0.0003),
            ("2m", 120.0),
            ("0.5 ms", 0.0005),
        ] {
            let read = time_s(&asked(text)).unwrap();
            assert!((read - seconds).abs() < 1e-15, "{text}: {read}");
        }
        for wrong in [
            "20", "-5ms", "-1", "fast", "", "nan", "NaNms", "infs", "3 days", "1e9s",
        ] {
            let problem = time_s(&asked(wrong)).unwrap_err().to_string();
            assert!(
                problem.contains("--flag") && problem.contains("20ms"),
                "{problem}"
            );
        }
        assert!(some_time_s(&asked("0s")).is_err());
    }

    #[test]
    fn shares_lie_between_nothing_and_all() {
        assert_eq!(share(&asked("37%")), Ok(0.37));
        assert_eq!(share(&asked("1")), Ok(1.0));
        for wrong in ["37", "-0.1", "101%", "some", "NaN", "inf"] {
            assert!(share(&asked(wrong)).is_err(), "{wrong}");
        }
        assert!(part(&asked("0")).is_err() && part(&asked("100%")).is_err());
    }

    #[test]
    fn everything_wrong_is_kept() {
        let mut given = Given::default();
        given.optional(&Some("-1".to_owned()), "--a", share);
        given.required(&None, "--b", "give it", share);
        assert_eq!(given.problems.len(), 2);
        assert_eq!(given.problems[1].to_string(), "--b is missing; give it");
    }
}
