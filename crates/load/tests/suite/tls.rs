//! TLS against a scripted server: answers are read as without it, certificates
//! are verified, and each failure says what to do.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::support::tls::{Authority, TlsPeer, server};
use crate::support::{OK, Server, assert_balanced};
use load::{
    Errors, Mode, Observer, Outcome, Plan, Progress, Silent, Stop, Target, TlsOptions, Workload,
};

const FAR: i32 = 2090;
static BOTH: &[&rustls::SupportedProtocolVersion] =
    &[&rustls::version::TLS13, &rustls::version::TLS12];

fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions {
        cacert: Some(authority.pem.path().into()),
        ..TlsOptions::default()
    }
}

fn insecure() -> TlsOptions {
    TlsOptions {
        insecure: true,
        ..TlsOptions::default()
    }
}

fn plan(server: &Server, options: &TlsOptions, requests: u64) -> Plan {
    let url = format!("https://{}/", server.address);
    let (target, _) = Target::from_url(&url, options).unwrap();
    let stop = Stop::requests(requests);
    let mut plan = Plan::new(target, Workload::get("/").unwrap(), Mode::closed(1), stop);
    plan.timeout = Duration::from_secs(20);
    plan
}

fn run(plan: &Plan) -> Outcome {
    let outcome = load::run(plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    outcome
}

fn serve(peer: &mut TlsPeer<'_>) {
    while peer.request().is_some() && peer.write(OK) {}
}

#[test]
fn answers_are_read_however_records_and_packets_cut_them() {
    let none = Errors::default();
    let early = Errors {
        closed_early: 1,
        ..none
    };
    let malformed = Errors {
        malformed: 1,
        ..none
    };
    let cases: [(&'static [u8], Errors); 6] = [
        (OK, none),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
            none,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
            none,
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the orderly end", none),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", early),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", malformed),
    ];
    let authority = Authority::new();
    for version in BOTH {
        let config = authority.server("127.0.0.1", FAR, &[version]);
        for (answer, expected) in cases {
            for (records, packets) in [(false, false), (true, false), (false, true)] {
                let server = server(config.clone(), packets, move |peer| {
                    peer.request();
                    if records {
                        peer.write_byte_by_byte(answer);
                    } else {
                        peer.write(answer);
                    }
                    peer.end();
                });
                let outcome = run(&plan(&server, &trusting(&authority), 1));
                let text = String::from_utf8_lossy(answer);
                assert_eq!(
                    outcome.errors, expected,
                    "{version:?} {records} {packets} {text}"
                );
            }
        }
    }
}

#[test]
fn an_answer_that_only_a_torn_connection_ends_is_not_whole() {
    let authority = Authority::new();
    let server = server(authority.server("127.0.0.1", FAR, BOTH), false, |peer| {
        peer.request();
        peer.write(b"HTTP/1.1 200 OK\r\n\r\nuntil close");
    });
    let outcome = run(&plan(&server, &trusting(&authority), 1));
    assert_eq!(outcome.errors.closed_early, 1);
}

#[test]
fn connections_are_kept_and_sessions_resumed() {
    let authority = Authority::new();
    for version in BOTH {
        let resumed = Arc::new(AtomicUsize::new(0));
        let config = authority.server("127.0.0.1", FAR, &[version]);
        let server = server(config, false, {
            let resumed = resumed.clone();
            move |peer| {
                serve(peer);
                resumed.fetch_add(usize::from(peer.resumed()), Ordering::SeqCst);
            }
        });
        let mut plan = plan(&server, &trusting(&authority), 20);
        let kept = run(&plan);
        assert_eq!((kept.counts.ok, kept.counts.connections), (20, 1));
        assert_eq!(kept.counts.surplus + kept.counts.reconnects, 0);
        assert_eq!(kept.connect.len(), 1);

        plan.keep_alive = false;
        let anew = run(&plan);
        assert_eq!((anew.counts.ok, anew.counts.connections), (20, 20));
        drop(server);
        assert!(resumed.load(Ordering::SeqCst) >= 19, "{resumed:?}");
    }
}

#[test]
fn large_bodies_pass_both_ways() {
    static ANSWER: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n".to_vec();
        answer.resize(answer.len() + 3_000_000, b'x');
        answer
    });
    let authority = Authority::new();
    let server = server(authority.server("127.0.0.1", FAR, BOTH), false, |peer| {
        while let Some(request) = peer.request() {
            assert!(request.ends_with(&[b'y'; 1000]));
            peer.write(&ANSWER);
        }
    });
    let mut plan = plan(&server, &trusting(&authority), 3);
    let body = "y".repeat(2_000_000);
    let text = format!("[[request]]\nmethod = \"POST\"\nbody = \"{body}\"\n");
    plan.workload = Workload::from_toml(&text).unwrap();
    let outcome = run(&plan);
    assert_eq!((outcome.counts.ok, outcome.counts.connections), (3, 1));
}

