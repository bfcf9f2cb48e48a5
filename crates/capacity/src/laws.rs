//! The short formulas: useful threads, bounds, Amdahl, Little.
//!
//! What they all leave out is queueing in between; `predict` has that.

use serde::{Deserialize, Serialize};

use crate::error::{above_0, at_least_0};
use crate::{CapacityError, Config, Demand};

/// T* = 1 + i/c: the threads at which one process would keep its GVL busy if
/// requests never collided. Infinite for pure I/O. Waiting for a lock or for a
/// pooled connection looks like I/O to the GVL and makes this too high.
///
/// # Errors
/// A negative or infinite time, or both 0.
pub fn useful_threads(held_s: f64, io_s: f64) -> Result<f64, CapacityError> {
    let demand = Demand::new(held_s, io_s, 0.0)?;
    Ok(1.0 + demand.io_s() / demand.held_s())
}

/// Amdahl (1967): the speed-up of `n` processors when the part `parallel` of
/// the work can be shared out, 1 / ((1 - p) + p/n).
///
/// # Errors
/// A part outside 0..=1, or no processor.
pub fn amdahl(parallel: f64, n: u32) -> Result<f64, CapacityError> {
    above_0("the number of processors", f64::from(n))?;
    Ok(1.0 / (serial(parallel)? + parallel / f64::from(n)))
}

/// What [`amdahl`] tends to with ever more processors: 1 / (1 - p).
///
/// # Errors
/// A part outside 0..=1.
pub fn amdahl_limit(parallel: f64) -> Result<f64, CapacityError> {
    Ok(1.0 / serial(parallel)?)
}

/// What one processor more than `n` adds, S(n + 1) / S(n) - 1: 0.05 is 5 %. In
/// closed form, p / (n ((1 - p)(n + 1) + p)), which loses no digits.
///
/// # Errors
/// A part outside 0..=1, or no processor.
pub fn amdahl_gain(parallel: f64, n: u32) -> Result<f64, CapacityError> {
    let n = above_0("the number of processors", f64::from(n))?;
    Ok(parallel / (n * (serial(parallel)? * (n + 1.0) + parallel)))
}

/// Less than this from one more thread or processor, and people stop.
pub const WORTH_ONE_MORE: f64 = 0.05;

/// The least count from which one more adds less than `worth` by [`amdahl`].
///
/// # Errors
/// A part outside 0..=1, or a worth that is not between 0 and 1.
pub fn amdahl_enough(parallel: f64, worth: f64) -> Result<u32, CapacityError> {
    serial(parallel)?;
    if !(worth > 0.0 && worth < 1.0) {
        return Err(CapacityError::OutOfRange {
            name: "the gain that is worth a processor",
            value: worth,
            limits: "between 0 and 1",
        });
    }
    // The gain falls with n and is at most 1 / n.
    let (mut adds, mut enough) = (0, (1.0 / worth).min(f64::from(u32::MAX - 2)) as u32 + 1);
    while enough - adds > 1 {
        let middle = adds + (enough - adds) / 2;
        if amdahl_gain(parallel, middle)? < worth {
            enough = middle;
        } else {
            adds = middle;
        }
    }
    Ok(enough)
}

fn serial(parallel: f64) -> Result<f64, CapacityError> {
    if (0.0..=1.0).contains(&parallel) {
        return Ok(1.0 - parallel);
    }
    Err(CapacityError::OutOfRange {
        name: "the parallel part",
        value: parallel,
        limits: "in 0..=1",
    })
}

/// Little (1961), N = X R: requests in the system, from the rate per second
/// and the mean time in it.
///
/// # Errors
/// A negative or infinite figure.
pub fn little_concurrency(rate_per_s: f64, response_s: f64) -> Result<f64, CapacityError> {
    Ok(at_least_0("the rate per second", rate_per_s)?
        * at_least_0("the response time, in seconds,", response_s)?)
}

/// Little the other way round, R = N / X.
///
/// # Errors
/// A negative concurrency, or a rate that is not above 0.
pub fn little_response_s(concurrency: f64, rate_per_s: f64) -> Result<f64, CapacityError> {
    Ok(at_least_0("the concurrency", concurrency)? / above_0("the rate per second", rate_per_s)?)
}

/// What limits the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// All threads are busy: W T / (c + i).
    Threads,
    /// Each process holds its GVL all the time: W / c.
    Gvl,
    /// Each process holds its lock all the time: W / lock.
    Lock,
    /// The cores are busy: C / CPU time.
    Cores,
}

/// Upper bounds of the throughput, requests per second; infinite where a
/// request does not use the resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    pub threads: f64,
    pub gvl: f64,
    pub lock: f64,
    pub cores: f64,
}

impl Bounds {
    /// The least of them, and which it is; on a tie the first in the order
    /// threads, GVL, lock, cores.
    pub fn binding(&self) -> (Binding, f64) {
        let all = [
            (Binding::Threads, self.threads),
            (Binding::Gvl, self.gvl),
            (Binding::Lock, self.lock),
            (Binding::Cores, self.cores),
        ];
        all.into_iter()
            .reduce(|least, next| if next.1 < least.1 { next } else { least })
            .unwrap_or(all[0])
    }
}

