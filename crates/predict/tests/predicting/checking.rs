//! The self-check: what it takes from the trace, when it fails, and the causes that it names.

use predict::{Application, Assumption, Bench, Cause, Machine, Traced};

use crate::support::{Did, MS, Request, application, process};

const MACHINE: Machine = Machine {
    cores: 2.0,
    quota: None,
    keep_alive: None,
};

fn traced(requests: &[Request], threads: u32) -> Application {
    application(vec![process(requests, threads, true)]).unwrap()
}

fn bench(requests: &[Request], threads: u32) -> Bench {
    Bench::new(traced(requests, threads), MACHINE).unwrap()
}

/// 95 a second, of which each is as long in the queue as `queue` says of its number.
fn at_95_per_s(count: u64, held: u64, queue: impl Fn(u64) -> u64) -> Vec<Request> {
    let request = |n: u64| Request {
        queue_ns: Some(queue(n)),
        ..Request::new(n * 1_000 * MS / 95, &[Did::Held(held), Did::Io(MS)])
    };
    (0..count).map(request).collect()
}

#[test]
fn busy_workers_of_puma_6_wait() {
    for (name, waits) in [
        ("puma 6.4.2", true),
        ("puma 7.1.0", false),
        ("puma 5.6.5", false),
    ] {
        let mut server = process(&at_95_per_s(600, 2 * MS, |_| 0), 3, true);
        server.flight.header.server.name = name.to_owned();
        let found = application(vec![server]).unwrap();
        let said = found.assumptions().contains(&Assumption::BusyWorkersWait);
        assert_eq!(said, waits, "{name}");
    }
}

/// Somebody looks at the page, and two loads follow, half a minute apart.
#[test]
fn pauses_are_no_part_of_the_rate() {
    let load = || at_95_per_s(600, 2 * MS, |_| 0);
    let later = |requests: Vec<Request>, s: u64| {
        requests.into_iter().map(move |mut request| {
            request.arrival_ns += s * 1_000 * MS;
            request
        })
    };
    let busy = traced(&load(), 3);
    let mut all = vec![Request::new(0, &[Did::Held(2 * MS)])];
    all.extend(later(load(), 15));
    all.extend(later(load(), 60));
    let paused = traced(&all, 3);
    let same = |of: fn(&Traced) -> f64| {
        let (found, expected) = (of(paused.traced()), of(busy.traced()));
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{found} is not {expected}"
        );
    };
    same(|t| t.rate_per_s);
    same(|t| t.utilisation_gvl);
    same(|t| t.utilisation_threads);
    assert!((paused.recorded().throughput_per_s / 95.0 - 1.0).abs() < 0.01);
    let said = |a: &&Assumption| matches!(a, Assumption::Idle { pauses: 2, .. });
    let said = paused.assumptions().iter().find(said).unwrap().to_string();
    assert!(
        said.starts_with("53.") && said.contains("(2 pauses)"),
        "{said}"
    );
    let idle = |a: &Assumption| matches!(a, Assumption::Idle { .. });
    assert!(!busy.assumptions().iter().any(idle));
}

/// Few requests a second have long distances between them, which are no pauses.
#[test]
fn slow_traffic_is_not_shortened() {
    let requests: Vec<Request> = (0..600)
        .map(|n| Request::new(n * 7_000 * MS + n % 3 * 2_000 * MS, &[Did::Held(MS)]))
        .collect();
    let found = traced(&requests, 3);
    assert!((found.traced().rate_per_s * 7.0 - 1.0).abs() < 0.01);
}

/// Ten at once need ten connections, of which three threads wait for three.
fn ten_at_once() -> Vec<Request> {
    let mut requests = at_95_per_s(1_500, 5 * MS, |_| 0);
    for (request, n) in requests.iter_mut().zip(0..) {
        request.arrival_ns = n / 10 * 10_000 * MS / 95;
    }
    requests
}

