//! What passes: requests and answers as they were, hop by hop fields anew, bodies
//! in every framing, versions, interim answers, upgrades.

use std::sync::{Arc, Mutex};

use crate::support::primary::{Scripted, ok};
use crate::support::{Memory, Served, settings};
use xxhash_rust::xxh3::xxh3_64;

#[test]
fn a_request_and_its_answer_pass_as_they_are() {
    let primary = Scripted::new(|peer, _| {
        let request = peer.request().unwrap();
        assert_eq!(request.line, "GET /a/%20b?c=d&e=[1] HTTP/1.1");
        let fields = [
            ("hOST", "Shop.example:80"),
            ("X-Two", "1"),
            ("accept", ""),
            ("X-Two", "\u{e9} b"),
        ];
        let expected: Vec<_> = fields.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        assert_eq!(request.fields, expected);
        peer.send(b"HTTP/1.1 299 Sonder \xe9\r\nset-cookie: a=b\r\nX-A:  1 \r\nSet-Cookie: c\r\nContent-Length: 5\r\n\r\nhallo");
        peer.request();
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    let request = b"GET /a/%20b?c=d&e=[1] HTTP/1.1\r\nhOST:Shop.example:80\r\nX-Two:  1\t\r\naccept:\r\nX-Two: \xe9 b\r\n\r\n";
    let answer = client.ask(request);
    assert_eq!(answer.line, "HTTP/1.1 299 Sonder \u{e9}");
    let fields = [
        ("set-cookie", "a=b"),
        ("X-A", "1"),
        ("Set-Cookie", "c"),
        ("Content-Length", "5"),
    ];
    let expected: Vec<_> = fields.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
    assert_eq!(answer.fields, expected);
    assert_eq!(answer.text(), "hallo");
    served.until(|s| (s.received, s.answered, s.connections) == (1, 1, 1));
}

#[test]
fn utf_8_in_a_target_passes_as_it_is() {
    const TARGET: &str = "/caf\u{e9}?q=\u{1f600}";
    let primary = Scripted::answering(|request| {
        // The support reads each byte as a character.
        let bytes: Vec<u8> = request.line.chars().map(|c| c as u8).collect();
        assert_eq!(bytes, format!("GET {TARGET} HTTP/1.1").as_bytes());
        ok("x")
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let request = format!("GET {TARGET} HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(served.client().ask(request).status(), 200);
    assert_eq!(tap.taken.lock().unwrap()[0].target, TARGET);
}

#[test]
fn fields_for_one_connection_stay_on_it() {
    let primary = Scripted::answering(|request| {
        let names: Vec<&str> = request
            .fields
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["Host", "X-Request-Start", "Keep"]);
        b"HTTP/1.1 200 OK\r\nX-Powerband-Shadow: a\r\nKeep-Alive: timeout=5\r\nConnection: X-Own, keep-alive\r\nX-Own: 1\r\nX-Other: 2\r\nUpgrade: h2\r\nProxy-Authenticate: x\r\nTrailer: y\r\nContent-Length: 0\r\n\r\n".to_vec()
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    for _ in 0..2 {
        let answer = client.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Drop ,,host, x-request-start\r\nDROP: 1\r\nX-Request-Start: t=1\r\nKeep-Alive: 3\r\nTE: trailers\r\nTrailer: x\r\nProxy-Connection: a\r\nProxy-Authorization: b\r\nx-powerband-shadow: new\r\nUpgrade: websocket\r\nKeep: 1\r\n\r\n");
        let names: Vec<&str> = answer
            .fields
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["X-Other", "Content-Length"]);
    }
    assert_eq!(primary.connections(), 1);
}

#[test]
fn connections_are_kept_one_to_one() {
    let primary = Scripted::new(|peer, number| {
        while peer.request().is_some() {
            peer.send(ok(&number.to_string()));
        }
    });
    let served = Served::plain(primary.address);
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let (mut one, mut two) = (served.client(), served.client());
    let first = one.ask(get).text();
    let second = two.ask(get).text();
    assert_ne!(first, second);
    for _ in 0..20 {
        assert_eq!(one.ask(get).text(), first);
        assert_eq!(two.ask(get).text(), second);
    }
    assert_eq!(primary.connections(), 2);
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let primary = Scripted::echo();
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let mut client = served.client();
    let mut all = String::new();
    for number in 0..50 {
        all.push_str(&format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n"));
        all.push_str(&format!(
            "POST /b{number} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na{number:02}\r\n"
        ));
    }
    assert!(client.send(&all));
    for number in 0..50 {
        let (get, post) = (client.answer().unwrap(), client.answer().unwrap());
        assert!(get.text().starts_with(&format!("GET /{number} HTTP/1.1\n")));
        assert!(post.text().ends_with(&format!("\n\na{number:02}")));
    }
    served.until(|s| s.answered == 100);
    let taken = tap.taken.lock().unwrap();
    let order: Vec<(u64, u32, u64)> = taken
        .iter()
        .map(|t| (t.id, t.sequence, t.connection))
        .collect();
    assert_eq!(
        order,
        (1..=100).map(|n| (n, n as u32, 1)).collect::<Vec<_>>()
    );
    assert_eq!(primary.connections(), 1);
}

#[test]
fn chunks_are_written_anew_both_ways() {
    let primary = Scripted::answering(|request| {
        assert_eq!(request.field("transfer-encoding"), Some("chunked"));
        assert_eq!(request.text(), "Wikipedia");
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n3;ext=\"1\"\r\nabc\r\n0002\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n".to_vec()
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let mut client = served.client();
    let answer = client.ask("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n5;a\r\npedia\r\n0\r\nOld: 1\r\n\r\n");
    assert_eq!(
        (answer.text().as_str(), answer.field("transfer-encoding")),
        ("abcde", Some("chunked"))
    );
    served.until(|s| s.answered == 1);
    let taken = tap.taken.lock().unwrap().clone();
    assert_eq!(
        (&taken[0].body[..], taken[0].body_bytes),
        (&b"Wikipedia"[..], 9)
    );
    let answered = tap.answered.lock().unwrap();
    let (id, answer) = &answered[0];
    let figures = answer.answer.as_ref().unwrap();
    assert_eq!((*id, &answer.body[..]), (1, &b"abcde"[..]));
    assert_eq!(
        (figures.status, figures.body_bytes, figures.complete),
        (200, 5, true)
    );
    assert_eq!(figures.digest, xxh3_64(b"abcde"));
    assert!(figures.first_byte_ns <= figures.took_ns);
}

#[test]
fn the_tap_receives_what_was_asked_and_answered() {
    let primary = Scripted::answering(|_| {
        b"HTTP/1.1 201 Made\r\nContent-Type: Text/HTML; charset=utf-8\r\nSet-Cookie: a=b\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nhi".to_vec()
    });
    let tap = Arc::new(Memory::default());
    let mut settings = settings(&[primary.address]);
    settings.limits.body_bytes = 4;
    settings.limits.compared_bytes = 1;
    let served = Served::new(&settings, tap.clone());
    let mut client = served.client();
    client.ask("POST /x?y HTTP/1.1\r\nhost: a\r\nCookie: c=d\r\nKeep-Alive: 1\r\nContent-Length: 6\r\n\r\n123456");
    served.until(|s| s.answered == 1);
    let head = tap.heads.lock().unwrap()[0].clone();
    assert_eq!(head, (1, "POST".into(), "/x?y".into(), Some(6)));
    let taken = tap.taken.lock().unwrap()[0].clone();
    let fields: Vec<(&str, &[u8])> = taken.headers.iter().collect();
    assert_eq!(
        fields,
        [
            ("host", &b"a"[..]),
            ("Cookie", b"c=d"),
            ("Content-Length", b"6")
        ]
    );
    // Cut at the limit, and it shows.
    assert_eq!((&taken.body[..], taken.body_bytes), (&b"1234"[..], 6));
    let answered = tap.answered.lock().unwrap();
    let answer = &answered[0].1;
    let figures = answer.answer.as_ref().unwrap();
    assert_eq!(
        (figures.status, figures.content_type.as_str()),
        (201, "text/html")
    );
    assert_eq!(
        (figures.body_bytes, figures.digest, &answer.body[..]),
        (2, xxh3_64(b"hi"), &b"h"[..])
    );
    let headers = answer.headers.as_ref().unwrap();
    let names: Vec<&str> = headers.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["Content-Type", "Set-Cookie", "Content-Length"]);
}

#[test]
fn an_answer_until_close_ends_well_for_either_version() {
    let primary = Scripted::new(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\n\r\nuntil close");
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    let answer = client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(answer.text(), "until close");
    assert_eq!(answer.field("transfer-encoding"), Some("chunked"));
    assert_eq!(answer.field("connection"), Some("close"));
    client.assert_closed();
    let mut client = served.client();
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let (all, orderly) = client.rest();
    let expected = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil close";
    assert_eq!(
        (String::from_utf8(all).unwrap().as_str(), orderly),
        (expected, true)
    );
}

#[test]
fn clients_of_http_1_0_are_served_as_by_the_primary() {
    let primary = Scripted::answering(|request| {
        assert!(request.line.ends_with(" HTTP/1.0"), "{}", request.line);
        match request.line.as_str() {
            "GET /chunked HTTP/1.0" => {
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n".to_vec()
            }
            _ => [b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".to_vec(), ok("hi")].concat(),
        }
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    for _ in 0..3 {
        let answer = client.ask("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        assert_eq!((answer.status(), answer.text().as_str()), (200, "hi"));
        assert_eq!(answer.field("connection"), Some("keep-alive"));
    }
    let mut client = served.client();
    client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    let (all, _) = client.rest();
    assert_eq!(
        all,
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    );
    let mut client = served.client();
    client.send("GET /chunked HTTP/1.0\r\n\r\n");
    let (all, _) = client.rest();
    assert_eq!(all, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
}

#[test]
fn answers_without_a_body_have_none() {
    let primary = Scripted::answering(|request| {
        let line = request.line.as_str();
        let head = match line.split(' ').nth(1).unwrap() {
            "/length" => "HTTP/1.1 200 OK\r\nContent-Length: 1000000",
            "/chunked" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked",
            "/neither" => "HTTP/1.1 200 OK\r\nX: y",
            "/204" => "HTTP/1.1 204 No Content",
            _ => "HTTP/1.1 304 Not Modified\r\nContent-Length: 77",
        };
        format!("{head}\r\n\r\n").into_bytes()
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    let cases = [
        ("HEAD /length", vec![("Content-Length", "1000000")]),
        ("HEAD /chunked", vec![("Transfer-Encoding", "chunked")]),
        ("HEAD /neither", vec![("X", "y")]),
        ("GET /204", vec![]),
        ("GET /304", vec![("Content-Length", "77")]),
    ];
    for (line, fields) in &cases {
        assert!(client.send(format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n")));
        let answer = client.head().unwrap();
        let expected: Vec<_> = fields
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        assert_eq!(answer.fields, expected, "{line}");
    }
    assert_eq!(primary.connections(), 1);
    served.until(|s| s.answered == 5);
}

#[test]
fn the_client_may_wait_for_100() {
    let primary = Scripted::new(|peer, _| {
        let head = peer.head().unwrap();
        assert_eq!(head.field("expect"), Some("100-continue"));
        assert!(peer.pending.is_empty());
        peer.send("HTTP/1.1 100 Continue\r\n\r\n");
        while peer.pending.len() < 4 {
            peer.fill().unwrap();
        }
        assert_eq!(peer.pending, b"body");
        peer.send(
            [
                b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".to_vec(),
                ok("done"),
            ]
            .concat(),
        );
        peer.pending.clear();
        assert!(peer.request().is_none());
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    assert_eq!(client.ask(head).line, "HTTP/1.1 100 Continue");
    assert_eq!(client.ask("body").field("link"), Some("</a>"));
    let answer = client.answer().unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.field("connection")),
        ("done", None)
    );
}

#[test]
fn a_body_that_was_not_asked_for_ends_the_connection() {
    let primary = Scripted::new(|peer, _| {
        peer.head().unwrap();
        peer.send("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
        peer.rest();
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let mut client = served.client();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    let answer = client.ask(head);
    assert_eq!(
        (answer.status(), answer.field("connection")),
        (417, Some("close"))
    );
    client.assert_closed();
    served.until(|s| s.answered == 1);
    assert_eq!(*tap.given_up.lock().unwrap(), [1]);
    assert!(tap.taken.lock().unwrap().is_empty());
}

#[test]
fn an_early_answer_reaches_a_client_that_is_still_sending() {
    let primary = Scripted::new(|peer, _| {
        peer.head().unwrap();
        peer.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig");
        peer.rest();
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\nsome");
    let answer = client.answer().unwrap();
    assert_eq!((answer.status(), answer.text().as_str()), (413, "big"));
    assert_eq!(answer.field("connection"), Some("close"));
}

#[test]
fn an_upgraded_connection_is_a_tunnel() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let primary = Scripted::new({
        let seen = seen.clone();
        move |peer, _| {
            let request = peer.request().unwrap();
            assert_eq!(request.field("upgrade"), Some("websocket"));
            assert_eq!(request.field("connection"), Some("Upgrade"));
            assert_eq!(request.field("sec-websocket-key"), Some("k"));
            peer.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s\r\n\r\nfirst");
            // The client says all it has and goes on listening.
            let (all, orderly) = peer.rest();
            assert!(orderly);
            peer.send("last");
            seen.lock().unwrap().extend(all);
        }
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let mut client = served.client();
    client.send("GET /cable HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\nearly");
    let head = client.head().unwrap();
    assert_eq!(
        (head.status(), head.field("connection")),
        (101, Some("Upgrade"))
    );
    assert_eq!(
        (head.field("upgrade"), head.field("sec-websocket-accept")),
        (Some("websocket"), Some("s"))
    );
    let large = vec![7; 300_000];
    client.send(&large);
    client.finish();
    let (all, orderly) = client.rest();
    assert_eq!(
        (String::from_utf8(all).unwrap().as_str(), orderly),
        ("firstlast", true)
    );
    assert_eq!(seen.lock().unwrap()[..], [&b"early"[..], &large].concat());
    served.until(|s| (s.answered, s.upgraded, s.open) == (1, 1, 0));
    assert!(tap.heads.lock().unwrap().is_empty());
}

#[test]
fn an_upgrade_that_is_declined_is_a_request_like_others() {
    let primary = Scripted::answering(|request| {
        // HTTP/2 is no protocol to change to.
        let h2 = request.line.contains("h2");
        assert_eq!(
            request.field("upgrade"),
            if h2 { None } else { Some("websocket") }
        );
        ok("no")
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    for (path, name) in [
        ("/", "websocket"),
        ("/h2", "h2c"),
        ("/h2", "websocket, H2C"),
    ] {
        let answer = client.ask(format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: {name}\r\n\r\n"
        ));
        assert_eq!(answer.text(), "no");
    }
    assert_eq!(primary.connections(), 1);
}

#[test]
fn a_target_that_names_its_host_is_taken_as_the_path_in_it() {
    let primary = Scripted::echo();
    let served = Served::plain(primary.address);
    let mut client = served.client();
    for (target, expected) in [
        ("http://Shop/a?b", "/a?b"),
        ("HTTPS://shop/", "/"),
        ("http://shop", "/"),
        ("//shop/x", "//shop/x"),
    ] {
        let answer = client.ask(format!("GET {target} HTTP/1.1\r\nHost: shop\r\n\r\n"));
        assert!(
            answer
                .text()
                .starts_with(&format!("GET {expected} HTTP/1.1\nHost=shop\n"))
        );
    }
    let answer = client.ask("OPTIONS * HTTP/1.1\r\nHost: shop\r\n\r\n");
    assert!(answer.text().starts_with("OPTIONS * HTTP/1.1\n"));
    // An empty line that a client sends after a body belongs to nothing.
    let answer = client.ask("\r\nGET /empty HTTP/1.1\r\nHost: shop\r\n\r\n");
    assert!(answer.text().starts_with("GET /empty HTTP/1.1\n"));
}

#[test]
fn primaries_take_turns_by_connection() {
    let primaries = ["a", "b", "c"].map(|name| Scripted::answering(move |_| ok(name)));
    let addresses = primaries.each_ref().map(|primary| primary.address);
    let served = Served::new(&settings(&addresses), Arc::new(mirror::Nobody));
    let mut said = String::new();
    for _ in 0..2 {
        for _ in 0..3 {
            let mut client = served.client();
            let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
            let name = client.ask(get).text();
            assert_eq!(client.ask(get).text(), name);
            said.push_str(&name);
        }
    }
    assert_eq!(said, "abcabc");
}
