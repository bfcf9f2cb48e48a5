//! What is printed of work that is done again and again: why it fails, when the reason changes, and that it succeeds again.

use std::time::Duration;

/// The reports of one flag.
#[derive(Debug)]
pub struct Reports {
    flag: &'static str,
    again: &'static str,
    /// Why the last work failed.
    why: Option<String>,
}

impl Reports {
    /// `again` is said when work succeeds after a failure.
    pub fn new(flag: &'static str, again: &'static str) -> Reports {
        Reports {
            flag,
            again,
            why: None,
        }
    }

    /// The line on work that failed for this reason, if any, and is done again after `wait`.
    pub fn line(&mut self, why: Option<String>, wait: Duration) -> Option<String> {
        if why == self.why {
            return None;
        }
        self.why = why;
        let flag = self.flag;
        Some(match &self.why {
            Some(why) => {
                let wait = humantime::format_duration(wait);
                format!("{flag}: {why}; it is tried again in {wait}")
            }
            None => format!("{flag}: {}", self.again),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_reason_with_the_wait_that_there_is() {
        let mut reports = Reports::new("--otlp", "pushes succeed again");
        let mut line = |why: &str, seconds| {
            let why = (!why.is_empty()).then(|| why.to_owned());
            reports.line(why, Duration::from_secs(seconds))
        };
        assert_eq!(line("", 15), None);
        let away = line("away", 15);
        assert_eq!(
            away.as_deref(),
            Some("--otlp: away; it is tried again in 15s")
        );
        assert_eq!(line("away", 15), None);
        let busy = line("busy", 300);
        assert_eq!(
            busy.as_deref(),
            Some("--otlp: busy; it is tried again in 5m")
        );
        assert_eq!(
            line("", 15).as_deref(),
            Some("--otlp: pushes succeed again")
        );
        assert_eq!(line("", 15), None);
    }
}
