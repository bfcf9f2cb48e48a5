//! The samples that the agent is tested against too: `contract/samples/flight/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use flight::{
    CallKind, EDGES_NS, FlightFile, Header, Histogram, LockKind, Method, PoolSample, Record,
    Snapshot, State, Totals, Unit, parse,
};

use crate::golden_collections::described;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight")
}

fn samples() -> BTreeMap<String, (Vec<u8>, Value)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder()).expect("the golden samples are part of the repository") {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "flight") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(path.with_extension("json")).unwrap();
            let story = serde_json::from_str(&text).unwrap();
            found.insert(name, (fs::read(path).unwrap(), story));
        }
    }
    let names = [
        "basic",
        "torn",
        "truncated",
        "wrapped",
        "wide",
        "wide_wrapped",
        "armed",
        "edged",
        "heaped",
        "heaped_wide",
        "collected",
        "contended",
    ];
    for name in names {
        assert!(found.contains_key(name), "sample {name} is missing");
    }
    found
}

fn header(snapshot: &Snapshot) -> Value {
    let header = &snapshot.header;
    let or_unknown = |value: Option<u32>| value.unwrap_or(u32::MAX);
    let mut value = json!({
        "version": header.version,
        "ring_capacity": header.ring_capacity(),
        "field_count": header.fields.len(),
        "state": match header.state {
            State::Live => 1,
            State::Closed => 2,
            State::Other(n) => n,
        },
        "pid": header.pid,
        "parent_pid": header.parent_pid,
        "start_ticks": header.start_ticks,
        "created_wall_ns": header.created_wall_ns,
        "created_mono_ns": header.created_mono_ns,
        "worker_index": header.server.worker_index.map_or(-1, i64::from),
        "server_workers": or_unknown(header.server.workers),
        "server_min_threads": or_unknown(header.server.min_threads),
        "server_max_threads": or_unknown(header.server.max_threads),
        "server_preload": or_unknown(header.server.preload.map(u32::from)),
        "flags": u32::from(header.gvl_hook)
            | u32::from(header.fiber_scheduler) << 1
            | u32::from(header.counts_statuses) << 3
            | u32::from(header.counts_edges) << 4,
        "ruby_version": header.ruby_version,
        "server_name": header.server.name,
        "framework": header.framework,
        "agent_version": header.agent_version,
        "app_root": header.app_root,
        "written": header.written,
        "faults": header.faults,
        "clock_skew": header.clock_skew,
        "endpoints_lost": header.endpoints_lost,
        "in_flight": header.in_flight,
    });
    if let Some(collector) = header.collector {
        merge(
            &mut value,
            json!({
                "gc_runs": collector.runs,
                "gc_pause_ns": collector.pause_ns,
                "gc_cpu_ns": collector.cpu_ns,
                "pool_written": header.pool_written,
                "trace_request": header.trace_request,
            }),
        );
    }
    if header.counts_statuses {
        let about = &header.about;
        merge(
            &mut value,
            json!({"arm": about.arm, "allocator": about.allocator, "jit": about.jit}),
        );
    } else {
        assert_eq!(header.about, flight::About::default());
    }
    if let Some(variables) = &header.variables {
        let lines = variables.iter().map(|(name, of)| format!("{name}={of}"));
        let lines: Vec<String> = lines.collect();
        merge(&mut value, json!({"variables": lines.join("\n")}));
    }
    value
}

fn merge(value: &mut Value, more: Value) {
    let fields = value.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
}

/// Where things lie is the reader's own business; that it found them shows in what it read.
const PLACES: [&str; 16] = [
    "variables_offset",
    "variables_size",
    "about_offset",
    "about_size",
    "header_size",
    "record_size",
    "ring_offset",
    "field_table_offset",
    "endpoint_offset",
    "endpoint_size",
    "endpoint_capacity",
    "totals_offset",
    "totals_size",
    "pool_offset",
    "pool_sample_size",
    "pool_capacity",
];

fn fields(snapshot: &Snapshot) -> Value {
    let fields = snapshot.header.fields.iter().map(|field| {
        let unit = match field.unit {
            Unit::None => 0,
            Unit::Nanoseconds => 1,
            Unit::Count => 2,
            Unit::Index => 3,
            Unit::Microseconds => 4,
            Unit::Other(n) => n,
        };
        json!({
            "name": field.name, "offset": field.offset, "size": field.size, "unit": unit,
            "flags": u16::from(field.measured),
        })
    });
    fields.collect()
}

