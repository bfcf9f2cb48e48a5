//! Real Unicorns under a real guard: what was asked is what runs, and nothing outlives it.

#[allow(dead_code, reason = "shared with the other test programs")]
use std::net::TcpListener;
use std::path::PathBuf;

use crate::support::{
    App, RAISED, RAISES, SLOW, died, eventually, get, is_gone, kill, never, start,
    stop_during_a_request,
};
use servers::{PreforkServer, PreforkSpec, ServerCommand, ServerSpec, StartError};

fn unicorn(app: &App, workers: u16, preload: bool) -> ServerSpec {
    ServerSpec {
        command: command(&["unicorn"], None),
        ..app.spec(1, workers, preload)
    }
}

fn command(program: &[&str], config: Option<PathBuf>) -> ServerCommand {
    let program = program.iter().map(|word| (*word).to_string()).collect();
    ServerCommand::Prefork(PreforkSpec {
        config,
        ..PreforkSpec::of(PreforkServer::Unicorn, program)
    })
}

#[test]
fn it_runs_as_asked_and_stops_clean() {
    for preload in [false, true] {
        // The master evaluates config.ru's block exactly when it preloads.
        let app = App::new(
            "File.write('loaded-by', \"#{Process.pid}\\n\", mode: 'a')\nrun ->(env) { [200, {}, []] }\n",
        );
        let server = start(&unicorn(&app, 2, preload));
        let read = server.read_back().unwrap();
        assert_eq!(read.mismatches, [], "preload {preload}");
        assert_eq!((read.workers, read.preload), (2, Some(preload)));
        assert_eq!((read.max_threads, read.min_threads), (vec![1, 1], Some(1)));
        assert!(read.server.unwrap().starts_with("Unicorn 6."));
        let loaded = std::fs::read_to_string(app.path().join("loaded-by")).unwrap();
        let by_master = loaded
            .lines()
            .all(|pid| pid == server.server_pid().to_string());
        assert_eq!(by_master, preload, "{loaded}");
        let pids = server.own_pids();
        assert_eq!(pids.len(), 3, "the master and its workers");
        assert!(server.status().is_err(), "it is no Puma");
        let report = server.stop();
        assert!(report.clean, "{report:?}");
        assert_eq!(report.exit, Some(servers::Exit::Code(0)));
        assert!(pids.into_iter().all(is_gone));
        assert!(!app.path().join("work/unicorn.rb").exists());
    }
}

