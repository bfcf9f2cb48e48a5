//! What no number is given for.

use predict::{Application, Bench, Machine, PredictError, ProcessTrace, Selection};

use crate::support::{Did, MS, Request, application, process, steady};

fn requests(count: u64) -> Vec<Request> {
    steady(count, 40 * MS, |_| vec![Did::Held(2 * MS), Did::Io(6 * MS)])
}

fn sound() -> ProcessTrace {
    process(&requests(600), 2, true)
}

#[track_caller]
fn refused(processes: Vec<ProcessTrace>) -> PredictError {
    application(processes).expect_err("no prediction is honest here")
}

#[test]
fn too_few_say_how_many_are_needed() {
    let found = refused(vec![process(&requests(499), 2, true)]);
    assert_eq!(
        found,
        PredictError::TooFew {
            found: 499,
            needed: 500
        }
    );
    assert!(
        found
            .to_string()
            .contains("are too few: at least 500 are needed: the interval of a p99")
    );
    assert!(application(vec![process(&requests(500), 2, true)]).is_ok());
}

#[test]
fn nothing_and_nothing_but_jobs() {
    let none = PredictError::NoRequests { jobs: 0 };
    assert_eq!(refused(vec![]), none);
    assert_eq!(refused(vec![process(&[], 2, true)]), none);
    let mut jobs = sound();
    for record in &mut jobs.flight.records {
        record.job = true;
    }
    let found = refused(vec![jobs]);
    assert_eq!(found, PredictError::NoRequests { jobs: 600 });
    assert!(found.to_string().contains("only 600 jobs"));
}

#[test]
fn processes_of_another_application_do_not_count() {
    let (mut one, mut other) = (sound(), sound());
    one.flight.header.app_root = "/srv/shop/releases/2".to_owned();
    other.flight.header.app_root = "/srv/blog".to_owned();
    let of = |application: Option<&str>| {
        let selection = Selection {
            application: application.map(str::to_owned),
            ..Selection::default()
        };
        Application::of(vec![one.clone(), other.clone()], &selection)
    };
    assert_eq!(of(Some("/srv/shop")).unwrap().traced().requests, 600);
    let mixed = of(None).unwrap_err().to_string();
    assert!(
        mixed.contains("/srv/blog: ") && mixed.contains("/srv/shop: "),
        "{mixed}"
    );
    assert_eq!(
        of(Some("/srv/wiki")).unwrap_err().to_string(),
        "\"/srv/wiki\": no process of it recorded into these files; they are of /srv/blog, /srv/shop"
    );
}

#[test]
fn requests_of_another_time_do_not_count() {
    let trace = sound();
    let at = |n: usize| Some(trace.flight.records[n].arrival_wall_ns);
    let of = |since_ns, until_ns| {
        let selection = Selection {
            since_ns,
            until_ns,
            ..Selection::default()
        };
        Application::of(vec![trace.clone()], &selection)
    };
    assert_eq!(of(at(50), None).unwrap().traced().requests, 550);
    assert_eq!(of(at(10), at(560)).unwrap().traced().requests, 550);
    assert!(of(None, at(100)).is_err());
    let selection = Selection {
        until_ns: at(100),
        least: 100,
        ..Selection::default()
    };
    let few = Application::of(vec![trace.clone()], &selection).unwrap();
    assert_eq!(few.traced().requests, 100);
}

#[test]
fn fibers_and_processes_that_could_not_be_measured() {
    let mut fibers = sound();
    fibers.flight.header.fiber_scheduler = true;
    assert_eq!(refused(vec![sound(), fibers]), PredictError::Fibers);
    let mut unsplit = sound();
    unsplit.flight.header.gvl_hook = false;
    assert!(matches!(
        refused(vec![unsplit]),
        PredictError::NotSplit { .. }
    ));
}

#[test]
fn mixed_versions_servers_and_settings() {
    let change: [fn(&mut flight::Header); 4] = [
        |header| header.server.name = "puma 7.1.0".to_owned(),
        |header| header.server.max_threads = Some(3),
        |header| header.server.workers = Some(2),
        |header| header.ruby_version = "3.4.1".to_owned(),
    ];
    for change in change {
        let mut other = sound();
        change(&mut other.flight.header);
        let found = refused(vec![sound(), other]);
        assert!(
            matches!(&found, PredictError::Mixed { found } if found.len() == 2),
            "{found}"
        );
    }
    let mut unknown = sound();
    unknown.flight.header.server.name = "falcon 0.47".to_owned();
    assert!(matches!(
        refused(vec![unknown]),
        PredictError::UnknownServer { .. }
    ));
    let mut sizeless = sound();
    sizeless.flight.header.server.max_threads = None;
    assert!(matches!(
        refused(vec![sizeless]),
        PredictError::UnknownSize { .. }
    ));
}

