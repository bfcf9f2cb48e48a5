//! The smaller tables: the split, times, calls, bands, pools, the collector.

use super::{ms, ms_or_none, percent, plural};
use crate::figures::{grouped, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, table, trimmed};
use run::inspect::{CallKind, Document, Split, Times, Traffic};

/// Held, waits and I/O, then what is a part of them, then what lies around them.
pub fn split(sheet: &mut Sheet, traffic: &Traffic) {
    let head = ["mean", "ms", "of wall", ""];
    let mut table = table(sheet.style(), &head, 1);
    align_left(&mut table, 3);
    let mut row = |name: &str, value: Option<f64>, part: Option<f64>, about: &str| {
        if let Some(value) = value {
            let part = part.map_or(String::new(), percent);
            table.add_row(vec![name.to_owned(), ms(value), part, about.to_owned()]);
        }
    };
    let wall = traffic.wall.mean_ms;
    let of_wall = |value: Option<f64>| value.filter(|_| wall > 0.0).map(|v| v / wall);
    row("wall", Some(wall), None, "in the application");
    if let Some(split) = &traffic.split {
        row(
            "GVL held",
            Some(split.held_ms),
            Some(split.held_share),
            "running Ruby",
        );
        row(
            "GVL wait",
            Some(split.gvl_wait_ms),
            Some(split.gvl_wait_share),
            "ready, another thread ran",
        );
        row(
            "lock wait",
            split.lock_wait_ms,
            split.lock_wait_share,
            "mutexes, queues, connection pools",
        );
        let io = match split.lock_wait_ms {
            Some(_) => "network, disk, sleep",
            None => "network, disk, sleep, and locks, which were not told apart",
        };
        row("I/O", Some(split.io_ms), Some(split.io_share), io);
        row(
            "· CPU",
            split.cpu_ms,
            of_wall(split.cpu_ms),
            "of the thread, the server's work included",
        );
        row(
            "· no CPU",
            split.starved_ms,
            of_wall(split.starved_ms),
            "GVL held without a processor, or I/O that keeps it",
        );
    }
    if let Some(gc) = &traffic.gc {
        row(
            "· GC",
            Some(gc.stopped_ms),
            Some(gc.stopped_share),
            "stopped by the garbage collector",
        );
        row(
            "·· own",
            gc.own_ms,
            of_wall(gc.own_ms),
            "run by the request's own thread",
        );
        row(
            "·· others",
            gc.others_ms,
            of_wall(gc.others_ms),
            "run by other threads",
        );
    }
    if let Some(queue) = &traffic.queue {
        row("queue", Some(queue.mean_ms), None, "before the application");
    }
    if let Some(server) = &traffic.server {
        row("parse", server.parse_ms, None, "by the server, before");
        row("write", server.write_ms, None, "by the server, after");
        row(
            "server held",
            server.held_ms,
            None,
            "GVL, outside the application",
        );
        row(
            "server wait",
            server.gvl_wait_ms,
            None,
            "for the GVL, outside the application",
        );
    }
    sheet.block(&trimmed(&table));
    if let Some(split) = traffic.split {
        sheet.prose(&largest(&split));
    }
    if let Some(p) = traffic.split.and_then(|s| s.io_share_of_work) {
        sheet.prose(&format!(
            "I/O is {} of the work (I/O / (I/O + held), without waits).",
            percent(p)
        ));
    }
}

/// The largest part in plain words, and what shortens it.
fn largest(split: &Split) -> String {
    let parts = [
        (
            split.held_share,
            "runs Ruby: faster code shortens it, and more processes on free cores serve more. More threads do not.",
        ),
        (
            split.gvl_wait_share,
            "waits while other threads of its process run Ruby (the GVL lets one at a time): fewer threads a process, or more processes, shorten it.",
        ),
        (
            split.lock_wait_share.unwrap_or(0.0),
            "waits for locks, queues or connections: more threads make it longer. Look at the pools and at what holds the locks.",
        ),
        (
            split.io_share,
            "waits for databases, services and disks, while other threads can run: faster calls shorten it.",
        ),
    ];
    let (share, says) = parts
        .into_iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or_default();
    let most = if share > 0.5 {
        "Most"
    } else {
        "The largest part"
    };
    format!("{most} of its time, {}, it {says}", percent(share))
}

