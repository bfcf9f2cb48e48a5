//! Which processes are a server's, under a real guard with real services next to it.

#[allow(dead_code, reason = "shared with the other test programs")]
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::support::{App, eventually, start, without_passenger};
use host::Tree;
use servers::{Nginx, PassengerSpec, Ready, Running, ServerCommand, ServerSpec, ServiceSpec};

/// A service with a child of its own.
fn service(app: &App) -> ServiceSpec {
    let port = servers::free_port().unwrap();
    let script =
        "fork { sleep }; s = TCPServer.new('127.0.0.1', ARGV[0].to_i); loop { s.accept.close }";
    let words = ["ruby", "-rsocket", "-e", script, &port.to_string()];
    ServiceSpec {
        name: "store".into(),
        command: words.map(String::from).to_vec(),
        cwd: app.path().to_path_buf(),
        env: BTreeMap::new(),
        ready: Some(Ready::Port(port)),
    }
}

/// The programs of these processes.
fn programs(pids: &BTreeSet<u32>) -> Vec<String> {
    let program = |pid: &u32| {
        let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        Some(path.file_name()?.to_str()?.to_owned())
    };
    let found: BTreeSet<String> = pids.iter().filter_map(program).collect();
    found.into_iter().collect()
}

/// What is measured of a server.
fn tree(server: &Running) -> Tree {
    Tree::from(server.guard_pid())
        .without_root()
        .without(server.service_pids())
}

/// What a tree shows is what is said to be the server's; processes may come and go in between.
fn agree(server: &Running) {
    eventually("both know the same processes", || {
        let pids = tree(server).pids().unwrap();
        server.processes().all() == pids.into_iter().collect::<BTreeSet<u32>>()
    });
}

#[test]
fn pumas_are_the_applications_and_nginxs_the_webs() {
    // Leaves a daemon: its parent is gone.
    let app = App::new(
        "fork { Process.setsid; fork { File.write('daemon', Process.pid); sleep }; exit!(0) }.then { |pid| Process.wait(pid) }
sleep 0.01 until File.size?('daemon')
run ->(env) { [200, {}, []] }\n",
    );
    let server = start(&ServerSpec {
        front: Some(Nginx::default()),
        services: vec![service(&app)],
        stop_grace: Duration::from_secs(2),
        ..app.spec(1, 0, false)
    });
    agree(&server);
    let processes = server.processes();
    let daemon = std::fs::read_to_string(app.path().join("daemon")).unwrap();
    let expected = BTreeSet::from([server.server_pid(), daemon.parse().unwrap()]);
    assert_eq!(processes.application, expected);
    assert!(processes.web.contains(&server.front_pid().unwrap()));
    assert_eq!(
        (processes.web.len(), programs(&processes.web)),
        (3, vec!["nginx".to_string()])
    );
    let [service] = server.service_pids()[..] else {
        panic!("one service");
    };
    let services = Tree::from(service).pids().unwrap();
    assert_eq!(services.len(), 2, "it and its child");
    let whole: BTreeSet<u32> = Tree::from(server.guard_pid())
        .without_root()
        .pids()
        .unwrap()
        .into_iter()
        .collect();
    let expected: BTreeSet<u32> = processes.all().into_iter().chain(services).collect();
    assert_eq!(whole, expected);
    let memory = host::memory::sample_tree(tree(&server)).unwrap();
    assert_eq!((memory.processes.len(), memory.unreadable), (5, vec![]));
}

#[test]
fn passengers_own_are_the_webs_and_what_it_spawned_the_applications() {
    if without_passenger() {
        return;
    }
    let app = App::hello();
    let passenger = PassengerSpec {
        min_instances: 2,
        ..PassengerSpec::default()
    };
    let server = start(&ServerSpec {
        command: ServerCommand::Passenger(passenger),
        services: vec![service(&app)],
        ..app.spec(1, 2, true)
    });
    agree(&server);
    // Now and then Passenger asks `ps` for a moment.
    eventually("the preloader and two of it are all", || {
        server.processes().application.len() == 3
    });
    let processes = server.processes();
    let spawned: BTreeSet<u32> = server
        .passenger_status()
        .unwrap()
        .processes
        .iter()
        .map(|process| process.pid)
        .collect();
    assert!(processes.application.is_superset(&spawned));
    assert_eq!(
        processes.application.len(),
        3,
        "the preloader, and two of it"
    );
    assert_eq!(programs(&processes.web), ["PassengerAgent", "apache2"]);
    assert!(processes.web.contains(&server.server_pid()));
    let memory = host::memory::sample_tree(tree(&server)).unwrap();
    assert_eq!(memory.unreadable, [0; 0]);
}
