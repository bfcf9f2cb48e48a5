//! A real recording: what the events of each request add up to is what its record says, which the agent summed by itself.

use std::path::Path;

use flight::events::{Doing, bursts, read_events};
use serde_json::Value;

#[test]
fn bursts_add_up_to_their_records_to_the_nanosecond() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let events = read_events(&folder.join("requests.bursts")).unwrap();
    let text = std::fs::read_to_string(folder.join("requests.json")).unwrap();
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();

    let cut = bursts(&events);
    assert_eq!((cut.requests.len(), cut.incomplete), (records.len(), 0));
    let mut seen = [0; 4];
    for request in &cut.requests {
        let record = records
            .iter()
            .find(|record| record["start_mono_ns"] == request.start_mono_ns)
            .expect("each request has its record");
        for (doing, field) in [
            (Doing::Running, "held_ns"),
            (Doing::Waiting, "gvl_wait_ns"),
            (Doing::Lock, "lock_wait_ns"),
            (Doing::Io, "io_ns"),
        ] {
            assert_eq!(record[field], request.sum_ns(doing), "{field} of {record}");
            seen[doing as usize] += request.sum_ns(doing);
        }
        assert_eq!(record["wall_ns"], request.wall_ns(), "{record}");
        assert_eq!(record["endpoint"], request.endpoint);
        assert_eq!(record["status"], request.status);
        assert_eq!(record["busy_threads"], request.busy_threads);
        let collected_ns: u64 = request.collections.iter().map(|(from, to)| to - from).sum();
        assert_eq!(record["gc_own_us"], collected_ns / 1_000, "{record}");
    }
    assert!(seen.iter().all(|&ns| ns > 0), "all four happened: {seen:?}");
}
