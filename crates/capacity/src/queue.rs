//! Queues with one line and equal servers: how long requests wait at a rate.
//!
//! `mmc` and `mg1` are exact under their assumptions, `sharing` too, `ggc` is an
//! approximation; `knee` turns any of them round: the rate at a latency
//! objective. Distributions are two moments here, a mean and a squared
//! coefficient of variation, and gamma where a whole distribution is needed.
//!
//! What a server is, a thread, a process or a core, is the caller's to know.

mod ggc;
mod knee;
mod law;
mod mg1;
mod mmc;
mod sharing;
mod transform;

#[cfg(test)]
mod simulated;

pub use ggc::ggc;
pub use knee::{Knee, knee};
pub use mg1::mg1;
pub use mmc::{erlang_b, erlang_c, mmc};
pub use sharing::{Sharing, sharing};

use crate::CapacityError;
use crate::error::{above_0, at_least_0};
use law::Law;

/// Beyond this squared coefficient of variation two moments say next to nothing.
pub const MOST_SCV: f64 = 100.0;

/// Requests that arrive, and servers that take one each from a common queue,
/// first come first served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queue {
    rate_per_s: f64,
    service_s: f64,
    servers: u32,
    arrival_scv: f64,
    service_scv: f64,
}

impl Queue {
    /// Poisson arrivals and exponential service; see [`Queue::varying`].
    ///
    /// # Errors
    /// A rate, a time or a count that is not above 0; a rate that the servers
    /// cannot keep up with.
    pub fn new(rate_per_s: f64, service_s: f64, servers: u32) -> Result<Self, CapacityError> {
        above_0("the rate per second", rate_per_s)?;
        above_0("the service time, in seconds,", service_s)?;
        above_0("the number of servers", f64::from(servers))?;
        let most_per_s = f64::from(servers) / service_s;
        if rate_per_s * service_s >= f64::from(servers) {
            return Err(CapacityError::Saturated {
                rate_per_s,
                most_per_s,
            });
        }
        Ok(Self {
            rate_per_s,
            service_s,
            servers,
            arrival_scv: 1.0,
            service_scv: 1.0,
        })
    }

    /// The same with other squared coefficients of variation (variance / mean²)
    /// of the times between arrivals and of the service times: 0 is constant, 1
    /// exponential.
    ///
    /// # Errors
    /// One outside 0..=100.
    pub fn varying(self, arrival_scv: f64, service_scv: f64) -> Result<Self, CapacityError> {
        let names = ["the arrivals' variation", "the service's variation"];
        for (name, scv) in names.into_iter().zip([arrival_scv, service_scv]) {
            at_least_0(name, scv)?;
            if scv > MOST_SCV {
                return Err(CapacityError::OutOfRange {
                    name,
                    value: scv,
                    limits: "in 0..=100",
                });
            }
        }
        Ok(Self {
            arrival_scv,
            service_scv,
            ..self
        })
    }

    /// The same at another rate.
    ///
    /// # Errors
    /// A rate that is not above 0, or that the servers cannot keep up with.
    pub fn at(self, rate_per_s: f64) -> Result<Self, CapacityError> {
        Self::new(rate_per_s, self.service_s, self.servers)?
            .varying(self.arrival_scv, self.service_scv)
    }

    pub fn rate_per_s(&self) -> f64 {
        self.rate_per_s
    }

    pub fn service_s(&self) -> f64 {
        self.service_s
    }

    pub fn servers(&self) -> u32 {
        self.servers
    }

    pub fn arrival_scv(&self) -> f64 {
        self.arrival_scv
    }

    pub fn service_scv(&self) -> f64 {
        self.service_scv
    }

    /// Requests per second that the servers can do when they are never without one.
    pub fn most_per_s(&self) -> f64 {
        f64::from(self.servers) / self.service_s
    }

    /// Servers busy at once, on average: rate x service time, in erlangs.
    pub fn offered(&self) -> f64 {
        self.rate_per_s * self.service_s
    }

    /// Part of the time that each server is busy, below 1.
    pub fn utilisation(&self) -> f64 {
        self.offered() / f64::from(self.servers)
    }

    /// The formula to believe: an exact one where there is one.
    pub fn best(&self) -> Model {
        match (self.arrival_scv == 1.0, self.service_scv == 1.0) {
            (true, true) => Model::Mmc,
            (true, false) if self.servers == 1 => Model::Mg1,
            _ => Model::Ggc,
        }
    }

