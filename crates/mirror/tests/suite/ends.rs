//! How requests and connections end when somebody does not do what was hoped:
//! the client leaves, the primary is away, silent, late or cut off, the time is
//! over, the settings change.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::support::primary::{Scripted, ok};
use crate::support::{Memory, PATIENCE, Peer, Served, listen_at, settings};
use mirror::{Cause, Nobody, OpenFiles};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// Short, and over in any case before the test is.
const SOON: Duration = Duration::from_millis(50);

#[test]
fn a_primary_that_is_away_is_502() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[free]), tap.clone());
    let mut client = served.client();
    let answer = client.ask(GET);
    assert_eq!(
        (answer.status(), answer.field("connection")),
        (502, Some("close"))
    );
    // What the system says is for the log.
    assert_eq!(answer.text(), "502: the primary cannot be reached\n");
    let trouble = served
        .counts
        .client
        .causes
        .take_example(Cause::Unreachable)
        .unwrap();
    assert!(
        trouble.contains(&free.to_string()) && trouble.contains("refused"),
        "{trouble}"
    );
    client.assert_closed();
    let mut client = served.client();
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().unwrap().status(), 502);
    client.assert_closed();
    served.until(|s| (s.received, s.failed) == (2, 2));
    // It was asked and never answered: that is known of it.
    assert_eq!(tap.taken.lock().unwrap().len(), 2);
    assert!(
        tap.answered
            .lock()
            .unwrap()
            .iter()
            .all(|(_, answer)| answer.answer.is_none())
    );
}

#[test]
fn a_primary_that_says_nothing_is_504() {
    let primary = Scripted::new(|peer, _| {
        peer.request();
        peer.assert_closed();
    });
    let mut settings = settings(&[primary.address]);
    settings.primaries[0].answer_timeout = Some(SOON);
    let served = Served::new(&settings, Arc::new(Nobody));
    let answer = served.client().ask(GET);
    assert_eq!(
        (answer.status(), answer.field("connection")),
        (504, Some("close"))
    );
    served.until(|s| s.failed == 1);
}

#[test]
fn whether_to_send_its_body_is_for_the_primary_to_say_in_time() {
    let primary = Scripted::new(|peer, _| {
        peer.head();
        peer.assert_closed();
    });
    let mut settings = settings(&[primary.address]);
    settings.primaries[0].answer_timeout = Some(SOON);
    let served = Served::new(&settings, Arc::new(Nobody));
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    assert_eq!(served.client().ask(head).status(), 504);
    served.until(|s| (s.failed, s.aborted) == (1, 0));
}

#[test]
fn a_primary_that_stops_in_the_middle_is_no_whole_answer() {
    let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n12345",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\nx",
    ];
    for answer in answers {
        let primary = Scripted::new(move |peer, _| {
            peer.request();
            peer.send(answer);
        });
        let tap = Arc::new(Memory::default());
        let served = Served::new(&settings(&[primary.address]), tap.clone());
        let mut client = served.client();
        client.send(GET);
        assert_eq!(client.head().unwrap().status(), 200);
        let (rest, _) = client.rest();
        let rest = String::from_utf8(rest).unwrap();
        assert!(!rest.ends_with("0\r\n\r\n") && rest.len() < 12, "{rest:?}");
        // In a version that ends bodies with the connection, the end must be an error.
        let mut client = served.client();
        client.send("GET / HTTP/1.0\r\n\r\n");
        let (all, orderly) = client.rest();
        let counted = answer.contains("Content-Length");
        assert!(counted || !orderly, "{:?}", String::from_utf8_lossy(&all));
        served.until(|s| (s.received, s.failed) == (2, 2));
        let answered = tap.answered.lock().unwrap();
        let figures = answered[0].1.answer.as_ref().unwrap();
        assert_eq!(
            (figures.complete, figures.body_bytes, figures.status),
            (false, 5, 200)
        );
    }
}

