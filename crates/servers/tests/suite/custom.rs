//! Commands of the user's own that are no Ruby.

#[allow(dead_code, reason = "shared with the other test programs")]
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;

use crate::support::{App, eventually, get, is_gone, never, start, working_in};
use servers::{Nginx, ServerCommand, ServerSpec, StartError, StatusError};

const PYTHON: &str = "/usr/bin/python3 -m http.server --bind 127.0.0.1 {port}";

fn python(app: &App, words: &str) -> ServerSpec {
    let words = words.split(' ').map(String::from).collect();
    ServerSpec {
        command: ServerCommand::Custom { words },
        // Nothing of these is its affair.
        ..app.spec(7, 3, true)
    }
}

#[test]
fn a_server_that_is_no_ruby_starts_answers_and_ends() {
    let app = App::hello();
    let server = start(&python(&app, PYTHON));
    assert!(get(server.addr(), "/config.ru").contains("hello"));
    assert!(matches!(server.status(), Err(StatusError::NoControl)));
    assert!(matches!(server.read_back(), Err(StatusError::NoControl)));
    let pid = server.server_pid();
    assert_eq!(server.own_pids(), BTreeSet::from([pid]));
    assert_eq!(server.processes().application, server.processes().all());
    assert!(server.processes().application.contains(&pid));
    server.stop();
    assert!(is_gone(pid));
    assert_eq!(working_in(app.path()), [0; 0]);
}

#[test]
fn nothing_is_written_for_it_and_no_more_than_the_settings_put_into_its_environment() {
    let app = App::hello();
    let server = start(&python(&app, PYTHON));
    let names =
        |environment: BTreeMap<String, String>| environment.into_keys().collect::<BTreeSet<_>>();
    let of_test: BTreeSet<String> = std::env::vars().map(|(name, _)| name).collect();
    let mut found = BTreeSet::new();
    eventually("its environment is there", || {
        found = names(servers::environment_of(server.server_pid()).unwrap());
        !found.is_empty()
    });
    let settings = [
        "PORT",
        "RACK_ENV",
        "RAILS_ENV",
        "RAILS_MAX_THREADS",
        "RAILS_MIN_THREADS",
        "WEB_CONCURRENCY",
    ];
    let added: Vec<&String> = found
        .iter()
        .filter(|name| !of_test.contains(*name))
        .collect();
    assert_eq!(added, settings);
    let written = std::fs::read_dir(app.path().join("work")).unwrap();
    let written: Vec<_> = written.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(written, ["server.log"]);
}

#[test]
fn nginx_stands_in_front_of_it_too() {
    let app = App::hello();
    let server = start(&ServerSpec {
        front: Some(Nginx::default()),
        ..python(&app, PYTHON)
    });
    assert!(get(server.addr(), "/config.ru").contains("hello"));
    assert!(server.read_back().is_err());
    let (front, mismatch) = server.read_back_front().unwrap();
    assert_eq!((front.workers, mismatch), (2, None));
}

#[test]
fn one_that_dies_as_it_starts_shows_its_last_lines() {
    let app = App::hello();
    let spec = python(&app, "/usr/bin/python3 -m no_such_module {port}");
    let error = servers::start(&spec, &never).unwrap_err();
    assert!(matches!(error, StartError::Died(_)), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("no_such_module") && message.contains("exit status 1"),
        "{message}"
    );
}

#[test]
fn a_port_that_is_taken_is_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let app = App::hello();
    let spec = ServerSpec {
        port: Some(port),
        ..python(&app, PYTHON)
    };
    let error = servers::start(&spec, &never).unwrap_err();
    assert!(matches!(error, StartError::PortInUse { .. }), "{error}");
}
