//! The samples of the events file that the agent is tested against too: `contract/samples/events/`.

use std::fs;
use std::path::{Path, PathBuf};

use flight::events::{
    CallKind, Doing, EventKind, Events, EventsState, GcPhase, Mode, RequestBursts, bursts,
    parse_events, read_events,
};
use serde_json::{Value, json};

const SAMPLES: [&str; 6] = [
    "trace.events",
    "full.events",
    "dead.events",
    "truncated.events",
    "sampled.bursts",
    "sampled_torn.bursts",
];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../contract/samples/events")
        .join(name)
}

fn sample(name: &str) -> (Events, Value) {
    let bytes = fs::read(path(name)).expect("the golden samples are part of the repository");
    let text = fs::read_to_string(path(name).with_extension("json")).unwrap();
    (
        parse_events(&bytes).unwrap(),
        serde_json::from_str(&text).unwrap(),
    )
}

#[test]
fn headers_are_as_described() {
    for name in SAMPLES {
        let (events, story) = sample(name);
        let header = &events.header;
        let (mode, one_in) = match header.mode {
            Mode::Trace => (1, 0),
            Mode::Sampling { one_in } => (2, one_in),
        };
        let found = json!({
            "mode": mode,
            "one_in": one_in,
            "state": match header.state {
                EventsState::Asked => 0,
                EventsState::Recording => 1,
                EventsState::Over => 2,
                EventsState::Other(other) => other,
            },
            "request": header.request,
            "pid": header.pid,
            "worker_index": header.worker_index.map_or(-1, i64::from),
            "start_ticks": header.start_ticks,
            "created_wall_ns": header.created_wall_ns,
            "created_mono_ns": header.created_mono_ns,
            "deadline_mono_ns": header.deadline_mono_ns,
            "began_mono_ns": header.began_mono_ns,
            "ended_mono_ns": header.ended_mono_ns,
            "event_capacity": header.capacity(),
            "claimed": header.claimed,
        });
        for (field, value) in found.as_object().unwrap() {
            assert_eq!(value, &story["header"][field], "{name}: {field}");
        }
        assert_eq!(header.lost(), story["lost"], "{name}");
    }
}

#[test]
fn threads_and_events_are_as_described() {
    for name in SAMPLES {
        let (events, story) = sample(name);
        let threads = events.threads.iter().map(
            |t| json!({"number": t.number, "native_id": t.native_id, "name": t.name.as_str()}),
        );
        assert_eq!(Value::from_iter(threads), story["threads"], "{name}");
        assert_eq!(json!(events.skipped.torn), story["torn"], "{name}");
        assert_eq!(events.skipped.missing, story["missing"], "{name}");
        let described = story["events"].as_array().unwrap();
        assert_eq!(events.events.len(), described.len(), "{name}");
        for (event, described) in events.events.iter().zip(described) {
            let found = json!([event.index, event.mono_ns, event.thread]);
            let told = ["index", "mono_ns", "thread"].map(|field| &described[field]);
            assert_eq!(found, json!(told), "{name}");
            assert_eq!(event.kind, kind(described), "{name}, event {}", event.index);
        }
    }
}

#[test]
fn requests_are_as_described() {
    for name in SAMPLES {
        let (events, story) = sample(name);
        let found = bursts(&events);
        assert_eq!(found.incomplete, story["incomplete"], "{name}");
        let told: Value = found.requests.iter().map(told).collect();
        assert_eq!(told, story["requests"], "{name}");
    }
}

#[test]
fn what_is_read_from_the_disk_is_the_same() {
    for name in SAMPLES {
        assert_eq!(read_events(&path(name)).unwrap(), sample(name).0, "{name}");
    }
}

fn kind(described: &Value) -> EventKind {
    let number = |field: &str| described[field].as_u64().unwrap();
    let (detail, code) = (number("detail") as u8, number("code") as u16);
    let call = match detail {
        0 => CallKind::Sql,
        1 => CallKind::Http,
        2 => CallKind::Cache,
        3 => CallKind::Redis,
        _ => CallKind::Pool,
    };
    match number("kind") {
        1 => EventKind::Started,
        2 => EventKind::Exited,
        3 => EventKind::Ready,
        4 => EventKind::Resumed,
        5 => EventKind::Suspended {
            lock: detail == 1,
            row: code as u8,
            held: number("argument"),
        },
        6 => EventKind::GcEnter(match detail {
            0 => GcPhase::Begins,
            1 => GcPhase::Marking,
            2 => GcPhase::Sweeping,
            _ => GcPhase::Unknown,
        }),
        7 => EventKind::GcExit,
        8 => EventKind::RequestBegin { busy_threads: code },
        9 => EventKind::RequestEnd {
            flags: detail,
            status: code,
            endpoint: number("argument") as u16,
        },
        10 => EventKind::CallBegin(call),
        11 => EventKind::CallEnd(call),
        12 => EventKind::State(Some(match (detail, code) {
            (0, _) => Doing::Running,
            (1, 1) => Doing::Lock,
            (1, _) => Doing::Io,
            _ => Doing::Waiting,
        })),
        other => EventKind::Other(other as u8),
    }
}

fn told(request: &RequestBursts) -> Value {
    let doing = |doing| match doing {
        Doing::Running => "running",
        Doing::Waiting => "waiting",
        Doing::Lock => "lock",
        Doing::Io => "io",
    };
    let call = |kind| match kind {
        CallKind::Sql => "sql",
        CallKind::Http => "http",
        CallKind::Cache => "cache",
        CallKind::Redis => "redis",
        CallKind::Pool => "pool",
        CallKind::Other(_) => "other",
    };
    let bursts = request.bursts.iter().map(|b| json!([doing(b.doing), b.ns]));
    let calls = request.calls.iter();
    let calls = calls.map(|c| json!([call(c.kind), c.from_ns, c.to_ns]));
    json!({
        "thread": request.thread,
        "start_mono_ns": request.start_mono_ns,
        "wall_ns": request.wall_ns(),
        "busy_threads": request.busy_threads,
        "endpoint": request.endpoint,
        "status": request.status,
        "flags": request.flags,
        "running_ns": request.sum_ns(Doing::Running),
        "waiting_ns": request.sum_ns(Doing::Waiting),
        "lock_ns": request.sum_ns(Doing::Lock),
        "io_ns": request.sum_ns(Doing::Io),
        "bursts": Value::from_iter(bursts),
        "calls": Value::from_iter(calls),
        "collections": request.collections,
    })
}