#[test]
fn a_kept_connection_that_was_dead_is_tried_again_once() {
    // Each connection answers once; the second request meets its end.
    let primary = Scripted::new(|peer, number| {
        peer.request();
        peer.send(ok(&number.to_string()));
        if number == 0 {
            peer.request();
        }
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    assert_eq!(client.ask(GET).text(), "0");
    assert_eq!(client.ask(GET).text(), "1");
    served.until(|s| (s.received, s.answered) == (2, 2));
    assert_eq!(primary.connections(), 2);
}

#[test]
fn what_must_not_happen_twice_is_not_tried_again() {
    for request in [
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
    ] {
        let primary = Scripted::new(|peer, _| {
            peer.request();
            peer.send(ok("once"));
            peer.request();
        });
        let served = Served::plain(primary.address);
        let mut client = served.client();
        assert_eq!(client.ask(GET).text(), "once");
        assert_eq!(client.ask(request).status(), 502);
        served.until(|s| (s.received, s.answered, s.failed) == (2, 1, 1));
        assert_eq!(primary.connections(), 1);
    }
}

#[test]
fn a_new_connection_that_says_nothing_is_not_tried_again() {
    let primary = Scripted::new(|peer, _| drop(peer.request()));
    let served = Served::plain(primary.address);
    assert_eq!(served.client().ask(GET).status(), 502);
    assert_eq!(primary.connections(), 1);
}

#[test]
fn the_primary_ends_the_clients_connection_with_its_own() {
    let primary = Scripted::new(|peer, number| {
        let request = peer.request().unwrap();
        // First said, then done without a word.
        match number {
            0 => peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"),
            1 => peer.send("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
            _ => peer.send(ok("hi")),
        };
        let closes = request.field("connection");
        assert_eq!(closes, (number == 3).then_some("close"));
        if number == 3 {
            peer.assert_closed();
        }
    });
    let served = Served::plain(primary.address);
    for close in [Some("close"), Some("close"), None] {
        let mut client = served.client();
        assert_eq!(client.ask(GET).field("connection"), close);
        client.assert_closed();
    }
    let mut client = served.client();
    let answer = client.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(answer.field("connection"), Some("close"));
    client.assert_closed();
    served.until(|s| (s.answered, s.open) == (4, 0));
}

#[test]
fn a_client_that_leaves_ends_the_primarys_connection() {
    let (told, heard) = channel();
    let primary = Scripted::new(move |peer, number| {
        match number {
            // Before any answer, in the middle of one, in the middle of the request.
            0 => drop(peer.request()),
            1 => {
                peer.request();
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome");
            }
            _ => drop(peer.head()),
        }
        peer.rest();
        told.send(number).unwrap();
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let mut client = served.client();
    client.send(GET);
    served.until(|s| s.received == 1);
    drop(client);
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(0));
    let mut client = served.client();
    client.send(GET);
    assert_eq!(client.head().unwrap().status(), 200);
    drop(client);
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(1));
    let mut client = served.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nsome");
    served.until(|s| s.received == 3);
    drop(client);
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(2));
    served.until(|s| (s.received, s.aborted) == (3, 3));
    let answered = tap.answered.lock().unwrap();
    assert_eq!(answered.len(), 2);
    assert!(answered[0].1.answer.is_none());
    assert!(!answered[1].1.answer.as_ref().unwrap().complete);
    assert_eq!(*tap.given_up.lock().unwrap(), [3]);
}

#[test]
fn an_answer_that_went_out_whole_is_answered_whatever_becomes_of_its_request() {
    let primary = Scripted::new(|peer, _| {
        peer.head();
        peer.send(ok("enough"));
        peer.rest();
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let mut client = served.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nsome");
    let answer = client.answer().unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.field("connection")),
        ("enough", None)
    );
    drop(client);
    served.until(|s| (s.received, s.answered, s.open) == (1, 1, 0));
    assert_eq!(*tap.given_up.lock().unwrap(), [1]);
}

#[test]
fn bytes_that_nobody_asked_for_answer_nothing() {
    let (told, heard) = channel();
    let heard = std::sync::Mutex::new(heard);
    let primary = Scripted::new(move |peer, number| {
        peer.request();
        let extra = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nextra";
        if number == 0 {
            // At once with the answer, and after it.
            peer.send([&ok("asked"), &extra[..]].concat());
        } else {
            peer.send(ok("asked"));
            heard.lock().unwrap().recv().unwrap();
            peer.send(extra);
        }
        peer.rest();
    });
    let served = Served::plain(primary.address);
    for number in 0..2 {
        let mut client = served.client();
        assert_eq!(client.ask(GET).text(), "asked");
        if number == 1 {
            told.send(()).unwrap();
        }
        client.assert_closed();
    }
    served.until(|s| (s.received, s.answered, s.open) == (2, 2, 0));
}

#[test]
fn a_head_that_comes_too_slowly_is_408() {
    let primary = Scripted::new(|peer, _| panic!("{:?}", peer.rest()));
    let mut settings = settings(&[primary.address]);
    settings.client.head_timeout = SOON;
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut client = served.client();
    client.send("GET / HTTP/1.1\r\nHo");
    let answer = client.answer().unwrap();
    assert_eq!(
        (answer.status(), answer.field("connection")),
        (408, Some("close"))
    );
    client.assert_closed();
    served.until(|s| (s.refused, s.received) == (1, 0));
}

#[test]
fn a_client_that_does_nothing_is_not_kept() {
    let primary = Scripted::echo();
    let mut settings = settings(&[primary.address]);
    settings.client.idle_timeout = Duration::from_secs(2);
    let served = Served::new(&settings, Arc::new(Nobody));
    let (mut silent, mut content, mut slow) = (served.client(), served.client(), served.client());
    assert_eq!(content.ask(GET).status(), 200);
    // The body that it announced does not come.
    slow.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nsome");
    silent.assert_closed();
    content.assert_closed();
    assert_eq!(slow.answer().unwrap().status(), 408);
    slow.assert_closed();
    served.until(|s| (s.answered, s.aborted, s.refused, s.open) == (1, 1, 0, 0));
}

#[test]
fn a_reload_drops_no_connection() {
    let (one, two) = (
        Scripted::answering(|_| ok("one")),
        Scripted::answering(|_| ok("two")),
    );
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[one.address]), Arc::new(Nobody));
    let mut client = served.client();
    assert_eq!(client.ask(GET).text(), "one");
    // The same primary: its connection stays.
    let mut settings_ = settings(&[one.address]);
    settings_.primaries[0].answer_timeout = Some(PATIENCE);
    served.control.reload(&settings_, tap.clone()).unwrap();
    assert_eq!(client.ask(GET).text(), "one");
    assert_eq!(one.connections(), 1);
    assert_eq!(tap.taken.lock().unwrap().len(), 1);
    // Another one: the client's stays.
    served
        .control
        .reload(&settings(&[two.address]), Arc::new(Nobody))
        .unwrap();
    assert_eq!(client.ask(GET).text(), "two");
    let mut bad = settings(&[one.address]);
    bad.primaries.clear();
    assert!(served.control.reload(&bad, Arc::new(Nobody)).is_err());
    assert_eq!(client.ask(GET).text(), "two");
    served.until(|s| (s.connections, s.answered) == (1, 4));
}

#[test]
fn an_address_that_is_taken_says_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = settings(&[taken.local_addr().unwrap()]);
    let address = taken.local_addr().unwrap();
    settings.listen.at = listen_at(address);
    let error = mirror::proxy::Proxy::bind(
        &settings,
        OpenFiles::raise(),
        Arc::default(),
        Arc::new(Nobody),
    )
    .unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn another_primary_answers_for_one_that_is_away_until_it_is_back() {
    let answering = |peer: &mut Peer, _: usize| {
        while peer.request().is_some() {
            peer.send(ok("x"));
        }
    };
    let there = Scripted::new(answering);
    // An address of its own: no other test takes a port of it between the two.
    let away = TcpListener::bind("127.77.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let served = Served::new(&settings(&[away, there.address]), Arc::new(Nobody));
    for _ in 0..20 {
        assert_eq!(served.client().ask(GET).status(), 200);
    }
    let back = Scripted::at(away, answering);
    let deadline = Instant::now() + PATIENCE;
    while back.accepted.load(Ordering::SeqCst) == 0 {
        assert!(Instant::now() < deadline, "it is never tried again");
        assert_eq!(served.client().ask(GET).status(), 200);
    }
    served.until(|s| s.failed == 0);
}
