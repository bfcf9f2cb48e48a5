//! `calc threads`.

use crate::figures::{percent, rate};
use crate::sheet::Sheet;
use crate::tables::{align_left, table};
use run::calc::{BoundBy, Threads};

pub fn page(sheet: &mut Sheet, threads: &Threads) {
    sheet.heading("The bounds, requests per second");
    let bounds = [
        (
            "GVL      ",
            threads.gvl_bound_per_s,
            "every process holds its GVL all the time",
        ),
        (
            "lock     ",
            threads.lock_bound_per_s,
            "every process's lock is held all the time",
        ),
        (
            "cores    ",
            threads.cores_bound_per_s,
            "the cores are busy all the time",
        ),
    ];
    for (label, bound, when) in bounds {
        if let Some(bound) = bound {
            sheet.labelled(label, &format!("{}: {when}", rate(bound)));
        }
    }
    sheet.labelled(
        "threads  ",
        &format!(
            "{} times the threads of each process: every thread always has a request",
            rate(f64::from(threads.processes) * 1e3 / alone_ms(threads))
        ),
    );
    sheet.heading("Threads of each process");
    let head = [
        "threads",
        "bound/s",
        "by",
        "expected/s",
        "one more adds",
        "response ms",
        "GVL wait ms",
        "GVL held",
        "cores busy",
        "",
    ];
    let mut table = table(sheet.style(), &head, 0);
    align_left(&mut table, 2);
    align_left(&mut table, head.len() - 1);
    for row in &threads.rows {
        let mark = match row.threads == threads.enough {
            true => "enough",
            false => "",
        };
        table.add_row(vec![
            row.threads.to_string(),
            rate(row.bound_per_s),
            word(row.bound_by).to_owned(),
            rate(row.throughput_per_s),
            percent(row.one_more_adds),
            format!("{:.1}", row.response_ms),
            format!("{:.1}", row.gvl_wait_ms),
            percent(row.gvl_busy),
            percent(row.cores_busy),
            mark.to_owned(),
        ]);
    }
    sheet.table(table);
}

/// The time of a request that has the server to itself.
fn alone_ms(threads: &Threads) -> f64 {
    threads.held_ms + threads.io_ms + threads.native_ms
}

fn word(by: BoundBy) -> &'static str {
    match by {
        BoundBy::Threads => "threads",
        BoundBy::Gvl => "GVL",
        BoundBy::Lock => "lock",
        BoundBy::Cores => "cores",
    }
}
