//! The reader of events files: any bytes whatever give an error or events of which each number is there once or counted
//! as missing, and the requests cut from them add up.

#![no_main]

use flight::events::{bursts, parse_events};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(events) = parse_events(data) else { return };
    let capacity = events.header.capacity();
    let (found, torn) = (events.events.len() as u64, events.skipped.torn.len() as u64);
    assert_eq!(found + torn + events.skipped.missing, events.header.claimed.min(capacity));
    assert!(events.events.windows(2).all(|pair| pair[0].index < pair[1].index));
    assert!(events.skipped.torn.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(events.threads.windows(2).all(|pair| pair[0].number < pair[1].number));
    // What is read is bounded by what there was.
    assert!(found + torn <= data.len() as u64 / 32);
    let bursts = bursts(&events);
    let begun = events.events.len() as u64;
    assert!(bursts.requests.len() as u64 + bursts.incomplete <= begun);
    for request in &bursts.requests {
        assert!(request.bursts.iter().all(|burst| burst.ns > 0));
        assert!(request.bursts.windows(2).all(|pair| pair[0].doing != pair[1].doing));
        assert!(request.start_mono_ns.checked_add(request.wall_ns()).is_some());
        assert!(request.calls.iter().all(|call| call.from_ns <= call.to_ns));
        assert!(request.collections.iter().all(|(from_ns, to_ns)| from_ns <= to_ns));
    }
});
