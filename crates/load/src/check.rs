//! Can the figures be trusted, as far as the generator is concerned? Limits
//! are constants here so that a report can print them.

use std::time::Duration;

use crate::outcome::Outcome;

/// A start later than this, and later than [`LATE_SHARE_OF_P50`] of the
/// median response, is late enough to colour a percentile.
pub const LATE: Duration = Duration::from_millis(1);
/// See [`LATE`].
pub const LATE_SHARE_OF_P50: f64 = 0.02;
/// Largest share of late starts: half of what a p99 looks at.
pub const MAX_LATE_SHARE: f64 = 0.005;
/// Largest share of one core for the generator's thread; beyond it the
/// generator, not the server, sets the pace.
pub const MAX_CPU_SHARE: f64 = 0.9;

/// Why the figures are the generator's rather than the server's.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum GeneratorTrouble {
    /// Requests started late too often.
    #[error(
        "{:.2} % of the requests started more than {limit_us} µs late (at most {:.1} % may): \
         give the generator a core of its own, or ask for a lower rate",
        share * 100.0, MAX_LATE_SHARE * 100.0
    )]
    Late {
        /// Of all starts, 0 to 1.
        share: f64,
        /// What counted as late.
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

    /// What counts as a late start in this run, in µs: the larger of [`LATE`]
    /// and [`LATE_SHARE_OF_P50`] of the median response.
    #[must_use]
    pub fn late_limit_us(&self) -> u64 {
        let p50_us = self.response.value_at_quantile(0.5);
        // A median beyond an hour is infinite: nothing can colour it.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let share_us = (p50_us as f64 * LATE_SHARE_OF_P50) as u64;
        share_us.max(u64::try_from(LATE.as_micros()).unwrap_or(u64::MAX))
    }

    /// Share of the starts that were late, 0 to 1.
    #[must_use]
    pub fn late_share(&self) -> f64 {
        match self.lateness.len() {
            0 => 0.0,
            starts => {
                let late = self
                    .lateness
                    .count_between(self.late_limit_us() + 1, u64::MAX);
                late as f64 / starts as f64
            }
        }
    }

    /// The generator's verdict on itself.
    ///
    /// # Errors
    /// What would colour the result. The CPU limit needs a run of at least
    /// 100 ms to mean anything and is not applied below.
    pub fn generator_ok(&self) -> Result<(), GeneratorTrouble> {
        let share = self.late_share();
        if share > MAX_LATE_SHARE {
            return Err(GeneratorTrouble::Late {
                share,
                limit_us: self.late_limit_us(),
            });
        }
        let share = self.generator_cpu_share();
        if share > MAX_CPU_SHARE && self.finished_ns - self.started_ns >= 100_000_000 {
            return Err(GeneratorTrouble::Busy { share });
        }
        Ok(())
    }
}
