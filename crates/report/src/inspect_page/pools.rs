//! Database connection pools, and what to do about one that threads wait for.

use crate::figures::{counted, grouped, percent};
use crate::sheet::Sheet;
use crate::tables::in_parts;
use run::inspect::{Document, Pool};

/// A share of a pool's samples in which threads waited: from it on, the pool limits them.
const MUCH_WAITING: f64 = 0.05;
/// Fewer samples show no share.
const LEAST_SAMPLES: u64 = 20;

/// Connection pools over time.
pub fn write(sheet: &mut Sheet, document: &Document) {
    if document.pools.is_empty() {
        return;
    }
    sheet.heading("Database connection pools");
    let head = [
        "pool",
        "size",
        "most open",
        "busy mean",
        "busy max",
        "waiting mean",
        "waiting max",
        "time with waiting",
        "held by dead threads",
        "samples",
    ];
    let mut rows = Vec::new();
    for pool in &document.pools {
        rows.push(vec![
            // The document counts from 0.
            format!("no. {}", u32::from(pool.pool) + 1),
            pool.size.to_string(),
            pool.connections_max.to_string(),
            format!("{:.1}", pool.busy_mean),
            pool.busy_max.to_string(),
            format!("{:.2}", pool.waiting_mean),
            pool.waiting_max.to_string(),
            percent(pool.waiting_share),
            pool.dead_max.to_string(),
            grouped(pool.samples),
        ]);
    }
    sheet.tables(in_parts(sheet.style(), &head, &rows));
    for pool in &document.pools {
        if let Some(advice) = advice(pool) {
            sheet.labelled("- ", &advice);
        }
    }
}

fn advice(pool: &Pool) -> Option<String> {
    if pool.samples < LEAST_SAMPLES || pool.waiting_share < MUCH_WAITING {
        return None;
    }
    let number = u32::from(pool.pool) + 1;
    let waited = format!(
        "Threads waited for a connection of pool no. {number} (size {}) in {} of its samples",
        pool.size,
        percent(pool.waiting_share)
    );
    let dead = match pool.dead_max {
        0 => String::new(),
        dead => format!(
            " Threads that have ended held up to {} of it: find the code that takes a connection in a thread and does not return it.",
            counted(dead, "connection")
        ),
    };
    Some(format!(
        "{waited}: a larger pool (pool or max_connections in config/database.yml, or in the URL of the database) shortens this wait, \
         more threads lengthen it.{dead}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_that_threads_wait_for_has_its_remedy() {
        let said = |waiting_share, samples, dead_max| {
            advice(&Pool {
                pool: 0,
                size: 5,
                connections_max: 5,
                busy_mean: 4.0,
                busy_max: 5,
                waiting_mean: 0.5,
                waiting_max: 2,
                waiting_share,
                dead_max,
                samples,
            })
        };
        assert_eq!(said(0.04, 100, 0), None);
        assert_eq!(said(0.5, 19, 2), None);
        let small = said(0.05, 20, 0).unwrap();
        assert!(
            small.contains("pool no. 1 (size 5) in 5.0 %") && !small.contains("ended"),
            "{small}"
        );
        let leaks = said(0.05, 20, 2).unwrap();
        assert!(leaks.contains("held up to 2 connections"), "{leaks}");
    }
}
