//! Recorded connections: the requests of one go one after another on one.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::support::{OK, Server, assert_balanced};
use load::{Arrivals, Mode, Outcome, Plan, RecordedRequest, Silent, Stop, Workload};

/// What the server saw: on which of its connections, which path.
type Seen = Arc<(Mutex<Vec<(usize, String)>>, Condvar)>;

/// Requests `/LANE/NUMBER` of these lanes, all due within a millisecond.
fn plan(server: &Server, lanes: &[u64], max_connections: usize) -> Plan {
    let mut numbers: BTreeMap<u64, u64> = BTreeMap::new();
    let requests = lanes.iter().map(|lane| {
        let number = numbers.entry(*lane).or_default();
        *number += 1;
        let request = RecordedRequest {
            method: "GET".into(),
            path: format!("/{lane}/{number}"),
            headers: Vec::new(),
            body: Vec::new(),
            status: None,
            host: None,
        };
        ("record", request)
    });
    let workload = Workload::from_recorded(requests, |_, path| path.to_owned()).unwrap();
    let offsets: Vec<u64> = (0..lanes.len() as u64).map(|n| n * 10_000).collect();
    let arrivals = Arrivals::Recorded {
        offsets: offsets.into(),
        speed: 1.0,
    };
    let mode = Mode::Open {
        arrivals,
        max_connections,
    };
    let workload = workload.on_connections(lanes.iter().copied());
    Plan::new(server.address, workload, mode, Stop::default())
}

fn path(head: &str) -> String {
    head.split(' ').nth(1).unwrap().to_owned()
}

/// Answers at once, but to the first path only when it has seen the second.
fn watching(seen: &Seen, held: &'static str, until: &'static str) -> Server {
    let seen = seen.clone();
    Server::new(move |peer, number| {
        while let Some((head, _)) = peer.request() {
            let path = path(&head);
            let (paths, changed) = &*seen;
            let mut paths = paths.lock().unwrap();
            paths.push((number, path.clone()));
            changed.notify_all();
            while path == held && !paths.iter().any(|(_, p)| p == until) {
                let limit = Duration::from_secs(20);
                let (again, waited) = changed.wait_timeout(paths, limit).unwrap();
                assert!(!waited.timed_out(), "{until} never came");
                paths = again;
            }
            drop(paths);
            peer.write(OK);
        }
    })
}

/// Each lane's paths in their order; each on how many connections.
fn by_lane(seen: &Seen) -> BTreeMap<String, (Vec<String>, usize)> {
    let mut lanes: BTreeMap<String, (Vec<String>, Vec<usize>)> = BTreeMap::new();
    for (connection, path) in seen.0.lock().unwrap().iter() {
        let lane = lanes
            .entry(path.split('/').nth(1).unwrap().into())
            .or_default();
        lane.0.push(path.clone());
        if !lane.1.contains(connection) {
            lane.1.push(*connection);
        }
    }
    let counted =
        |(lane, (paths, on)): (String, (Vec<String>, Vec<usize>))| (lane, (paths, on.len()));
    lanes.into_iter().map(counted).collect()
}

fn all_answered(outcome: &Outcome, requests: usize) {
    assert_balanced(outcome);
    assert_eq!(
        outcome.counts.ok, requests as u64,
        "{:?}",
        outcome.first_error
    );
}

#[test]
fn each_lane_has_a_connection_of_its_own_and_waits_for_its_answers() {
    let seen = Seen::default();
    let server = watching(&seen, "/7/1", "/9/3");
    let plan = plan(&server, &[7, 8, 9, 7, 9, 7, 9, 8], 64);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    all_answered(&outcome, 8);
    assert_eq!(outcome.counts.connections, 3);
    let lanes = by_lane(&seen);
    for (lane, count) in [("7", 3), ("8", 2), ("9", 3)] {
        let expected: Vec<String> = (1..=count).map(|n| format!("/{lane}/{n}")).collect();
        assert_eq!(lanes[lane], (expected, 1));
    }
    // The third of lane 9 came before the first of lane 7 was answered, and lane 7 waited for that.
    assert!(outcome.counts.session_waited >= 2, "{:?}", outcome.counts);
    let sent = seen.0.lock().unwrap();
    let at = |wanted: &str| sent.iter().position(|(_, path)| path == wanted).unwrap();
    assert!(at("/9/3") < at("/7/2"));
}

#[test]
fn fewer_connections_than_were_recorded_keep_nobody_waiting_for_ever() {
    for most in [1, 2] {
        let seen = Seen::default();
        let server = watching(&seen, "", "");
        let lanes = [1, 2, 3, 1, 2, 3, 3, 2, 1];
        let outcome = load::run(&plan(&server, &lanes, most), &mut Silent).unwrap();
        all_answered(&outcome, lanes.len());
        for (lane, (paths, _)) in by_lane(&seen) {
            assert_eq!(paths, [1, 2, 3].map(|n| format!("/{lane}/{n}")));
        }
    }
}

#[test]
fn a_server_that_closes_is_connected_to_anew() {
    let seen = Seen::default();
    let shared = seen.clone();
    let server = Server::new(move |peer, number| {
        let (head, _) = peer.request().unwrap();
        shared.0.lock().unwrap().push((number, path(&head)));
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        peer.swallow();
    });
    let lanes = [1, 1, 2, 1, 2];
    let outcome = load::run(&plan(&server, &lanes, 8), &mut Silent).unwrap();
    all_answered(&outcome, lanes.len());
    let lanes = by_lane(&seen);
    assert_eq!(
        lanes["1"],
        (vec!["/1/1".into(), "/1/2".into(), "/1/3".into()], 3)
    );
    assert_eq!(lanes["2"].1, 2);
}

#[test]
fn what_waits_behind_an_answer_that_never_comes_is_counted() {
    let server = Server::new(|peer, _| {
        let _ = peer.request();
        peer.swallow();
    });
    let mut plan = plan(&server, &[1, 1, 1, 2, 2], 8);
    plan.timeout = Duration::from_millis(300);
    plan.drain = Duration::from_millis(600);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.scheduled, 5);
    assert_eq!(outcome.counts.ok, 0);
}

#[test]
fn requests_of_their_own_timing_use_any_connection() {
    let seen = Seen::default();
    let server = watching(&seen, "", "");
    let mut plan = plan(&server, &[1, 2, 3, 4], 8);
    plan.mode = Mode::closed(1);
    plan.stop = Stop::requests(8);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    all_answered(&outcome, 8);
    assert_eq!(outcome.counts.connections, 1);
}