/// The requests with response times that are so many times those of a simulation.
fn recorded(requests: &[Request], bench: &Bench, times: u64) -> Vec<Request> {
    let all = requests.iter().zip(bench.replayed_ns());
    let queued = |(request, &response_ns): (&Request, &u64)| Request {
        queue_ns: Some((times * response_ns).saturating_sub(6 * MS)),
        ..request.clone()
    };
    all.map(queued).collect()
}

/// What a simulation with kept connections answers is taken as recorded: nothing but response times says that they were kept.
#[test]
fn kept_connections_are_seen_in_the_response_times() {
    let requests = ten_at_once();
    let kept = Machine {
        keep_alive: Some(true),
        ..MACHINE
    };
    let as_kept = Bench::new(traced(&requests, 3), kept).unwrap();
    let recorded = |bench: &Bench| recorded(&requests, bench, 1);
    let found = bench(&recorded(&as_kept), 3);
    let said = |a: &Assumption| matches!(a, Assumption::ConnectionsKept { .. });
    assert!(found.application().assumptions().iter().any(said));
    assert_eq!(found.application().costs().kept, Some(true));
    assert!(!found.self_check().failed(), "{:?}", found.self_check());
    assert!(found.scenario(found.traced_point()).keep_alive);
    // Nothing says so where the times are as without.
    let requests = recorded(&bench(&requests, 3));
    let opened = bench(&requests, 3);
    assert!(!opened.application().assumptions().iter().any(said));
    assert!(!opened.self_check().failed() && opened.causes().is_empty());
    // Where it is said wrongly the cause is named.
    let wrong = Bench::new(traced(&requests, 3), kept).unwrap();
    assert!(wrong.self_check().failed());
    let cause = &wrong.causes()[0];
    assert!(matches!(cause, Cause::Connections { kept: true, .. }));
    assert!(
        cause.to_string().contains("leave --keep-alive out"),
        "{cause}"
    );
}

/// Any queue makes requests take longer than predicted, and kept connections do so in the simulation.
#[test]
fn kept_connections_that_fail_the_check_too_are_only_possible() {
    let requests = ten_at_once();
    let kept = Machine {
        keep_alive: Some(true),
        ..MACHINE
    };
    let as_kept = Bench::new(traced(&requests, 3), kept).unwrap();
    let found = bench(&recorded(&requests, &as_kept, 4), 3);
    assert!(found.self_check().failed());
    assert_eq!(found.application().costs().kept, None);
    assert!(!found.scenario(found.traced_point()).keep_alive);
    let said = |a: &Assumption| matches!(a, Assumption::ConnectionsKept { .. });
    assert!(!found.application().assumptions().iter().any(said));
    let causes = found.causes();
    assert!(!causes.contains(&Cause::ThreadsOccupied), "{causes:?}");
    let [others @ .., last @ Cause::Connections { kept: false, .. }] = &causes[..] else {
        panic!("{causes:?}");
    };
    assert!(!others.is_empty(), "{causes:?}");
    let said = last.to_string();
    assert!(said.starts_with("The clients may have kept"), "{said}");
    assert!(said.ends_with("give --keep-alive if they did."), "{said}");
}

#[test]
fn a_queue_that_grows_is_a_server_that_cannot_keep_up() {
    let found = bench(&at_95_per_s(900, 2 * MS, |n| n * 10 * MS), 3);
    let causes = found.causes();
    let grew = causes.iter().find(|c| matches!(c, Cause::QueueGrew { .. }));
    let said = grew.unwrap().to_string();
    assert!(
        said.contains("from 1495 ms") && said.contains("to 7495 ms"),
        "{said}"
    );
    assert!(said.contains("a lower rate"), "{said}");
}

