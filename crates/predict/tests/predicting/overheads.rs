//! What the server and the kernel add, out of events and records that say it.

use flight::events::{Event, EventKind};
use predict::{Bench, Known, Machine, Point, ProcessTrace};

use crate::support::{BEGAN, Did, MS, Request, application, events_of, process, steady};

const IO: EventKind = EventKind::Suspended {
    lock: false,
    row: 0,
    held: 0,
};

fn event(mono_ns: u64, thread: u32, kind: EventKind) -> Event {
    Event {
        index: 0,
        mono_ns: BEGAN + mono_ns,
        thread,
        kind,
    }
}

fn sound() -> ProcessTrace {
    process(&steady(600, 40 * MS, |_| vec![Did::Held(2 * MS)]), 2, true)
}

/// Thread 1 gives the GVL up while 2 waits for it, which then has it `gap` later.
fn handed_over(at: u64, gap: u64) -> [Event; 6] {
    [
        event(at, 1, EventKind::Resumed),
        event(at + 10, 2, IO),
        event(at + 20, 2, EventKind::Ready),
        event(at + 5_000, 1, IO),
        event(at + 5_000 + gap, 2, EventKind::Resumed),
        event(at + 900_000, 1, EventKind::Ready),
    ]
}

#[test]
fn the_median_hand_over_is_what_one_takes() {
    let mut trace = sound();
    // Of 21: one met a busy core for 40 ms, ten were quick.
    let gaps = (0..21).map(|n| match n {
        20 => 40 * MS,
        n if n < 10 => 7_000,
        _ => 9_000,
    });
    let events = gaps
        .zip(0..)
        .flat_map(|(gap, n)| handed_over(n * 100 * MS, gap));
    trace.bursts.as_mut().unwrap().events = events_of(events.collect(), &[]).events;
    let found = application(vec![trace.clone()]).unwrap();
    assert_eq!(found.costs().hand_over_ns, Some(9_000));
    // No thread waited when it was given up: no hand-over.
    let free = (0..40).flat_map(|n| {
        [
            event(n * MS, 1, EventKind::Resumed),
            event(n * MS + 500, 1, IO),
            event(n * MS + 700, 2, EventKind::Ready),
            event(n * MS + 800, 2, EventKind::Resumed),
            event(n * MS + 900, 2, IO),
        ]
    });
    trace.bursts.as_mut().unwrap().events = events_of(free.collect(), &[]).events;
    let found = application(vec![trace]).unwrap();
    assert_eq!(found.costs().hand_over_ns, None);
}

/// The acceptor runs for 30 us with each request, the reactor for 10.
#[test]
fn the_servers_own_threads_are_known_by_name() {
    let mut trace = sound();
    let each = (0..100).flat_map(|n| {
        let at = n * 10 * MS;
        [
            event(at, 8, EventKind::Ready),
            event(at + 4_000, 8, EventKind::Resumed),
            event(at + 34_000, 8, IO),
            event(at + 40_000, 9, EventKind::Resumed),
            event(at + 50_000, 9, IO),
            event(at + 60_000, 1, EventKind::RequestBegin { busy_threads: 1 }),
            event(
                at + 90_000,
                1,
                EventKind::RequestEnd {
                    flags: 0,
                    status: 200,
                    endpoint: 1,
                },
            ),
        ]
    });
    let names = [(1, "puma srv tp 001"), (8, "puma srv"), (9, "puma reactor")];
    trace.trace = Some(events_of(each.collect(), &names));
    let found = application(vec![trace]).unwrap();
    let costs = found.costs();
    assert_eq!(costs.front, Known::Events);
    assert_eq!((costs.accept_ns, costs.reactor_ns), (30_000, 10_000));
    assert_eq!(costs.kept, Some(false));
    // What was seen is not overruled by a sum.
    assert_eq!(found.clone().with_process_cpu(0).costs(), costs);
}

/// Every other request came while the one before was not answered yet, and waited longer than the 90 us of those that found
/// the process idle, 20 of them parsing. In a process of one thread no other is ever in service when one begins.
#[test]
fn what_lone_requests_waited_is_the_way_in() {
    let mut requests: Vec<Request> = steady(600, 40 * MS, |_| vec![Did::Held(2 * MS)]);
    for (request, n) in requests.iter_mut().zip(0_u16..) {
        request.arrival_ns -= u64::from(n % 2) * 39 * MS;
        request.parse_us = 20;
        request.queue_ns = Some(if n % 2 == 0 { 90_000 } else { 5 * MS });
        request.arrival_ns += 17;
    }
    let found = application(vec![process(&requests, 2, true)]).unwrap();
    // The share of work in it is unknown: the usual 60 us are taken, and the rest is a delay.
    assert_eq!(found.costs().front, Known::Assumed);
    assert_eq!(found.costs().way_in_ns, Some(70_000));
    let machine = Machine {
        cores: 2.0,
        quota: None,
        keep_alive: None,
    };
    let one = Point {
        processes: 1,
        threads: 2,
    };
    let way = |application| {
        let bench = Bench::new(application, machine).unwrap();
        let own = bench.scenario(one).overheads;
        (own.accept_ns, own.network_ns)
    };
    assert_eq!(way(found.clone()), (60_000, 10_000));
    assert_eq!(way(found.with_process_cpu(0)), (0, 70_000));
    // A proxy whose clock ticks in milliseconds says nothing of microseconds.
    for request in &mut requests {
        request.queue_ns = Some(90_000);
        request.arrival_ns -= request.arrival_ns % MS;
    }
    let coarse = application(vec![process(&requests, 2, true)]).unwrap();
    assert_eq!(coarse.costs().way_in_ns, None);
}

#[test]
fn without_a_proxys_stamp_arrivals_are_when_a_thread_began() {
    let mut requests = steady(600, 40 * MS, |_| vec![Did::Held(2 * MS), Did::Io(MS)]);
    for request in &mut requests {
        (request.queue_ns, request.parse_us, request.write_us) = (None, 300, 200);
    }
    let found = application(vec![process(&requests, 2, true)]).unwrap();
    assert_eq!(found.traced().queue_ms, None);
    assert!((found.recorded().mean_ms - 3.5).abs() < 1e-9);
    let said: Vec<String> = found.assumptions().iter().map(|a| a.to_string()).collect();
    assert!(
        said.iter().any(|s| s.contains("X-Request-Start")),
        "{said:?}"
    );
}
