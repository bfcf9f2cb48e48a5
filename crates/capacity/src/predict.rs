//! What a configuration will do when every thread has work.
//!
//! Each process is a closed network of its T threads: the GVL and, where there
//! is one, the lock are stations, I/O and native CPU are delays (`mva`). The
//! processes share C cores: CPU work is stretched by the mean of
//! max(1, runnable / C), where the other runnable threads are taken as
//! independent, and stretch and network are solved for each other. The
//! stretch is an approximation: right with no contention and when all processes
//! are saturated, between the two up to 7 % low against the Markov chain of
//! processes of one thread on 1, 2 and 4 cores.
//!
//! Left out: garbage collection, the 100 ms quantum of the GVL, the acceptor
//! and the reactor, Puma's own time, and slower I/O under more threads.

use serde::{Deserialize, Serialize};

use crate::error::above_0;
use crate::mva::{Network, Station, solve};
use crate::{CapacityError, Config, Demand};

/// A configuration under saturation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Requests per second of all processes.
    pub throughput: f64,
    /// Mean seconds in a thread, queueing for the thread left out.
    pub response_s: f64,
    /// Of that, mean seconds waiting for the GVL.
    pub gvl_wait_s: f64,
    /// Part of the time a process's GVL is held, 0..=1.
    pub utilisation_gvl: f64,
    /// Part of the cores that is busy, 0..=1.
    pub utilisation_cpu: f64,
    /// How much longer CPU work takes than with a core of its own, >= 1.
    pub stretch: f64,
}

/// Stretch and network settle in a few dozen halvings.
const HALVINGS: usize = 40;

