//! A real Passenger in a real Apache: what was asked is what runs, and nothing outlives it.

#[allow(dead_code, reason = "shared with the other test programs")]
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{
    App, RAISED, RAISES, all_pids, eventually, get, is_gone, kill, never, start, without_passenger,
};
use rustix::process::{Pid, Signal, kill_process};
use servers::{Nginx, PassengerSpec, ServerCommand, ServerSpec, StartError};

const SHOWS_ITS_PROCESS: &str = "run ->(env) { [200, {}, [Process.pid.to_s]] }\n";

fn passenger(app: &App, workers: u16, preload: bool, passenger: PassengerSpec) -> ServerSpec {
    ServerSpec {
        command: ServerCommand::Passenger(passenger),
        stop_grace: Duration::from_secs(20),
        ..app.spec(1, workers, preload)
    }
}

fn two_at_least() -> PassengerSpec {
    PassengerSpec {
        min_instances: 2,
        ..PassengerSpec::default()
    }
}

/// The folder that this start made for Apache and Passenger.
fn own_folder(app: &App) -> PathBuf {
    let text = std::fs::read_to_string(app.path().join("work/apache.conf")).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("ServerRoot "));
    PathBuf::from(line.unwrap().trim_matches('"'))
}

/// The descendants of the guard.
fn descendants(guard: u32) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let descends = |pid: &u32| {
        let mut pid = *pid;
        while let Some(above) = parent(pid).filter(|above| *above > 0) {
            if above == guard {
                return true;
            }
            pid = above;
        }
        false
    };
    all_pids().filter(descends).collect()
}

#[test]
fn it_runs_as_asked_and_stops_clean() {
    if without_passenger() {
        return;
    }
    for preload in [false, true] {
        let app = App::new(SHOWS_ITS_PROCESS);
        // Only the user may look into it, as with a run's own folder.
        std::fs::set_permissions(app.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let server = start(&passenger(&app, 3, preload, two_at_least()));
        let read = server.read_back().unwrap();
        assert_eq!(read.mismatches, [], "preload {preload}");
        assert_eq!((read.workers, read.preload), (3, Some(preload)));
        assert!(read.server.unwrap().starts_with("Passenger 6."));
        let status = server.passenger_status().unwrap();
        assert_eq!((status.max_pool_size, status.requests_in_queue), (3, 0));
        assert_eq!(status.processes.len(), 2);
        let serving: u32 = get(server.addr(), "/").parse().unwrap();
        let status = server.passenger_status().unwrap();
        let one = status.processes.iter().find(|one| one.pid == serving);
        assert!(one.unwrap().processed >= 1, "{status:?}");
        assert!(server.own_pids().contains(&serving));
        let folder = own_folder(&app);
        let all = descendants(server.guard_pid());
        assert!(
            all.len() >= 6,
            "Apache, Passenger's own, the application's: {all:?}"
        );
        let report = server.stop();
        assert!(report.clean, "{report:?}");
        assert!(all.into_iter().all(is_gone));
        assert!(!folder.exists() && !app.path().join("work/apache.conf").exists());
    }
}

#[test]
fn every_variable_reaches_the_application_and_none_is_written_down() {
    if without_passenger() {
        return;
    }
    for preload in [false, true] {
        let app = App::new("run ->(env) { [200, {}, [[Process.pid, ENV.to_h].inspect]] }\n");
        let flight_dir = app.path().join("flight");
        let agent = crate::support::agent(&app.path().join("cache"), &flight_dir);
        let awkward = "it's \"so\" \\ $HOME ${PATH} %{x} #{1}\nand more";
        let given = [
            ("AWKWARD", awkward),
            ("RUBYOPT", "-W0"),
            ("HOME", "/nonexistent"),
        ];
        let given = given.map(|(name, value)| (name.to_string(), value.to_string()));
        let server = start(&ServerSpec {
            env: BTreeMap::from(given),
            agent: Some(agent.clone()),
            ..passenger(&app, 1, preload, PassengerSpec::default())
        });
        let process = server.passenger_status().unwrap().processes[0].pid;
        // A process forked from the preloader shows what that was started with.
        let environment = servers::environment_of(process).unwrap();
        assert_eq!(environment["AWKWARD"], awkward, "preload {preload}");
        assert_eq!(environment["RUBYOPT"], "-rpowerband/inject -W0");
        assert_eq!(environment["RUBYLIB"], agent.lib_dir.display().to_string());
        assert_eq!(
            environment["POWERBAND_DIR"],
            flight_dir.display().to_string()
        );
        assert_eq!(environment["RAILS_ENV"], "production");
        assert_eq!(environment["HOME"], "/nonexistent");
        let own = get(server.addr(), "/");
        assert!(own.contains("RACK_ENV") && own.contains("it's"), "{own}");
        let temporary = format!("\"TMPDIR\" => \"{}\"", std::env::temp_dir().display());
        let temporary = temporary.trim_end_matches('/').replace(" => ", "=>");
        assert!(own.replace(" => ", "=>").contains(&temporary), "{own}");
        eventually("the process has a flight file", || {
            let names = crate::support::flights(&flight_dir);
            names
                .iter()
                .any(|name| name.starts_with(&format!("{process}-")))
        });
        let text = std::fs::read_to_string(app.path().join("work/apache.conf")).unwrap();
        assert!(
            !text.contains("AWKWARD") && !text.contains("and more"),
            "{text}"
        );
    }
}

#[test]
fn an_application_that_raises_shows_its_last_lines() {
    if without_passenger() {
        return;
    }
    let app = App::new(RAISES);
    let spec = passenger(&app, 1, true, PassengerSpec::default());
    let message = servers::start(&spec, &never).unwrap_err().to_string();
    assert!(message.contains(RAISED), "{message}");
    // Passenger writes a report with the whole environment.
    let report = message.split_once("passenger-error-").expect(&message).0;
    let folder = report.rsplit_once(' ').unwrap().1;
    assert!(
        folder.contains("/powerband-") && !Path::new(folder).exists(),
        "{folder}"
    );
    assert!(mentioning(&app).is_empty());
}

/// Processes whose words name this application's folder.
fn mentioning(app: &App) -> Vec<u32> {
    let path = app.path().display().to_string();
    let mentions = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|words| String::from_utf8_lossy(&words).contains(&path))
    };
    all_pids().filter(mentions).collect()
}

