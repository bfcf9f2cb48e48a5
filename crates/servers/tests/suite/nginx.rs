//! A real nginx in front of real servers.

#[allow(dead_code, reason = "shared with the other test programs")]
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use crate::support::{
    App, SLOW, eventually, get, is_gone, never, start, stop_during_a_request, working_in,
};
use rustix::process::{Pid, Signal, kill_process};
use servers::{Nginx, PreforkServer, PreforkSpec, ServerCommand, ServerSpec, StartError};

const ECHO: &str = "run lambda { |env|
  names = %w[HTTP_HOST HTTP_X_REQUEST_START HTTP_X_FORWARDED_FOR HTTP_X_FORWARDED_PROTO HTTP_CONNECTION SERVER_PROTOCOL]
  [200, {}, names.map { |name| \"#{name}=#{env[name]}\\n\" }]
}
";

fn fronted(app: &App, nginx: Nginx) -> ServerSpec {
    ServerSpec {
        front: Some(nginx),
        ..app.spec(2, 0, false)
    }
}

#[test]
fn clients_ask_nginx_and_the_server_learns_of_them() {
    let app = App::new(ECHO);
    let server = start(&fronted(&app, Nginx::default()));
    assert_ne!(server.addr(), server.upstream_addr());
    assert_eq!((server.scheme(), server.certificate()), ("http", None));
    let seen = get(server.addr(), "/");
    for part in [
        "HTTP_HOST=shop.example\n",
        "HTTP_X_FORWARDED_FOR=127.0.0.1\n",
        "HTTP_X_FORWARDED_PROTO=http\n",
        "SERVER_PROTOCOL=HTTP/1.0\n",
    ] {
        assert!(seen.contains(part), "{seen}");
    }
    // The second line of a request whose first ends in its path.
    let by_https = get(
        server.addr(),
        "/ HTTP/1.0\r\nX-Forwarded-Proto: https\r\nX-Rest:",
    );
    assert!(
        by_https.contains("HTTP_X_FORWARDED_PROTO=https\n"),
        "{by_https}"
    );
    let (_, began) = seen.split_once("HTTP_X_REQUEST_START=t=").expect(&seen);
    let (seconds, millis) = began.lines().next().unwrap().split_once('.').unwrap();
    assert!(
        seconds.parse::<u64>().is_ok() && millis.len() == 3,
        "{seen}"
    );
    assert!(
        !get(server.upstream_addr(), "/").contains("=t="),
        "past nginx"
    );
    let read = server.read_back().unwrap();
    let front = read.front.unwrap();
    assert_eq!((read.mismatches, front.workers), (vec![], 2));
    assert!(front.version.starts_with("nginx 1."), "{}", front.version);
    let pids = [
        server.front_pid().unwrap(),
        server.server_pid(),
        server.guard_pid(),
    ];
    let report = server.stop();
    assert!(report.clean, "{report:?}");
    assert!(pids.into_iter().all(is_gone));
    let left = std::fs::read_dir(app.path().join("work/nginx")).unwrap();
    assert_eq!(left.count(), 0, "nothing of nginx stays");
}

#[test]
fn its_settings_are_what_runs() {
    let app = App::new(
        "run ->(env) { [200, {}, [env['puma.socket'].peeraddr[1].to_s, ' ', env['SERVER_PROTOCOL']]] }\n",
    );
    for (keepalive, protocol) in [(0, "HTTP/1.0"), (4, "HTTP/1.1")] {
        let nginx = Nginx {
            workers: 1,
            keepalive,
            ..Nginx::default()
        };
        let server = start(&fronted(&app, nginx));
        let seen: Vec<String> = (0..4).map(|_| get(server.addr(), "/")).collect();
        assert!(seen.iter().all(|one| one.ends_with(protocol)), "{seen:?}");
        let kept = seen.iter().all(|one| one == &seen[0]);
        assert_eq!(kept, keepalive > 0, "connections to the server: {seen:?}");
        assert_eq!(server.read_back().unwrap().front.unwrap().workers, 1);
    }
}

#[test]
fn with_tls_the_certificate_is_to_be_trusted_and_its_key_is_private() {
    let app = App::new(ECHO);
    let tls = Nginx {
        tls: true,
        ..Nginx::default()
    };
    let server = start(&fronted(&app, tls));
    assert_eq!(server.scheme(), "https");
    let certificate = server.certificate().unwrap().to_path_buf();
    let key = certificate.with_file_name("key.pem");
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let ask = "Net::HTTP.start(ARGV[1], ARGV[2].to_i, use_ssl: true, ca_file: ARGV[0]) { |http| puts http.get('/').body }";
    let asked = |host: &str, trusting: &std::path::Path| {
        let port = server.port().to_string();
        let output = Command::new("ruby")
            .args(["-rnet/http", "-ropenssl", "-e", ask])
            .arg(trusting)
            .args([host, &port])
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    for host in ["127.0.0.1", "localhost"] {
        let (verified, seen) = asked(host, &certificate);
        assert!(
            verified && seen.contains("X_FORWARDED_PROTO=https"),
            "{host}: {seen}"
        );
    }
    let others = app.write("none.pem", "");
    assert!(!asked("127.0.0.1", &others).0, "nobody else vouches for it");
    assert!(server.stop().clean);
    assert!(!key.exists());
}

#[test]
fn requests_in_flight_are_answered_before_the_end() {
    let app = App::new(SLOW);
    let server = start(&fronted(&app, Nginx::default()));
    stop_during_a_request(&app, server);
}

#[test]
fn unicorn_stands_behind_it_too() {
    let app = App::new(ECHO);
    let unicorn = PreforkSpec::of(PreforkServer::Unicorn, vec!["unicorn".into()]);
    let command = ServerCommand::Prefork(unicorn);
    let nginx = Nginx {
        keepalive: 8,
        ..Nginx::default()
    };
    let server = start(&ServerSpec {
        command,
        front: Some(nginx),
        ..app.spec(1, 2, true)
    });
    assert!(get(server.addr(), "/").contains("HTTP_HOST=shop.example"));
    let read = server.read_back().unwrap();
    assert_eq!((read.mismatches, read.workers), (vec![], 2));
    let report = server.stop();
    assert!(report.clean, "{report:?}");
}

#[test]
fn what_nginx_refuses_is_shown_as_it_says_it() {
    let app = App::hello();
    let nginx = Nginx {
        proxy_buffers: (1, 4096),
        tls: true,
        ..Nginx::default()
    };
    let error = servers::start(&fronted(&app, nginx), &never).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, StartError::Refused { .. }), "{message}");
    assert!(
        message.contains("at least 2 \"proxy_buffers\""),
        "{message}"
    );
    assert_eq!(working_in(app.path()), [0; 0], "the server was not started");
    for secret in ["work/nginx/key.pem", "work/puma.rb"] {
        assert!(!app.path().join(secret).exists(), "{secret}");
    }
}