#[test]
fn a_certificate_that_does_not_hold_is_refused_with_the_remedy() {
    let (ours, other) = (Authority::new(), Authority::new());
    for (config, options, said) in [
        (
            ours.server("127.0.0.1", 2001, BOTH),
            trusting(&ours),
            "it has expired",
        ),
        (
            ours.server("127.0.0.1", FAR, BOTH),
            trusting(&other),
            "--cacert",
        ),
        (
            ours.server("127.0.0.1", FAR, BOTH),
            TlsOptions::default(),
            "--cacert",
        ),
        (
            ours.server("shop.test", FAR, BOTH),
            trusting(&ours),
            "not for 127.0.0.1 but for",
        ),
    ] {
        let server = server(config, false, serve);
        let outcome = run(&plan(&server, &options, 2));
        assert_eq!(outcome.errors.tls_failed, 2, "{:?}", outcome.first_error);
        assert_eq!((outcome.counts.sent, outcome.connect.len()), (0, 0));
        let first = outcome.first_error.unwrap();
        assert!(
            first.contains(said) && first.contains("--insecure"),
            "{first}"
        );

        let outcome = run(&plan(&server, &insecure(), 2));
        assert_eq!(outcome.counts.ok, 2, "{:?}", outcome.first_error);
    }
}

#[test]
fn the_name_asked_for_may_differ_from_the_urls() {
    let authority = Authority::new();
    let config = authority.server("shop.test", FAR, BOTH);
    let server = server(config, false, serve);
    let options = TlsOptions {
        server_name: Some("shop.test".into()),
        ..trusting(&authority)
    };
    assert_eq!(run(&plan(&server, &options, 2)).counts.ok, 2);
}

#[test]
fn a_server_without_tls_or_without_end_is_distinguished() {
    let plain = Server::new(|peer, _| {
        peer.wait();
        peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let outcome = run(&plan(&plain, &insecure(), 1));
    assert_eq!(outcome.errors.tls_failed, 1);
    assert!(outcome.first_error.unwrap().contains("http:// server"));

    let hangs_up = Server::new(|peer, _| peer.wait());
    let outcome = run(&plan(&hangs_up, &insecure(), 1));
    assert_eq!(outcome.errors.tls_failed, 1);
    assert!(
        outcome
            .first_error
            .unwrap()
            .contains("ended the connection")
    );

    let silent = Server::new(|peer, _| peer.swallow());
    let mut plan = plan(&silent, &insecure(), 1);
    plan.timeout = Duration::from_millis(100);
    assert_eq!(run(&plan).errors.timeout, 1);
}

#[test]
fn a_server_of_another_protocol_or_version_is_distinguished() {
    // The alerts no_application_protocol and protocol_version.
    for (alert, said) in [
        (120, "does not offer HTTP/1.1"),
        (70, "neither TLS 1.2 nor TLS 1.3"),
    ] {
        let other = Server::new(move |peer, _| {
            peer.wait();
            peer.write(&[21, 3, 3, 0, 2, 2, alert]);
            peer.swallow();
        });
        let outcome = run(&plan(&other, &insecure(), 1));
        assert_eq!(outcome.errors.tls_failed, 1);
        let first = outcome.first_error.unwrap();
        assert!(first.contains(said), "{first}");
    }
}

#[test]
fn what_a_server_says_with_the_handshake_is_read_whole() {
    static ANSWER: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n".to_vec();
        answer.resize(answer.len() + 40_000, b'x');
        answer
    });
    let authority = Authority::new();
    for packets in [false, true] {
        let mut config = authority.server("127.0.0.1", FAR, BOTH);
        Arc::get_mut(&mut config).unwrap().send_half_rtt_data = true;
        let server = server(config, packets, |peer| {
            peer.write_early(&ANSWER);
            while peer.request().is_some() && peer.write(OK) {}
        });
        let outcome = run(&plan(&server, &trusting(&authority), 1));
        assert_eq!(outcome.counts.ok, 1, "{:?}", outcome.first_error);
    }
}

