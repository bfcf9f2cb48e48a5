//! Can the figures be trusted, as far as the generator is concerned? Limits
//! are constants here so that a report can print them.
//!
//! Lateness does harm in two ways. It is part of the response times, which is
//! known exactly: the late answers are kept with it and without. And requests
//! that were held up set out together, so that the server sees a rush that was
//! not planned; for that, lateness itself is held against the response time.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::held_up::HeldUp;
use crate::outcome::Outcome;

/// Lateness up to this never matters to a web application.
pub const LATE: Duration = Duration::from_millis(1);
/// Beyond [`LATE`], lateness may be this share of the response time at
/// quantiles up to the median, and so much may it add to it.
pub const MAX_LATE_P50: f64 = 0.02;
/// The same at quantiles beyond. The latest starts rarely meet the slowest
/// answers, so that the p99 itself moves by much less than its lateness.
pub const MAX_LATE_P99: f64 = 0.10;
/// Largest share of one core for the generator's thread; beyond it the
/// generator, not the server, sets the pace.
pub const MAX_CPU_SHARE: f64 = 0.9;

/// Requests from which on there is a p99 to be judged.
const LEAST_FOR_P99: u64 = 100;

/// Why the figures are the generator's rather than the server's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GeneratorTrouble {
    /// Requests started late.
    #[error(
        "the generator started requests late: p{} of its delay is {} ms (limit: {} ms); {why}",
        percent(*quantile), ms(*late_us), ms(*limit_us)
    )]
    Late {
        /// Which quantile, 0 to 1.
        quantile: f64,
        /// The generator's delay there.
        late_us: u64,
        /// What it may be, given the response time there.
        limit_us: u64,
        /// What held it up.
        why: HeldUp,
    },
    /// The delays reached the response times.
    #[error(
        "the generator's own delay is in the response times: without it p{} is {} ms, \
         with it {} ms; {why}",
        percent(*quantile), ms(*without_us), ms(*with_us)
    )]
    Coloured {
        /// Which quantile, 0 to 1.
        quantile: f64,
        /// The response time there.
        with_us: u64,
        /// What it is when each request's own lateness is taken away.
        without_us: u64,
        /// What held it up.
        why: HeldUp,
    },
    /// Requests timed out before the generator came round to them.
    #[error(
        "the generator stood still: {requests} of the timeouts are its own, of requests that it \
         did not begin in time; {why}"
    )]
    Stalled {
        /// How many.
        requests: u64,
        /// What held it up.
        why: HeldUp,
    },
    /// The generator's thread was busy nearly all the time.
    #[error(
        "the generator used too much of its core: {:.0} % (limit: {:.0} %), so that it, not the \
         server, set the pace; ask for a lower rate",
        share * 100.0, MAX_CPU_SHARE * 100.0
    )]
    Busy {
        /// Of one core, 0 to 1.
        share: f64,
    },
}

impl GeneratorTrouble {
    /// Whether the figures are still bounds: response times count from the
    /// moment a request was due, so a late start can only add to them.
    #[must_use]
    pub fn only_adds(&self) -> bool {
        matches!(self, Self::Late { .. } | Self::Coloured { .. })
    }
}

fn ms(us: u64) -> String {
    format!("{:.2}", us as f64 / 1e3)
}

/// `99`, `99.9`.
fn percent(quantile: f64) -> f64 {
    (quantile * 1e6).round() / 1e4
}

impl Outcome {
    /// Share of one core that the generator's thread used within the window, 0
    /// to 1. Waiting for late answers after its end would only dilute it.
    #[must_use]
    pub fn generator_cpu_share(&self) -> f64 {
        let wall = self.window().as_secs_f64();
        if wall > 0.0 {
            self.generator_cpu_in_window.as_secs_f64() / wall
        } else {
            0.0
        }
    }

    /// Share of the window in which the generator had work, 0 to 1: its CPU time,
    /// or, when it spins, all but what it slept or polled in vain.
    #[must_use]
    pub fn generator_busy_share(&self) -> f64 {
        let wall = self.window().as_secs_f64();
        if !self.spinning || wall <= 0.0 {
            return self.generator_cpu_share();
        }
        (1.0 - self.generator_idle_in_window.as_secs_f64() / wall).max(0.0)
    }

