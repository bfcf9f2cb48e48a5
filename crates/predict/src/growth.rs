//! I/O that takes longer the more requests are served: a straight line through traces at two levels.

use capacity::sim::Step;

use crate::{Application, Assumption, PredictError};

/// Closer together, two levels show only noise.
const LEAST_RATIO: f64 = 1.5;

impl Application {
    /// This application with I/O that grows as between this trace and another one of the same requests.
    ///
    /// A request's I/O is io (1 + g n), n being the others in service as it begins, on average those in service: two
    /// means of I/O and of n give io and g.
    ///
    /// # Errors
    /// Traces at about the same level, or I/O that grew faster than in proportion.
    pub fn with_growth_from(mut self, other: &Self) -> Result<Self, PredictError> {
        let level = |of: &Self| (of.traced.in_service, of.traced.io_ms);
        let (own, others) = (level(&self), level(other));
        let ((fewer, io), (more, more_io)) = match own.0 <= others.0 {
            true => (own, others),
            false => (others, own),
        };
        let found = more_io / io;
        if fewer <= 0.0 || io <= 0.0 || more < LEAST_RATIO * fewer {
            return Err(PredictError::SameLevel { fewer, more });
        }
        // Shorter at the higher level is noise: I/O does not grow.
        let growth = ((found - 1.0) / (more - found * fewer)).max(0.0);
        if found >= 1.0 && found * fewer >= more {
            return Err(PredictError::SteepIo { fewer, more, found });
        }
        let alone = 1.0 + growth * own.0;
        self.work = self.work.map(|step| match step {
            Step::Io(ns) => Step::Io((ns as f64 / alone).round() as u64),
            other => other,
        });
        self.io_growth = growth;
        self.assumptions.retain(|a| *a != Assumption::IoConstant);
        self.assumptions.insert(0, Assumption::IoGrows { growth });
        Ok(self)
    }
}