#[test]
fn the_applications_own_configuration_is_evaluated_first_and_its_hooks_stay() {
    let own = "
worker_processes 5
preload_app true
listen '0.0.0.0:1', backlog: 7
listen 'own.sock'
pid 'mine.pid'
stderr_path 'mine.log'
before_fork { |server, worker| File.write('before', __FILE__) }
after_worker_ready { |server, worker| File.write(\"ready-#{worker.nr}\", '') }
";
    let places = [
        ("config/unicorn.rb", command(&["unicorn"], None)),
        ("config/unicorn/production.rb", command(&["unicorn"], None)),
        ("own.rb", command(&["unicorn", "-c", "own.rb"], None)),
        ("given.rb", command(&["unicorn"], Some("given.rb".into()))),
    ];
    for (place, command) in places {
        let app = App::hello();
        let path = app.write(place, own);
        let config = |given: &PathBuf| app.path().join(given);
        let command = match command {
            ServerCommand::Prefork(PreforkSpec {
                config: Some(given),
                program,
                ..
            }) => ServerCommand::Prefork(PreforkSpec {
                config: Some(config(&given)),
                ..PreforkSpec::of(PreforkServer::Unicorn, program)
            }),
            other => other,
        };
        let server = start(&ServerSpec {
            command,
            ..unicorn(&app, 2, false)
        });
        let read = server.read_back().unwrap();
        assert_eq!((read.mismatches, read.workers), (vec![], 2), "{place}");
        let hook = std::fs::read_to_string(app.path().join("before")).unwrap();
        assert_eq!(hook, path.display().to_string());
        let there = |name: &str| app.path().join(name).exists();
        assert!(there("ready-0") && there("ready-1"), "{place}");
        assert!(!there("ready-2") && !there("own.sock"), "{place}");
        assert!(
            !there("mine.pid") && !there("mine.log"),
            "a server in production may own them"
        );
        assert_eq!(listening(&server.own_pids()), [(server.port(), 7)]);
    }
}

/// The ports on which these processes listen, with their backlogs.
fn listening(pids: &std::collections::BTreeSet<u32>) -> Vec<(u16, u32)> {
    let output = std::process::Command::new("ss")
        .args(["-Hltnp"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs = |line: &&str| pids.iter().any(|pid| line.contains(&format!("pid={pid},")));
    text.lines()
        .filter(theirs)
        .map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let port = fields[3].strip_prefix("127.0.0.1:").expect(line);
            (port.parse().unwrap(), fields[2].parse().unwrap())
        })
        .collect()
}

#[test]
fn an_application_that_raises_in_a_worker_ends_the_attempt_with_its_last_lines() {
    for preload in [false, true] {
        let app = App::new(RAISES);
        let message = died(&app, &unicorn(&app, 2, preload));
        for part in [RAISED, "exit status 1"] {
            assert!(message.contains(part), "{preload}: {message}");
        }
    }
}

#[test]
fn a_configuration_that_raises_is_shown() {
    let app = App::hello();
    app.write("config/unicorn.rb", "worker_processes 'many'\n");
    let message = servers::start(&unicorn(&app, 1, false), &never)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("config/unicorn.rb") && message.contains("many"),
        "{message}"
    );
}

#[test]
fn what_it_cannot_do_is_refused_before_anything_starts() {
    let app = App::hello();
    let refused = |spec: ServerSpec| {
        let error = servers::start(&spec, &never).unwrap_err();
        assert!(!spec.log_path.exists());
        error.to_string()
    };
    let spec = ServerSpec {
        command: command(&["unicorn"], None),
        ..app.spec(3, 2, false)
    };
    let message = refused(spec);
    for part in [
        "threads = 3",
        "Unicorn",
        "one request a process",
        "threads = 1",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let message = refused(unicorn(&app, 0, false));
    assert!(
        message.contains("workers = 0 is not possible with Unicorn"),
        "{message}"
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let message = refused(ServerSpec {
        port: Some(port),
        ..unicorn(&app, 1, false)
    });
    assert!(
        message.contains(&format!("port {port} is in use")),
        "{message}"
    );
    let empty = ServerSpec {
        command: command(&[], None),
        ..unicorn(&app, 1, false)
    };
    assert!(matches!(
        servers::start(&empty, &never),
        Err(StartError::EmptyCommand)
    ));
    let absent = ServerSpec {
        command: command(&["no-such-unicorn"], None),
        ..unicorn(&app, 1, false)
    };
    let message = servers::start(&absent, &never).unwrap_err().to_string();
    assert!(
        message.contains("no-such-unicorn") && message.contains("PATH"),
        "{message}"
    );
}

#[test]
fn a_worker_that_is_killed_is_replaced_and_read_back() {
    let app = App::new("run ->(env) { [200, {}, [Process.pid.to_s]] }\n");
    let server = start(&unicorn(&app, 1, true));
    let before = server.own_pids();
    let worker: u32 = get(server.addr(), "/").parse().unwrap();
    kill(worker);
    eventually("another worker is ready", || {
        let now = server.own_pids();
        now.len() == 2 && now != before
    });
    assert_eq!(server.read_back().unwrap().mismatches, []);
    assert!(server.stop().clean);
}

#[test]
fn workers_that_become_another_user_are_read_back() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let app = App::new("run ->(env) { [200, {}, [Process.uid.to_s]] }\n");
    app.write("config/unicorn.rb", "user 'nobody', 'nogroup'\n");
    let server = start(&unicorn(&app, 2, true));
    assert_ne!(get(server.addr(), "/"), "0");
    assert_eq!(server.read_back().unwrap().mismatches, []);
    assert!(server.stop().clean);
}

#[test]
fn requests_in_flight_are_answered_before_the_end() {
    let app = App::new(SLOW);
    let server = start(&ServerSpec {
        ready_path: "/".into(),
        ..unicorn(&app, 1, false)
    });
    stop_during_a_request(&app, server);
}

#[test]
fn the_agent_reaches_the_workers() {
    let app = App::new("run ->(env) { [200, {}, []] }\n");
    let flight_dir = app.path().join("flight");
    let agent = crate::support::agent(&app.path().join("cache"), &flight_dir);
    let server = start(&ServerSpec {
        agent: Some(agent),
        ..unicorn(&app, 2, false)
    });
    let workers = server.own_pids();
    for &pid in &workers {
        let environment = servers::environment_of(pid).unwrap();
        assert_eq!(environment["RUBYOPT"], "-rpowerband/inject");
        assert_eq!(environment["WEB_CONCURRENCY"], "2");
    }
    eventually("each worker has a flight file", || {
        crate::support::flights(&flight_dir)
            .iter()
            .filter(|name| {
                workers
                    .iter()
                    .any(|pid| name.starts_with(&format!("{pid}-")))
            })
            .count()
            == 2
    });
}
