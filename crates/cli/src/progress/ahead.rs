//! What is ahead of a run: the number of what is measured now, and when the run ends.

use jiff::{SignedDuration, Zoned};
use run::Stage;
use std::time::Duration;

/// The part that is measured now, and the estimated end.
#[derive(Debug, Clone, Default)]
pub struct Ahead {
    what: Option<String>,
    position: (u64, u64),
    /// Since the run began.
    ends: Option<Duration>,
}

impl Ahead {
    /// A trial. The pilot settles how many there are at most; fewer come where candidates leave, or a comparison is decided early.
    pub fn trial(
        stage: Stage,
        finished: u32,
        expected: u32,
        left_s: Option<f64>,
        elapsed: Duration,
    ) -> Ahead {
        let number = finished + 1;
        let of = match stage {
            Stage::Pilot => "about ",
            _ if number == expected => "",
            _ => "up to ",
        };
        let what = format!("trial {number} of {of}{expected}");
        Ahead {
            what: Some(what),
            position: (u64::from(finished), u64::from(expected)),
            ends: left_s.and_then(|left_s| after(elapsed, left_s)),
        }
    }

    /// A server of a validation.
    pub fn server(number: u32, of: u32, left_s: Option<f64>, elapsed: Duration) -> Ahead {
        Ahead {
            what: Some(format!("server {number} of {of}")),
            position: (u64::from(number.saturating_sub(1)), u64::from(of)),
            ends: left_s.and_then(|left_s| after(elapsed, left_s)),
        }
    }

    /// A window of a search, which ends by its budget at the latest.
    pub fn search(left_s: f64, budget_s: f64, elapsed: Duration) -> Ahead {
        Ahead {
            what: Some("search".to_owned()),
            position: ((budget_s - left_s).max(0.0) as u64, budget_s as u64),
            ends: after(elapsed, left_s),
        }
    }

    /// How much is done, and of how much.
    pub fn position(&self) -> (u64, u64) {
        self.position
    }

    /// In words; nothing before anything has begun.
    pub fn words(&self, elapsed: Duration) -> Option<String> {
        let what = self.what.as_deref()?;
        let Some(ends) = self.ends else {
            return Some(what.to_owned());
        };
        let left = ends.saturating_sub(elapsed);
        let clock = SignedDuration::try_from(left)
            .ok()
            .and_then(|left| Zoned::now().checked_add(left).ok());
        let clock = clock.map_or_else(String::new, |at| {
            format!(", until {}", at.strftime("%H:%M"))
        });
        Some(format!("{what}, {}{clock}", left_words(left)))
    }
}

fn after(elapsed: Duration, left_s: f64) -> Option<Duration> {
    let left = Duration::try_from_secs_f64(left_s.max(0.0)).ok()?;
    elapsed.checked_add(left)
}

/// No more digits than an estimate has.
fn left_words(left: Duration) -> String {
    let seconds = left.as_secs();
    match seconds {
        0..10 => "a few seconds left".to_owned(),
        10..90 => format!("about {} s left", seconds.next_multiple_of(10)),
        90..5400 => format!("about {} min left", (seconds + 30) / 60),
        _ => format!(
            "about {} h {:02} min left",
            (seconds + 30) / 3600,
            (seconds + 30) % 3600 / 60
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_trial_has_its_number_and_the_time_that_is_left() {
        let first = Ahead::trial(Stage::Pilot, 0, 16, None, s(3));
        assert_eq!(first.words(s(4)).unwrap(), "trial 1 of about 16");
        let later = Ahead::trial(Stage::Race, 6, 18, Some(240.0), s(100));
        let said = later.words(s(100)).unwrap();
        assert!(
            said.starts_with("trial 7 of up to 18, about 4 min left, until "),
            "{said}"
        );
        // The same a trial later, before the next estimate.
        assert!(later.words(s(220)).unwrap().contains("about 2 min left"));
        assert!(later.words(s(999)).unwrap().contains("a few seconds left"));
        let last = Ahead::trial(Stage::Confirm, 17, 18, Some(4.0), s(0))
            .words(s(0))
            .unwrap();
        assert!(last.starts_with("trial 18 of 18, "), "{last}");
    }

    #[test]
    fn lengths_have_the_unit_that_fits() {
        let said = [12, 89, 90, 5399, 5400, 7290].map(|seconds| left_words(s(seconds)));
        let expected = [
            "about 20 s left",
            "about 90 s left",
            "about 2 min left",
            "about 90 min left",
            "about 1 h 30 min left",
            "about 2 h 02 min left",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn nothing_is_said_before_anything_began() {
        assert_eq!(Ahead::default().words(s(5)), None);
    }
}
