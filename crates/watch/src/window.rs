//! What processes did between two readings.

use crate::process_row::ProcessRow;
use crate::reading::Reading;
use crate::stragglers::stragglers;
use crate::subject::Subject;
use flight::CallKind;
use inspect::{Sum, Sums};
use small_sort::SmallSort;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The difference of two readings.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// What it is about; `None`: everything.
    pub subject: Option<Subject>,
    pub length: Duration,
    /// Request time of everything that these processes served.
    pub busy_ns: u64,
    pub all: Sums,
    pub processes: Vec<ProcessRow>,
    /// Those with the most request time first.
    pub endpoints: Vec<EndpointRow>,
}

/// One endpoint or job class, over all processes.
#[derive(Debug, Clone)]
pub struct EndpointRow {
    pub name: String,
    pub sums: Sums,
}

impl Window {
    /// What `after` has more than `before`. A process that ran before the first reading and is not in it is left out,
    /// because its counters are of a longer time.
    #[must_use]
    pub fn between(before: &Reading, after: &Reading) -> Self {
        let earlier: HashMap<_, _> = before.processes.iter().map(|p| (p.id, p)).collect();
        let length = after.at.saturating_sub(before.at);
        let mut window = Self {
            length,
            ..Self::default()
        };
        let mut endpoints: BTreeMap<String, Sums> = BTreeMap::new();
        for process in &after.processes {
            let old = earlier.get(&process.id).copied();
            if old.is_none() && process.created_wall_ns < before.wall_ns {
                continue;
            }
            let row = ProcessRow::between(old, process, length);
            if process.of_unknown_life && row.sums.requests == 0 {
                continue;
            }
            window.all.merge(&row.sums);
            for (name, sums) in &row.endpoints {
                endpoints.entry(name.clone()).or_default().merge(sums);
            }
            window.processes.push(row);
        }
        window.busy_ns = window.all.wall.total();
        let unlike = stragglers(&window.processes);
        for (row, unlike) in window.processes.iter_mut().zip(unlike) {
            row.unlike = unlike;
        }
        window.endpoints = by_time(endpoints.into_iter());
        window
    }

    /// A sum by time.
    #[must_use]
    pub fn per_s(&self, count: u64) -> f64 {
        rate(count as f64, self.length)
    }

    /// Requests in the application at once, on average: Little's law on those that ended.
    #[must_use]
    pub fn busy(&self) -> f64 {
        rate(self.busy_ns as f64 / 1e9, self.length)
    }

    /// Threads of all processes; `None` where a process does not say.
    #[must_use]
    pub fn threads(&self) -> Option<u32> {
        self.processes.iter().map(|row| row.process.threads).sum()
    }

    /// Requests in progress now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.processes.iter().map(|row| row.process.in_flight).sum()
    }
}

/// A sum by time, per second.
pub fn rate(sum: f64, length: Duration) -> f64 {
    sum / length.as_secs_f64().max(1e-9)
}

/// Those with the most request time first.
pub fn by_time(endpoints: impl Iterator<Item = (String, Sums)>) -> Vec<EndpointRow> {
    let rows = endpoints.map(|(name, sums)| EndpointRow { name, sums });
    let mut rows: Vec<EndpointRow> = rows.collect();
    rows.small_sort_by_key(|row| std::cmp::Reverse(row.sums.wall.total()));
    rows
}

/// Milliseconds that a request waited for a connection of a pool, without the GVL wait inside; a part of lock or I/O.
pub fn pool_ms(sums: &Sums) -> Option<f64> {
    call_ms(sums, CallKind::Pool)
}

/// Kinds of calls to other servers, as the screen names them.
pub const CALLS: [(CallKind, &str); 4] = [
    (CallKind::Sql, "SQL"),
    (CallKind::Http, "HTTP"),
    (CallKind::Cache, "cache"),
    (CallKind::Redis, "Redis"),
];

/// Milliseconds a request in calls of a kind, without the GVL wait inside.
pub fn call_ms(sums: &Sums, kind: CallKind) -> Option<f64> {
    let call = &sums.calls[kind];
    let part = |sum: &Sum| sum.mean_ms();
    Some((part(&call.seen)? - part(&call.gvl_wait)?).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, served};

    #[test]
    fn only_what_was_added_counts() {
        let before = reading(0, vec![process(1, 0, &[("a", served(100, 10, 5))])]);
        let after = reading(10, vec![process(1, 0, &[("a", served(150, 10, 5))])]);
        let window = Window::between(&before, &after);
        assert_eq!(window.all.requests, 50);
        assert_eq!(window.per_s(window.all.requests), 5.0);
        assert_eq!(window.all.gvl_wait.mean_ms(), Some(5.0));
        assert_eq!(window.endpoints.len(), 1);
        // 50 requests of 20 ms in 10 s.
        assert!((window.busy() - 0.1).abs() < 1e-9, "{}", window.busy());
    }

    #[test]
    fn a_process_that_started_meanwhile_counts_from_zero_and_an_unknown_older_one_not_at_all() {
        let before = reading(0, Vec::new());
        let mut young = process(1, 0, &[("a", served(10, 1, 1))]);
        young.created_wall_ns = before.wall_ns + 1;
        let mut old = process(2, 1, &[("a", served(10, 1, 1))]);
        old.created_wall_ns = before.wall_ns - 1;
        let window = Window::between(&before, &reading(5, vec![young, old]));
        assert_eq!(window.all.requests, 10);
        assert_eq!(window.processes.len(), 1);
    }

    #[test]
    fn a_process_of_unknown_life_counts_while_its_counters_grow() {
        let at = |s, requests| {
            let mut process = process(1, 0, &[("a", served(requests, 1, 1))]);
            process.of_unknown_life = true;
            reading(s, vec![process])
        };
        let rows = |later| Window::between(&at(0, 5), &at(5, later)).processes.len();
        assert_eq!((rows(5), rows(6)), (0, 1));
    }

    #[test]
    fn cpu_is_in_cores() {
        let at = |s, cpu| {
            let mut process = process(1, 0, &[]);
            process.cpu = Some(Duration::from_secs(cpu));
            reading(s, vec![process])
        };
        let window = Window::between(&at(0, 3), &at(4, 5));
        assert_eq!(window.processes[0].cores, Some(0.5));
    }
}
