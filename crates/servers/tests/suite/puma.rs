//! Real Pumas under a real guard: what was asked is what runs, and nothing outlives it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;

use crate::support::{App, RAISED, RAISES, died, eventually, get, is_gone, kill, never, start};
use servers::{Running, ServerCommand, ServerSpec, StartError};

#[test]
fn single_mode_runs_as_asked_and_stops_clean() {
    let app = App::hello();
    let server = start(&app.spec(3, 0, false));
    let status = server.status().unwrap();
    assert!(!status.cluster);
    let read = server.read_back().unwrap();
    assert_eq!(read.mismatches, []);
    assert_eq!(
        (read.workers, read.max_threads.as_slice(), read.min_threads),
        (0, [3].as_slice(), Some(3))
    );
    server.alive().unwrap();
    let (guard, pid) = (server.guard_pid(), server.server_pid());
    let report = server.stop();
    assert!(report.clean, "{report:?}");
    assert!(is_gone(guard) && is_gone(pid));
    assert!(
        !app.path().join("work/puma.rb").exists(),
        "it holds the control token"
    );
}

#[test]
fn a_cluster_has_all_its_workers_and_preloads_only_when_asked() {
    for preload in [false, true] {
        // The master evaluates config.ru exactly when it preloads.
        let app = App::new(
            "File.write('loaded-by', \"#{Process.pid}\\n\", mode: 'a')\nrun ->(env) { [200, {}, []] }\n",
        );
        let server = start(&app.spec(2, 2, preload));
        let status = server.status().unwrap();
        assert_eq!((status.worker_count(), status.booted()), (2, 2));
        let read = server.read_back().unwrap();
        assert_eq!(read.mismatches, [], "preload {preload}");
        assert_eq!(read.preload, Some(preload));
        assert_eq!(read.max_threads, [2, 2]);
        let loaded = std::fs::read_to_string(app.path().join("loaded-by")).unwrap();
        let by_master = loaded
            .lines()
            .all(|pid| pid == server.server_pid().to_string());
        assert_eq!(by_master, preload, "{loaded}");
        let pids: Vec<u32> = status
            .workers
            .iter()
            .map(|worker| worker.pid.unwrap())
            .collect();
        // Whether its workers end by themselves is Puma's affair: some hang at SIGTERM.
        let report = server.stop();
        assert!(report.left_pids.is_empty(), "{report:?}");
        assert!(pids.into_iter().all(is_gone));
    }
}

#[test]
fn an_application_that_raises_on_boot_shows_its_last_lines() {
    let app = App::new(RAISES);
    let message = died(&app, &app.spec(1, 0, false));
    for part in [RAISED, "exit status 1"] {
        assert!(message.contains(part), "{message}");
    }
}

/// Puma's master would start such a worker again until the time to boot is over.
#[test]
fn an_application_that_raises_in_a_worker_ends_the_attempt() {
    let app = App::new("ENV.fetch('STRIPE_KEY')\n");
    let error = servers::start(&app.spec(1, 2, false), &never).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, StartError::Hopeless { .. }), "{message}");
    let (first, rest) = message.split_once('\n').unwrap();
    assert!(
        first.ends_with("a worker: key not found: \"STRIPE_KEY\""),
        "{message}"
    );
    assert!(rest.contains("--env STRIPE_KEY=VALUE"), "{message}");
}

#[test]
fn an_application_that_answers_500_is_refused() {
    let app = App::new("run ->(env) { [500, {}, ['no']] }\n");
    let error = servers::start(&app.spec(1, 0, false), &never).unwrap_err();
    assert!(
        matches!(error, StartError::AnswersError { status: 500, .. }),
        "{error}"
    );
}

#[test]
fn a_port_in_use_is_refused_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let app = App::hello();
    let spec = ServerSpec {
        port: Some(port),
        ..app.spec(1, 0, false)
    };
    let error = servers::start(&spec, &never).unwrap_err();
    assert!(
        matches!(error, StartError::PortInUse { port: named } if named == port),
        "{error}"
    );
    assert!(!spec.log_path.exists());
}

#[test]
fn a_custom_command_that_ignores_the_threads_is_a_mismatch() {
    let app = App::hello();
    app.write("own.rb", "threads 1, 2\n");
    let words = "puma -C own.rb -C {config} -b tcp://127.0.0.1:{port} -w {workers}";
    let words = words.split(' ').map(String::from).collect();
    let spec = ServerSpec {
        command: ServerCommand::Custom { words },
        ..app.spec(5, 0, false)
    };
    let server = start(&spec);
    let read = server.read_back().unwrap();
    assert_eq!(read.mismatches.len(), 1, "{read:?}");
    let said = read.mismatches[0].to_string();
    assert!(
        said.contains("threads = 5") && said.contains("1 to 2"),
        "{said}"
    );
}

#[test]
fn a_configuration_that_undoes_the_flags_is_a_mismatch() {
    let app = App::hello();
    app.write(
        "config/puma.rb",
        "@config.options.user_options.delete(:max_threads)\nthreads 0, 4\n",
    );
    let server = start(&app.spec(2, 0, false));
    let read = server.read_back().unwrap();
    assert_eq!(
        read.mismatches
            .iter()
            .map(|m| m.knob.as_ref())
            .collect::<Vec<_>>(),
        ["threads"]
    );
    assert_eq!(read.mismatches[0].runs_with, "2 to 4");
}

#[test]
fn the_applications_own_configuration_is_read_too() {
    let app = App::hello();
    app.write("config/puma.rb", "workers 7\nthreads 9, 9\nport 1\npidfile 'mine.pid'\nbefore_fork { File.write('hook', '') }\n");
    for workers in [1, 0] {
        let server = start(&app.spec(1, workers, false));
        assert_eq!(server.read_back().unwrap().mismatches, []);
        assert!(app.path().join("hook").exists());
    }
    assert!(
        !app.path().join("mine.pid").exists(),
        "a server in production may own it"
    );
}

