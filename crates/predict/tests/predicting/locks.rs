//! Locks that requests held during I/O.

use crate::support::{Did, MS, Request, application, process, steady};
use flight::{Lock, LockKind};
use predict::{Assumption, Bench, Machine, OfferedLoad, Point, Prediction};

const MACHINE: Machine = Machine {
    cores: 8.0,
    quota: None,
    keep_alive: None,
};

fn row(objects: u32) -> Lock {
    Lock {
        row: 1,
        kind: LockKind::Mutex,
        site: "lib/cache.rb:41".to_owned(),
        first_mono_ns: 1,
        waits: 400,
        wait_ns: 800 * MS,
        longest_wait_ns: 10 * MS,
        holds: 800,
        held_ns: 8_000 * MS,
        longest_held_ns: 10 * MS,
        objects,
    }
}

/// 2 ms held, then 10 ms of I/O under the lock, for which every other request waited for 4 ms.
fn traced(objects: u32) -> Bench {
    let did = |n: u64| match n % 2 {
        0 => vec![Did::Held(2 * MS), Did::Locked(10 * MS), Did::Held(MS)],
        _ => vec![
            Did::Held(2 * MS),
            Did::Awaited(4 * MS),
            Did::Held(1_000),
            Did::Locked(10 * MS),
            Did::Held(MS),
        ],
    };
    let mut requests: Vec<Request> = steady(800, 40 * MS, did);
    for (n, request) in requests.iter_mut().enumerate() {
        request.busy_threads = 1 + (n as u16 % 2);
    }
    let mut process = process(&requests, 2, true);
    process.flight.locks = Some(vec![row(objects)]);
    process.flight.totals.requests = 800;
    let application = application(vec![process]).unwrap().with_process_cpu(0);
    Bench::new(application, MACHINE).unwrap()
}

fn full(bench: &Bench, processes: u16, threads: u16) -> Prediction {
    let offered = OfferedLoad::Closed {
        connections: 2 * u32::from(processes) * u32::from(threads),
        requests: 2_000,
    };
    bench
        .predict(Point { processes, threads }, &offered, 1)
        .unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "{found} is not {expected}"
    );
}

/// One thread does 1 / 13 ms. Of more threads the lock lets 1 / 10 ms pass in each process, less what its owner waits for the GVL.
#[test]
fn a_lock_lets_so_many_pass_however_many_threads_there_are() {
    let bench = traced(1);
    close(
        full(&bench, 1, 1).figures.throughput_per_s,
        1e3 / 13.0,
        0.01,
    );
    close(full(&bench, 1, 1).utilisation_lock, 10.0 / 13.0, 0.01);
    for threads in [4, 8, 16] {
        let found = full(&bench, 1, threads);
        close(found.figures.throughput_per_s, 100.0, 0.15);
        assert!(found.figures.throughput_per_s < 100.0);
        close(found.utilisation_lock, 1.0, 0.02);
    }
    close(full(&bench, 3, 8).figures.throughput_per_s, 300.0, 0.15);
    let locks = bench.application().locks();
    assert_eq!(
        (locks.len(), locks[0].site.as_str()),
        (1, "lib/cache.rb:41")
    );
    close(locks[0].held_ms, 10.0, 0.001);
    close(locks[0].wait_ms, 1.0, 0.001);
    let said: Vec<String> = bench
        .application()
        .assumptions()
        .iter()
        .map(Assumption::to_string)
        .collect();
    let lock = "requests waited 1.00 ms for the lock at lib/cache.rb:41 and held it for 10.00 ms: each process has one, and lets at most 100 requests a second pass";
    assert!(said.iter().any(|said| said.starts_with(lock)), "{said:?}");
    assert!(!said.iter().any(|said| said.contains("stall")), "{said:?}");
}

/// Which of several locks a request held is not known: the waits are stalls, as without the table.
#[test]
fn several_locks_at_one_line_are_left_out() {
    let bench = traced(3);
    assert_eq!(bench.application().locks(), []);
    assert!(full(&bench, 1, 8).figures.throughput_per_s > 250.0);
    let stalls = |a: &Assumption| matches!(a, Assumption::LocksLeftOut { .. });
    assert!(bench.application().assumptions().iter().any(stalls));
}
