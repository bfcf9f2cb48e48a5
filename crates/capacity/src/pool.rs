//! Database connections: what each process may open, what all of them open
//! together, and what is left of the server's limit while a deploy overlaps.
//!
//! Counts, not rates: how many connections are busy at once is Little's law
//! ([`busy_connections`]).

use crate::CapacityError;
use crate::error::at_least_0;

/// Processes of one kind, all with the same number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fleet {
    pub processes: u32,
    pub threads: u32,
}

/// Who connects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Connecting {
    pub web: Fleet,
    pub jobs: Fleet,
    /// Threads of each process's async-query executor; 0 where `load_async` is
    /// not used.
    pub async_threads: u32,
    /// Consoles, migrations, monitoring: connections that come once.
    pub others: u32,
    /// Part of the processes that are there twice while a deploy overlaps, 0..=1.
    pub overlap: f64,
}

/// The connections that follow, at most: pools open them as they are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Of each web process's pool.
    pub web_pool: u64,
    /// Of each job process's pool.
    pub job_pool: u64,
    pub web: u64,
    pub jobs: u64,
    /// Web, jobs and others, between deploys.
    pub running: u64,
    /// What a deploy adds while it overlaps.
    pub deploy: u64,
    /// All of it.
    pub most: u64,
}

/// Connections that a process's pool must hold so that none of its threads waits
/// for one: each thread that serves has one. With an executor of async queries
/// also one for each of its threads and one more, by the Rails guide (Configuring,
/// `global_executor_concurrency`). The main thread needs none without it: Rails
/// returns its connection at the end of the boot (`clear_active_connections`).
#[must_use]
pub fn pool_size(threads: u32, async_threads: u32) -> u64 {
    let executor = match async_threads {
        0 => 0,
        executor => u64::from(executor) + 1,
    };
    u64::from(threads) + executor
}

/// Counts them.
///
/// # Errors
/// An overlap outside 0..=1.
pub fn connections(of: &Connecting) -> Result<Connections, CapacityError> {
    if !(0.0..=1.0).contains(&of.overlap) {
        return Err(CapacityError::OutOfRange {
            name: "the overlap of a deploy",
            value: of.overlap,
            limits: "in 0..=1",
        });
    }
    let pool = |threads: u32| pool_size(threads, of.async_threads);
    let all = |fleet: Fleet| u64::from(fleet.processes) * pool(fleet.threads);
    // Processes are whole: a quarter of five is two.
    let twice = |fleet: Fleet| {
        (f64::from(fleet.processes) * of.overlap).ceil() as u64 * pool(fleet.threads)
    };
    let (web, jobs) = (all(of.web), all(of.jobs));
    let running = web + jobs + u64::from(of.others);
    let deploy = twice(of.web) + twice(of.jobs);
    Ok(Connections {
        web_pool: pool(of.web.threads),
        job_pool: pool(of.jobs.threads),
        web,
        jobs,
        running,
        deploy,
        most: running + deploy,
    })
}

/// Connections busy at once, and those that suffice but for the part `beyond` of
/// the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    pub mean: f64,
    pub enough: u32,
}