#[test]
fn what_it_cannot_do_or_lacks_is_reported_with_the_remedy() {
    if without_passenger() {
        return;
    }
    let app = App::hello();
    let refused = |spec: ServerSpec, parts: &[&str]| {
        let message = servers::start(&spec, &never).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "{part}: {message}");
        }
    };
    let spec = |given| passenger(&app, 1, false, given);
    let threads = ServerSpec {
        settings: app.spec(4, 1, false).settings,
        ..spec(PassengerSpec::default())
    };
    refused(
        threads,
        &["threads = 4", "Passenger", "one request a process"],
    );
    let workers = passenger(&app, 0, false, PassengerSpec::default());
    refused(workers, &["workers = 0", "Passenger"]);
    let apache = PassengerSpec {
        apache: "no-such-apache".into(),
        ..PassengerSpec::default()
    };
    refused(spec(apache), &["no-such-apache", "package apache2"]);
    // Apache's modules, but Passenger's.
    let modules = app.path().join("modules");
    std::fs::create_dir(&modules).unwrap();
    for name in ["mod_mpm_event.so", "mod_authz_core.so", "mod_env.so"] {
        let theirs = PassengerSpec::default().modules.join(name);
        symlink(theirs, modules.join(name)).unwrap();
    }
    let lacking = PassengerSpec {
        modules: modules.clone(),
        ..PassengerSpec::default()
    };
    refused(
        spec(lacking.clone()),
        &["mod_passenger.so", "libapache2-mod-passenger"],
    );
    std::fs::write(modules.join("mod_passenger.so"), "no module").unwrap();
    refused(spec(lacking), &["Apache does not take", "mod_passenger.so"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let taken_port = ServerSpec {
        port: Some(port),
        ..spec(PassengerSpec::default())
    };
    refused(taken_port, &[&format!("port {port} is in use")]);
    let ruby = PassengerSpec {
        ruby: Some("/no/such/ruby".into()),
        ..PassengerSpec::default()
    };
    refused(spec(ruby), &["/no/such/ruby"]);
    assert_eq!(mentioning(&app), [0; 0]);
}

#[test]
fn an_apache_whose_passenger_cannot_start_is_given_up() {
    if without_passenger() {
        return;
    }
    let app = App::hello();
    let real = std::fs::read_to_string(PassengerSpec::default().root).unwrap();
    let line = real
        .lines()
        .find(|line| line.starts_with("support_binaries_dir"));
    let root = app.write(
        "locations.ini",
        &real.replace(line.unwrap(), "support_binaries_dir=/nowhere"),
    );
    let broken = PassengerSpec {
        root,
        ..PassengerSpec::default()
    };
    let error = servers::start(&passenger(&app, 1, true, broken), &never).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, StartError::Hopeless { .. }), "{message}");
    assert!(message.contains("/nowhere"), "{message}");
}

