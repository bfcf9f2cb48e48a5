//! The smaller tables: the split, times, calls, bands, the collector.

use super::collections::several_stops;
use super::{ms, ms_or_none};
use crate::figures::{counted, grouped, percent, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, in_parts, table};
use run::inspect::{CallKind, Document, Times, Traffic};
use run::load::least_values;

/// Parts whose sum differs from the whole by more than this share do not add up to it.
const ROUNDING: f64 = 0.02;

/// Held, waits and I/O, then what is a part of them, then what lies around them.
pub fn split(sheet: &mut Sheet, traffic: &Traffic, one: &str) {
    let (before, within, around) = match one {
        "job" => (
            "from being enqueued to its start",
            "from its start to its end",
            "before and after the job",
        ),
        _ => (
            "waiting before the application",
            "from the call of the application to its return",
            "before and after the application",
        ),
    };
    let head = ["mean", "ms", "share of wall", ""];
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
    if let Some(queue) = &traffic.queue {
        row("queue", Some(queue.mean_ms), None, before);
    }
    row("wall", Some(wall), None, within);
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
            "ready to run Ruby while another thread held the GVL",
        );
        row(
            "lock wait",
            split.lock_wait_ms,
            split.lock_wait_share,
            "mutexes, queues, connection pools",
        );
        let io = match split.lock_wait_ms {
            Some(_) => "network, disk, sleep",
            None => "network, disk, sleep, and locks, which were not measured separately",
        };
        row("I/O", Some(split.io_ms), Some(split.io_share), io);
        row(
            "· CPU",
            split.cpu_ms,
            of_wall(split.cpu_ms),
            "of the thread, including the server's work",
        );
        row(
            "· held off CPU",
            split.starved_ms,
            of_wall(split.starved_ms),
            "GVL held while not on a CPU: too few cores, or native code that waits",
        );
    }
    if let Some(gc) = &traffic.gc {
        row(
            "· GC",
            Some(gc.stopped_ms),
            Some(gc.stopped_share),
            "stopped by the garbage collector while it was served",
        );
        row(
            "·· own",
            gc.own_ms,
            of_wall(gc.own_ms),
            "run by its own thread",
        );
        row(
            "·· others",
            gc.others_ms,
            of_wall(gc.others_ms),
            "run by another thread of the process",
        );
    }
    if let Some(server) = &traffic.server {
        row(
            "parse",
            server.parse_ms,
            None,
            "the server reads the request",
        );
        row(
            "write",
            server.write_ms,
            None,
            "the server writes the response",
        );
        row(
            "server held",
            server.held_ms,
            None,
            &format!("the server holds the GVL, {around}"),
        );
        row(
            "server wait",
            server.gvl_wait_ms,
            None,
            &format!("the server waits for the GVL, {around}"),
        );
    }
    sheet.table(table);
    if let Some(note) = note_on_parts(traffic) {
        sheet.prose(&note);
    }
}

