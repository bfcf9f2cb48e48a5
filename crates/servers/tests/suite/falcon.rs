//! Real Falcons under a real guard, where the gem is installed: `falcon serve` with a number of processes.

use std::collections::BTreeSet;

use crate::support::{
    App, RAISED, RAISES, SLOW, await_flights_of, died, eventually, get, is_gone, kill, start,
    stop_during_a_request, without_falcon,
};
use servers::{ServerCommand, ServerSpec};

fn falcon(app: &App, workers: u16) -> ServerSpec {
    let command = ServerCommand::Falcon {
        program: servers::default_falcon_command(app.path()),
    };
    ServerSpec {
        command,
        ..app.spec(1, workers, false)
    }
}

#[test]
fn it_runs_as_asked_and_stops_clean() {
    if without_falcon() {
        return;
    }
    // Each process loads the application.
    let app = App::new(
        "File.write('loaded-by', \"#{Process.pid}\\n\", mode: 'a')\nrun ->(env) { [200, {}, ['hello']] }\n",
    );
    let server = start(&falcon(&app, 2));
    let read = server.read_back().unwrap();
    assert_eq!(read.mismatches, []);
    assert_eq!((read.workers, read.preload), (2, Some(false)));
    assert_eq!((read.max_threads, read.min_threads), (vec![1, 1], Some(1)));
    assert_eq!(get(server.addr(), "/"), "hello");
    let mut workers = server.own_pids();
    assert!(workers.remove(&server.server_pid()));
    let loaded = std::fs::read_to_string(app.path().join("loaded-by")).unwrap();
    let loaded_by: BTreeSet<u32> = loaded.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(loaded_by, workers);
    assert!(!server.replaces_workers());
    assert_eq!(server.ended(), None);
    let pids = server.processes().application;
    let report = server.stop();
    assert!(report.clean, "{report:?}");
    assert!(pids.into_iter().all(is_gone));
}

#[test]
fn a_process_that_is_killed_is_missing_and_not_replaced() {
    if without_falcon() {
        return;
    }
    let app = App::hello();
    let server = start(&falcon(&app, 2));
    let is_worker = |pid: &u32| *pid != server.server_pid();
    kill(server.own_pids().into_iter().find(is_worker).unwrap());
    eventually("the process is missing", || server.ended().is_some());
    assert_eq!(server.ended().unwrap(), "1 of 2 processes serve");
    let mismatches = server.read_back().unwrap().mismatches;
    assert_eq!(mismatches[0].knob, "workers");
    assert_eq!(get(server.addr(), "/"), "hello");
    server.alive().unwrap();
}

#[test]
fn an_application_that_raises_ends_the_attempt_with_its_last_lines() {
    if without_falcon() {
        return;
    }
    let app = App::new(RAISES);
    let message = died(&app, &falcon(&app, 2));
    assert!(message.contains(RAISED), "{message}");
}

#[test]
fn requests_in_flight_are_answered_before_the_end() {
    if without_falcon() {
        return;
    }
    // It ends what takes longer than a second (`--graceful-stop`).
    let app = App::new(&SLOW.replace("sleep 1", "sleep 0.3"));
    let server = start(&ServerSpec {
        ready_path: "/".into(),
        ..falcon(&app, 1)
    });
    stop_during_a_request(&app, server);
}

#[test]
fn the_agent_reaches_the_processes_that_serve() {
    if without_falcon() {
        return;
    }
    let app = App::hello();
    let flight_dir = app.path().join("flight");
    let agent = crate::support::agent(&app.path().join("cache"), &flight_dir);
    let server = start(&ServerSpec {
        agent: Some(agent),
        ..falcon(&app, 2)
    });
    let mut workers = server.own_pids();
    workers.remove(&server.server_pid());
    assert_eq!(workers.len(), 2);
    await_flights_of(&flight_dir, &workers);
}