fn totals(totals: &Totals, header: &Header) -> Value {
    let wide = header.counts_further();
    let mut value = json!({
        "requests": totals.requests,
        "server_errors": totals.server_errors,
        "queue_ns": totals.queue_ns,
        "queue_known": totals.queue_known,
        "wall_ns": totals.wall_ns,
        "held_ns": totals.held_ns,
        "gvl_wait_ns": totals.gvl_wait_ns,
        "lock_wait_ns": totals.lock_wait_ns,
        "io_ns": totals.io_ns,
        "cpu_ns": totals.cpu_ns,
        "gc_ns": totals.gc_ns,
        "allocations": totals.allocations,
        "yields": totals.yields,
    });
    let further = [
        ("gc_own_ns", totals.gc_own_ns),
        ("gc_cpu_ns", totals.gc_cpu_ns),
        ("gc_count", totals.gc_count),
        ("parse_ns", totals.parse_ns),
        ("write_ns", totals.write_ns),
        ("server_held_ns", totals.server_held_ns),
        ("server_gvl_wait_ns", totals.server_gvl_wait_ns),
        ("busy_sum", totals.busy_sum),
        ("spans_known", totals.spans_known),
    ];
    let calls = CallKind::ALL.into_iter().flat_map(|kind| {
        let (name, call) = (kind.field().trim_end_matches("_us"), totals.calls[kind]);
        [
            (format!("{name}_ns"), call.seen_ns),
            (format!("{name}_gvl_ns"), call.gvl_ns),
            (format!("{name}_count"), call.count),
        ]
    });
    enter(&mut value, further, calls, wide);
    let classes = (1..).zip(totals.statuses);
    let classes = classes.map(|(class, count)| (format!("status_{class}xx"), count));
    enter(&mut value, [], classes, header.counts_statuses);
    let edges = EDGES_NS.map(|ns| format!("wall_up_to_{}ms", ns / 1_000_000));
    let edges = edges.into_iter().zip(totals.wall_up_to);
    enter(&mut value, [], edges, header.counts_edges);
    value
}