#[test]
fn the_limits_are_what_runs() {
    if without_passenger() {
        return;
    }
    let app = App::new("run ->(env) { sleep 0.2; [200, {}, [Process.pid.to_s]] }\n");
    let one = PassengerSpec {
        min_instances: 3,
        max_instances_per_app: 1,
        max_request_queue_size: 1,
        pool_idle_time: Duration::ZERO,
        max_requests: 3,
        ..PassengerSpec::default()
    };
    let server = start(&passenger(&app, 2, true, one));
    let read = server.read_back().unwrap();
    assert_eq!((read.mismatches, read.workers), (vec![], 2));
    let address = server.addr();
    let asking: Vec<_> = (0..6)
        .map(|_| std::thread::spawn(move || get(address, "/")))
        .collect();
    let answers: Vec<String> = asking.into_iter().map(|one| one.join().unwrap()).collect();
    let served = answers.iter().filter(|one| one.parse::<u32>().is_ok());
    assert!(
        (1..=3).contains(&served.count()),
        "one at a time, one waits: {answers:?}"
    );
    let first = server.passenger_status().unwrap().processes[0].pid;
    eventually("a process that has served its share is replaced", || {
        get(address, "/")
            .parse::<u32>()
            .is_ok_and(|pid| pid != first)
    });
}

#[test]
fn apaches_death_is_noticed_and_nothing_stays() {
    if without_passenger() {
        return;
    }
    let app = App::new(SHOWS_ITS_PROCESS);
    let server = start(&passenger(&app, 1, true, PassengerSpec::default()));
    let folder = own_folder(&app);
    assert!(folder.join("instances").is_dir());
    let all = descendants(server.guard_pid());
    kill(server.server_pid());
    eventually("the death is reported", || server.alive().is_err());
    assert_eq!(
        server.alive().unwrap_err().exit,
        Some(servers::Exit::Signal(9))
    );
    let report = server.stop();
    assert!(report.left_pids.is_empty(), "{report:?}");
    assert!(all.into_iter().all(is_gone));
    assert!(mentioning(&app).is_empty() && !folder.exists());
}

#[test]
fn nothing_of_it_outlives_its_guard() {
    if without_passenger() {
        return;
    }
    for signal in [Signal::TERM, Signal::KILL] {
        let app = App::new(SHOWS_ITS_PROCESS);
        let server = start(&passenger(&app, 1, true, PassengerSpec::default()));
        let folder = own_folder(&app);
        let all = descendants(server.guard_pid());
        let guard = Pid::from_raw(server.guard_pid().try_into().unwrap()).unwrap();
        kill_process(guard, signal).unwrap();
        eventually("the end is reported", || server.alive().is_err());
        let report = server.stop();
        assert!(report.left_pids.is_empty(), "{report:?}");
        eventually("all are gone", || all.iter().all(|&pid| is_gone(pid)));
        assert!(!folder.exists(), "{signal:?}");
        assert!(!app.path().join("work/apache.conf").exists());
    }
}

#[test]
fn nginx_stands_in_front_of_it_too() {
    if without_passenger() {
        return;
    }
    let app = App::new("run ->(env) { [200, {}, [env['HTTP_X_REQUEST_START'].to_s]] }\n");
    let nginx = Nginx {
        keepalive: 4,
        ..Nginx::default()
    };
    let server = start(&ServerSpec {
        front: Some(nginx),
        ..passenger(&app, 1, true, PassengerSpec::default())
    });
    assert!(get(server.addr(), "/").starts_with("t="));
    assert_eq!(server.read_back().unwrap().mismatches, []);
    let report = server.stop();
    assert!(report.clean, "{report:?}");
}

#[test]
fn giving_up_leaves_nothing() {
    if without_passenger() {
        return;
    }
    let app = App::new("File.write('began', '')\nsleep\n");
    let began = || app.path().join("began").exists();
    let spec = passenger(&app, 1, false, PassengerSpec::default());
    let error = servers::start(&spec, &began).unwrap_err();
    assert!(matches!(error, StartError::Cancelled), "{error}");
    assert!(began() && mentioning(&app).is_empty());
}