#[test]
fn an_absent_nginx_and_a_port_in_use_are_told() {
    let app = App::hello();
    let nginx = Nginx {
        program: "no-such-nginx".into(),
        ..Nginx::default()
    };
    let message = servers::start(&fronted(&app, nginx), &never)
        .unwrap_err()
        .to_string();
    for part in ["no-such-nginx", "nginx-light"] {
        assert!(message.contains(part), "{message}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let spec = ServerSpec {
        port: Some(port),
        ..fronted(&app, Nginx::default())
    };
    let error = servers::start(&spec, &never).unwrap_err();
    assert!(
        matches!(error, StartError::PortInUse { port: named } if named == port),
        "{error}"
    );
    drop(taken);
    let server = start(&spec);
    assert_eq!(server.port(), port, "nginx has the port that was asked for");
    assert_ne!(server.upstream_addr().port(), port);
}

#[test]
fn its_death_is_noticed_and_its_workers_are_counted() {
    let app = App::hello();
    let server = start(&fronted(&app, Nginx::default()));
    let master = server.front_pid().unwrap();
    let signal = |pid: u32, signal| {
        kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
    };
    // A stopped master starts no worker in the place of one that is gone.
    signal(master, Signal::STOP);
    let children =
        std::fs::read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap();
    let worker = children.split_ascii_whitespace().next().unwrap();
    signal(worker.parse().unwrap(), Signal::KILL);
    eventually("a worker is missing", || {
        let mismatches = server.read_back().unwrap().mismatches;
        mismatches
            .iter()
            .any(|m| m.knob == "nginx.workers" && m.runs_with == "1")
    });
    signal(master, Signal::KILL);
    eventually("the death is reported", || server.alive().is_err());
    let died = server.alive().unwrap_err();
    assert_eq!(
        (died.what.as_str(), died.exit),
        ("nginx", Some(servers::Exit::Signal(9)))
    );
    assert!(server.wait_for_death(Duration::from_secs(1)));
    let report = server.stop();
    assert!(report.left_pids.is_empty(), "{report:?}");
}

#[test]
fn an_answer_that_is_an_error_is_nginxs_to_show() {
    // Answers its first request, and then no more.
    let app = App::new(
        "first = true\nrun ->(env) { was, first = first, false\n[was ? 200 : 500, {}, []] }\n",
    );
    let error = servers::start(&fronted(&app, Nginx::default()), &never).unwrap_err();
    assert!(
        matches!(&error, StartError::AnswersError { what, status: 500, .. } if what == "nginx"),
        "{error}"
    );
    assert_eq!(working_in(app.path()), [0; 0]);
}
