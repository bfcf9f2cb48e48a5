//! The JSON trace event format, which Perfetto and chrome://tracing open: a process track per worker, a thread track per
//! Ruby thread, a track of the collector's pauses, a counter of threads that wait.

use crate::stack::{Slice, What};
use crate::timeline::{ProcessTimeline, ThreadTimeline};
use flight::events::{CallKind, Doing, GcPhase};
use serde_json::{Value, json};
use small_sort::SmallSort;
use std::io::{self, Write};

/// Above every kernel thread id (at most 4,194,304): tracks that are no kernel threads.
const MADE_UP: u64 = 5_000_000;
const PER_PROCESS: u64 = 100_000;

/// Writes the file. Times count from the first instant that any process recorded.
///
/// # Errors
/// When `to` cannot be written.
pub fn write_chrome(
    to: &mut impl Write,
    processes: &[ProcessTimeline],
    about: &Value,
) -> io::Result<()> {
    let origin_ns = processes.iter().map(|c| c.begin_ns).min().unwrap_or(0);
    let mut entries = Vec::new();
    write!(
        to,
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":["
    )?;
    let mut separator = "\n";
    for (ordinal, timeline) in (0..).zip(processes) {
        let made_up = MADE_UP + ordinal * PER_PROCESS;
        for line in metadata(timeline, ordinal, made_up) {
            write!(to, "{separator}{line}")?;
            separator = ",\n";
        }
        collect(&mut entries, timeline, made_up);
    }
    // Viewers take slices of the same begin as nested in the order in which they come.
    entries.small_sort_by_key(|entry| (entry.ts_ns, entry.rank));
    for entry in &entries {
        write!(
            to,
            "{separator}{{\"pid\":{},\"tid\":{},",
            entry.pid, entry.tid
        )?;
        write!(
            to,
            "\"ts\":{},",
            Micros(entry.ts_ns.saturating_sub(origin_ns))
        )?;
        separator = ",\n";
        match &entry.kind {
            Kind::Slice { slice, timeline } => write_slice(to, slice, timeline)?,
            Kind::Collection { ns, phase } => write!(
                to,
                "\"ph\":\"X\",\"cat\":\"gc\",\"dur\":{},\"name\":{}}}",
                Micros(*ns),
                json!(collection(*phase))
            )?,
            Kind::Waiting(threads) => write!(
                to,
                "\"ph\":\"C\",\"cat\":\"gvl\",\"name\":\"waiting for the GVL\",\"args\":{{\"threads\":{threads}}}}}"
            )?,
        }
    }
    to.write_all(b"\n]}\n")
}

struct Entry<'a> {
    ts_ns: u64,
    /// Order among those of one instant: longer ones first, because they may hold the others.
    rank: u64,
    pid: u32,
    tid: u64,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Slice {
        slice: &'a Slice,
        timeline: &'a ProcessTimeline,
    },
    Collection {
        ns: u64,
        phase: GcPhase,
    },
    Waiting(u32),
}

fn collect<'a>(entries: &mut Vec<Entry<'a>>, timeline: &'a ProcessTimeline, made_up: u64) {
    let pid = timeline.pid;
    for thread in &timeline.threads {
        let tid = track(thread, made_up);
        entries.extend(thread.slices.iter().map(|slice| {
            Entry {
                ts_ns: slice.begin_ns,
                // Of the same length, the outer one.
                rank: (u64::MAX - ((slice.end_ns - slice.begin_ns) << 2))
                    .saturating_add(u64::from(slice.what.depth())),
                pid,
                tid,
                kind: Kind::Slice { slice, timeline },
            }
        }));
    }
    entries.extend(timeline.collections.iter().map(|&(from, to, phase)| Entry {
        ts_ns: from,
        rank: 0,
        pid,
        tid: made_up,
        kind: Kind::Collection {
            ns: to - from,
            phase,
        },
    }));
    entries.extend(timeline.waiting.iter().map(|waiting| Entry {
        ts_ns: waiting.from_ns,
        rank: 0,
        pid,
        tid: made_up,
        kind: Kind::Waiting(waiting.threads),
    }));
}