    /// The response times, each less its own lateness, but for lateness below
    /// [`LATE`]. `None` when that changes nothing.
    #[must_use]
    pub fn response_without_lateness(&self) -> Option<Histogram<u64>> {
        let late = self.late_answers.as_ref()?;
        let mut response = self.response.clone();
        response.subtract(&late.counted).ok()?;
        response.add(&late.without).ok()?;
        Some(response)
    }

    /// Can the response time at this quantile be the server's? Sharper than
    /// [`Outcome::generator_ok`] for quantiles beyond the p99: a caller that
    /// quotes a p99.9 asks here first.
    ///
    /// # Errors
    /// The generator's delays are too great there, or colour it.
    pub fn generator_ok_at(&self, quantile: f64) -> Result<(), GeneratorTrouble> {
        let late_us = self.lateness.value_at_quantile(quantile);
        let with_us = self.response.value_at_quantile(quantile);
        let limit_us = may_be(quantile, with_us);
        if late_us > limit_us {
            return Err(GeneratorTrouble::Late {
                quantile,
                late_us,
                limit_us,
                why: self.held_up(),
            });
        }
        let without_us = self
            .response_without_lateness()
            .map_or(with_us, |without| without.value_at_quantile(quantile));
        if with_us.saturating_sub(without_us) > may_be(quantile, without_us) {
            return Err(GeneratorTrouble::Coloured {
                quantile,
                with_us,
                without_us,
                why: self.held_up(),
            });
        }
        Ok(())
    }

    /// The generator's verdict on itself, as far as the median, the p99 and
    /// the throughput are concerned.
    ///
    /// # Errors
    /// What would colour the result. The CPU limit needs a run of at least
    /// 100 ms to mean anything and is not applied below.
    pub fn generator_ok(&self) -> Result<(), GeneratorTrouble> {
        if self.stalled > 0 {
            return Err(GeneratorTrouble::Stalled {
                requests: self.stalled,
                why: self.held_up(),
            });
        }
        self.generator_ok_at(0.5)?;
        // Of fewer requests the p99 is merely the greatest, which one late
        // wake-up decides, and it is not shown.
        if self.lateness.len() >= LEAST_FOR_P99 {
            self.generator_ok_at(0.99)?;
        }
        let share = self.generator_busy_share();
        // Lateness would not show it: due requests go first, and answers that
        // wait to be read keep connections from being asked for more.
        if share > MAX_CPU_SHARE && self.window() >= Duration::from_millis(100) {
            return Err(GeneratorTrouble::Busy { share });
        }
        Ok(())
    }
}

