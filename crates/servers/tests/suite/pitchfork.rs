//! Real Pitchforks under a real guard, where the gem is installed: what differs from Unicorn.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{
    App, RAISED, RAISES, SLOW, await_flights_of, died, eventually, get, is_gone, start,
    stop_during_a_request, without_pitchfork,
};
use servers::{PreforkServer, PreforkSpec, ServerCommand, ServerSpec};

fn asked() -> PreforkSpec {
    PreforkSpec::of(PreforkServer::Pitchfork, vec!["pitchfork".into()])
}

fn pitchfork(app: &App, workers: u16, asked: PreforkSpec) -> ServerSpec {
    ServerSpec {
        command: ServerCommand::Prefork(asked),
        ..app.spec(1, workers, true)
    }
}

#[test]
fn it_runs_as_asked_and_stops_clean() {
    if without_pitchfork() {
        return;
    }
    // The first mold alone evaluates config.ru's block.
    let app = App::new(
        "File.write('loaded-by', \"#{Process.pid}\\n\", mode: 'a')\nrun ->(env) { [200, {}, []] }\n",
    );
    app.write(
        "config/pitchfork.rb",
        "worker_processes 5\nlisten 'own.sock'\nafter_worker_ready { |_, worker| File.write(\"ready-#{worker.nr}\", '') }\n",
    );
    let server = start(&pitchfork(&app, 2, asked()));
    let read = server.read_back().unwrap();
    assert_eq!(read.mismatches, []);
    assert_eq!((read.workers, read.preload), (2, Some(true)));
    assert_eq!((read.max_threads, read.min_threads), (vec![1, 1], Some(1)));
    assert!(read.server.unwrap().starts_with("Pitchfork 0."));
    assert!(!server.replaces_workers());
    let loaded = std::fs::read_to_string(app.path().join("loaded-by")).unwrap();
    assert_eq!(loaded.lines().count(), 1, "{loaded}");
    let there = |name: &str| app.path().join(name).exists();
    assert!(there("ready-0") && there("ready-1") && !there("ready-2") && !there("own.sock"));
    assert_eq!(server.own_pids().len(), 3, "the monitor and its workers");
    let pids = server.processes().application;
    assert_eq!(pids.len(), 4, "the mold, too");
    let report = server.stop();
    assert!(report.clean, "{report:?}");
    assert_eq!(report.exit, Some(servers::Exit::Code(0)));
    assert!(pids.into_iter().all(is_gone));
    assert!(!there("work/pitchfork.rb"));
}

/// The title of a worker begins with its generation.
fn generations(pids: impl IntoIterator<Item = u32>) -> Vec<String> {
    let title = |pid| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok();
    let mut found: Vec<String> = pids
        .into_iter()
        .filter_map(title)
        .filter(|title| title.contains(" worker["))
        .filter_map(|title| Some(title.split(['(', ')']).nth(1)?.to_owned()))
        .collect();
    found.sort();
    found
}

#[test]
fn workers_of_the_next_generation_are_read_back() {
    if without_pitchfork() {
        return;
    }
    let app = App::hello();
    app.write(
        "config/pitchfork.rb",
        "after_mold_fork { |_, _| Pitchfork::Info.close_all_ios! }\n",
    );
    let server = start(&pitchfork(
        &app,
        2,
        PreforkSpec {
            refork_after: Some("3,5,false".parse().unwrap()),
            refork_max_unavailable: Some(2),
            ..asked()
        },
    ));
    assert_eq!(server.read_back().unwrap().mismatches, []);
    assert!(server.replaces_workers());
    for generation in ["gen:1", "gen:2"] {
        eventually("all workers are of the next generation", || {
            get(server.addr(), "/");
            generations(server.own_pids()) == [generation; 2]
        });
        assert_eq!(server.read_back().unwrap().mismatches, []);
    }
    assert!(server.stop().clean);
}

#[test]
fn reforking_that_the_application_changes_is_named() {
    if without_pitchfork() {
        return;
    }
    let app = App::hello();
    app.write(
        "config/pitchfork.rb",
        "after_worker_fork { |server, _| server.refork_condition = nil }\n",
    );
    let server = start(&pitchfork(
        &app,
        1,
        PreforkSpec {
            refork_after: Some("50".parse().unwrap()),
            ..asked()
        },
    ));
    let mismatches = server.read_back().unwrap().mismatches;
    let told: Vec<_> = mismatches.iter().map(ToString::to_string).collect();
    assert!(
        told[0]
            .starts_with("pitchfork.refork_after = [50] was asked, the server runs with nothing"),
        "{told:?}"
    );
}

#[test]
fn an_application_that_raises_ends_the_attempt_with_its_last_lines() {
    if without_pitchfork() {
        return;
    }
    for (config_ru, config) in [
        (RAISES, ""),
        (
            "run ->(env) { [200, {}, []] }\n",
            "after_worker_fork { |_, _| raise 'the moon is in the wrong house' }\n",
        ),
    ] {
        let app = App::new(config_ru);
        app.write("config/pitchfork.rb", config);
        let message = died(&app, &pitchfork(&app, 2, asked()));
        assert!(message.contains(RAISED), "{message}");
    }
}

#[test]
fn requests_in_flight_are_answered_before_the_end() {
    if without_pitchfork() {
        return;
    }
    let app = App::new(SLOW);
    let server = start(&ServerSpec {
        ready_path: "/".into(),
        ..pitchfork(&app, 1, asked())
    });
    stop_during_a_request(&app, server);
}

#[test]
fn the_agent_reaches_the_workers_alone() {
    if without_pitchfork() {
        return;
    }
    let app = App::hello();
    let flight_dir = app.path().join("flight");
    let agent = crate::support::agent(&app.path().join("cache"), &flight_dir);
    let server = start(&ServerSpec {
        agent: Some(agent),
        ..pitchfork(&app, 2, asked())
    });
    let is_worker = |pid: &u32| {
        let title =
            std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("cmdline"));
        title.is_ok_and(|title| title.contains(" worker["))
    };
    let workers: BTreeSet<u32> = server.own_pids().into_iter().filter(is_worker).collect();
    assert_eq!(workers.len(), 2);
    await_flights_of(&flight_dir, &workers);
}