/// What a file of the first version does not have must have been read as nothing.
fn enter<T: Into<Value> + Into<u64> + Copy>(
    value: &mut Value,
    further: impl IntoIterator<Item = (&'static str, T)>,
    calls: impl Iterator<Item = (String, T)>,
    wide: bool,
) {
    let further = further.into_iter().map(|(name, n)| (name.to_owned(), n));
    for (name, count) in further.chain(calls) {
        if wide {
            value[name] = count.into();
        } else {
            assert_eq!(Into::<u64>::into(count), 0, "{name}");
        }
    }
}

fn histogram(histogram: &Histogram) -> Value {
    let filled = histogram.counts().iter().enumerate();
    filled
        .filter(|(_, count)| **count > 0)
        .map(|(bucket, count)| json!({"bucket": bucket, "count": count}))
        .collect()
}

fn endpoints(snapshot: &Snapshot) -> Value {
    let wide = snapshot.header.counts_further();
    let endpoints = snapshot.endpoints.iter().map(|endpoint| {
        let mut value = totals(&endpoint.totals, &snapshot.header);
        value["index"] = endpoint.index.into();
        value["name"] = endpoint.name.clone().into();
        value["wall_histogram"] = histogram(&endpoint.wall);
        value["gvl_wait_histogram"] = histogram(&endpoint.gvl_wait);
        if wide {
            value["queue_histogram"] = histogram(&endpoint.queue);
        } else {
            assert_eq!(endpoint.queue.count(), 0);
        }
        value
    });
    endpoints.collect()
}

fn record(record: &Record, wide: bool) -> Value {
    let method = match record.method {
        Method::Other => 0,
        Method::Get => 1,
        Method::Head => 2,
        Method::Post => 3,
        Method::Put => 4,
        Method::Patch => 5,
        Method::Delete => 6,
        Method::Options => 7,
    };
    let mut value = json!({
        "sequence": record.index + 1,
        "arrival_wall_ns": record.arrival_wall_ns,
        "start_mono_ns": record.start_mono_ns,
        "queue_ns": record.queue_ns.unwrap_or(0),
        "wall_ns": record.wall_ns,
        "held_ns": record.held_ns,
        "gvl_wait_ns": record.gvl_wait_ns,
        "lock_wait_ns": record.lock_wait_ns,
        "io_ns": record.io_ns,
        "cpu_ns": record.cpu_ns,
        "gc_ns": record.gc_ns,
        "allocations": record.allocations,
        "yields": record.yields,
        "thread_id": record.thread_id,
        "endpoint": record.endpoint,
        "status": record.status,
        "busy_threads": record.busy_threads,
        "method": method,
        "flags": u8::from(record.queue_ns.is_some()) | u8::from(record.raised) << 1
            | u8::from(record.job) << 2 | u8::from(record.events) << 3
            | u8::from(record.parse_us.is_some()) << 4,
    });
    let further = [
        ("gc_own_us", record.gc_own_us),
        ("gc_cpu_us", record.gc_cpu_us),
        ("gc_count", record.gc_count.into()),
        ("parse_us", record.parse_us.unwrap_or(0)),
        ("write_us", record.write_us.unwrap_or(0)),
        ("server_held_us", record.server_held_us),
        ("server_gvl_wait_us", record.server_gvl_wait_us),
    ];
    let calls = CallKind::ALL.into_iter().flat_map(|kind| {
        let (name, call) = (kind.field().trim_end_matches("_us"), record.calls[kind]);
        [
            (format!("{name}_us"), call.seen_us),
            (format!("{name}_gvl_us"), call.gvl_us),
            (format!("{name}_count"), call.count.into()),
        ]
    });
    enter(&mut value, further, calls, wide);
    value
}

fn pool_sample(sample: &PoolSample) -> Value {
    json!({
        "sequence": sample.index + 1,
        "mono_ns": sample.mono_ns,
        "size": sample.size,
        "connections": sample.connections,
        "busy": sample.busy,
        "dead": sample.dead,
        "idle": sample.idle,
        "waiting": sample.waiting,
        "pool": sample.pool,
    })
}

#[test]
fn every_field_of_every_sample_is_read() {
    for (name, (bytes, story)) in samples() {
        let snapshot = parse(&bytes).unwrap();
        let mut expected = story["header"].clone();
        for place in PLACES {
            expected.as_object_mut().unwrap().remove(place);
        }
        assert_eq!(header(&snapshot), expected, "{name}");
        assert_eq!(fields(&snapshot), story["fields"], "{name}");
        let wide = name.starts_with("wide")
            || [
                "armed",
                "edged",
                "heaped",
                "heaped_wide",
                "collected",
                "contended",
            ]
            .contains(&name.as_str());
        assert_eq!(snapshot.header.counts_further(), wide, "{name}");
        assert_eq!(snapshot.header.collector.is_some(), wide, "{name}");
        assert_eq!(
            totals(&snapshot.totals, &snapshot.header),
            story["totals"],
            "{name}"
        );
        assert_eq!(endpoints(&snapshot), story["endpoints"], "{name}");
        assert_eq!(snapshot.records.len(), story["records_readable"], "{name}");
        let records = snapshot.records.iter().map(|r| {
            let mut value = record(r, wide);
            match snapshot.header.measures("gc_major_us") {
                true => value["gc_major_us"] = r.gc_major_us.into(),
                false => assert_eq!(r.gc_major_us, 0),
            }
            value
        });
        assert_eq!(records.collect::<Value>(), story["records"], "{name}");
        let samples: Value = snapshot.pool_samples.iter().map(pool_sample).collect();
        let expected = story.get("pool_samples").cloned().unwrap_or(json!([]));
        assert_eq!(samples, expected, "{name}");
        let heap = snapshot.header.heap.as_ref().map(heap);
        assert_eq!(heap, story.get("heap").cloned(), "{name}");
        let locks = snapshot.locks.as_ref();
        let locks = locks.map(|locks| locks.iter().map(lock).collect());
        assert_eq!(locks, story.get("locks").cloned(), "{name}");
        let log = snapshot.log.as_ref();
        let collections = log.map(|log| log.collections.iter().map(described).collect());
        assert_eq!(collections, story.get("collections").cloned(), "{name}");
    }
}

fn lock(lock: &flight::Lock) -> Value {
    json!({
        "row": lock.row,
        "kind": match lock.kind {
            LockKind::Mutex => 1,
            LockKind::Queue => 2,
            LockKind::SizedQueue => 3,
            LockKind::ConditionVariable => 4,
            LockKind::Monitor => 5,
            LockKind::Other => 0,
        },
        "site": lock.site,
        "first_mono_ns": lock.first_mono_ns,
        "waits": lock.waits,
        "wait_ns": lock.wait_ns,
        "longest_wait_ns": lock.longest_wait_ns,
        "holds": lock.holds,
        "held_ns": lock.held_ns,
        "longest_held_ns": lock.longest_held_ns,
        "objects": lock.objects,
    })
}

fn heap(heap: &flight::Heap) -> Value {
    let pool = |pool: &flight::SizePool| json!({"slot_bytes": pool.slot_bytes, "slots": pool.slots, "live_slots": pool.live_slots});
    json!({
        "mono_ns": heap.mono_ns,
        "page_bytes": heap.page_bytes,
        "pages": heap.pages,
        "live_slots": heap.live_slots,
        "free_slots": heap.free_slots,
        "old_objects": heap.old_objects,
        "pools": heap.pools.iter().map(pool).collect::<Value>(),
    })
}

#[test]
fn what_is_not_there_is_said() {
    let skipped = |name: &str| {
        let skipped = parse(&samples()[name].0).unwrap().skipped;
        (skipped.torn, skipped.unwritten, skipped.missing)
    };
    assert_eq!(skipped("basic"), (0, 0, 0));
    assert_eq!(skipped("wrapped"), (0, 0, 0));
    assert_eq!(skipped("torn"), (0, 1, 0));
    assert_eq!(skipped("truncated"), (0, 0, 20));
    assert_eq!(skipped("wide_wrapped"), (0, 0, 0));
}

#[test]
fn what_this_agent_does_not_measure_is_known() {
    let header = parse(&samples()["basic"].0).unwrap().header;
    assert!(header.measures("io_ns"));
    assert!(!header.measures("gc_ns"));
    assert!(!header.measures("no_such_field"));
    assert!(!header.measures("sql_us"));
    let wide = parse(&samples()["wide"].0).unwrap().header;
    assert!(wide.measures("gc_ns") && wide.measures("sql_us") && wide.measures("lock_wait_ns"));
    assert!(!wide.measures("http_us"));
}

#[test]
fn a_file_reads_as_its_bytes_do() {
    for (name, (bytes, _)) in samples() {
        let file = FlightFile::open(folder().join(format!("{name}.flight"))).unwrap();
        let parsed = parse(&bytes).unwrap();
        assert_eq!(file.snapshot().unwrap(), parsed, "{name}");
        let counters = file.counters().unwrap();
        assert_eq!(counters.totals, parsed.totals);
        assert_eq!(counters.endpoints, parsed.endpoints);
        assert_eq!(counters.pool_samples, parsed.pool_samples);
        assert_eq!(counters.records, []);
    }
}

#[test]
fn a_window_of_records_begins_at_its_first_instant_and_ends_before_its_last() {
    let snapshot = parse(&samples()["basic"].0).unwrap();
    let from = snapshot
        .records
        .iter()
        .map(|r| r.start_mono_ns)
        .min()
        .unwrap();
    let to = snapshot
        .records
        .iter()
        .map(|r| r.start_mono_ns)
        .max()
        .unwrap();
    assert_eq!(snapshot.records_in(from, to + 1).count(), 40);
    assert!(snapshot.records_in(from, to).count() < 40);
    assert_eq!(snapshot.records_in(to + 1, u64::MAX).count(), 0);
    assert_eq!(snapshot.reaches_back_to(), snapshot.header.created_mono_ns);
    let wrapped = parse(&samples()["wrapped"].0).unwrap();
    assert_eq!(wrapped.reaches_back_to(), wrapped.records[0].end_mono_ns());
    for record in &snapshot.records {
        let endpoint = snapshot.endpoint_of(record).unwrap();
        assert_eq!(endpoint.index, record.endpoint);
    }
}

/// The samples' counters were added up by the script that built them.
#[test]
fn records_booked_one_by_one_give_the_counters() {
    for name in ["basic", "wide", "armed", "edged", "heaped", "collected"] {
        let snapshot = parse(&samples()[name].0).unwrap();
        let mut booked = Totals::default();
        snapshot.records.iter().for_each(|r| booked.book(r));
        if !snapshot.header.counts_further() {
            assert!(booked.busy_sum > 0);
            booked.busy_sum = 0;
        }
        if !snapshot.header.counts_statuses {
            booked.statuses = Default::default();
        }
        if !snapshot.header.counts_edges {
            booked.wall_up_to = Default::default();
        }
        assert_eq!(booked, snapshot.totals, "{name}");
    }
}
