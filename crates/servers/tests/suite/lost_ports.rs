//! A port that somebody takes between being chosen and being bound.

#[allow(dead_code, reason = "shared with the other test programs")]
use std::collections::BTreeMap;

use crate::support::{App, never, start, working_in};
use servers::{
    Nginx, PassengerSpec, PreforkServer, PreforkSpec, Ready, ServerCommand, ServerSpec,
    ServiceSpec, StartError,
};

/// Listens on this port as a service, which starts before the server, and says nothing to anybody.
fn taker(app: &App, port: u16) -> ServiceSpec {
    let script = "s = TCPServer.new('127.0.0.1', ARGV[0].to_i); loop { s.accept.close }";
    let words = ["ruby", "-rsocket", "-e", script, &port.to_string()];
    ServiceSpec {
        name: "taker".into(),
        command: words.map(String::from).to_vec(),
        cwd: app.path().to_path_buf(),
        env: BTreeMap::new(),
        ready: Some(Ready::Port(port)),
    }
}

fn prefork(server: PreforkServer) -> ServerCommand {
    ServerCommand::Prefork(PreforkSpec::of(server, vec![server.program().into()]))
}

fn unicorn() -> ServerCommand {
    prefork(PreforkServer::Unicorn)
}

#[test]
fn one_that_was_asked_for_is_reported_to_be_in_use() {
    let app = App::hello();
    let spec = app.spec(1, 1, false);
    let with = |command: ServerCommand| ServerSpec {
        command,
        ..spec.clone()
    };
    let fronted = ServerSpec {
        front: Some(Nginx::default()),
        ..with(unicorn())
    };
    let passenger = ServerCommand::Passenger(PassengerSpec::default());
    let mut all = vec![spec.clone(), with(unicorn()), fronted];
    if !crate::support::without_passenger() {
        all.push(with(passenger));
    }
    if !crate::support::without_pitchfork() {
        all.push(with(prefork(PreforkServer::Pitchfork)));
    }
    for given in all {
        let port = servers::free_port().unwrap();
        let spec = ServerSpec {
            port: Some(port),
            services: vec![taker(&app, port)],
            ..given
        };
        let error = servers::start(&spec, &never).unwrap_err();
        assert!(
            matches!(error, StartError::PortInUse { port: named } if named == port),
            "{:?}: {error}",
            spec.command
        );
        assert_eq!(working_in(app.path()), [0; 0]);
    }
}

#[test]
fn another_one_is_tried_where_none_was_asked_for() {
    let app = App::hello();
    // The first attempt ends as it does when the port is lost.
    let own = "raise Errno::EADDRINUSE, 'tried' unless File.exist?('tried').tap { File.write('tried', '') }\n";
    app.write("config/unicorn.rb", own);
    let server = start(&ServerSpec {
        command: unicorn(),
        ..app.spec(1, 1, false)
    });
    assert!(app.path().join("tried").exists());
    assert!(server.stop().clean);
}