fn metadata(timeline: &ProcessTimeline, ordinal: u64, made_up: u64) -> Vec<Value> {
    let pid = timeline.pid;
    let named = |what: &str, tid: u64, args: Value| json!({"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": what, "args": args});
    let order = timeline.worker_index.map_or(ordinal, u64::from);
    let mut lines = vec![
        named(
            "process_name",
            made_up,
            json!({"name": timeline.origin.name}),
        ),
        named("process_sort_index", made_up, json!({"sort_index": order})),
        named(
            "thread_name",
            made_up,
            json!({"name": "GC (stops every Ruby thread)"}),
        ),
        named("thread_sort_index", made_up, json!({"sort_index": 0})),
    ];
    for (index, thread) in (1..).zip(&timeline.threads) {
        let tid = track(thread, made_up);
        lines.push(named("thread_name", tid, json!({"name": thread.name})));
        lines.push(named(
            "thread_sort_index",
            tid,
            json!({"sort_index": index}),
        ));
    }
    lines
}

/// Kernel thread ids where they are known, so that what other tools say of the thread is found.
fn track(thread: &ThreadTimeline, made_up: u64) -> u64 {
    match thread.native_id {
        0 => made_up + 1 + u64::from(thread.number) % (PER_PROCESS - 1),
        id => u64::from(id),
    }
}

fn write_slice(to: &mut impl Write, slice: &Slice, timeline: &ProcessTimeline) -> io::Result<()> {
    let (category, name, args) = match slice.what {
        What::Request { .. } => (
            "request",
            request_name(slice, timeline),
            request_args(slice),
        ),
        What::Call(kind) => ("call", call(kind).to_owned(), None),
        What::Doing(doing) => ("gvl", doing_name(doing).to_owned(), None),
        What::Collection(phase) => ("gc", collection(phase).to_owned(), None),
    };
    let ns = slice.end_ns - slice.begin_ns;
    write!(
        to,
        "\"ph\":\"X\",\"cat\":\"{category}\",\"dur\":{},\"name\":{}",
        Micros(ns),
        json!(name)
    )?;
    match args {
        Some(args) => write!(to, ",\"args\":{args}}}"),
        None => write!(to, "}}"),
    }
}

fn request_name(slice: &Slice, timeline: &ProcessTimeline) -> String {
    let What::Request { endpoint, job, .. } = slice.what else {
        return String::new();
    };
    let Some(endpoint) = endpoint else {
        return "request (cut off)".to_owned();
    };
    match timeline.origin.endpoints.get(&endpoint) {
        Some(name) => name.clone(),
        None if job => format!("job {endpoint}"),
        None => format!("endpoint {endpoint}"),
    }
}

fn request_args(slice: &Slice) -> Option<Value> {
    let What::Request {
        status,
        busy_threads,
        whole,
        sums_ns,
        ..
    } = slice.what
    else {
        return None;
    };
    let ms = |doing: Doing| sums_ns[doing as usize] as f64 / 1e6;
    let mut args = json!({"whole": whole});
    if status != 0 {
        args["status"] = json!(status);
    }
    if whole {
        args["busy_threads"] = json!(busy_threads);
        args["running_ms"] = json!(ms(Doing::Running));
        args["gvl_wait_ms"] = json!(ms(Doing::Waiting));
        args["lock_ms"] = json!(ms(Doing::Lock));
        args["io_ms"] = json!(ms(Doing::Io));
    }
    Some(args)
}

fn doing_name(doing: Doing) -> &'static str {
    match doing {
        Doing::Running => "running",
        Doing::Waiting => "waiting for the GVL",
        Doing::Lock => "lock or queue",
        Doing::Io => "I/O or sleep",
    }
}

fn call(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Sql => "SQL",
        CallKind::Http => "HTTP",
        CallKind::Cache => "cache",
        CallKind::Redis => "Redis",
        CallKind::Pool => "connection pool",
        CallKind::Other(_) => "call",
    }
}

fn collection(phase: GcPhase) -> &'static str {
    match phase {
        GcPhase::Begins => "GC begins",
        GcPhase::Marking => "GC marks",
        GcPhase::Sweeping => "GC sweeps",
        GcPhase::Unknown => "GC",
    }
}

/// Nanoseconds as the format's microseconds, to the last digit.
struct Micros(u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_digit_of_a_time_is_lost() {
        let told = [0, 1, 999, 1_000, 86_400_000_000_001].map(|ns| Micros(ns).to_string());
        assert_eq!(
            told,
            ["0.000", "0.001", "0.999", "1.000", "86400000000.001"]
        );
    }
}
