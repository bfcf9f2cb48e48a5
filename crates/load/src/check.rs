//! Can the figures be trusted, as far as the generator is concerned? Limits
//! are constants here so that a report can print them.

use std::time::Duration;

use crate::outcome::Outcome;

/// Lateness up to this never matters to a web application.
pub const LATE: Duration = Duration::from_millis(1);
/// Beyond [`LATE`], the median lateness may be this share of the median response.
pub const MAX_LATE_P50: f64 = 0.02;
/// Beyond [`LATE`], the p99 of lateness may be this share of the p99 response.
/// The latest starts rarely meet the slowest answers, so that the p99 itself
/// moves by much less.
pub const MAX_LATE_P99: f64 = 0.10;
/// Largest share of one core for the generator's thread; beyond it the
/// generator, not the server, sets the pace.
pub const MAX_CPU_SHARE: f64 = 0.9;

/// Why the figures are the generator's rather than the server's.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum GeneratorTrouble {
    /// Requests started late.
    #[error(
        "the generator started requests late: p{:.0} of its delay is {late_us} µs, at most \
         {limit_us} µs may be: give it a core of its own, or ask for a lower rate",
        quantile * 100.0
    )]
    Late {
        /// Which quantile, 0 to 1.
        quantile: f64,
        /// The generator's delay there.
        late_us: u64,
        /// What it may be, given the response time there.
        limit_us: u64,
    },
    /// The generator's thread was busy nearly all the time.
    #[error(
        "the generator used {:.0} % of a core (at most {:.0} % may): it, not the server, \
         set the pace; ask for a lower rate",
        share * 100.0, MAX_CPU_SHARE * 100.0
    )]
    Busy {
        /// Of one core, 0 to 1.
        share: f64,
    },
}

impl Outcome {
    /// Share of one core that the generator's thread used, 0 to 1.
    #[must_use]
    pub fn generator_cpu_share(&self) -> f64 {
        let wall = Duration::from_nanos(self.finished_ns - self.started_ns).as_secs_f64();
        if wall > 0.0 {
            self.generator_cpu.as_secs_f64() / wall
        } else {
            0.0
        }
    }

    /// How late the generator may be at this quantile, in µs: the larger of
    /// [`LATE`] and a share of the response time there.
    fn late_limit_us(&self, quantile: f64, share: f64) -> u64 {
        // An infinite response time is a limit of minutes: nothing colours it.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let share_us = (self.response.value_at_quantile(quantile) as f64 * share) as u64;
        share_us.max(u64::try_from(LATE.as_micros()).unwrap_or(u64::MAX))
    }

    /// The generator's verdict on itself.
    ///
    /// # Errors
    /// What would colour the result. The CPU limit needs a run of at least
    /// 100 ms to mean anything and is not applied below.
    pub fn generator_ok(&self) -> Result<(), GeneratorTrouble> {
        for (quantile, share) in [(0.5, MAX_LATE_P50), (0.99, MAX_LATE_P99)] {
            let late_us = self.lateness.value_at_quantile(quantile);
            let limit_us = self.late_limit_us(quantile, share);
            if late_us > limit_us {
                return Err(GeneratorTrouble::Late {
                    quantile,
                    late_us,
                    limit_us,
                });
            }
        }
        let share = self.generator_cpu_share();
        if share > MAX_CPU_SHARE && self.finished_ns - self.started_ns >= 100_000_000 {
            return Err(GeneratorTrouble::Busy { share });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::new_histogram;

    /// A second's run with the given response and lateness, 1000 requests each.
    fn outcome(response_us: u64, lateness_us: u64, late: u64) -> Outcome {
        let mut outcome = Outcome::empty();
        outcome.finished_ns = 1_000_000_000;
        outcome.response.record_n(response_us, 1000).unwrap();
        outcome.lateness = new_histogram();
        outcome.lateness.record_n(lateness_us, late).unwrap();
        outcome.lateness.record_n(10, 1000 - late).unwrap();
        outcome
    }

    #[test]
    fn lateness_is_judged_against_what_it_would_colour() {
        // A millisecond never matters, whatever the response.
        assert!(outcome(500, 1_000, 1000).generator_ok().is_ok());
        // 3 ms in 2 % of starts: too much of 20 ms, not of 100 ms.
        let late = outcome(20_000, 3_000, 20).generator_ok().unwrap_err();
        assert!(matches!(late, GeneratorTrouble::Late { quantile, .. } if quantile > 0.9));
        assert!(outcome(100_000, 3_000, 20).generator_ok().is_ok());
        // In most starts it is too much of 100 ms as well.
        let late = outcome(100_000, 3_000, 900).generator_ok().unwrap_err();
        assert!(matches!(late, GeneratorTrouble::Late { quantile, .. } if quantile < 0.6));
        // In 0.5 % of starts it reaches no p99.
        assert!(outcome(20_000, 3_000, 5).generator_ok().is_ok());
    }

    #[test]
    fn a_generator_that_fills_its_core_is_trouble() {
        let mut busy = outcome(20_000, 10, 0);
        busy.generator_cpu = Duration::from_millis(890);
        assert!(busy.generator_ok().is_ok());
        busy.generator_cpu = Duration::from_millis(910);
        let error = busy.generator_ok().unwrap_err();
        assert!(error.to_string().contains("91 %"), "{error}");
    }

    #[test]
    fn a_run_without_requests_is_no_trouble() {
        assert!(Outcome::empty().generator_ok().is_ok());
    }
}
