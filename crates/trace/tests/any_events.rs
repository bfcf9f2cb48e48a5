//! Whatever the events say, what is written keeps the format.

use flight::events::{Events, parse_events};
use proptest::prelude::*;
use trace::{Origin, picture, timeline, write_chrome};

const MONO_NS: u64 = 5_000_000_000;

/// An events file of these events, by the contract.
fn file(mode: u32, events: &[(u64, u32, u8, u8)]) -> Vec<u8> {
    let mut bytes = vec![0; 4096 + 32 * events.len()];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"PBEVENTS");
    put(8, &1_u32.to_le_bytes());
    put(16, &mode.to_le_bytes());
    put(32, &4096_u64.to_le_bytes());
    put(40, &64_u32.to_le_bytes());
    put(48, &4096_u64.to_le_bytes());
    put(56, &32_u32.to_le_bytes());
    put(64, &(events.len() as u64).to_le_bytes());
    put(72, &77_u32.to_le_bytes());
    put(76, &u32::MAX.to_le_bytes());
    put(112, &MONO_NS.to_le_bytes());
    put(192, &(events.len() as u64).to_le_bytes());
    for (k, &(mono_ns, thread, kind, detail)) in events.iter().enumerate() {
        let at = 4096 + 32 * k;
        put(at, &(k as u64 + 1).to_le_bytes());
        put(at + 8, &(MONO_NS + mono_ns).to_le_bytes());
        put(at + 16, &thread.to_le_bytes());
        put(at + 20, &[kind, detail]);
    }
    bytes
}

fn written(events: &[Events], until_ns: Option<u64>) -> serde_json::Value {
    let origin = Origin {
        name: "puma \"worker\" 1".to_owned(),
        until_ns,
        ..Origin::default()
    };
    let processes: Vec<_> = events.iter().map(|e| timeline(e, origin.clone())).collect();
    let mut text = Vec::new();
    write_chrome(&mut text, &processes, &serde_json::json!({"a": 1})).unwrap();
    serde_json::from_slice(&text).unwrap()
}

proptest! {
    #[test]
    fn the_file_keeps_the_format(
        mode in 1_u32..3,
        events in proptest::collection::vec((0_u64..100_000, 0_u32..4, 0_u8..14, 0_u8..6), 0..150),
        in_order in any::<bool>(),
        more_ns in proptest::option::of(0_u64..200_000),
    ) {
        let mut events = events;
        if in_order {
            events.sort_unstable_by_key(|event| event.0);
        }
        let read = parse_events(&file(mode, &events)).unwrap();
        prop_assert_eq!(read.events.len(), events.len());
        let document = written(std::slice::from_ref(&read), more_ns.map(|ns| MONO_NS + ns));
        let problems = testkit::trace_problems(&document);
        prop_assert!(problems.is_empty(), "{problems:#?}\n{document}");
        let drawn = picture(&[timeline(&read, Origin::default())]);
        prop_assert!(drawn.is_err() || drawn.unwrap().starts_with("<svg"));
    }
}

/// Two processes whose threads have the same numbers, neither with a kernel thread id.
#[test]
fn tracks_of_two_processes_are_apart() {
    let mut other = file(1, &[(10, 1, 4, 0), (30, 1, 5, 0)]);
    other[72..76].copy_from_slice(&78_u32.to_le_bytes());
    let events = [file(1, &[(10, 1, 4, 0), (20, 1, 5, 1)]), other]
        .map(|bytes| parse_events(&bytes).unwrap());
    let document = written(&events, Some(MONO_NS + 50));
    assert_eq!(testkit::trace_problems(&document), [""; 0]);
    let slices = document["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["ph"] == "X");
    let told: Vec<_> = slices
        .map(|s| {
            (
                s["pid"].as_u64(),
                s["name"].as_str().unwrap(),
                s["dur"].as_f64(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (Some(78), "running", Some(0.02)),
            (Some(77), "running", Some(0.01)),
            (Some(77), "lock or queue", Some(0.03)),
            (Some(78), "I/O or sleep", Some(0.02)),
        ]
    );
}

#[test]
fn the_counter_follows_who_waits() {
    let events = [(10, 1, 3, 0), (20, 2, 3, 0), (30, 1, 4, 0), (40, 2, 4, 0)];
    let document = written(&[parse_events(&file(1, &events)).unwrap()], None);
    let counters = document["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["ph"] == "C");
    let told: Vec<_> = counters
        .map(|c| (c["ts"].as_f64(), c["args"]["threads"].as_u64()))
        .collect();
    let at = |ts, threads| (Some(ts), Some(threads));
    assert_eq!(
        told,
        [
            at(0.0, 0),
            at(0.01, 1),
            at(0.02, 2),
            at(0.03, 1),
            at(0.04, 0)
        ]
    );
}
