//! What could be read in two ways, or is no HTTP: refused, with a word, and
//! nothing of it reaches the primary or the tap.

use std::sync::Arc;
use std::sync::mpsc::channel;

use crate::support::primary::{Scripted, ok};
use crate::support::{Memory, Served, settings};
use mirror::http1::Strictness;

/// Sends each alone, and after a good request on the same connection; whole, and byte by byte.
fn assert_refused(cases: &[(u16, &[u8])]) {
    let primary = Scripted::answering(|request| {
        assert_eq!(request.line, "GET /good HTTP/1.1");
        ok("good")
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let mut goods = 0;
    for (status, bytes) in cases {
        for (after_good, piecewise) in [(false, false), (true, false), (false, true)] {
            let name = String::from_utf8_lossy(bytes);
            let mut client = served.client();
            if after_good {
                let answer = client.ask("GET /good HTTP/1.1\r\nHost: a\r\n\r\n");
                assert_eq!(answer.text(), "good");
                goods += 1;
            }
            if piecewise {
                for byte in *bytes {
                    client.send([*byte]);
                }
            } else {
                client.send(bytes);
            }
            let answer = client
                .answer()
                .unwrap_or_else(|| panic!("no answer to {name:?}"));
            assert_eq!(answer.status(), *status, "{name:?}: {}", answer.text());
            assert_eq!(answer.field("connection"), Some("close"));
            assert!(answer.text().starts_with(&status.to_string()));
            let (rest, _) = client.rest();
            assert_eq!(rest, b"", "{name:?}");
        }
    }
    let refused = 3 * cases.len() as u64;
    served.until(|s| (s.refused, s.received, s.answered) == (refused, goods, goods));
    assert_eq!(primary.connections() as u64, goods);
    assert_eq!(tap.heads.lock().unwrap().len() as u64, goods);
}

/// A request with these lines after its first, and what follows its head.
fn with(lines: &str, body: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n{body}").into_bytes()
}

fn refuse_all(status: u16, cases: &[Vec<u8>]) {
    let cases: Vec<(u16, &[u8])> = cases.iter().map(|case| (status, &case[..])).collect();
    assert_refused(&cases);
}

#[test]
fn bytes_that_no_head_may_have() {
    refuse_all(
        400,
        &[
            b"GET / HTTP/1.1\nHost: a\n\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA: b\n\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA: b\rc\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA: b\0c\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA: b\x7f\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n folded\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n\tfolded: x\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\n Host: a\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost : a\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA(b): c\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nA\xc3\xa4: c\r\n\r\n".to_vec(),
            b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b" GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        ],
    );
}

#[test]
fn first_lines_that_are_none() {
    refuse_all(
        400,
        &[
            b"GET\r\nHost: a\r\n\r\n".to_vec(),
            b"GET /\r\nHost: a\r\n\r\n".to_vec(),
            b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n".to_vec(),
            b"GET / x HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"G(T / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET / HTTP/11\r\nHost: a\r\n\r\n".to_vec(),
            b"GET / http/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1x\r\nHost: a\r\n\r\n".to_vec(),
        ],
    );
    let primary = Scripted::echo();
    let served = Served::plain(primary.address);
    // Tokens all of them, whatever case they have.
    for method in ["get", "M-SEARCH", "!#$%&'*+-.^_`|~09"] {
        let answer = served
            .client()
            .ask(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(answer.text().starts_with(&format!("{method} / HTTP/1.1\n")));
    }
}

#[test]
fn targets_that_are_none() {
    refuse_all(
        400,
        &[
            b"GET a HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET * HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"OPTIONS *a HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET /\xe4 HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET /\xc0\xaf HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET http://a?x HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"GET http://a/ HTTP/1.0\r\n\r\n".to_vec(),
        ],
    );
    refuse_all(
        501,
        &[
            b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        ],
    );
}

#[test]
fn hosts_that_are_none_or_several() {
    refuse_all(
        400,
        &[
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n".to_vec(),
            b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\xe4\r\n\r\n".to_vec(),
        ],
    );
}

#[test]
fn lengths_that_are_none_or_several() {
    let lines = [
        "Content-Length: ",
        "Content-Length: +3",
        "Content-Length: -3",
        "Content-Length: 3, 3",
        "Content-Length: 3 3",
        "Content-Length: 0x3",
        "Content-Length: 3.0",
        "Content-Length: three",
        "Content-Length: 3\r\nContent-Length: 3",
        "Content-Length: 3\r\ncontent-length: 4",
        "Content-Length: 00000000000000000003",
        "Content-Length: 18446744073709551619",
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: ",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
        "Transfer-Encoding: ,chunked",
        "Transfer-Encoding: \x0bchunked",
        "Connection: a b",
        "Connection: \u{e4}",
    ];
    let body = "3\r\nabc\r\n0\r\n\r\n";
    refuse_all(400, &lines.map(|line| with(line, body)));
    refuse_all(
        400,
        &[b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_vec()],
    );
    let many = format!("Connection: {}", "a,".repeat(40));
    refuse_all(400, &[with(&many, "")]);
}

#[test]
fn names_that_an_application_reads_as_framing() {
    let names = [
        "Content_Length",
        "content_length",
        "CONTENT.LENGTH",
        "Transfer_Encoding",
        "transfer+encoding",
    ];
    let cases: Vec<Vec<u8>> = names
        .iter()
        .flat_map(|name| {
            [
                with(&format!("{name}: 0"), ""),
                with(&format!("Content-Length: 3\r\n{name}: 3"), "abc"),
            ]
        })
        .collect();
    refuse_all(400, &cases);
}

#[test]
fn versions_that_are_not_spoken() {
    refuse_all(
        505,
        &[
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            b"GET / HTTP/2.0\r\nHost: a\r\n\r\n".to_vec(),
            b"GET / HTTP/1.2\r\nHost: a\r\n\r\n".to_vec(),
            b"GET / HTTP/0.9\r\nHost: a\r\n\r\n".to_vec(),
        ],
    );
}

#[test]
fn heads_that_are_too_large() {
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(16 << 10));
    let endless = format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}", "x".repeat(16 << 10));
    let many = with(&["A: b"; 100].join("\r\n"), "");
    refuse_all(431, &[long.into_bytes(), endless.into_bytes(), many]);
    let primary = Scripted::answering(|_| ok("good"));
    let served = Served::plain(primary.address);
    // Just not too large.
    let frame = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".len();
    let long = format!(
        "GET /{} HTTP/1.1\r\nHost: a\r\n\r\n",
        "x".repeat((16 << 10) - frame)
    );
    assert_eq!(served.client().ask(long).text(), "good");
    assert_eq!(
        served
            .client()
            .ask(with(&["A: b"; 99].join("\r\n"), ""))
            .text(),
        "good"
    );
}

#[test]
fn what_everybody_reads_in_the_same_way_passes_where_strictness_is_reported() {
    let (told, heard) = channel();
    let primary = Scripted::new(move |peer, _| {
        while peer.fill().is_ok_and(|more| more) {
            if peer.pending.ends_with(b"\r\n\r\n") {
                told.send(std::mem::take(&mut peer.pending)).unwrap();
                peer.send(ok("good"));
            }
        }
    });
    let mut settings = settings(&[primary.address]);
    settings.client.strictness = Strictness::Report;
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings, tap.clone());
    let heads: [&[u8]; 4] = [
        &[
            b"GET /long HTTP/1.1\r\nHost: a\r\nA: ",
            &[b'x'; 16 << 10][..],
            b"\r\n\r\n",
        ]
        .concat(),
        &with(&["A: b"; 100].join("\r\n"), ""),
        b"GET /\xe4?\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ];
    let mut client = served.client();
    for head in heads {
        assert_eq!(client.ask(head).text(), "good");
        assert_eq!(
            heard.recv().unwrap().escape_ascii().to_string(),
            head.escape_ascii().to_string()
        );
    }
    let s = served.until(|s| s.answered == 4);
    let expected = ["head_bytes", "head_fields", "no_host", "target_bytes"].map(|cause| (cause, 1));
    assert_eq!(s.tolerated.into_iter().collect::<Vec<_>>(), expected);
    // A receiver that keeps requests as text gets those that are.
    assert_eq!(tap.taken.lock().unwrap().len(), 3);
    // Four times the limit, so that many connections cannot hold much more than without this.
    let endless = [b"GET / HTTP/1.1\r\nA: ", &vec![b'x'; 64 << 10][..]].concat();
    let fields = with(&["A: b"; 400].join("\r\n"), "");
    for (status, refused) in [
        (431, &endless[..]),
        (431, &fields),
        (
            400,
            b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        (400, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        (400, b"GET http://b/\xe4 HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, b"GET http://\xe4/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        (400, b"GET http://a/\xe4 HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, b"G\xe4T / HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, b"GET /\xe4\x01 HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, b"GET /\xe4 x HTTP/1.1\r\nHost: a\r\n\r\n"),
    ] {
        assert_eq!(served.client().ask(refused).status(), status);
    }
    assert_eq!(served.until(|s| s.refused == 10).received, 4);
}

#[test]
fn chunks_that_are_none() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let extension = format!("3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(2000));
    let trailer = format!("0\r\nA: {}\r\n\r\n", "x".repeat(9000));
    let bodies = [
        "\r\n",
        "x\r\n",
        "-1\r\n",
        "+1\r\na",
        "0x1\r\na",
        " 1\r\na",
        "1 \r\na",
        "1\t;a\r\na",
        "1\na",
        "1\r\na\n",
        "1\rxa",
        "1\r\nab\r\n",
        "1;a\nb\r\na",
        "1;\0\r\na",
        "1;\r\r\na",
        "1000000000000000\r\na",
        "0000000000000001\r\na",
        "0\r\n\n",
        "0\r\n A: b\r\n\r\n",
        "0\r\nA\r\n\r\n",
        "0\r\nA : b\r\n\r\n",
        "0\r\n: b\r\n\r\n",
        "0\r\nA: \0\r\n\r\n",
        "0\r\nA: b\n\r\n",
        "0\r\nA: b\rc\r\n\r\n",
        "0\r\n\rx",
        &extension,
        &trailer,
    ];
    // The last one is longer than what is read at once.
    for body in &bodies[..bodies.len() - 1] {
        // Together with its head it is refused before anybody has seen any of it.
        let primary = Scripted::new(|peer, _| panic!("{:?}", peer.rest()));
        let tap = Arc::new(Memory::default());
        let served = Served::new(&settings(&[primary.address]), tap.clone());
        let mut client = served.client();
        client.send(format!(
            "{head}{body}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        let answer = client.answer().unwrap();
        assert_eq!(
            (answer.status(), answer.field("connection")),
            (400, Some("close")),
            "{body:?}"
        );
        client.assert_closed();
        served.until(|s| (s.refused, s.received) == (1, 0));
        assert!(tap.heads.lock().unwrap().is_empty());
    }
    for body in bodies {
        // After it, the primary never sees the end of a request, and the tap no request at all.
        let primary = Scripted::new(|peer, _| assert!(peer.request().is_none()));
        let tap = Arc::new(Memory::default());
        let served = Served::new(&settings(&[primary.address]), tap.clone());
        let mut client = served.client();
        client.send(head);
        served.until(|s| s.received == 1);
        client.send(format!("{body}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
        let answer = client.answer().unwrap();
        assert_eq!(
            (answer.status(), answer.field("connection")),
            (400, Some("close")),
            "{body:?}"
        );
        client.assert_closed();
        served.until(|s| (s.refused, s.received, s.aborted) == (0, 1, 1));
        assert_eq!(*tap.given_up.lock().unwrap(), [1]);
        assert!(tap.taken.lock().unwrap().is_empty());
    }
}

#[test]
fn a_second_request_after_a_refused_one_is_not_read() {
    let primary = Scripted::new(|peer, _| panic!("{:?}", peer.rest()));
    let served = Served::plain(primary.address);
    let mut client = served.client();
    client.send("GET / HTTP/1.1\r\nContent-Length: x\r\nHost: a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().unwrap().status(), 400);
    client.assert_closed();
}

#[test]
fn answers_that_could_be_read_in_two_ways() {
    let body = "3\r\nabc\r\n0\r\n\r\n";
    let heads = [
        "HTTP/1.1 200 OK\nContent-Length: 3\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\0\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "nonsense",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 101 Go\r\n\r\n",
    ];
    for head in heads {
        let primary = Scripted::new(move |peer, _| {
            peer.request();
            peer.send(format!("{head}{body}"));
            peer.rest();
        });
        let tap = Arc::new(Memory::default());
        let served = Served::new(&settings(&[primary.address]), tap.clone());
        let answer = served.client().ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(
            (answer.status(), answer.field("connection")),
            (502, Some("close")),
            "{head:?}"
        );
        served.until(|s| (s.received, s.failed) == (1, 1));
        assert!(tap.answered.lock().unwrap()[0].1.answer.is_none());
    }
}
