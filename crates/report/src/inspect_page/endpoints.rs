//! The table of endpoints or job classes.

use super::parts::at;
use super::{ms, ms_or_none, percent};
use crate::figures::grouped;
use crate::sheet::Sheet;
use crate::tables::{NONE, table as plain, trimmed};
use run::inspect::Traffic;

/// Columns beyond a usual terminal's width.
const WIDE: u16 = 160;

pub fn table(sheet: &mut Sheet, title: &str, all: &[Traffic], limit: usize) {
    if all.is_empty() {
        return;
    }
    sheet.heading(&format!("{title}, mean ms"));
    let wide = sheet.style().width >= WIDE;
    let mut head = vec![
        "", "count", "time", "wall", "p99", "held", "GVL wait", "lock", "I/O", "T*",
    ];
    if wide {
        head.extend(["p50", "failed", "a second", "GC", "SQL really", "objects"]);
    }
    let mut table = plain(sheet.style(), &head, 1);
    for one in all.iter().take(limit) {
        let split = one.split.as_ref();
        let part = |of: fn(&run::inspect::Split) -> Option<f64>| ms_or_none(split.and_then(of));
        let mut row = vec![
            one.name.clone(),
            grouped(one.requests),
            percent(one.share_of_time),
            ms(one.wall.mean_ms),
            at(&one.wall, one.wall.p99_ms),
            part(|s| Some(s.held_ms)),
            part(|s| Some(s.gvl_wait_ms)),
            part(|s| s.lock_wait_ms),
            part(|s| Some(s.io_ms)),
            split
                .and_then(|s| s.useful_threads)
                .map_or(NONE.to_owned(), |t| format!("{t:.1}")),
        ];
        if wide {
            let sql = one
                .calls
                .iter()
                .find(|c| c.kind == run::inspect::CallKind::Sql);
            row.extend([
                at(&one.wall, one.wall.p50_ms),
                grouped(one.errors),
                one.rate_per_s.map_or(NONE.to_owned(), crate::figures::rate),
                ms_or_none(one.gc.map(|gc| gc.stopped_ms)),
                ms_or_none(sql.map(|sql| sql.really_ms)),
                one.allocations
                    .map_or(NONE.to_owned(), |n| grouped(n.round() as u64)),
            ]);
        }
        table.add_row(row);
    }
    sheet.block(&trimmed(&table));
    let more = all.len().saturating_sub(limit);
    if more > 0 {
        sheet.line(&format!("and {more} more: --limit N, --json or --csv"));
    }
}
