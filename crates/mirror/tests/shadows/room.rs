//! Room: counted, never exceeded, always given back.

use std::sync::Arc;
use std::time::Duration;

use capture::{Drop, Outcome};
use mirror::{Head, Tap};

use crate::scripted::*;

#[test]
fn a_full_queue_drops_at_once_and_has_room_again() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let slow = scripted(move |_, stream| {
        let _ = wait.lock().unwrap().recv();
        ok(stream, "x")
    });
    let mut next = shadow("next", slow.port);
    (next.connections, next.queue) = (2, 3);
    let driven = Driven::new(&settings(vec![next]));
    let admitted = (0..50).filter(|_| driven.ask(&get("/"), "x")).count();
    assert_eq!(admitted, 5);
    assert_eq!(
        driven.counts.snapshot().shadows[0].dropped["queue_full"],
        45
    );
    assert_eq!(driven.counts.snapshot().shadows[0].pending, 5);
    (0..5).for_each(|_| release.send(()).unwrap());
    (0..5).for_each(|_| drop(driven.pair()));
    let admitted = (0..50).filter(|_| driven.ask(&get("/"), "x")).count();
    assert_eq!(admitted, 5);
    drop(release);
    let counts = driven.stop(PATIENCE);
    assert_eq!((counts[0].sampled, counts[0].answered), (100, 10));
}

#[test]
fn bytes_are_never_exceeded() {
    let hung = scripted(|_, stream| hang(stream));
    let mut next = shadow("next", hung.port);
    (next.queue, next.filter.methods) = (1000, vec!["POST".into()]);
    let mut settings = settings(vec![next]);
    settings.limits.bytes = 100_000;
    let driven = Driven::new(&settings);
    let body = vec![b'x'; 9_000];
    let asked = Asked {
        method: "POST",
        target: "/",
        headers: &[],
        body: &body,
    };
    let mut admitted = 0;
    for _ in 0..50 {
        // The primary is slow as well: its answers hold nothing.
        admitted += usize::from(driven.take(&asked).is_some());
        assert!(driven.counts.held_bytes.get() <= 100_000);
    }
    assert_eq!(
        admitted, 11,
        "eleven bodies of 9000 bytes and what else belongs to a request"
    );
    assert_eq!(
        driven.counts.snapshot().shadows[0].dropped["bytes_full"],
        50 - admitted as u64
    );
    driven.stop(Duration::ZERO);
}

#[test]
fn answers_keep_only_what_there_is_room_for() {
    let large = "x".repeat(200_000);
    let page = format!("{}y", &large[1..]);
    let digest = xxhash_rust::xxh3::xxh3_64(page.as_bytes());
    let many = scripted(move |_, stream| ok(stream, &page));
    let next = shadow("next", many.port);
    let mut settings = settings(vec![next]);
    settings.limits.bytes = 50_000;
    let driven = Driven::new(&settings);
    let request = driven.take(&get("/")).unwrap();
    let headers = [
        ("Content-Type", "text/plain"),
        ("Location", "/kept/by/nobody"),
    ];
    driven.answer(&request, &headers, &large);
    let pair = driven.pair();
    let Outcome::Answered(answer) = &pair.shadows[0].outcome else {
        panic!("{pair:?}")
    };
    // All of it was digested; nothing is said of headers that there was no room for.
    assert_eq!((answer.body_bytes, answer.digest), (200_000, digest));
    let kinds = pair.shadows[0].differences.iter().map(|one| &one.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), ["body"]);
    driven.stop(PATIENCE);
}

#[test]
fn large_bodies_go_to_the_primary_alone() {
    let well = scripted(|_, stream| ok(stream, "x"));
    let mut next = shadow("next", well.port);
    next.filter.methods = vec!["POST".into()];
    let driven = Driven::new(&settings(vec![next]));
    let body = vec![b'x'; (1 << 16) + 1];
    assert!(!driven.ask(
        &Asked {
            method: "POST",
            target: "/",
            headers: &[],
            body: &body
        },
        "x"
    ));
    // In chunks, it is known only when it has come.
    let head = Head {
        id: 7,
        connection: 1,
        method: "POST",
        target: "/",
        headers: mirror::Offered::Listed(&[]),
        body_bytes: None,
    };
    let admission = driven.shadows.wants(&head).unwrap();
    let held = driven.counts.held_bytes.get();
    assert!(held >= 1 << 16, "{held}");
    let request = Arc::new(mirror::Taken {
        id: 7,
        at: std::time::Instant::now(),
        connection: 1,
        sequence: 1,
        method: "POST".into(),
        target: "/".into(),
        headers: mirror::Headers::default(),
        body: body[..100].to_vec().into(),
        body_bytes: 1 << 20,
        admission,
    });
    driven.shadows.taken(request.clone());
    driven.answer(&request, &[], "x");
    let counts = driven.stop(PATIENCE);
    assert_eq!(
        (counts[0].sampled, counts[0].dropped["body_too_large"]),
        (2, 2)
    );
    assert!(well.got.lock().unwrap().is_empty());
}

#[test]
fn a_request_that_never_became_whole_gives_its_place_back() {
    let well = scripted(|_, stream| ok(stream, "x"));
    let mut next = shadow("next", well.port);
    (next.connections, next.queue) = (1, 0);
    let driven = Driven::new(&settings(vec![next]));
    let head = Head {
        id: 1,
        connection: 1,
        method: "GET",
        target: "/",
        headers: mirror::Offered::Listed(&[]),
        body_bytes: Some(10),
    };
    let admission = driven.shadows.wants(&head);
    assert!(
        admission
            .as_ref()
            .is_some_and(mirror::Admission::any_shadow)
    );
    assert!(!driven.ask(&get("/"), "x"), "the only place is taken");
    drop(admission);
    assert_eq!(driven.counts.held_bytes.get(), 0);
    assert!(driven.ask(&get("/"), "x"));
    driven.pair();
    let counts = driven.stop(PATIENCE);
    assert_eq!(
        (
            counts[0].sampled,
            counts[0].answered,
            counts[0].dropped["queue_full"]
        ),
        (2, 1, 1)
    );
}

#[test]
fn a_slow_shadow_takes_nothing_from_a_fast_one() {
    let fast = scripted(|_, stream| ok(stream, "x"));
    let slow = scripted(|_, stream| {
        std::thread::sleep(Duration::from_millis(50));
        ok(stream, "x")
    });
    let mut first = shadow("slow", slow.port);
    (first.connections, first.queue) = (1, 2);
    let mut second = shadow("fast", fast.port);
    second.queue = 1000;
    let driven = Driven::new(&settings(vec![first, second]));
    for _ in 0..100 {
        assert!(driven.ask(&get("/"), "x"));
    }
    let pairs: Vec<_> = (0..100).map(|_| driven.pair()).collect();
    let dropped = pairs
        .iter()
        .filter(|pair| pair.shadows[0].outcome == Outcome::Dropped(Drop::QueueFull))
        .count();
    assert!(
        pairs
            .iter()
            .all(|pair| matches!(pair.shadows[1].outcome, Outcome::Answered(_)))
    );
    let counts = driven.stop(PATIENCE);
    assert_eq!((counts[1].answered, counts[1].sampled), (100, 100));
    assert_eq!(counts[0].answered + dropped as u64, 100);
    assert!(dropped > 0);
}
