//! Foreign, damaged and hostile events files: an error or a partial reading, never a panic, and no more memory than the
//! bytes that are there call for.

use crate::support::{damage, put, sample};
use flight::events::{EventsError, MAX_EVENTS_BYTES, bursts, parse_events, read_events};
use proptest::prelude::*;

#[test]
fn what_is_no_events_file_is_named() {
    let foreign = |bytes: &[u8]| matches!(parse_events(bytes), Err(EventsError::Foreign { .. }));
    assert!(foreign(b"PBFLIGHT") && foreign(&[]) && foreign(b"PBEV"));
    let cut = parse_events(&sample("events/trace.events")[..4095]);
    assert!(matches!(cut, Err(EventsError::Truncated { .. })));
    let cases: [(usize, &str); 4] = [
        (8, "version 9"),
        (16, "mode = 9"),
        (40, "thread_size = 9"),
        (56, "event_size = 9"),
    ];
    for (offset, message) in cases {
        let mut bytes = sample("events/trace.events");
        put(&mut bytes, offset, &9_u32.to_le_bytes());
        let error = parse_events(&bytes).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// Every size at its largest, at once: what is found is what there are bytes for.
#[test]
fn sizes_and_counters_at_their_largest_cost_nothing() {
    for (name, mode) in [("events/trace.events", 1), ("events/sampled.bursts", 2)] {
        for claimed in [u64::MAX, 1 << 63, 1 << 40] {
            for capacity in [u64::MAX, 1 << 63, 1 << 40, 0] {
                let mut bytes = sample(name);
                put(&mut bytes, 44, &u32::MAX.to_le_bytes());
                put(&mut bytes, 64, &capacity.to_le_bytes());
                put(&mut bytes, 192, &claimed.to_le_bytes());
                let room = bytes.len() / 32;
                let read = parse_events(&bytes).unwrap();
                let found = read.events.len() + read.skipped.torn.len();
                assert!(found <= room, "{found} events in room for {room}");
                assert!(read.events.capacity() <= 4 * room);
                assert!(read.threads.len() <= bytes.len() / 64);
                let expected = claimed.min(capacity);
                assert_eq!(read.skipped.missing + found as u64, expected, "mode {mode}");
            }
        }
    }
}

#[test]
fn sections_that_lie_nowhere_are_missing() {
    for offset in [32, 48] {
        let mut bytes = sample("events/trace.events");
        put(&mut bytes, offset, &u64::MAX.to_le_bytes());
        let read = parse_events(&bytes).unwrap();
        assert_eq!(read.threads.is_empty(), offset == 32);
        assert_eq!(read.events.is_empty(), offset == 48);
    }
}

#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.events");
    std::fs::write(&path, sample("events/trace.events")).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(MAX_EVENTS_BYTES + 1).unwrap();
    let error = read_events(&path).unwrap_err();
    assert!(matches!(error, EventsError::TooLarge { .. }), "{error}");
}

/// Each event that the header speaks of is accounted for once.
fn check(bytes: &[u8]) {
    let Ok(read) = parse_events(bytes) else {
        assert!(parse_events(bytes).unwrap_err().to_string().len() > 10);
        return;
    };
    let found = (read.events.len() + read.skipped.torn.len()) as u64;
    assert!(found <= bytes.len() as u64 / 32);
    let expected = read.header.claimed.min(read.header.capacity());
    assert_eq!(found + read.skipped.missing, expected);
    for pair in read.events.windows(2) {
        assert!(pair[0].index < pair[1].index);
    }
    let cut = bursts(&read);
    assert!(2 * cut.requests.len() <= read.events.len());
}

proptest! {
    #[test]
    fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..6_000)) {
        check(&bytes);
        let mut headed = bytes;
        if headed.len() >= 20 {
            put(&mut headed, 0, b"PBEVENTS\x01\0\0\0");
            headed[16..20].copy_from_slice(&[1, 0, 0, 0]);
            check(&headed);
        }
    }

    #[test]
    fn any_damage_to_a_sample_is_safe(
        name in prop_oneof![Just("events/trace.events"), Just("events/sampled.bursts"), Just("events/full.events")],
        damage in damage(3..50),
    ) {
        let mut bytes = sample(name);
        damage.apply(&mut bytes);
        check(&bytes);
    }
}