/// Which rows add up, and which are parts of others. Where processes differ in what they measure, the rows do not add up.
fn note_on_parts(traffic: &Traffic) -> Option<String> {
    let split = traffic.split.as_ref()?;
    let wall = traffic.wall.mean_ms;
    let sum = split.held_ms + split.gvl_wait_ms + split.lock_wait_ms.unwrap_or(0.0) + split.io_ms;
    let server_held = traffic
        .server
        .is_some_and(|server| server.held_ms.is_some());
    let mut notes = Vec::new();
    if (sum - wall).abs() <= ROUNDING * wall {
        let lock = split.lock_wait_ms.map_or("", |_| ", lock wait");
        notes.push(format!("GVL held, GVL wait{lock} and I/O add up to wall."));
    }
    if split.cpu_ms.is_some() || split.starved_ms.is_some() || traffic.gc.is_some() {
        let by_whom = traffic.gc.and_then(|gc| gc.own_ms.or(gc.others_ms));
        let by_whom = by_whom.map_or("", |_| ", one with ·· a part of GC");
        let with_the_server = match split.cpu_ms.is_some()
            && split.starved_ms.is_some()
            && server_held
        {
            true => {
                " CPU and held off CPU also contain the time of server held, so that together they can exceed GVL held."
            }
            false => "",
        };
        notes.push(format!(
            "A line with · is a part of the lines above it{by_whom}.{with_the_server}"
        ));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// Percentiles.
pub fn times(sheet: &mut Sheet, traffic: &Traffic, one: &str) {
    let head = ["ms", "p50", "p90", "p99", "max", "mean"];
    let mut table = table(sheet.style(), &head, 1);
    let rows = [
        ("queue", traffic.queue.as_ref()),
        ("wall", Some(&traffic.wall)),
        ("GVL wait", traffic.gvl_wait.as_ref()),
    ];
    let mut few = false;
    for (name, times) in rows {
        let Some(times) = times else { continue };
        let percentiles = [
            (50.0, times.p50_ms),
            (90.0, times.p90_ms),
            (99.0, times.p99_ms),
        ];
        let mut row = vec![name.to_owned()];
        for (percentile, value) in percentiles {
            few |= value.is_some() && has_too_few(times, percentile);
            row.push(at(times, percentile, value));
        }
        row.extend([at(times, 0.0, times.max_ms), ms(times.mean_ms)]);
        table.add_row(row);
    }
    sheet.table(table);
    if few {
        sheet.prose(&format!("–: too few {one}s for this percentile."));
    }
}

fn has_too_few(times: &Times, percentile: f64) -> bool {
    times.count < least_values(percentile)
}

/// One percentile, marked where it is an upper bound; none of requests too few for it.
pub fn at(times: &Times, percentile: f64, value: Option<f64>) -> String {
    match value {
        None => NONE.to_owned(),
        _ if has_too_few(times, percentile) => NONE.to_owned(),
        Some(value) if times.exact => ms(value),
        Some(value) => format!("≤{}", ms(value)),
    }
}

/// Objects and yields.
pub fn objects(sheet: &mut Sheet, traffic: &Traffic, one: &str) {
    if let (Some(allocations), Some(yields)) = (traffic.allocations, traffic.yields) {
        sheet.prose(&format!(
            "A {one} allocates {} objects and releases the GVL {yields:.1} times.",
            grouped(allocations.round() as u64)
        ));
    }
}

/// Calls as seen and as they really were.
pub fn calls(sheet: &mut Sheet, traffic: &Traffic, one: &str) {
    let made = || traffic.calls.iter().filter(|c| c.count > 0);
    if made().count() == 0 {
        return;
    }
    sheet.heading("Calls, corrected for GVL wait (times are means)");
    let (per, seen_per) = (format!("per {one}"), format!("ms seen per {one}"));
    let head = [
        "calls",
        "count",
        &per,
        &seen_per,
        "of it GVL wait, ms",
        "ms really",
        "ms seen per call",
        "ms really per call",
    ];
    let mut rows = Vec::new();
    for call in made() {
        rows.push(vec![
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
    sheet.tables(in_parts(sheet.style(), &head, &rows));
}

pub fn kind(kind: CallKind) -> &'static str {
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
    sheet.heading("The requests kept one by one, by how long they took (times are means in ms)");
    let mut head = vec![
        "percentiles",
        "requests",
        "wall",
        "held",
        "GVL wait",
        "lock",
        "I/O",
        "GC",
    ];
    let full = sheet.is_full();
    head.extend(full.then_some("I/O / (I/O + held)"));
    let mut rows = Vec::new();
    for band in &traffic.bands {
        let mut row = vec![
            format!("p{} to {}", band.from, band.to),
            grouped(band.requests),
            ms(band.wall_ms),
            ms(band.held_ms),
            ms(band.gvl_wait_ms),
            ms_or_none(band.lock_wait_ms),
            ms(band.io_ms),
            ms_or_none(band.gc_ms),
        ];
        let share_of_work = band.io_share_of_work.map_or(NONE.to_owned(), percent);
        row.extend(full.then_some(share_of_work));
        rows.push(row);
    }
    sheet.tables(in_parts(sheet.style(), &head, &rows));
}

/// What the collector did to the processes.
pub fn collector(sheet: &mut Sheet, document: &Document) {
    let Some(collector) = document.collector else {
        return;
    };
    let mut text = format!(
        "The garbage collector stopped the processes, between requests too, {}, for {} ms in total",
        counted(collector.pauses, "time"),
        ms(collector.pause_ms)
    );
    if let Some(part) = collector.share_of_time {
        text.push_str(&format!(", {} of the time that they ran", share(part)));
    }
    text.push('.');
    if let Some(why) = several_stops(document.collections.as_ref(), collector.pauses) {
        text.push_str(&format!(" {why}"));
    }
    sheet.line("");
    sheet.prose(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_names_the_rows_that_are_there() {
        let sample = include_str!("../../../../contract/samples/inspect/wide.json");
        let document: Document = serde_json::from_str(sample).unwrap();
        let mut traffic = document.requests.unwrap();
        let all = "GVL held, GVL wait, lock wait and I/O add up to wall. A line with · is a part of the lines above it, one with ·· a part of GC. CPU and held off CPU also contain the time of \
                   server held, so that together they can exceed GVL held.";
        assert_eq!(note_on_parts(&traffic).as_deref(), Some(all));
        let mut other = traffic.clone();
        other.server.as_mut().unwrap().held_ms = None;
        assert!(!note_on_parts(&other).unwrap().contains("server held"));
        traffic.gc = None;
        let split = traffic.split.as_mut().unwrap();
        split.io_ms += split.lock_wait_ms.take().unwrap();
        (split.cpu_ms, split.starved_ms) = (None, None);
        let few = "GVL held, GVL wait and I/O add up to wall.";
        assert_eq!(note_on_parts(&traffic).as_deref(), Some(few));
        traffic.wall.mean_ms *= 1.1;
        assert_eq!(note_on_parts(&traffic), None, "of other requests");
    }
}
