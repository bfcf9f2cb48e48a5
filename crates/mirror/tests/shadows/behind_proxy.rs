//! Both halves together: clients, a primary and shadows over real sockets.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use capture::{Outcome, Pair};
use mirror::shadow::Telling;
use mirror::{Counts, Settings, Shadow, Shadows};

use crate::scripted::{PATIENCE, Reserved, eventually, hang, ok, ok_with, scripted, shadow};
use crate::support::primary::{self, Scripted};
use crate::support::{Served, settings};

struct Mirror {
    served: Served,
    shadows: Arc<Shadows>,
    pairs: std::sync::mpsc::Receiver<Pair>,
}

fn started(
    settings: &Settings,
    counts: &Arc<Counts>,
) -> (Arc<Shadows>, std::sync::mpsc::Receiver<Pair>) {
    let (sender, pairs) = channel();
    let telling = Telling {
        began: Instant::now(),
        seed: 1,
        rules: capture::Rules::default(),
        pair: Box::new(move |pair| {
            let _ = sender.send(pair);
        }),
    };
    (
        Arc::new(Shadows::start(settings, counts, telling).unwrap()),
        pairs,
    )
}

fn mirror(primary: &Scripted, shadows: Vec<Shadow>) -> Mirror {
    let mut settings = settings(&[primary.address]);
    settings.shadows = shadows;
    let counts = Arc::default();
    let (shadows, pairs) = started(&settings, &counts);
    Mirror {
        served: Served::counting(&settings, counts, shadows.clone()),
        shadows,
        pairs,
    }
}

impl Mirror {
    /// Ends, and checks that everything has come to exactly one end.
    fn end(self, within: Duration) -> Vec<mirror::ShadowSnapshot> {
        self.shadows.stop(within);
        let snapshot = self
            .served
            .until(|counts| counts.received == counts.answered + counts.failed + counts.aborted);
        assert_eq!(snapshot.held_bytes, 0, "{snapshot:?}");
        for shadow in &snapshot.shadows {
            let ended = shadow.answered
                + shadow.failed.values().sum::<u64>()
                + shadow.dropped.values().sum::<u64>();
            assert_eq!((shadow.sampled, shadow.pending), (ended, 0), "{shadow:?}");
        }
        snapshot.shadows
    }
}