/// X <= min(W T / (c + i), W / c, W / lock, C / CPU time): the asymptotic
/// bounds of operational analysis (Denning and Buzen 1978).
///
/// # Errors
/// Cores that are not above 0, or a configuration without threads.
pub fn throughput_bounds(
    demand: &Demand,
    cores: f64,
    config: Config,
) -> Result<Bounds, CapacityError> {
    above_0("the number of cores", cores)?;
    above_0("the number of threads", f64::from(config.threads))?;
    let processes = f64::from(config.processes());
    Ok(Bounds {
        threads: processes * f64::from(config.threads) / demand.total_s(),
        gvl: processes / demand.held_s(),
        lock: processes / demand.lock_s(),
        cores: cores / demand.cpu_s(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mva::{Station, solve};
    use proptest::prelude::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} {b}");
    }

    /// p = 37/100, N = 8: 1 / (63/100 + 37/800) = 800/541, limit 100/63.
    /// p = 45/100, N = 16: 1 / (55/100 + 45/1600) = 1600/925 = 64/37.
    #[test]
    fn amdahl_as_exact_fractions() {
        close(amdahl(0.37, 8).unwrap(), 800.0 / 541.0);
        close(amdahl_limit(0.37).unwrap(), 100.0 / 63.0);
        close(amdahl(0.45, 16).unwrap(), 64.0 / 37.0);
        assert_eq!(format!("{:.3}", amdahl(0.37, 8).unwrap()), "1.479");
        assert_eq!(format!("{:.3}", amdahl_limit(0.37).unwrap()), "1.587");
        assert_eq!(format!("{:.3}", amdahl(0.45, 16).unwrap()), "1.730");
    }

    /// The threads at which one more adds less than 5 %: 3 at p = 0.37, where
    /// a table with slips from N = 3 on gives 4. Fractions: S(4) / S(3) is
    /// (400/289) / (300/226) = 904/867.
    #[test]
    fn the_five_per_cent_rule_gives_three_threads() {
        assert_eq!(amdahl_enough(0.37, 0.05), Ok(3));
        close(amdahl_gain(0.37, 3).unwrap(), 37.0 / 867.0);
        let by_division = |n| amdahl(0.37, n + 1).unwrap() / amdahl(0.37, n).unwrap() - 1.0;
        let threads = (1..).find(|n| by_division(*n) < 0.05);
        assert_eq!(threads, Some(3));
    }

    /// All parallel, the gain is 1/n: 1/20 is 5 %, and not less.
    #[test]
    fn the_rule_at_its_ends() {
        assert_eq!(amdahl_enough(1.0, 0.05), Ok(21));
        assert_eq!(amdahl_enough(0.0, 0.05), Ok(1));
        for worth in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(amdahl_enough(0.5, worth).is_err());
        }
    }

    #[test]
    fn amdahl_at_its_ends() {
        assert_eq!(amdahl(0.0, 9).unwrap(), 1.0);
        assert_eq!(amdahl(1.0, 9).unwrap(), 9.0);
        assert_eq!(amdahl_limit(1.0).unwrap(), f64::INFINITY);
        assert!(amdahl(1.2, 4).is_err() && amdahl(0.5, 0).is_err());
    }

    #[test]
    fn five_held_and_fifteen_of_io_want_four_threads() {
        close(useful_threads(0.005, 0.015).unwrap(), 4.0);
        assert_eq!(useful_threads(0.0, 0.1).unwrap(), f64::INFINITY);
        assert_eq!(useful_threads(0.1, 0.0).unwrap(), 1.0);
    }

    #[test]
    fn little_both_ways() {
        close(little_concurrency(40.0, 0.25).unwrap(), 10.0);
        close(little_response_s(10.0, 40.0).unwrap(), 0.25);
        assert!(little_response_s(10.0, 0.0).is_err());
    }

    #[test]
    fn each_bound_binds_in_its_turn() {
        let demand = Demand::new(0.005, 0.015, 0.0).unwrap();
        let binding = |demand: &Demand, cores, workers, threads| {
            let config = Config { workers, threads };
            throughput_bounds(demand, cores, config).unwrap().binding()
        };
        assert_eq!(binding(&demand, 2.0, 0, 2), (Binding::Threads, 100.0));
        assert_eq!(binding(&demand, 2.0, 1, 9), (Binding::Gvl, 200.0));
        assert_eq!(binding(&demand, 2.0, 4, 9), (Binding::Cores, 400.0));
        // Native work needs cores although it leaves the GVL alone.
        let native = Demand::new(0.005, 0.015, 0.005).unwrap();
        assert_eq!(binding(&native, 2.0, 4, 9), (Binding::Cores, 200.0));
        let locked = demand.with_lock(0.0075).unwrap();
        assert_eq!(binding(&locked, 2.0, 1, 9).0, Binding::Lock);
    }

    proptest! {
        #[test]
        fn the_rule_ends_where_the_gain_falls_below_it(p in 0.0_f64..=1.0, worth in 0.001_f64..0.5) {
            let enough = amdahl_enough(p, worth).unwrap();
            prop_assert!(amdahl_gain(p, enough).unwrap() < worth);
            prop_assert!(enough == 1 || amdahl_gain(p, enough - 1).unwrap() >= worth);
            prop_assert!(amdahl(p, enough).unwrap() <= amdahl_limit(p).unwrap() * (1.0 + 1e-12));
        }

        /// Amdahl's speed-up is the pessimistic bound, every other request at the
        /// GVL, and min(N, T*) the optimistic one; the truth lies between.
        #[test]
        fn a_saturated_process_lies_between_amdahl_and_the_bound(
            held in 0.001_f64..0.1, io in 0.0_f64..0.5, n in 1_u16..40,
        ) {
            let gvl = [Station { demand_s: held }];
            let gained = solve(&gvl, io, n).throughput / solve(&gvl, io, 1).throughput;
            let pessimistic = amdahl(io / (held + io), n.into()).unwrap();
            let optimistic = useful_threads(held, io).unwrap().min(n.into());
            prop_assert!(pessimistic <= gained * (1.0 + 1e-9), "{} {}", pessimistic, gained);
            prop_assert!(gained <= optimistic * (1.0 + 1e-9), "{} {}", gained, optimistic);
        }
    }
}
