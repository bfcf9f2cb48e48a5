//! The end of a mirror and of a generation of settings.

use std::sync::Arc;
use std::time::Duration;

use capture::{Drop, Failure, Outcome};
use mirror::Tap;

use crate::scripted::*;

#[test]
fn what_is_under_way_ends_with_the_mirror() {
    let hung = scripted(|_, stream| hang(stream));
    let mut next = shadow("next", hung.port);
    (next.connections, next.queue) = (1, 5);
    let driven = Driven::new(&settings(vec![next]));
    let first = driven.take(&get("/1")).unwrap();
    eventually("it was sent", || hung.got.lock().unwrap().len() == 1);
    driven.answer(&first, &[], "x");
    let second = driven.take(&get("/2")).unwrap();
    let counts = driven.stop(Duration::ZERO);
    assert_eq!(
        (counts[0].failed["ended"], counts[0].dropped["ended"]),
        (1, 1)
    );
    let mut outcomes: Vec<(u64, Outcome)> = (0..2)
        .map(|_| driven.pair())
        .map(|pair| (pair.id, pair.shadows[0].outcome.clone()))
        .collect();
    outcomes.sort_by_key(|(id, _)| *id);
    assert_eq!(
        outcomes,
        [
            (1, Outcome::Failed(Failure::Ended)),
            (2, Outcome::Dropped(Drop::Ended))
        ]
    );
    // Called too late: no receiver is left, and nothing breaks.
    driven.answer(&second, &[], "x");
    assert_eq!(driven.counts.held_bytes.get(), 0);
    assert!(!driven.ask(&get("/"), "x"));
    assert_eq!(
        driven.counts.snapshot().shadows[0].sampled,
        2,
        "what comes later is not sampled"
    );
}

#[test]
fn a_stop_waits_for_what_is_under_way() {
    let slow = scripted(|_, stream| {
        std::thread::sleep(Duration::from_millis(200));
        ok(stream, "x")
    });
    let driven = Driven::new(&settings(vec![shadow("next", slow.port)]));
    for _ in 0..4 {
        assert!(driven.ask(&get("/"), "x"));
    }
    assert_eq!(driven.stop(PATIENCE)[0].answered, 4);
}

#[test]
fn a_request_admitted_before_the_end_and_taken_after_it() {
    let well = scripted(|_, stream| ok(stream, "x"));
    let driven = Driven::new(&settings(vec![shadow("next", well.port)]));
    let head = mirror::Head {
        id: 1,
        connection: 1,
        method: "GET",
        target: "/",
        headers: mirror::Offered::Listed(&[]),
        body_bytes: Some(0),
    };
    let admission = driven.shadows.wants(&head).unwrap();
    driven.shadows.stop(Duration::ZERO);
    let request = Arc::new(mirror::Taken {
        id: 1,
        at: std::time::Instant::now(),
        connection: 1,
        sequence: 1,
        method: "GET".into(),
        target: "/".into(),
        headers: mirror::Headers::default(),
        body: bytes::Bytes::new(),
        body_bytes: 0,
        admission,
    });
    driven.shadows.taken(request.clone());
    driven.answer(&request, &[], "x");
    drop(request);
    assert_eq!(driven.stop(Duration::ZERO)[0].dropped["ended"], 1);
}

#[test]
fn generations_share_counts_and_each_ends_its_own() {
    let well = scripted(|_, stream| ok(stream, "x"));
    let settings = settings(vec![shadow("next", well.port)]);
    let old = Driven::new(&settings);
    let request = old.take(&get("/old")).unwrap();
    let new = Driven::with(&settings, old.counts.clone());
    assert!(new.ask(&get("/new"), "x"));
    assert!(matches!(
        new.pair().shadows[0].outcome,
        Outcome::Answered(_)
    ));
    // The new generation gets the answers to what the old one admitted.
    new.shadows.answered(&request, primary(&[], "x"));
    assert!(matches!(
        old.pair().shadows[0].outcome,
        Outcome::Answered(_)
    ));
    old.shadows.stop(PATIENCE);
    let counts = new.stop(PATIENCE);
    assert_eq!(
        (counts.len(), counts[0].sampled, counts[0].answered),
        (1, 2, 2)
    );
}

#[test]
fn a_client_that_leaves_still_makes_a_pair() {
    let well = scripted(|_, stream| ok(stream, "x"));
    let driven = Driven::new(&settings(vec![shadow("next", well.port)]));
    let request = driven.take(&get("/")).unwrap();
    let nothing = mirror::PrimaryAnswer {
        answer: None,
        headers: None,
        body: bytes::Bytes::new(),
    };
    driven.shadows.answered(&request, nothing);
    let pair = driven.pair();
    assert_eq!(pair.primary, None);
    assert!(
        matches!(pair.shadows[0].outcome, Outcome::Answered(_))
            && pair.shadows[0].differences.is_empty()
    );
    driven.stop(PATIENCE);
}

/// Scheduling policies of this process' threads, with their names.
fn policies() -> Vec<(String, u32)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
        // The 41st field, the state being the 3rd.
        Some((name.to_owned(), rest.split(' ').nth(38)?.parse().ok()?))
    };
    tasks.filter_map(of).collect()
}

#[test]
fn the_shadows_thread_alone_runs_when_nobody_else_wants_to() {
    const SCHED_IDLE: u32 = 5;
    let driven = Driven::new(&settings(vec![shadow("next", 1)]));
    eventually("it is", || {
        let all = policies();
        all.iter()
            .any(|(name, policy)| name == "shadows" && *policy == SCHED_IDLE)
    });
    assert!(
        policies()
            .iter()
            .all(|(name, policy)| name == "shadows" || *policy != SCHED_IDLE)
    );
    driven.stop(PATIENCE);
}
