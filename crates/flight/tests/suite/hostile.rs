//! Foreign, damaged and hostile bytes: an error or a partial reading, never a panic.

use crate::support::{damage, put, sample};
use flight::{CallKind, FlightError, FlightFile, Snapshot, parse, parse_counters};
use proptest::prelude::*;

fn with(offset: usize, value: &[u8]) -> Result<Snapshot, FlightError> {
    changed("flight/basic.flight", offset, value)
}

fn changed(name: &str, offset: usize, value: &[u8]) -> Result<Snapshot, FlightError> {
    let mut bytes = sample(name);
    put(&mut bytes, offset, value);
    parse(&bytes)
}

#[test]
fn what_is_no_flight_file_is_named() {
    assert!(matches!(
        parse(b"GIF89a.."),
        Err(FlightError::Foreign { .. })
    ));
    assert!(matches!(parse(&[]), Err(FlightError::Truncated { .. })));
    assert!(matches!(parse(b"PBFL"), Err(FlightError::Truncated { .. })));
    assert!(matches!(parse(&[0; 4096]), Err(FlightError::BeingMade)));
    assert!(matches!(with(68, &[0; 4]), Err(FlightError::BeingMade)));
    assert!(matches!(
        with(8, &[0; 4]),
        Err(FlightError::Version { found: 0 })
    ));
}