/// From the rate of transactions and the mean time of one: Little for the mean;
/// a Poisson distribution around it, that of a system without waiting
/// (M/G/infinity), whatever the times' distribution.
///
/// # Errors
/// A rate or a time that is negative or infinite.
pub fn busy_connections(rate_per_s: f64, time_s: f64, beyond: f64) -> Result<Busy, CapacityError> {
    let mean = at_least_0("the rate per second", rate_per_s)?
        * at_least_0("the time of a transaction, in seconds,", time_s)?;
    // Terms relative to the largest, at the mean, so that e^-mean cannot vanish.
    let top = mean.floor();
    let span = (12.0 * mean.sqrt() + 60.0).ceil();
    let (first, last) = ((top - span).max(0.0), top + span);
    let logs = |n: f64| {
        (top as i64..n as i64)
            .map(|k| (mean / (k + 1) as f64).ln())
            .sum::<f64>()
            - (n as i64..top as i64)
                .map(|k| (mean / (k + 1) as f64).ln())
                .sum::<f64>()
    };
    let (mut weight, mut weights) = (logs(first).exp(), Vec::new());
    let mut n = first;
    while n <= last {
        weights.push(weight);
        n += 1.0;
        weight *= mean / n;
    }
    let all: f64 = weights.iter().sum();
    let mut tail = all;
    let enough = weights
        .iter()
        .position(|w| {
            tail -= w;
            tail <= beyond * all
        })
        .unwrap_or(weights.len());
    Ok(Busy {
        mean,
        enough: (first as u32 + enough as u32).max(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHOP: Connecting = Connecting {
        web: Fleet {
            processes: 4,
            threads: 5,
        },
        jobs: Fleet {
            processes: 2,
            threads: 10,
        },
        async_threads: 4,
        others: 3,
        overlap: 1.0,
    };

    /// 4 (5 + 4 + 1) + 2 (10 + 4 + 1) = 70, three more, and 70 again.
    #[test]
    fn a_shop_by_hand() {
        let found = connections(&SHOP).unwrap();
        assert_eq!((found.web_pool, found.job_pool), (10, 15));
        assert_eq!((found.web, found.jobs), (40, 30));
        assert_eq!((found.running, found.deploy, found.most), (73, 70, 143));
    }

    #[test]
    fn a_rolling_deploy_rounds_processes_up() {
        let rolling = Connecting {
            overlap: 0.25,
            ..SHOP
        };
        // One of four, and one of two (half a process is one).
        assert_eq!(connections(&rolling).unwrap().deploy, 10 + 15);
        assert_eq!(
            connections(&Connecting {
                overlap: 0.0,
                ..SHOP
            })
            .unwrap()
            .deploy,
            0
        );
        assert!(
            connections(&Connecting {
                overlap: 1.5,
                ..SHOP
            })
            .is_err()
        );
    }

    /// 3 threads and an executor of 4 are the guide's example, with its result.
    #[test]
    fn a_pool_is_the_threads_and_what_async_queries_need() {
        assert_eq!(pool_size(3, 4), 8);
        assert_eq!(pool_size(5, 0), 5);
    }

    /// Mean 2: P(N <= 6) = 0.99547, P(N <= 8) = 0.99976.
    #[test]
    fn busy_connections_by_the_tables_of_poisson() {
        let at = |beyond| busy_connections(200.0, 0.01, beyond).unwrap();
        assert_eq!(
            at(0.005),
            Busy {
                mean: 2.0,
                enough: 6
            }
        );
        assert_eq!(at(0.001).enough, 8);
        assert_eq!(busy_connections(0.0, 0.01, 0.001).unwrap().enough, 1);
        assert!(busy_connections(-1.0, 0.01, 0.001).is_err());
    }

    proptest! {
        #[test]
        fn busy_connections_as_the_sum_says(mean in 0.01_f64..400.0) {
            let found = busy_connections(mean, 1.0, 0.001).unwrap();
            let (mut term, mut sum) = ((-mean).exp(), 0.0);
            for n in 0..=found.enough {
                sum += term;
                prop_assert!(n == found.enough || n == 0 || sum < 0.999 + 1e-9, "{} {:?}", n, found);
                term *= mean / f64::from(n + 1);
            }
            prop_assert!(sum >= 0.999 - 1e-9, "{} {:?}", sum, found);
        }

        #[test]
        fn what_is_opened_adds_up(
            web in 0_u32..50, threads in 1_u32..30, jobs in 0_u32..50, busy in 1_u32..30, overlap in 0.0_f64..=1.0,
        ) {
            let of = Connecting {
                web: Fleet { processes: web, threads },
                jobs: Fleet { processes: jobs, threads: busy },
                async_threads: 0,
                others: 1,
                overlap,
            };
            let found = connections(&of).unwrap();
            prop_assert_eq!(found.running, found.web + found.jobs + 1);
            prop_assert_eq!(found.most, found.running + found.deploy);
            prop_assert!(found.deploy <= found.web + found.jobs);
            prop_assert!(overlap > 0.0 || found.deploy == 0);
        }
    }
}
