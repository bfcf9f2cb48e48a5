//! Connection pools over time, all processes together.

use flight::PoolSample;
use run::inspect::Pool;
use std::collections::BTreeMap;

/// Sums by pool.
#[derive(Debug, Default)]
pub struct Pools(BTreeMap<u16, Seen>);

#[derive(Debug, Default)]
struct Seen {
    samples: u64,
    size: u16,
    connections_max: u16,
    busy: u64,
    busy_max: u16,
    waiting: u64,
    waiting_max: u16,
    somebody_waiting: u64,
    dead_max: u16,
}

impl Pools {
    pub fn add(&mut self, sample: &PoolSample) {
        let seen = self.0.entry(sample.pool).or_default();
        seen.samples += 1;
        seen.size = seen.size.max(sample.size);
        seen.connections_max = seen.connections_max.max(sample.connections);
        seen.busy += u64::from(sample.busy);
        seen.busy_max = seen.busy_max.max(sample.busy);
        seen.waiting += u64::from(sample.waiting);
        seen.waiting_max = seen.waiting_max.max(sample.waiting);
        seen.somebody_waiting += u64::from(sample.waiting > 0);
        seen.dead_max = seen.dead_max.max(sample.dead);
    }

    pub fn into_document(self) -> Vec<Pool> {
        let mean = |sum: u64, samples: u64| sum as f64 / samples.max(1) as f64;
        self.0
            .into_iter()
            .map(|(pool, seen)| Pool {
                pool,
                samples: seen.samples,
                size: seen.size,
                connections_max: seen.connections_max,
                busy_mean: mean(seen.busy, seen.samples),
                busy_max: seen.busy_max,
                waiting_mean: mean(seen.waiting, seen.samples),
                waiting_max: seen.waiting_max,
                waiting_share: mean(seen.somebody_waiting, seen.samples),
                dead_max: seen.dead_max,
            })
            .collect()
    }
}