/// The files of a server that ran an hour before are not mixed in.
#[test]
fn the_latest_server_is_taken() {
    let mut old = sound();
    old.flight.header.server.name = "puma 5.6.5".to_owned();
    for record in &mut old.flight.records {
        record.arrival_wall_ns -= 3_600_000 * MS;
    }
    let found = application(vec![sound(), old]).unwrap();
    assert_eq!((found.traced().requests, found.traced().left_out), (600, 1));
    assert_eq!(found.traced().server.name, "puma 6.6.0");
    let said: Vec<String> = found.assumptions().iter().map(|a| a.to_string()).collect();
    assert!(
        said.iter()
            .any(|s| s.starts_with("1 process of the folder")),
        "{said:?}"
    );
}

#[test]
fn a_trace_that_was_saturated() {
    // Each holds the GVL for as long as the next takes to come.
    let gvl = steady(600, 10 * MS, |_| vec![Did::Held(10 * MS)]);
    let found = refused(vec![process(&gvl, 4, true)]);
    assert!(matches!(
        found,
        PredictError::Saturated {
            what: "the GVL",
            ..
        }
    ));
    let threads = steady(600, 10 * MS, |_| vec![Did::Held(MS), Did::Io(19 * MS)]);
    let found = refused(vec![process(&threads, 2, true)]);
    assert!(matches!(
        found,
        PredictError::Saturated {
            what: "its threads",
            ..
        }
    ));
    assert!(application(vec![process(&threads, 3, true)]).is_ok());
    // Half a core, and 8 ms of work every 15.
    let cores = steady(600, 15 * MS, |_| vec![Did::Held(8 * MS)]);
    let cores = application(vec![process(&cores, 2, true)]).unwrap();
    let machine = |cores| Machine {
        cores,
        quota: None,
        keep_alive: None,
    };
    let found = Bench::new(cores.clone(), machine(0.5)).unwrap_err();
    assert!(matches!(
        found,
        PredictError::Saturated {
            what: "the cores",
            ..
        }
    ));
    assert!(Bench::new(cores.clone(), machine(1.0)).is_ok());
    assert!(matches!(
        Bench::new(cores, machine(-1.0)),
        Err(PredictError::Capacity(_))
    ));
}

/// A wait for a lock that others had is left out, and said; one that a request alone has as well is I/O.
#[test]
fn waits_for_locks() {
    let waiting = |alone_ms: u64, crowded_ms: u64| {
        let mut all = steady(600, 40 * MS, |n| {
            let lock_ms = if n % 2 == 0 { alone_ms } else { crowded_ms };
            vec![Did::Held(2 * MS), Did::Lock(lock_ms * MS), Did::Held(MS)]
        });
        for (request, n) in all.iter_mut().zip(0..) {
            request.busy_threads = 1 + n % 2;
        }
        application(vec![process(&all, 2, true)]).unwrap()
    };
    let steps = |of: &Application| of.work().steps(1).collect::<Vec<_>>();
    let contended = waiting(0, 8);
    assert_eq!(steps(&contended), [capacity::sim::Step::Held(3 * MS)]);
    let said = |of: &Application| {
        of.assumptions()
            .iter()
            .map(|a| a.to_string())
            .collect::<String>()
    };
    assert!(said(&contended).contains("4.00 ms for locks, which is left out"));
    let helped = waiting(8, 8);
    assert_eq!(steps(&helped)[1], capacity::sim::Step::Io(8 * MS));
    assert!(said(&helped).contains("taken as I/O"));
}

/// One of two workers' files was named: half of the requests are missing, and with them half of the rate.
#[test]
fn a_worker_whose_file_is_missing() {
    let worker = |index: u32| {
        let mut trace = sound();
        trace.flight.header.server.workers = Some(2);
        trace.flight.header.server.worker_index = Some(index);
        trace
    };
    let found = refused(vec![worker(0)]);
    let expected = PredictError::WorkersMissing {
        found: 1,
        workers: 2,
    };
    assert_eq!(found, expected);
    assert!(
        found
            .to_string()
            .contains("2 workers, and the files are of 1")
    );
    assert!(application(vec![worker(0), worker(1)]).is_ok());
    let mut unused = worker(1);
    unused.flight.records.clear();
    assert!(application(vec![worker(0), unused]).is_ok());
}