/// How often the generator has come round, between which it reads whatever has come.
#[derive(Default)]
struct Rounds(Mutex<u64>, Condvar);

impl Rounds {
    fn more(&self, rounds: u64) {
        let mut so_far = self.0.lock().unwrap();
        *so_far = so_far.saturating_add(rounds);
        self.1.notify_all();
    }

    /// Waits until it has come round as often as it takes to have read what was written before.
    fn wait(&self) {
        let rounds = self.0.lock().unwrap();
        let enough = rounds.saturating_add(2);
        drop(self.1.wait_while(rounds, |rounds| *rounds < enough));
    }
}

impl Observer for &Rounds {
    fn tick(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        self.more(1);
        ControlFlow::Continue(())
    }
}

#[test]
fn an_idle_connection_that_ends_after_a_record_is_not_used_again() {
    const REQUESTS: u64 = 20;
    let authority = Authority::new();
    let config = authority.server("127.0.0.1", FAR, &[&rustls::version::TLS13]);
    let rounds = Arc::new(Rounds::default());
    let server = server(config, false, {
        let rounds = rounds.clone();
        move |peer| {
            if peer.request().is_some() && peer.write(OK) {
                rounds.wait();
                peer.part_with_a_record();
                peer.request();
            }
        }
    });
    let mut plan = plan(&server, &trusting(&authority), REQUESTS);
    plan.slice = Duration::from_millis(10);
    plan.mode = Mode::Closed {
        connections: 2,
        think: load::Think::Constant(Duration::from_millis(100)),
    };
    let outcome = load::run(&plan, &mut rounds.as_ref()).unwrap();
    // No further round comes.
    rounds.more(u64::MAX);
    assert_balanced(&outcome);
    let counts = outcome.counts;
    assert_eq!(counts.ok, REQUESTS, "{:?}", outcome.first_error);
    // All but the last of each user ended while it was idle. One that a user who was held up came back
    // to all the same is replaced; who cannot tell leaves all of them to that.
    assert_eq!(counts.connections, REQUESTS, "{counts:?}");
    assert!(counts.idle_closed > 0, "{counts:?}");
    let ended = counts.idle_closed + counts.reconnects;
    assert!((REQUESTS - 2..=REQUESTS).contains(&ended), "{counts:?}");
}

#[test]
fn certificates_that_cannot_be_loaded_are_refused() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    for (path, said) in [
        ("no/such.pem".into(), "no/such.pem"),
        (empty.path().to_path_buf(), "no certificate"),
    ] {
        let options = TlsOptions {
            cacert: Some(path),
            ..TlsOptions::default()
        };
        let error = Target::from_url("https://127.0.0.1/", &options).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(said) && error.contains("--cacert"),
            "{error}"
        );
    }
    let options = TlsOptions {
        server_name: Some("no name".into()),
        ..TlsOptions::default()
    };
    let error = Target::from_url("https://127.0.0.1/", &options).unwrap_err();
    assert!(error.to_string().contains("no name"), "{error}");
}
