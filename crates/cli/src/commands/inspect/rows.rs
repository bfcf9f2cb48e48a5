//! `inspect --csv`: a row an endpoint or job class. A value that was not measured is an
//! empty cell.

use crate::Failure;
use run::inspect::{CallKind, Document, Traffic};

type Column = (&'static str, fn(&Traffic) -> Option<f64>);

const COLUMNS: [Column; 37] = [
    ("requests", |t| Some(t.requests as f64)),
    ("errors", |t| Some(t.errors as f64)),
    ("rate_per_s", |t| t.rate_per_s),
    ("share_of_time", |t| Some(t.share_of_time)),
    ("wall_mean_ms", |t| Some(t.wall.mean_ms)),
    ("wall_p50_ms", |t| t.wall.p50_ms),
    ("wall_p90_ms", |t| t.wall.p90_ms),
    ("wall_p99_ms", |t| t.wall.p99_ms),
    ("wall_max_ms", |t| t.wall.max_ms),
    ("queue_mean_ms", |t| t.queue.map(|q| q.mean_ms)),
    ("queue_p99_ms", |t| t.queue.and_then(|q| q.p99_ms)),
    ("held_ms", |t| t.split.map(|s| s.held_ms)),
    ("gvl_wait_ms", |t| t.split.map(|s| s.gvl_wait_ms)),
    ("gvl_wait_p50_ms", |t| t.gvl_wait.and_then(|w| w.p50_ms)),
    ("gvl_wait_p90_ms", |t| t.gvl_wait.and_then(|w| w.p90_ms)),
    ("gvl_wait_p99_ms", |t| t.gvl_wait.and_then(|w| w.p99_ms)),
    ("gvl_wait_max_ms", |t| t.gvl_wait.and_then(|w| w.max_ms)),
    ("lock_wait_ms", |t| t.split.and_then(|s| s.lock_wait_ms)),
    ("io_ms", |t| t.split.map(|s| s.io_ms)),
    ("io_share_of_work", |t| {
        t.split.and_then(|s| s.io_share_of_work)
    }),
    ("useful_threads", |t| t.split.and_then(|s| s.useful_threads)),
    ("cpu_ms", |t| t.split.and_then(|s| s.cpu_ms)),
    ("starved_ms", |t| t.split.and_then(|s| s.starved_ms)),
    ("gc_ms", |t| t.gc.map(|g| g.stopped_ms)),
    ("gc_own_ms", |t| t.gc.and_then(|g| g.own_ms)),
    ("allocations", |t| t.allocations),
    ("yields", |t| t.yields),
    ("busy_threads", |t| t.busy_threads),
    ("sql_per_request", |t| {
        call(t, CallKind::Sql, |c| c.per_request)
    }),
    ("sql_seen_ms", |t| call(t, CallKind::Sql, |c| c.seen_ms)),
    ("sql_really_ms", |t| call(t, CallKind::Sql, |c| c.really_ms)),
    ("http_really_ms", |t| {
        call(t, CallKind::Http, |c| c.really_ms)
    }),
    ("cache_really_ms", |t| {
        call(t, CallKind::Cache, |c| c.really_ms)
    }),
    ("redis_really_ms", |t| {
        call(t, CallKind::Redis, |c| c.really_ms)
    }),
    ("pool_wait_ms", |t| call(t, CallKind::Pool, |c| c.seen_ms)),
    ("parse_ms", |t| t.server.and_then(|s| s.parse_ms)),
    ("write_ms", |t| t.server.and_then(|s| s.write_ms)),
];

fn call(t: &Traffic, kind: CallKind, of: fn(&run::inspect::Calls) -> f64) -> Option<f64> {
    t.calls.iter().find(|c| c.kind == kind).map(of)
}

/// The rows, under their head.
pub fn csv(document: &Document) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |e: csv::Error| Failure::usage(format!("the rows cannot be written as CSV: {e}"));
    let names = COLUMNS.iter().map(|(name, _)| *name);
    writer
        .write_record(["name", "kind", "percentiles"].into_iter().chain(names))
        .map_err(failed)?;
    let kinds = [
        ("request", &document.endpoints),
        ("job", &document.job_classes),
    ];
    for (kind, all) in kinds {
        for traffic in all {
            let percentiles = if traffic.wall.exact {
                "exact"
            } else {
                "upper edges"
            };
            let mut row = vec![
                traffic.name.clone(),
                kind.to_owned(),
                percentiles.to_owned(),
            ];
            row.extend(COLUMNS.iter().map(|(_, of)| cell(of(traffic))));
            writer.write_record(&row).map_err(failed)?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|e| Failure::usage(format!("the rows cannot be written as CSV: {e}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cell(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(whole) if whole.fract() == 0.0 => format!("{whole}"),
        Some(value) => format!("{value:.6}"),
    }
}