/// Percentiles.
pub fn times(sheet: &mut Sheet, traffic: &Traffic) {
    let head = ["ms", "p50", "p90", "p99", "max", "mean"];
    let mut table = table(sheet.style(), &head, 1);
    let rows = [
        ("wall", Some(&traffic.wall)),
        ("GVL wait", traffic.gvl_wait.as_ref()),
        ("queue", traffic.queue.as_ref()),
    ];
    for (name, times) in rows {
        let Some(times) = times else { continue };
        let mut row = vec![name.to_owned()];
        row.extend([times.p50_ms, times.p90_ms, times.p99_ms, times.max_ms].map(|v| at(times, v)));
        row.push(ms(times.mean_ms));
        table.add_row(row);
    }
    sheet.block(&trimmed(&table));
}

/// One percentile, marked where it is an upper bound.
pub fn at(times: &Times, value: Option<f64>) -> String {
    match value {
        None => NONE.to_owned(),
        Some(value) if times.exact => ms(value),
        Some(value) => format!("≤{}", ms(value)),
    }
}

/// Objects and yields.
pub fn counted(sheet: &mut Sheet, traffic: &Traffic, one: &str) {
    if let (Some(allocations), Some(yields)) = (traffic.allocations, traffic.yields) {
        sheet.prose(&format!(
            "A {one} allocates {} objects and gives the GVL up {yields:.1} times.",
            grouped(allocations.round() as u64)
        ));
    }
}

/// Calls as seen and as they really were.
pub fn calls(sheet: &mut Sheet, traffic: &Traffic) {
    let made = || traffic.calls.iter().filter(|c| c.count > 0);
    if made().count() == 0 {
        return;
    }
    sheet.heading("Calls, corrected for GVL wait");
    let head = [
        "calls",
        "count",
        "a request",
        "seen ms",
        "GVL wait",
        "really",
        "seen, each",
        "really, each",
    ];
    let mut table = table(sheet.style(), &head, 1);
    for call in made() {
        table.add_row(vec![
            kind(call.kind).to_owned(),
            grouped(call.count),
            format!("{:.1}", call.per_request),
            ms(call.seen_ms),
            ms(call.gvl_wait_ms),
            ms(call.really_ms),
            ms_or_none(call.seen_ms_per_call),
            ms_or_none(call.really_ms_per_call),
        ]);
    }
    sheet.block(&trimmed(&table));
}

fn kind(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Sql => "SQL",
        CallKind::Http => "HTTP",
        CallKind::Cache => "cache",
        CallKind::Redis => "Redis",
        CallKind::Pool => "pool waits",
    }
}

/// What slow requests wait for that others do not.
pub fn bands(sheet: &mut Sheet, traffic: &Traffic) {
    if traffic.bands.len() < 2 {
        return;
    }
    sheet.heading("Requests by how long they took, mean ms");
    let head = [
        "percentiles",
        "requests",
        "wall",
        "held",
        "GVL wait",
        "lock",
        "I/O",
        "GC",
        "I/O of work",
    ];
    let mut table = table(sheet.style(), &head, 1);
    for band in &traffic.bands {
        table.add_row(vec![
            format!("p{} to {}", band.from, band.to),
            grouped(band.requests),
            ms(band.wall_ms),
            ms(band.held_ms),
            ms(band.gvl_wait_ms),
            ms_or_none(band.lock_wait_ms),
            ms(band.io_ms),
            ms_or_none(band.gc_ms),
            band.io_share_of_work.map_or(NONE.to_owned(), percent),
        ]);
    }
    sheet.block(&trimmed(&table));
}

/// Connection pools over time.
pub fn pools(sheet: &mut Sheet, document: &Document) {
    if document.pools.is_empty() {
        return;
    }
    sheet.heading("Database connection pools");
    let head = [
        "pool",
        "size",
        "had",
        "busy mean",
        "busy max",
        "waiting mean",
        "max",
        "of time",
        "dead",
        "samples",
    ];
    let mut table = table(sheet.style(), &head, 1);
    for pool in &document.pools {
        table.add_row(vec![
            pool.pool.to_string(),
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
    sheet.block(&trimmed(&table));
}

/// What the collector did to the processes.
pub fn collector(sheet: &mut Sheet, document: &Document) {
    let Some(collector) = document.collector else {
        return;
    };
    let mut text = format!(
        "The garbage collector stopped the processes {}, for {} ms together",
        plural(collector.pauses, "time"),
        ms(collector.pause_ms)
    );
    if let Some(part) = collector.share_of_time {
        text.push_str(&format!(", {} of their time", share(part)));
    }
    sheet.line("");
    sheet.prose(&(text + "."));
}