/// The queue is long where more requests arrive, and the server is not busy over the whole trace.
#[test]
fn loads_of_different_rates_are_named_and_not_a_server_that_cannot_keep_up() {
    let mut requests = at_95_per_s(900, 2 * MS, |n| n / 600 * 300 * MS);
    for (request, n) in requests.iter_mut().zip(0_u64..) {
        request.arrival_ns = n.min(450) * 25 * MS + n.saturating_sub(450) * 10 * MS;
    }
    let found = bench(&requests, 3);
    assert!(found.self_check().failed());
    let causes = found.causes();
    let differ = causes
        .iter()
        .find(|c| matches!(c, Cause::RatesDiffer { .. }));
    let said = differ.unwrap().to_string();
    assert!(
        said.contains("from 40.0 to 100.0 requests a second"),
        "{said}"
    );
    assert!(said.contains("--since and --until"), "{said}");
    let grew = causes.iter().find(|c| matches!(c, Cause::QueueGrew { .. }));
    assert_eq!(grew, None, "{causes:?}");
}

#[test]
fn a_warm_up_is_told_by_its_part_of_the_trace() {
    let queue = |n: u64| if n < 150 { 400 * MS } else { 0 };
    let found = bench(&at_95_per_s(1_000, 2 * MS, queue), 3);
    assert!(found.self_check().failed());
    let causes = found.causes();
    let [
        Cause::WarmUp {
            parts: 2,
            rest_wall_ns,
            ..
        },
    ] = causes[..]
    else {
        panic!("{causes:?}");
    };
    assert!(
        causes[0]
            .to_string()
            .contains("the first 20 % of the requests")
    );
    let record = &process(&at_95_per_s(1_000, 2 * MS, queue), 3, true)
        .flight
        .records[200];
    assert_eq!(rest_wall_ns, record.arrival_wall_ns);
}

#[test]
fn stalls_that_nothing_explains_are_said_to_be_that() {
    let queue = |n: u64| if n.is_multiple_of(2) { 300 * MS } else { 0 };
    let found = bench(&at_95_per_s(1_000, 2 * MS, queue), 3);
    let causes = found.causes();
    assert_eq!(causes, [Cause::Stalls { parts: 10 }]);
    assert!(causes[0].to_string().contains("10 of 10 parts"));
}

/// One request in 12 is slow: the p95 alone is outside its limits, and no mean of a part is.
#[test]
fn a_failure_without_a_slow_part_is_named_by_its_figures() {
    let queue = |n: u64| if n.is_multiple_of(12) { 16 * MS } else { MS };
    let found = bench(&at_95_per_s(1_000, 2 * MS, queue), 3);
    let causes = found.causes();
    let [Cause::Unknown { .. }] = causes[..] else {
        panic!("{causes:?} {:?}", found.self_check());
    };
    let said = causes[0].to_string();
    assert!(
        said.starts_with("The prediction is outside the limits (p95 -")
            && said.contains("nothing recorded says why"),
        "{said}"
    );
    assert!(
        !said.contains("0 of 10") && !said.contains("mean"),
        "{said}"
    );
}

#[test]
fn a_thread_without_a_processor_is_a_busy_machine() {
    let mut requests = at_95_per_s(1_000, 4 * MS, |n| n % 10 * 40 * MS);
    requests.iter_mut().for_each(|r| r.cpu_ns = Some(2 * MS));
    let found = bench(&requests, 3);
    let causes = found.causes();
    let busy = causes
        .iter()
        .find(|c| matches!(c, Cause::MachineBusy { .. }));
    assert!(
        busy.unwrap().to_string().contains("for 50 % of the time"),
        "{causes:?}"
    );
}

#[test]
fn rings_that_no_longer_hold_the_beginning_are_named() {
    let mut trace = process(&at_95_per_s(1_000, 2 * MS, |n| n % 2 * 300 * MS), 3, true);
    trace.flight.records.iter_mut().for_each(|r| r.index += 500);
    let application = application(vec![trace]).unwrap();
    let causes = Bench::new(application, MACHINE).unwrap().causes();
    let lost = |c: &Cause| matches!(c, Cause::Overwritten { records: 500, .. });
    assert!(causes.iter().any(lost), "{causes:?}");
}