/// Predicts `config` on `cores` (a cgroup quota may make them fractional).
///
/// # Errors
/// Cores that are not above 0, or a configuration without threads.
pub fn predict(demand: &Demand, cores: f64, config: Config) -> Result<Prediction, CapacityError> {
    above_0("the number of cores", cores)?;
    above_0("the number of threads", f64::from(config.threads))?;
    let processes = f64::from(config.processes());
    let slots = processes * f64::from(config.threads);
    // The stretch seen rises with the work that is runnable, which falls in
    // turn when each piece is stretched less: one crossing, found by halving.
    let (mut low, mut high) = (1.0, (slots / cores).max(1.0));
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if stretch_seen(demand, cores, config, middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    let stretch = (low + high) / 2.0;
    let network = process(demand, config.threads, stretch);
    let most = cores / demand.cpu_s();
    let throughput = (processes * network.throughput).min(most);
    let held_s = stretch * demand.held_s();
    Ok(Prediction {
        throughput,
        response_s: slots / throughput,
        gvl_wait_s: network.residence_s[0] - held_s,
        utilisation_gvl: (throughput / processes * held_s).min(1.0),
        utilisation_cpu: throughput / most,
        stretch,
    })
}

fn process(demand: &Demand, threads: u16, stretch: f64) -> Network {
    let gvl = Station {
        demand_s: stretch * demand.held_s(),
    };
    let lock = Station {
        demand_s: demand.lock_s(),
    };
    let delay_s = demand.io_s() - demand.lock_s() + stretch * demand.native_s();
    solve(&[gvl, lock], delay_s, threads)
}

/// The mean stretch of a thread that wants a core while CPU work is stretched
/// by `stretch`: of the other processes each has one thread at the GVL with
/// the probability that it is held, and of the other threads each is in native
/// code with the probability found for one.
fn stretch_seen(demand: &Demand, cores: f64, config: Config, stretch: f64) -> f64 {
    let network = process(demand, config.threads, stretch);
    let processes = usize::from(config.processes());
    let threads = usize::from(config.threads);
    let held = (network.throughput * stretch * demand.held_s()).min(1.0);
    let native = network.throughput * stretch * demand.native_s() / threads as f64;
    // A native thread sees one more GVL holder and one native thread less; one
    // distribution serves both.
    let natives = processes * threads - 1;
    let mean = (processes - 1) as f64 * held + natives as f64 * native;
    // E[max(1, n/C)] = E[n]/C + the sum of what counts below C fall short by.
    let below = cores.ceil() as usize;
    let at_gvl = binomial(processes - 1, held, below);
    let in_native = binomial(natives, native, below);
    let mut stretch = (1.0 + mean) / cores;
    for others in 0..below {
        let ways = (0..=others).map(|k| at_gvl[k] * in_native[others - k]);
        let short = 1.0 - (1 + others) as f64 / cores;
        stretch += ways.sum::<f64>() * short.max(0.0);
    }
    stretch
}

/// P(k) for k in 0..`below` of a count with `trials` chances of probability `p`.
fn binomial(trials: usize, p: f64, below: usize) -> Vec<f64> {
    let p = p.min(1.0 - 1e-12);
    let mut mass = (trials as f64 * (-p).ln_1p()).exp();
    let next = |k: usize| {
        let here = mass;
        mass *= trials.saturating_sub(k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        here
    };
    (0..below).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throughput_bounds;
    use proptest::prelude::*;

    fn at(demand: &Demand, cores: f64, workers: u16, threads: u16) -> Prediction {
        predict(demand, cores, Config { workers, threads }).unwrap()
    }

    #[test]
    fn pure_gvl_work_gains_nothing_from_threads() {
        let demand = Demand::new(0.01, 0.0, 0.0).unwrap();
        for threads in [1, 2, 16] {
            assert!((at(&demand, 2.0, 0, threads).throughput - 100.0).abs() < 1e-6);
        }
        assert!((at(&demand, 2.0, 2, 1).throughput - 200.0).abs() < 1e-6);
        let crowded = at(&demand, 2.0, 4, 1);
        assert!((crowded.throughput - 200.0).abs() < 1e-6, "{crowded:?}");
        assert!((crowded.stretch - 2.0).abs() < 1e-6);
    }

    /// A fair coin thrown four times, of which the first three counts are asked.
    #[test]
    fn binomial_by_hand() {
        let seen = binomial(4, 0.5, 3);
        for (seen, sixteenths) in seen.iter().zip([1.0, 4.0, 6.0]) {
            assert!((seen * 16.0 - sixteenths).abs() < 1e-12);
        }
        assert_eq!(binomial(0, 0.5, 2), [1.0, 0.0]);
    }

    /// Two processes of two threads in native code alone on two cores: four
    /// runnable threads share them, whatever the GVL does.
    #[test]
    fn native_work_needs_cores_too() {
        let demand = Demand::new(0.0, 0.0, 0.01).unwrap();
        let crowded = at(&demand, 2.0, 2, 2);
        assert!((crowded.throughput - 200.0).abs() < 1e-6, "{crowded:?}");
        assert!((crowded.stretch - 2.0).abs() < 1e-6);
        assert!((at(&demand, 8.0, 2, 2).throughput - 400.0).abs() < 1e-6);
    }

    #[test]
    fn half_a_core_halves_it() {
        let demand = Demand::new(0.01, 0.0, 0.0).unwrap();
        assert!((at(&demand, 0.5, 0, 3).throughput - 50.0).abs() < 1e-6);
    }

    #[test]
    fn a_lock_takes_what_the_gvl_would_have_given() {
        let free = Demand::new(0.005, 0.015, 0.0).unwrap();
        let locked = free.with_lock(0.0075).unwrap();
        let (free, locked) = (at(&free, 2.0, 0, 7), at(&locked, 2.0, 0, 7));
        assert!(locked.throughput < 0.8 * free.throughput);
        assert!(locked.throughput <= 1.0 / 0.0075);
        assert!(free.throughput > 2.0 * 50.0);
    }

    /// One thread a process, exponential CPU and I/O: a birth-death chain of
    /// the processes that want a core. State k: CPU finishes at min(k, C) / c,
    /// I/O at (W - k) / i.
    fn chain(held_s: f64, io_s: f64, cores: f64, processes: u16) -> f64 {
        let finishing = |k: u16| f64::from(k).min(cores) / held_s;
        let mut weights = vec![1.0];
        for k in 1..=processes {
            let arriving = f64::from(processes - k + 1) / io_s;
            weights.push(weights[usize::from(k) - 1] * arriving / finishing(k));
        }
        let busy = (0..=processes).zip(&weights).map(|(k, w)| w * finishing(k));
        busy.sum::<f64>() / weights.iter().sum::<f64>()
    }

    #[test]
    fn sharing_of_cores_stays_near_the_markov_chain() {
        for cores in [1.0, 2.0, 4.0] {
            for processes in [1, 2, 3, 4, 6, 8] {
                for io in [0.0025, 0.01, 0.04] {
                    let demand = Demand::new(0.01, io, 0.0).unwrap();
                    let predicted = at(&demand, cores, processes, 1).throughput;
                    let exact = chain(0.01, io, cores, processes);
                    let error = predicted / exact - 1.0;
                    assert!(
                        error.abs() < 0.10,
                        "C={cores} W={processes} i={io}: {error}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn keeps_within_its_bounds_and_grows_with_threads(
            held in 0.0001_f64..0.1, io in 0.0_f64..0.2, native in 0.0_f64..0.05,
            lock in 0.0_f64..1.0, cores in 0.5_f64..16.0, workers in 0_u16..10, threads in 1_u16..12,
        ) {
            let demand = Demand::new(held, io, native).unwrap().with_lock(io * lock).unwrap();
            let config = Config { workers, threads };
            let prediction = predict(&demand, cores, config).unwrap();
            let (_, bound) = throughput_bounds(&demand, cores, config).unwrap().binding();
            prop_assert!(prediction.throughput <= bound * (1.0 + 1e-9));
            prop_assert!(prediction.stretch >= 1.0);
            prop_assert!(prediction.gvl_wait_s >= -1e-9);
            prop_assert!(prediction.utilisation_gvl <= 1.0 && prediction.utilisation_cpu <= 1.0);
            let more = predict(&demand, cores, Config { workers, threads: threads + 1 }).unwrap();
            prop_assert!(more.throughput >= prediction.throughput * 0.98);
        }
    }
}