/// How late the generator may be where the response time is this, in µs: the
/// larger of [`LATE`] and a share of it.
fn may_be(quantile: f64, response_us: u64) -> u64 {
    let share = if quantile <= 0.5 {
        MAX_LATE_P50
    } else {
        MAX_LATE_P99
    };
    // An infinite response time is a limit of minutes: nothing colours it.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let share_us = (response_us as f64 * share) as u64;
    share_us.max(u64::try_from(LATE.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::new_histogram;
    use crate::outcome::LateAnswers;

    /// A second's run with the given response and lateness, 1000 requests each.
    fn outcome(response_us: u64, lateness_us: u64, late: u64) -> Outcome {
        let mut outcome = Outcome::empty();
        outcome.ended_ns = 1_000_000_000;
        outcome.finished_ns = 1_000_000_000;
        outcome.response.record_n(response_us, 1000).unwrap();
        outcome.lateness = new_histogram();
        outcome.lateness.record_n(lateness_us, late).unwrap();
        outcome.lateness.record_n(10, 1000 - late).unwrap();
        outcome
    }

    #[test]
    fn so_few_requests_that_they_have_no_p99_are_judged_by_their_median() {
        let mut few = outcome(500, 10, 1000);
        few.lateness = new_histogram();
        few.lateness.record_n(4_000, 1).unwrap();
        few.lateness.record_n(10, 98).unwrap();
        assert!(few.generator_ok().is_ok());
        few.lateness.record_n(4_000, 1).unwrap();
        assert!(few.generator_ok().is_err());
        let mut all = few;
        all.lateness = new_histogram();
        all.lateness.record_n(4_000, 5).unwrap();
        assert!(all.generator_ok().is_err());
    }

    #[test]
    fn lateness_is_judged_against_what_it_would_colour() {
        // A millisecond never matters, whatever the response.
        assert!(outcome(500, 1_000, 1000).generator_ok().is_ok());
        // 3 ms in 2 % of starts: too much of 20 ms, not of 100 ms.
        let late = outcome(20_000, 3_000, 20).generator_ok().unwrap_err();
        assert!(matches!(late, GeneratorTrouble::Late { quantile, .. } if quantile > 0.9));
        assert!(late.only_adds());
        assert!(!GeneratorTrouble::Busy { share: 1.0 }.only_adds());
        assert!(outcome(100_000, 3_000, 20).generator_ok().is_ok());
        // In most starts it is too much of 100 ms as well.
        let late = outcome(100_000, 3_000, 900).generator_ok().unwrap_err();
        assert!(matches!(late, GeneratorTrouble::Late { quantile, .. } if quantile < 0.6));
        // In 0.5 % of starts it reaches no p99, but does reach the p99.9.
        let rarely = outcome(20_000, 3_000, 5);
        assert!(rarely.generator_ok().is_ok());
        let late = rarely.generator_ok_at(0.999).unwrap_err();
        assert!(
            late.to_string().contains("p99.9 of its delay is 3.00 ms"),
            "{late}"
        );
    }

    /// Fewer starts are late than the p99 of lateness shows, and yet they are the p99 of the response.
    #[test]
    fn what_lateness_adds_to_a_quantile_is_known_exactly() {
        let late_ones = |answers: u64| {
            let mut outcome = outcome(20_000, 50_000, answers);
            let mut late = LateAnswers {
                counted: new_histogram(),
                without: new_histogram(),
            };
            // Of the thousand, the late ones took 50 ms longer.
            outcome.response.record_n(70_000, answers).unwrap();
            late.counted.record_n(70_000, answers).unwrap();
            late.without.record_n(20_000, answers).unwrap();
            // A few are slow by the server's own fault.
            outcome.response.record_n(60_000, 6).unwrap();
            outcome.late_answers = Some(Box::new(late));
            outcome
        };
        let trouble = late_ones(9).generator_ok().unwrap_err();
        let GeneratorTrouble::Coloured {
            quantile,
            with_us,
            without_us,
            ..
        } = trouble
        else {
            panic!("{trouble}");
        };
        assert!(quantile > 0.9);
        assert!(with_us > 59_000 && without_us < 21_000, "{trouble}");
        assert!(late_ones(3).generator_ok().is_ok());
    }

    #[test]
    fn a_generator_that_fills_its_core_is_trouble_however_long_the_drain() {
        let mut busy = outcome(20_000, 10, 0);
        busy.generator_cpu_in_window = Duration::from_millis(890);
        assert!(busy.generator_ok().is_ok());
        busy.generator_cpu_in_window = Duration::from_millis(910);
        busy.finished_ns = 30_000_000_000;
        let error = busy.generator_ok().unwrap_err();
        assert!(error.to_string().contains("91 %"), "{error}");
    }

    #[test]
    fn a_generator_that_spins_is_judged_by_what_it_did_not_wait() {
        let mut spinning = outcome(20_000, 10, 0);
        spinning.spinning = true;
        spinning.generator_cpu_in_window = Duration::from_secs(1);
        spinning.generator_idle_in_window = Duration::from_millis(110);
        assert!(spinning.generator_ok().is_ok());
        spinning.generator_idle_in_window = Duration::from_millis(90);
        let error = spinning.generator_ok().unwrap_err();
        assert!(error.to_string().contains("91 %"), "{error}");
    }

    #[test]
    fn a_timeout_of_the_generators_own_making_is_trouble() {
        let mut stalled = outcome(20_000, 10, 0);
        stalled.stalled = 1;
        let error = stalled.generator_ok().unwrap_err();
        assert!(error.to_string().contains("1 of the timeouts"), "{error}");
    }

    #[test]
    fn a_run_without_requests_is_no_trouble() {
        assert!(Outcome::empty().generator_ok().is_ok());
    }
}
