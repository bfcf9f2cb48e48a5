//! What one process did between two readings.

use crate::reading::Process;
use flight::Totals;
use inspect::Sums;
use std::sync::Arc;
use std::time::Duration;

/// What processes take of their machine: each figure is known if it is known for all of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resources {
    /// CPU time per wall time.
    pub cores: Option<f64>,
    pub rss_bytes: Option<u64>,
    pub pss_bytes: Option<u64>,
}

impl Resources {
    /// Of all these processes together; unknown without any.
    pub fn of(rows: &[ProcessRow]) -> Self {
        if rows.is_empty() {
            return Self::default();
        }
        Self {
            cores: rows.iter().map(|row| row.cores).sum(),
            rss_bytes: rows.iter().map(|row| row.process.rss_bytes).sum(),
            pss_bytes: rows.iter().map(|row| row.process.pss_bytes).sum(),
        }
    }
}

/// One process.
#[derive(Debug, Clone)]
pub struct ProcessRow {
    pub process: Process,
    pub sums: Sums,
    pub endpoints: Vec<(String, Sums)>,
    /// CPU time by wall time: 1 is a core.
    pub cores: Option<f64>,
    /// Requests were in progress at both readings.
    pub serving_throughout: bool,
    /// By what it is unlike its siblings: a sentence each.
    pub unlike: Vec<String>,
}

impl ProcessRow {
    /// What `now` has more than `old`; all of it where the process began in between.
    pub fn between(old: Option<&Process>, now: &Process, length: Duration) -> Self {
        let sums = |after: &Totals, before: Option<&Totals>| {
            let grown = before.map_or(*after, |before| after.since(before));
            let mut sums = Sums::default();
            sums.add(&grown, &now.measured, now.further);
            sums
        };
        let before = |index| {
            let known = &old?.endpoints;
            let at = known.binary_search_by_key(&index, |counted| counted.index);
            Some(&known[at.ok()?].totals)
        };
        let grown = now.endpoints.iter().filter_map(|counted| {
            let grown = sums(&counted.totals, before(counted.index));
            (grown.requests > 0).then(|| (counted.name.clone(), grown))
        });
        let cpu = now.cpu.map(|cpu| match old {
            Some(old) => old.cpu.map(|before| cpu.saturating_sub(before)),
            None => Some(cpu),
        });
        Self {
            process: Process {
                // Windows of minutes are kept, and have what was added alone.
                endpoints: Arc::default(),
                ..now.clone()
            },
            sums: sums(&now.totals, old.map(|old| &old.totals)),
            endpoints: grown.collect(),
            cores: cpu
                .flatten()
                .map(|cpu| cpu.as_secs_f64() / length.as_secs_f64().max(1e-9)),
            serving_throughout: now.in_flight > 0 && old.is_some_and(|old| old.in_flight > 0),
            unlike: Vec::new(),
        }
    }
}
