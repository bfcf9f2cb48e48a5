//! How wait and response time are distributed, and not only how long they are
//! on average.
//!
//! The wait is 0 with some probability and else positive; the service time is
//! gamma with the mean and the variation that are given, exponential at 1 and
//! constant at 0; the response time is the sum of the two, which are
//! independent when requests are served first come, first served.

use num_complex::Complex64;

use super::transform;

/// The waiting time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wait {
    /// Exponential for requests that wait at all.
    Exponential { delayed: f64, ahead_per_s: f64 },
    /// One server and Poisson arrivals (Pollaczek and Khinchine).
    OneServer { rate_per_s: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Law {
    wait: Wait,
    service_s: f64,
    service_scv: f64,
}

impl Law {
    pub fn new(wait: Wait, service_s: f64, service_scv: f64) -> Self {
        Self {
            wait,
            service_s,
            service_scv,
        }
    }

    pub fn wait_beyond(&self, t: f64) -> f64 {
        match self.wait {
            Wait::Exponential {
                delayed,
                ahead_per_s,
            } => delayed * (-ahead_per_s * t).exp(),
            Wait::OneServer { rate_per_s } if t <= 0.0 => rate_per_s * self.service_s,
            Wait::OneServer { .. } => transform::beyond(|s| self.wait_transform(s), t),
        }
    }

    pub fn response_beyond(&self, t: f64) -> f64 {
        if self.service_scv == 0.0 {
            return match t < self.service_s {
                true => 1.0,
                false => self.wait_beyond(t - self.service_s),
            };
        }
        if t <= 0.0 {
            return 1.0;
        }
        match self.wait {
            Wait::Exponential {
                delayed,
                ahead_per_s,
            } if self.service_scv == 1.0 => {
                exponential_sum(delayed, ahead_per_s, 1.0 / self.service_s, t)
            }
            _ => transform::beyond(|s| self.wait_transform(s) * self.service_transform(s), t),
        }
    }

    fn wait_transform(&self, s: Complex64) -> Complex64 {
        match self.wait {
            Wait::Exponential {
                delayed,
                ahead_per_s,
            } => 1.0 - delayed + delayed * ahead_per_s / (ahead_per_s + s),
            Wait::OneServer { rate_per_s } => {
                let idle = 1.0 - rate_per_s * self.service_s;
                idle * s / (s - rate_per_s * (1.0 - self.service_transform(s)))
            }
        }
    }

    fn service_transform(&self, s: Complex64) -> Complex64 {
        if self.service_scv == 0.0 {
            return (-s * self.service_s).exp();
        }
        (1.0 + s * self.service_s * self.service_scv).powf(-1.0 / self.service_scv)
    }
}

/// P(W + S > t): W exponential with rate `wait` with probability `delayed` and
/// else 0, S exponential with rate `service`.
fn exponential_sum(delayed: f64, wait: f64, service: f64, t: f64) -> f64 {
    let apart = (wait - service) * t;
    // Near equal rates the difference of the two exponentials cancels.
    let both = match apart.abs() < 1e-3 {
        true => t * (-service * t).exp() * (1.0 - apart / 2.0 + apart * apart / 6.0),
        false => ((-service * t).exp() - (-wait * t).exp()) / (wait - service),
    };
    (-service * t).exp() + delayed * service * both
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait of 0 leaves the service time alone: Erlang's law with k stages,
    /// by its sum of Poisson terms.
    #[test]
    fn gamma_service_of_whole_stages_is_erlangs() {
        for stages in [2_u32, 4, 25, 100] {
            let law = Law::new(
                Wait::Exponential {
                    delayed: 0.0,
                    ahead_per_s: 1.0,
                },
                2.0,
                1.0 / f64::from(stages),
            );
            for t in [0.3, 1.0, 1.9, 2.0, 2.4, 3.0, 5.0] {
                let x = t * f64::from(stages) / 2.0;
                let mut term = (-x).exp();
                let mut sum = 0.0;
                for n in 1..=stages {
                    sum += term;
                    term *= x / f64::from(n);
                }
                let ours = law.response_beyond(t);
                assert!((ours - sum).abs() < 1e-7, "{stages} {t}: {ours} {sum}");
            }
        }
    }

    /// The closed form, its middle where it cancels, and the transform agree.
    #[test]
    fn exponential_wait_and_service_three_ways() {
        for ahead_per_s in [0.2, 0.9999, 1.0, 1.0001, 4.0] {
            let wait = Wait::Exponential {
                delayed: 0.6,
                ahead_per_s,
            };
            let law = Law::new(wait, 1.0, 1.0);
            for t in [0.1, 1.0, 3.0, 9.0] {
                let inverted =
                    transform::beyond(|s| law.wait_transform(s) * law.service_transform(s), t);
                let closed = law.response_beyond(t);
                assert!(
                    (closed - inverted).abs() < 1e-7,
                    "{ahead_per_s} {t}: {closed} {inverted}"
                );
            }
        }
    }
}