#[test]
fn clients_know_nothing_of_shadows_that_hang_or_are_dead() {
    let primary = Scripted::echo();
    let hung = scripted(|_, stream| hang(stream));
    let dead = Reserved::new();
    let well = scripted(|_, stream| ok(stream, "other"));
    let mut shadows = vec![
        shadow("hung", hung.port),
        shadow("dead", dead.1),
        shadow("well", well.port),
    ];
    shadows[2].queue = 1000;
    let mirror = mirror(&primary, shadows);
    let mut clients: Vec<_> = (0..5).map(|_| mirror.served.client()).collect();
    for n in 0..40 {
        for client in &mut clients {
            let answer = client.ask(format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n"));
            assert_eq!(answer.text(), format!("GET /{n} HTTP/1.1\nHost=a\n\n"));
        }
    }
    drop(clients);
    eventually("the well one has answered all", || {
        mirror.served.counts.snapshot().shadows[2].answered == 200
    });
    let counts = mirror.end(Duration::ZERO);
    assert_eq!((counts[0].sampled, counts[1].sampled), (200, 200));
    assert_eq!((counts[0].answered, counts[1].answered), (0, 0));
    assert_eq!(counts[0].failed["ended"], 4);
    assert!(counts[1].failed["connect"] >= 1);
}

#[test]
fn a_body_in_chunks_arrives_whole() {
    let primary = Scripted::echo();
    let well = scripted(|got, stream| ok(stream, &String::from_utf8_lossy(&got.body)));
    let mut next = shadow("next", well.port);
    next.filter.methods = vec!["POST".into()];
    let mirror = mirror(&primary, vec![next]);
    let mut client = mirror.served.client();
    client.ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    let pair = mirror.pairs.recv_timeout(PATIENCE).unwrap();
    assert!(
        matches!(pair.shadows[0].outcome, Outcome::Answered(_)),
        "{pair:?}"
    );
    let got = well.got.lock().unwrap()[0].clone();
    assert_eq!(
        (got.body.as_slice(), got.header("content-length")),
        (b"abcde".as_slice(), Some("5"))
    );
    assert_eq!(got.header("transfer-encoding"), None);
    drop(client);
    mirror.end(PATIENCE);
}

#[test]
fn nobody_but_the_mirror_says_who_is_a_shadow() {
    let primary = Scripted::echo();
    let well = scripted(|_, stream| ok(stream, "x"));
    let mirror = mirror(&primary, vec![shadow("next", well.port)]);
    let mut client = mirror.served.client();
    // CGI and Rack make one variable of all of these.
    let names = [
        "X-POWERBAND-Shadow",
        "X_Powerband_Shadow",
        "x_powerband-shadow",
        "X.Powerband.Shadow",
        "X_Request_Start",
    ];
    for (index, name) in names.iter().enumerate() {
        let forged = format!("{name}: mine\r\n");
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a\r\n{forged}Transfer-Encoding: chunked\r\nA: b\r\n\r\n0\r\n{forged}\r\n"
        );
        let answer = client.ask(request);
        let expected = "GET / HTTP/1.1\nHost=a\nA=b\nTransfer-Encoding=chunked\n\n";
        assert_eq!(answer.text(), expected, "{name}");
        drop(mirror.pairs.recv_timeout(PATIENCE).unwrap());
        let got = well.got.lock().unwrap()[index].clone();
        let expected = [("Host", "a"), ("A", "b"), ("X-Powerband-Shadow", "next")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(got.headers, expected, "{name}");
    }
    drop(client);
    mirror.end(PATIENCE);
}

#[test]
fn a_client_that_leaves_in_its_body_gives_the_place_back() {
    let primary = Scripted::echo();
    let well = scripted(|_, stream| ok(stream, "x"));
    let mut next = shadow("next", well.port);
    (next.queue, next.connections) = (0, 1);
    next.filter.methods = vec!["POST".into(), "GET".into()];
    let mirror = mirror(&primary, vec![next]);
    let mut client = mirror.served.client();
    assert!(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nabc"));
    eventually("its bytes are held", || {
        mirror.served.counts.held_bytes.get() >= 5000
    });
    drop(client);
    eventually("they are given back", || {
        mirror.served.counts.held_bytes.get() == 0
    });
    let mut client = mirror.served.client();
    client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let pair = mirror.pairs.recv_timeout(PATIENCE).unwrap();
    assert!(
        matches!(pair.shadows[0].outcome, Outcome::Answered(_)),
        "{pair:?}"
    );
    drop(client);
    assert_eq!(mirror.end(PATIENCE)[0].sampled, 1);
}

#[test]
fn a_cookie_is_known_before_the_answer_that_sets_it_is_whole() {
    let (release, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let primary = Scripted::new(move |peer, _| {
        while let Some(request) = peer.request() {
            if request.line.starts_with("GET /first") {
                peer.send(
                    "HTTP/1.1 200 OK\r\nSet-Cookie: _s=primary-value\r\nContent-Length: 1\r\n\r\n",
                );
                let _ = wait.lock().unwrap().recv_timeout(PATIENCE);
                peer.send("x");
            } else {
                peer.send(primary::ok("x"));
            }
        }
    });
    let candidate =
        scripted(|_, stream| ok_with(stream, "Set-Cookie: _s=candidate-value\r\n", "x"));
    let mut next = shadow("next", candidate.port);
    next.cookie_jar = true;
    let mirror = mirror(&primary, vec![next]);
    let (mut first, mut second) = (mirror.served.client(), mirror.served.client());
    assert!(first.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_eq!(
        first.head().unwrap().field("set-cookie"),
        Some("_s=primary-value")
    );
    second.ask("GET /second HTTP/1.1\r\nHost: a\r\nCookie: _s=primary-value\r\n\r\n");
    eventually("the second is there", || {
        candidate.got.lock().unwrap().len() == 2
    });
    assert_eq!(
        candidate.got.lock().unwrap()[1].header("cookie"),
        Some("_s=candidate-value")
    );
    release.send(()).unwrap();
    (0..2).for_each(|_| drop(mirror.pairs.recv_timeout(PATIENCE).unwrap()));
    drop((first, second));
    mirror.end(PATIENCE);
}

#[test]
fn a_reload_leaves_what_is_under_way_with_the_old_shadows() {
    let (release, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let primary = Scripted::answering(move |request| {
        if request.line.starts_with("GET /slow") {
            let _ = wait.lock().unwrap().recv_timeout(PATIENCE);
        }
        primary::ok("x")
    });
    let old = scripted(|_, stream| ok(stream, "x"));
    let new = scripted(|_, stream| ok(stream, "x"));
    let mirror = mirror(&primary, vec![shadow("next", old.port)]);
    let (mut slow, mut fast) = (mirror.served.client(), mirror.served.client());
    assert!(slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
    eventually("the old one has it", || old.got.lock().unwrap().len() == 1);
    let mut settings = settings(&[primary.address]);
    settings.shadows = vec![shadow("next", new.port)];
    let (shadows, pairs) = started(&settings, &mirror.served.counts);
    mirror
        .served
        .control
        .reload(&settings, shadows.clone())
        .unwrap();
    fast.ask("GET /fast HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(pairs.recv_timeout(PATIENCE).unwrap().endpoint, "GET /fast");
    release.send(()).unwrap();
    assert_eq!(slow.answer().unwrap().text(), "x");
    assert!(
        mirror
            .pairs
            .recv_timeout(PATIENCE)
            .unwrap()
            .primary
            .is_some()
    );
    drop((slow, fast));
    shadows.stop(PATIENCE);
    let counts = mirror.end(PATIENCE);
    assert_eq!((counts[0].sampled, counts[0].answered), (2, 2));
}
