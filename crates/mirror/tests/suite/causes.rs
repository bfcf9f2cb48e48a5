//! What each refusal and failure is counted as, what the log learns of it, and what is known of the primaries' answers.

use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::primary::{Scripted, ok};
use crate::support::{Peer, Served, settings};
use mirror::{Cause, Nobody};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Waits for one of this cause, and gives its example; there is nothing else.
#[track_caller]
fn caused(served: &Served, cause: Cause) -> String {
    let found = served.until(|s| !s.causes.is_empty());
    assert_eq!(found.causes, [(cause.word(), 1)].into_iter().collect());
    let example = served.counts.client.causes.take_example(cause);
    example.unwrap_or_default()
}

#[test]
fn a_refusal_is_counted_by_its_cause_and_nothing_of_the_request_is_logged() {
    let long = format!(
        "GET /?token=opensesame HTTP/1.1\r\nX: {}\r\n",
        "x".repeat(17 << 10)
    );
    for (request, cause, why) in [
        (
            "GET /?token=opensesame HTTP/1.1\r\nHost: a\r\nContent-Length: opensesame\r\n\r\n",
            Cause::Malformed,
            "from this machine: Content-Length is not one number",
        ),
        (
            &long,
            Cause::TooLarge,
            "from this machine: the head is longer than 16384 bytes",
        ),
        (
            "GET /?token=opensesame HTTP/3.0\r\nHost: opensesame\r\n\r\n",
            Cause::Unsupported,
            "from this machine: the version is neither HTTP/1.0 nor HTTP/1.1",
        ),
    ] {
        let primary = Scripted::new(|peer, _| panic!("{:?}", peer.rest()));
        let served = Served::plain(primary.address);
        let mut client = served.client();
        client.send(request);
        assert!(client.answer().unwrap().status() >= 400);
        assert_eq!(caused(&served, cause), why);
    }
}

#[test]
fn a_failure_is_counted_by_its_cause_and_names_the_primary() {
    type Script = fn(&mut Peer);
    let scripts: [(Script, Cause, &str); 4] = [
        (|_| {}, Cause::NoAnswer, ""),
        (
            |peer| {
                peer.send("nonsense\r\n\r\n");
            },
            Cause::MalformedAnswer,
            ": the head is not HTTP/1.1",
        ),
        (
            |peer| {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome");
            },
            Cause::AnswerCut,
            "",
        ),
        (|peer| drop(peer.rest()), Cause::AnswerTimeout, ""),
    ];
    for (script, cause, why) in scripts {
        let primary = Scripted::new(move |peer, _| {
            peer.request();
            script(peer);
        });
        let mut settings = settings(&[primary.address]);
        if cause == Cause::AnswerTimeout {
            settings.primaries[0].answer_timeout = Some(Duration::from_millis(50));
        }
        let served = Served::new(&settings, Arc::new(Nobody));
        let mut client = served.client();
        client.send(GET);
        client.rest();
        let example = caused(&served, cause);
        let expected = format!("{}{why}", primary.address);
        assert!(example.starts_with(&expected), "{example}");
    }
}

#[test]
fn what_a_client_does_is_counted_by_its_cause() {
    let requests = [
        (GET, Cause::ClientLeft),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            Cause::MalformedBody,
        ),
    ];
    for (request, cause) in requests {
        let primary = Scripted::new(|peer, _| drop(peer.rest()));
        let served = Served::plain(primary.address);
        let mut client = served.client();
        client.send(request);
        served.until(|s| s.received == 1);
        client.send(if cause == Cause::ClientLeft {
            ""
        } else {
            "x\r\n"
        });
        client.finish();
        caused(&served, cause);
    }
}

#[test]
fn what_a_drain_cuts_is_counted_apart() {
    let primary = Scripted::new(|peer, _| drop(peer.rest()));
    let mut settings = settings(&[primary.address]);
    settings.client.drain = Duration::from_millis(1);
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut client = served.client();
    client.send(GET);
    let counts = served.counts.clone();
    served.until(|s| s.received == 1);
    assert_eq!(served.drained().requests, 1);
    assert_eq!(
        counts.snapshot().causes,
        [("drain", 1)].into_iter().collect()
    );
}

#[test]
fn a_primary_that_is_passed_over_fails_no_request() {
    let away = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let primary = Scripted::answering(|_| ok("here"));
    let served = Served::new(&settings(&[away, primary.address]), Arc::new(Nobody));
    assert_eq!(served.client().ask(GET).text(), "here");
    let example = caused(&served, Cause::PrimarySkipped);
    assert!(example.starts_with(&away.to_string()), "{example}");
    assert_eq!(served.until(|s| s.answered == 1).failed, 0);
}

#[test]
fn answers_of_the_primary_are_counted_by_class_and_timed() {
    let (go, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let primary = Scripted::new(move |peer, _| {
        let wait = || gate.lock().unwrap().recv().unwrap();
        while let Some(request) = peer.request() {
            let status = request.line.split(['/', ' ']).nth(2).unwrap();
            peer.send("HTTP/1.1 103 Early Hints\r\n\r\n");
            wait();
            peer.send(format!("HTTP/1.1 {status} X\r\nContent-Length: 4\r\n\r\n"));
            wait();
            if status == "599" {
                return;
            }
            peer.send("body");
        }
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    let timed = || {
        let found = served.counts.snapshot().primary;
        (found.first_byte.count, found.whole.count)
    };
    for (number, status) in [200, 201, 404, 599].into_iter().enumerate() {
        let before = number as u64;
        assert!(client.send(format!("GET /{status} HTTP/1.1\r\nHost: a\r\n\r\n")));
        assert_eq!(client.head().unwrap().status(), 103);
        // A hint is no answer.
        assert_eq!(timed(), (before, before));
        go.send(()).unwrap();
        assert_eq!(client.head().unwrap().status(), status);
        assert_eq!(timed(), (before + 1, before));
        if status == 599 {
            break;
        }
        go.send(()).unwrap();
        while client.pending.len() < 4 {
            assert!(client.fill().unwrap());
        }
        client.pending.clear();
        // The last byte comes after the first one.
        let found = served.until(|s| s.primary.whole.count == before + 1);
        assert!(found.primary.whole.sum_ns > found.primary.first_byte.sum_ns);
    }
    go.send(()).unwrap();
    client.rest();
    let found = served.until(|s| s.failed == 1).primary;
    let expected = [("2xx", 2), ("4xx", 1), ("5xx", 1)];
    assert_eq!(found.statuses, expected.into_iter().collect());
    assert_eq!((found.first_byte.count, found.whole.count), (4, 3));
}

#[test]
fn an_answer_that_begins_before_its_request_has_ended_is_not_timed() {
    let primary = Scripted::new(|peer, _| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo");
        while !peer.pending.ends_with(b"rest") {
            assert!(peer.fill().unwrap());
        }
        peer.send("dy");
        peer.rest();
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
    assert_eq!(client.head().unwrap().status(), 200);
    client.send("rest");
    let found = served.until(|s| s.answered == 1).primary;
    assert_eq!((found.first_byte.count, found.whole.count), (0, 0));
    assert_eq!(found.statuses, [("2xx", 1)].into_iter().collect());
}