#[test]
fn sections_too_small_for_what_they_hold_are_refused() {
    let cases: [(usize, &str); 4] = [
        (16, "record_size"),
        (20, "ring_capacity"),
        (48, "endpoint_size"),
        (64, "totals_size"),
    ];
    for (offset, name) in cases {
        match with(offset, &[0; 4]) {
            Err(FlightError::Layout { field, .. }) => assert_eq!(field, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn sizes_that_no_version_will_need_are_refused() {
    let cases: [(usize, u32, &str); 6] = [
        (16, 65_536, "record_size"),
        (20, 1 << 24, "ring_capacity"),
        (32, 1_024, "field_count"),
        (48, 65_536, "endpoint_size"),
        (52, 65_536, "endpoint_capacity"),
        (64, 65_536, "totals_size"),
    ];
    for (offset, most, name) in cases {
        let refused = |value: u32| match with(offset, &value.to_le_bytes()) {
            Err(FlightError::Layout { field, .. }) => field == name,
            _ => false,
        };
        assert!(!refused(most), "{name}");
        assert!(refused(most + 1) && refused(u32::MAX), "{name}");
    }
}

#[test]
fn sections_beyond_the_end_are_errors_or_counted() {
    let far = u64::MAX.to_le_bytes();
    assert!(matches!(
        with(56, &far),
        Err(FlightError::Truncated {
            section: "totals",
            ..
        })
    ));
    assert!(matches!(
        with(36, &far[..4]),
        Err(FlightError::Truncated {
            section: "field table",
            ..
        })
    ));
    let snapshot = with(24, &far).unwrap();
    assert_eq!((snapshot.records.len(), snapshot.skipped.missing), (0, 40));
    let snapshot = with(40, &far).unwrap();
    assert_eq!(
        (snapshot.endpoints.len(), snapshot.skipped.endpoints_missing),
        (0, 4)
    );
}

#[test]
fn a_field_outside_its_record_is_refused() {
    let offset_of_second_field = 512 + 32 + 24;
    let result = with(offset_of_second_field, &125_u16.to_le_bytes());
    match result {
        Err(FlightError::FieldOutside { name, end, .. }) => {
            assert_eq!((name.as_str(), end), ("arrival_wall_ns", 133));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_field_that_the_table_moved_is_read_where_it_is() {
    let plain = parse(&sample("flight/basic.flight")).unwrap();
    let (held, wait) = (512 + 5 * 32 + 24, 512 + 6 * 32 + 24);
    let mut bytes = sample("flight/basic.flight");
    put(&mut bytes, held, &48_u16.to_le_bytes());
    put(&mut bytes, wait, &40_u16.to_le_bytes());
    let moved = parse(&bytes).unwrap();
    assert_eq!(moved.records.len(), plain.records.len());
    for (moved, plain) in moved.records.iter().zip(&plain.records) {
        assert_eq!(
            (moved.held_ns, moved.gvl_wait_ns),
            (plain.gvl_wait_ns, plain.held_ns)
        );
        assert_eq!((moved.status, moved.io_ns), (plain.status, plain.io_ns));
    }
}

/// A later version's longer records keep the fields that there were.
#[test]
fn longer_records_are_read() {
    let bytes = sample("flight/basic.flight");
    let ring = 16_384;
    let mut longer = bytes[..ring].to_vec();
    put(&mut longer, 8, &2_u32.to_le_bytes());
    put(&mut longer, 16, &192_u32.to_le_bytes());
    for slot in bytes[ring..].chunks_exact(128) {
        longer.extend_from_slice(slot);
        longer.extend_from_slice(&[0xEE; 64]);
    }
    assert_eq!(
        parse(&longer).unwrap().records,
        parse(&bytes).unwrap().records
    );
}

#[test]
fn pool_samples_beyond_the_end_are_counted_and_absurd_ones_refused() {
    let wide = |offset, value: &[u8]| changed("flight/wide_wrapped.flight", offset, value);
    assert_eq!(wide(0, b"P").unwrap().pool_samples.len(), 8);
    let far = wide(448, &u64::MAX.to_le_bytes()).unwrap();
    assert_eq!((far.pool_samples.len(), far.skipped.pool_samples), (0, 8));
    // Sample 17, the second oldest, lies in slot 4 and is being written.
    let torn = wide(16_384 + 5 * 32, &[0; 8]).unwrap();
    assert_eq!((torn.pool_samples.len(), torn.skipped.pool_samples), (7, 1));
    let many = wide(464, &u64::MAX.to_le_bytes()).unwrap();
    assert_eq!(many.skipped.pool_samples, 8);
    for (offset, name) in [(456, "pool_sample_size"), (460, "pool_capacity")] {
        for value in [0, u32::MAX] {
            match wide(offset, &value.to_le_bytes()) {
                Err(FlightError::Layout { field, .. }) => assert_eq!(field, name),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    assert!(wide(448, &[0; 8]).unwrap().pool_samples.is_empty());
}

/// Half of the totals is no totals: what is missing would be taken for none.
#[test]
fn totals_that_were_cut_in_half_are_an_error() {
    let bytes = sample("flight/wide.flight");
    let cut = parse(&bytes[..4_096 + 300]);
    let section = match cut {
        Err(FlightError::Truncated { section, .. }) => section,
        other => panic!("{other:?}"),
    };
    assert_eq!(section, "totals");
}

/// A field that is not where the contract has it is taken from where the table says.
#[test]
fn a_later_field_that_the_table_moved_is_read_where_it_is() {
    let plain = parse(&sample("flight/wide.flight")).unwrap();
    let (sql, cache) = (512 + 21 * 32 + 24, 512 + 27 * 32 + 24);
    let mut bytes = sample("flight/wide.flight");
    put(&mut bytes, sql, &136_u16.to_le_bytes());
    put(&mut bytes, cache, &120_u16.to_le_bytes());
    let moved = parse(&bytes).unwrap();
    for (moved, plain) in moved.records.iter().zip(&plain.records) {
        let seen = |record: &flight::Record, kind| record.calls[kind].seen_us;
        assert_eq!(seen(moved, CallKind::Sql), seen(plain, CallKind::Cache));
        assert_eq!(seen(moved, CallKind::Cache), seen(plain, CallKind::Sql));
        assert_eq!(moved.server_held_us, plain.server_held_us);
    }
}

#[test]
fn a_counter_of_any_size_costs_no_time() {
    let snapshot = with(384, &u64::MAX.to_le_bytes()).unwrap();
    let skipped = snapshot.skipped;
    let accounted =
        snapshot.records.len() as u64 + skipped.torn + skipped.unwritten + skipped.missing;
    assert_eq!(accounted, 64);
    let mut bytes = sample("flight/basic.flight");
    let largest = 1_u32 << 24;
    put(&mut bytes, 20, &largest.to_le_bytes());
    put(&mut bytes, 384, &u64::MAX.to_le_bytes());
    let skipped = parse(&bytes).unwrap().skipped;
    assert!(skipped.missing >= u64::from(largest) - 64);
}

#[test]
fn a_header_that_asks_for_a_gigabyte_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.flight");
    let mut bytes = sample("flight/basic.flight");
    put(&mut bytes, 20, &(1_u32 << 24).to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let file = FlightFile::open(path).unwrap();
    assert!(matches!(file.snapshot(), Err(FlightError::TooLarge { .. })));
    assert!(file.counters().is_ok());
}

#[test]
fn a_damaged_place_of_the_log_of_collections_hides_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.flight");
    let mut bytes = sample("flight/collected.flight");
    let records = parse(&bytes).unwrap().records;
    let about = u32::from_le_bytes(bytes[504..508].try_into().unwrap()) as usize;
    put(&mut bytes, about + 128, &(1_u32 << 16).to_le_bytes());
    put(&mut bytes, about + 132, &(1_u32 << 20).to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let read = FlightFile::open(path).unwrap().snapshot().unwrap();
    assert!(read.log.is_some());
    assert_eq!(read.records, records);
}

#[test]
fn readings_of_a_part_take_any_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("any.flight");
    let whole = sample("flight/wide_wrapped.flight");
    let mut read = 0;
    for offset in (8..512).step_by(4) {
        for value in [0, 1, u32::MAX / 2, u32::MAX] {
            let mut bytes = whole.clone();
            put(&mut bytes, offset, &value.to_le_bytes());
            std::fs::write(&path, &bytes).unwrap();
            let Ok(file) = FlightFile::open(&path) else {
                continue;
            };
            if let (Ok(tally), Ok(counters)) = (file.tally(), file.counters()) {
                assert_eq!(tally.totals, counters.totals);
                assert!(tally.endpoints.len() <= counters.endpoints.len());
                read += 1;
            }
            if let Ok((records, _)) = file.records_from(0) {
                assert!(records.len() <= 64);
            }
        }
    }
    assert!(read > 100, "{read}");
}

/// Whatever was read, every record asked for is accounted for once.
fn check(bytes: &[u8]) {
    let Ok(snapshot) = parse(bytes) else {
        assert!(parse(bytes).unwrap_err().to_string().len() > 10);
        return;
    };
    let skipped = snapshot.skipped;
    let capacity = u64::from(snapshot.header.ring_capacity());
    let accounted =
        snapshot.records.len() as u64 + skipped.torn + skipped.unwritten + skipped.missing;
    assert_eq!(accounted, snapshot.header.written.min(capacity));
    for pair in snapshot.records.windows(2) {
        assert!(pair[0].index < pair[1].index);
    }
    let counters = parse_counters(bytes).unwrap();
    assert_eq!(counters.endpoints, snapshot.endpoints);
    let _ = snapshot.reaches_back_to();
    for record in &snapshot.records {
        let _ = snapshot.endpoint_of(record);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        check(&bytes);
        let mut headed = bytes;
        if headed.len() >= 8 {
            put(&mut headed, 0, b"PBFLIGHT");
            check(&headed);
        }
    }

    #[test]
    fn any_damage_to_a_sample_is_safe(
        name in prop_oneof![
            Just("flight/basic.flight"),
            Just("flight/wrapped.flight"),
            Just("flight/wide.flight"),
            Just("flight/wide_wrapped.flight"),
        ],
        damage in damage(2..481),
    ) {
        let mut bytes = sample(name);
        damage.apply(&mut bytes);
        check(&bytes);
    }
}