#[test]
fn the_agent_is_injected_and_writes_where_it_should() {
    let app = App::hello();
    let flight_dir = app.path().join("flight");
    let agent = crate::support::agent(&app.path().join("cache"), &flight_dir);
    let server = start(&ServerSpec {
        agent: Some(agent),
        ..app.spec(1, 1, false)
    });
    let worker = server.status().unwrap().workers[0].pid.unwrap();
    let of_worker = format!("{worker}-");
    eventually("the worker has a flight file", || {
        crate::support::flights(&flight_dir)
            .iter()
            .any(|name| name.starts_with(&of_worker))
    });
}

#[test]
fn paths_may_be_relative_and_sockets_deep() {
    let app = App::hello();
    app.write("config/puma.rb", "before_fork { File.write('hook', '') }\n");
    let up = "../".repeat(std::env::current_dir().unwrap().components().count() - 1);
    let here = Path::new(&up).join(app.path().strip_prefix("/").unwrap());
    let mut spec = app.spec(1, 1, false);
    spec.app_dir = here.clone();
    spec.work_dir = here.join("deep".repeat(30)).join("work");
    spec.log_path = here.join("relative.log");
    let server = start(&spec);
    assert_eq!(server.status().unwrap().worker_count(), 1);
    assert!(app.path().join("hook").exists() && app.path().join("relative.log").exists());
}

/// Three workers, of which the first forks the others, and again after 5 requests; Puma counts them once a second.
fn that_reforks(app: &App) -> Running {
    app.write("config/puma.rb", "fork_worker 5\nworker_check_interval 1\n");
    start(&app.spec(1, 3, false))
}

/// The process of each worker that has one, by number.
fn worker_pids(server: &Running) -> BTreeMap<u32, u32> {
    let workers = server.status().unwrap().workers.into_iter();
    workers
        .filter_map(|worker| Some((worker.index?, worker.pid?)))
        .collect()
}

#[test]
fn workers_that_puma_reforks_have_not_crashed() {
    let app = App::hello();
    let server = that_reforks(&app);
    let first = worker_pids(&server);
    assert_eq!(first.len(), 3);
    assert!(server.replaces_workers());
    eventually("both workers are of the next phase", || {
        get(server.addr(), "/");
        let now = worker_pids(&server);
        now.len() == 3 && now[&1] != first[&1] && now[&2] != first[&2]
    });
    assert_eq!(server.read_back().unwrap().mismatches, []);
    assert!(server.replaces_workers());
    assert_eq!(worker_pids(&server)[&0], first[&0]);
    kill(worker_pids(&server)[&2]);
    eventually("a crash after it is noticed", || !server.replaces_workers());
}

#[test]
fn a_worker_that_crashed_was_not_reforked() {
    for number in [0, 1] {
        let app = App::hello();
        let server = that_reforks(&app);
        assert!(server.replaces_workers());
        kill(worker_pids(&server)[&number]);
        eventually("the crash is noticed", || !server.replaces_workers());
    }
    let app = App::hello();
    assert!(!start(&app.spec(1, 2, false)).replaces_workers());
}

#[test]
fn a_server_killed_midway_is_noticed() {
    let app = App::hello();
    let server = start(&app.spec(1, 0, false));
    kill(server.server_pid());
    eventually("the death is reported", || server.alive().is_err());
    let died = server.alive().unwrap_err();
    assert_eq!(died.exit, Some(servers::Exit::Signal(9)));
    assert_eq!(server.stop().exit, Some(servers::Exit::Signal(9)));
}

#[test]
fn bundler_is_used_where_the_lock_names_puma_and_it_works() {
    let app = App::hello();
    app.write(
        "Gemfile",
        "source 'https://rubygems.org'\ngem 'puma'\ngem 'rack'\n",
    );
    let locked = std::process::Command::new("bundle")
        .args(["lock", "--local"])
        .current_dir(app.path())
        .status();
    assert!(locked.unwrap().success());
    let program = servers::default_puma_command(app.path());
    assert_eq!(program, ["bundle", "exec", "puma"]);
    let command = ServerCommand::Puma {
        program,
        config: None,
    };
    let server = start(&ServerSpec {
        command,
        ..app.spec(2, 0, false)
    });
    assert_eq!(server.read_back().unwrap().mismatches, []);
    let report = server.stop();
    assert!(report.clean, "{report:?}");
    let lock = std::fs::read_to_string(app.path().join("Gemfile.lock")).unwrap();
    let broken: String = lock.replace("    puma (", "    puma (99.");
    app.write("Gemfile.lock", &broken);
    assert_eq!(servers::default_puma_command(app.path()), ["puma"]);
}

#[test]
fn a_missing_program_is_named() {
    let app = App::hello();
    let words = vec!["no-such-server".to_string()];
    let spec = ServerSpec {
        command: ServerCommand::Custom { words },
        ..app.spec(1, 0, false)
    };
    let message = servers::start(&spec, &never).unwrap_err().to_string();
    assert!(
        message.contains("no-such-server") && message.contains("PATH"),
        "{message}"
    );
    let spec = ServerSpec {
        command: ServerCommand::Custom { words: vec![] },
        ..spec
    };
    assert!(matches!(
        servers::start(&spec, &never),
        Err(StartError::EmptyCommand)
    ));
    let error = servers::start(&app.spec(0, 0, false), &never).unwrap_err();
    assert!(error.to_string().contains("threads = 0"), "{error}");
}
