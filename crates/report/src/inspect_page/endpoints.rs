//! The table of endpoints or job classes.

use super::causes::locks_decide;
use super::parts::at;
use super::{ms, ms_or_none};
use crate::figures::{grouped, percent};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts};
use run::inspect::{CallKind, Calls, Split, Traffic};

/// The most asked for first: on a narrow terminal the later ones stand in further tables.
const HEAD: [&str; 18] = [
    "",
    "count",
    "share of time",
    "wall",
    "p99",
    "held",
    "GVL wait",
    "lock wait",
    "I/O",
    "useful threads",
    "SQL seen",
    "SQL really",
    "queries",
    "GC",
    "p50",
    "failed",
    "per second",
    "objects",
];

pub fn table(sheet: &mut Sheet, title: &str, all: &[Traffic], limit: usize) {
    if all.is_empty() {
        return;
    }
    sheet.heading(&format!(
        "{title} (times are means in ms, p50 and p99 percentiles)"
    ));
    let rows: Vec<Vec<String>> = all.iter().take(limit).map(row).collect();
    sheet.tables(in_parts(sheet.style(), &HEAD, &rows));
    if all.iter().take(limit).any(locks_decide) {
        sheet.prose(
            "Useful threads have no figure where locks take a fifth of the time or more: more threads would wait as well.",
        );
    }
    let more = all.len().saturating_sub(limit);
    if more > 0 {
        sheet.line(&format!("and {more} more: --limit N, --json or --csv"));
    }
}

fn row(one: &Traffic) -> Vec<String> {
    let split = one.split.as_ref();
    let part = |of: fn(&Split) -> Option<f64>| ms_or_none(split.and_then(of));
    let sql = one.calls.iter().find(|c| c.kind == CallKind::Sql);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let queries = or_none(sql.map(|sql| format!("{:.1}", sql.per_request)));
    let sql = |of: fn(&Calls) -> f64| ms_or_none(sql.map(of));
    vec![
        one.name.clone(),
        grouped(one.requests),
        percent(one.share_of_time),
        ms(one.wall.mean_ms),
        at(&one.wall, 99.0, one.wall.p99_ms),
        part(|s| Some(s.held_ms)),
        part(|s| Some(s.gvl_wait_ms)),
        part(|s| s.lock_wait_ms),
        part(|s| Some(s.io_ms)),
        or_none(
            split
                .filter(|_| !locks_decide(one))
                .and_then(|s| s.useful_threads)
                .map(|t| format!("{t:.1}")),
        ),
        sql(|sql| sql.seen_ms),
        sql(|sql| sql.really_ms),
        queries,
        ms_or_none(one.gc.map(|gc| gc.stopped_ms)),
        at(&one.wall, 50.0, one.wall.p50_ms),
        grouped(one.errors),
        or_none(one.rate_per_s.map(crate::figures::rate)),
        or_none(one.allocations.map(|n| grouped(n.round() as u64))),
    ]
}