    /// What a formula says of it; `None` from one that assumes something else.
    pub fn answer(&self, model: Model) -> Option<Answer> {
        match model {
            Model::Mmc => Some(mmc(self)),
            Model::Mg1 => (self.servers == 1 && self.arrival_scv == 1.0).then(|| mg1(self)),
            Model::Ggc => Some(ggc(self)),
        }
    }
}

/// A formula for a queue that serves first come, first served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Poisson arrivals, exponential service, any number of servers: exact.
    Mmc,
    /// Poisson arrivals, gamma service, one server: exact.
    Mg1,
    /// Anything: the approximation of Allen and Cunneen.
    Ggc,
}

/// What a formula says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Probability that a request finds every server busy.
    pub delayed: f64,
    /// Mean seconds in the queue.
    pub wait_s: f64,
    /// Mean seconds from arrival to answer.
    pub response_s: f64,
    /// Requests in the queue, on average (Little).
    pub in_queue: f64,
    /// Requests in queue and service, on average (Little).
    pub in_system: f64,
    law: Law,
}

impl Answer {
    fn new(queue: &Queue, delayed: f64, wait_s: f64, law: Law) -> Self {
        let response_s = wait_s + queue.service_s;
        Self {
            delayed,
            wait_s,
            response_s,
            in_queue: queue.rate_per_s * wait_s,
            in_system: queue.rate_per_s * response_s,
            law,
        }
    }

    /// P(wait > `t_s`).
    pub fn wait_beyond(&self, t_s: f64) -> f64 {
        self.law.wait_beyond(t_s)
    }

    /// P(response time > `t_s`).
    pub fn response_beyond(&self, t_s: f64) -> f64 {
        self.law.response_beyond(t_s)
    }

    /// The wait in seconds that the part `share` (in 0..1) of the requests does
    /// not exceed.
    pub fn wait_quantile_s(&self, share: f64) -> f64 {
        quantile(|t| self.wait_beyond(t), share, self.response_s)
    }

    /// Likewise of the response time.
    pub fn response_quantile_s(&self, share: f64) -> f64 {
        quantile(|t| self.response_beyond(t), share, self.response_s)
    }
}

/// The least t with P(T > t) <= 1 - `share`, by halving; `about` is where the
/// search begins.
fn quantile(beyond: impl Fn(f64) -> f64, share: f64, about: f64) -> f64 {
    // Inverted transforms are good to 1e-8.
    let tail = 1.0 - share + 1e-12;
    if beyond(0.0) <= tail {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, about);
    while beyond(high) > tail {
        (low, high) = (high, high * 2.0);
    }
    while high - low > 1e-9 * high {
        let middle = low + (high - low) / 2.0;
        if beyond(middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_has_no_steady_state() {
        let error = Queue::new(100.0, 0.02, 2).unwrap_err().to_string();
        assert!(error.contains("busy 100 % of the time"), "{error}");
        assert!(Queue::new(99.0, 0.02, 2).is_ok());
        for (rate, service, servers) in [
            (0.0, 1.0, 1),
            (1.0, 0.0, 1),
            (1.0, 0.1, 0),
            (f64::NAN, 0.1, 1),
        ] {
            assert!(Queue::new(rate, service, servers).is_err());
        }
        let queue = Queue::new(1.0, 0.1, 1).unwrap();
        assert!(queue.varying(-1.0, 1.0).is_err() && queue.varying(1.0, 101.0).is_err());
    }

    #[test]
    fn the_exact_formula_is_believed_where_there_is_one() {
        let queue = Queue::new(10.0, 0.02, 1).unwrap();
        assert_eq!(queue.best(), Model::Mmc);
        assert_eq!(queue.varying(1.0, 0.5).unwrap().best(), Model::Mg1);
        assert_eq!(queue.varying(2.0, 0.5).unwrap().best(), Model::Ggc);
        let four = Queue::new(10.0, 0.02, 4)
            .unwrap()
            .varying(1.0, 0.5)
            .unwrap();
        assert_eq!(four.best(), Model::Ggc);
        assert!(four.answer(Model::Mg1).is_none());
    }

    #[test]
    fn quantiles_of_an_exponential() {
        let at = |share| quantile(|t: f64| (-t).exp(), share, 1.0);
        assert!((at(0.99) - 100_f64.ln()).abs() < 1e-6);
        assert_eq!(quantile(|t: f64| 0.2 * (-t).exp(), 0.8, 1.0), 0.0);
    }
}
