//! Processor sharing: all requests are served at once, more slowly the more
//! there are, as cores that switch quickly between processes do. Each gets at
//! most one server of the c: the state-dependent sharing of Cohen (1979). The mean
//! depends on the service time's mean alone, whatever its distribution, and is
//! that of M/M/c; a request twice as long takes twice as long.

use super::{Queue, mmc};

/// What sharing makes of a queue with Poisson arrivals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sharing {
    /// Mean seconds from arrival to answer.
    pub response_s: f64,
    /// How many times as long as alone a request takes, on average; the same
    /// for short and long ones.
    pub slowdown: f64,
    /// Requests under way, on average.
    pub in_system: f64,
}

/// The formula, for Poisson arrivals.
pub fn sharing(queue: &Queue) -> Sharing {
    let answer = mmc(queue);
    Sharing {
        response_s: answer.response_s,
        slowdown: answer.response_s / queue.service_s,
        in_system: answer.in_system,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// One server: S / (1 - rho).
        #[test]
        fn one_server_by_the_short_formula(utilisation in 0.01_f64..0.99, service in 0.001_f64..9.0) {
            let shared = sharing(&Queue::new(utilisation / service, service, 1).unwrap());
            prop_assert!((shared.response_s / (service / (1.0 - utilisation)) - 1.0).abs() < 1e-9);
            prop_assert!((shared.slowdown * (1.0 - utilisation) - 1.0).abs() < 1e-9);
        }
    }
}
