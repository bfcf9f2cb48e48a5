//! What a request asks of the server, and the server it asks it of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::CapacityError;
use crate::error::at_least_0;

/// Mean demand of one request, in seconds, without any waiting for others:
/// waits for the GVL, for a core or in a queue belong to the configuration
/// that was measured and not to the request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Demand {
    held_s: f64,
    io_s: f64,
    native_s: f64,
    lock_s: f64,
}

impl Demand {
    /// `held_s`: CPU time under the GVL. `io_s`: waiting without the GVL.
    /// `native_s`: CPU time without the GVL (compression, password hashes).
    ///
    /// # Errors
    /// A negative or infinite time, or all of them 0.
    pub fn new(held_s: f64, io_s: f64, native_s: f64) -> Result<Self, CapacityError> {
        at_least_0("time under the GVL, in seconds,", held_s)?;
        at_least_0("I/O time, in seconds,", io_s)?;
        at_least_0("native CPU time, in seconds,", native_s)?;
        if held_s + io_s + native_s <= 0.0 {
            return Err(CapacityError::EmptyDemand);
        }
        Ok(Self {
            held_s,
            io_s,
            native_s,
            lock_s: 0.0,
        })
    }

    /// The same demand, where `lock_s` of its I/O time is spent in possession
    /// of one lock per process (a mutex, a single pooled connection): only one
    /// thread of a process can do that part at a time.
    ///
    /// # Errors
    /// A time outside 0 to the I/O time.
    pub fn with_lock(self, lock_s: f64) -> Result<Self, CapacityError> {
        at_least_0("time under the lock, in seconds,", lock_s)?;
        if lock_s > self.io_s {
            return Err(CapacityError::LockExceedsIo {
                lock_s,
                io_s: self.io_s,
            });
        }
        Ok(Self { lock_s, ..self })
    }

    pub fn held_s(&self) -> f64 {
        self.held_s
    }

    /// The time under the lock included.
    pub fn io_s(&self) -> f64 {
        self.io_s
    }

    pub fn native_s(&self) -> f64 {
        self.native_s
    }

    pub fn lock_s(&self) -> f64 {
        self.lock_s
    }

    /// CPU time, with and without the GVL.
    pub fn cpu_s(&self) -> f64 {
        self.held_s + self.native_s
    }

    /// The time of a request that has the server to itself.
    pub fn total_s(&self) -> f64 {
        self.cpu_s() + self.io_s
    }
}

/// Processes and threads of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Config {
    /// Worker processes; 0 is Puma's single mode, one process without a master.
    pub workers: u16,
    /// Threads of each process, 1 or more.
    pub threads: u16,
}

impl Config {
    /// Processes that serve requests: single mode has one.
    pub fn processes(&self) -> u16 {
        self.workers.max(1)
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.workers, self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_the_impossible() {
        assert!(Demand::new(-0.001, 0.0, 0.0).is_err());
        assert!(Demand::new(f64::NAN, 0.0, 0.0).is_err());
        assert_eq!(Demand::new(0.0, 0.0, 0.0), Err(CapacityError::EmptyDemand));
        let demand = Demand::new(0.005, 0.015, 0.0).unwrap();
        let error = demand.with_lock(0.02).unwrap_err();
        assert!(error.to_string().contains("0.02 s of 0.015 s"));
    }
}
