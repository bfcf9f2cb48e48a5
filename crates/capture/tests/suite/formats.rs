//! Each format's sample, read as a caller would.

use std::time::Duration;

use capture::{Format, Place, ReadError, Recorded, Traffic, read};

macro_rules! sample {
    ($name:literal) => {
        read(include_bytes!(concat!("../fixtures/", $name)), None).unwrap()
    };
}

fn lines(traffic: &Traffic) -> Vec<String> {
    let line = |r: &Recorded| format!("{} {} {}", r.at_ns / 1_000, r.method, r.path);
    traffic.requests.iter().map(line).collect()
}

fn places(traffic: &Traffic) -> Vec<Place> {
    traffic
        .skipped
        .first
        .iter()
        .map(|skip| skip.place)
        .collect()
}

fn header<'a>(request: &'a Recorded, name: &str) -> Option<&'a str> {
    let found = request.headers.iter().find(|(given, _)| given == name);
    found.map(|(_, value)| value.as_str())
}

#[test]
fn goreplay() {
    let traffic = sample!("requests.gor");
    assert_eq!((traffic.format, traffic.timed), (Format::Gor, true));
    let expected = [
        "0 GET /products?page=2",
        "250000 PUT /notes/3",
        "500000 POST /cart",
    ];
    assert_eq!(lines(&traffic), expected);
    let [list, note, cart] = traffic.requests.as_slice() else {
        panic!("{traffic:?}")
    };
    assert_eq!(list.host.as_deref(), Some("shop.example.com"));
    assert_eq!(
        list.headers.len(),
        2,
        "Host and Connection are gone: {list:?}"
    );
    assert_eq!(note.body, b"Wikipedia");
    assert_eq!(cart.body, b"item=7&quantity=2");
    assert_eq!((list.place, cart.place), (Place::Line(1), Place::Line(16)));
    assert_eq!(traffic.skipped.count, 0, "answers are not counted");
    assert_eq!(traffic.span(), Duration::from_millis(500));
}

#[test]
fn goreplay_bodies_that_are_not_what_they_claim_are_skipped() {
    let head = "1 932079936fa4306f 1000 0\nPOST / HTTP/1.1\r\n";
    for (rest, why) in [
        ("Content-Length: 9\r\n\r\nabc", "cut off"),
        ("Content-Length: 2\r\n\r\nabc", "longer"),
        ("Content-Length: +3\r\n\r\nabc", "Content-Length"),
        ("Content-Length: 16777217\r\n\r\nabc", "16777216"),
        (
            "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
            "two ways",
        ),
        (
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
            "two ways",
        ),
        ("Transfer-Encoding: gzip\r\n\r\nabc", "coding"),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nabc", "cut off"),
        (
            "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            "more than",
        ),
        ("Transfer-Encoding: chunked\r\n\r\nzz\r\n", "number"),
        ("\r\nabc", "without"),
        ("A: b", "head is cut off"),
        ("A b\r\n\r\n", "HTTP/1"),
    ] {
        let ReadError::NothingReadable { skipped, .. } =
            read(format!("{head}{rest}").as_bytes(), None).unwrap_err()
        else {
            panic!("{rest}")
        };
        assert!(skipped.first[0].why.contains(why), "{rest:?}: {skipped}");
    }
}

#[test]
fn har() {
    let traffic = sample!("browser.har");
    assert_eq!((traffic.format, traffic.timed), (Format::Har, true));
    let expected = [
        "0 GET /products?page=2",
        "250000 POST /login",
        "1000000 PUT /notes/3",
    ];
    assert_eq!(lines(&traffic), expected);
    let [list, login, note] = traffic.requests.as_slice() else {
        panic!("{traffic:?}")
    };
    assert_eq!(list.host.as_deref(), Some("shop.example.com"));
    assert_eq!(header(list, "Cookie"), Some("session=abc"));
    assert_eq!(header(list, ":authority"), None);
    assert_eq!(login.body, b"user+name=a%26b&x=1");
    assert_eq!(note.body, b"{\"a\":1}");
    assert_eq!(
        places(&traffic),
        [Place::Entry(4), Place::Entry(5), Place::Entry(6)]
    );
    let minified = br#" {"log":{"version":"1.2","entries":[{"startedDateTime":"2026-01-01T00:00:00Z",
        "request":{"method":"POST","url":"http://x/","postData":{"text":"AP8=","encoding":"base64"}}}]}}"#;
    assert_eq!(read(minified, None).unwrap().requests[0].body, [0, 255]);
}

#[test]
fn a_har_document_knows_connections_where_its_creator_numbers_them() {
    let connection = |creator: &str, version: &str| {
        let text = format!(
            r#"{{"log":{{"creator":{{"name":"{creator}"}},"entries":[{{"startedDateTime":"2026-01-01T00:00:00Z",
            "connection":"443","request":{{"method":"GET","url":"http://x/","httpVersion":"{version}"}}}}]}}}}"#
        );
        read(text.as_bytes(), None).unwrap().requests[0].connection
    };
    assert_eq!(connection("WebInspector", "http/1.1"), Some(443));
    assert_eq!(connection("powerband", "HTTP/1.1"), Some(443));
    assert_eq!(connection("Firefox", "HTTP/1.1"), None, "it is the port");
    assert_eq!(
        connection("WebInspector", "h2"),
        None,
        "they go side by side"
    );
}

#[test]
fn a_har_document_that_is_cut_off_is_refused_with_its_place() {
    let whole = include_bytes!("../fixtures/browser.har");
    let error = read(&whole[..whole.len() / 2], None).unwrap_err();
    assert!(
        matches!(&error, ReadError::Document { why } if why.contains("line")),
        "{error}"
    );
}

#[test]
fn vegeta() {
    let traffic = sample!("targets.jsonl");
    assert_eq!((traffic.format, traffic.timed), (Format::VegetaJson, false));
    let expected = [
        "0 GET /path/to/dragon?item=ball",
        "0 HEAD /path/to/success",
        "0 POST /things",
    ];
    assert_eq!(lines(&traffic), expected);
    let post = &traffic.requests[2];
    assert_eq!(
        (post.body.as_slice(), post.headers.len()),
        (&b"Content"[..], 3)
    );
    assert_eq!(post.host.as_deref(), Some("goku:9090"));
    assert_eq!(
        (traffic.instants_ns(), traffic.span()),
        (vec![0; 3], Duration::ZERO)
    );
}

#[test]
fn h2load() {
    let traffic = sample!("timing.tsv");
    assert_eq!((traffic.format, traffic.timed), (Format::H2load, true));
    let expected = [
        "0 GET /index.html",
        "250125 GET /style.css",
        "250125 GET /app.js",
        "1000000 GET /products?page=2",
    ];
    assert_eq!(lines(&traffic), expected);
    let shifted = read(b"100\t/a\nsoon\t/b\n-5\t/c\n100.5\t/d\n", None).unwrap();
    assert_eq!(lines(&shifted), ["0 GET /a", "500 GET /d"]);
    assert_eq!(places(&shifted), [Place::Line(2), Place::Line(3)]);
}

#[test]
fn common_log() {
    let traffic = sample!("common.log");
    assert_eq!((traffic.format, traffic.timed), (Format::AccessLog, true));
    let expected = [
        "0 GET /apache_pb.gif",
        "0 HEAD /",
        "2000000 POST /orders?x=1",
    ];
    assert_eq!(lines(&traffic), expected);
    assert_eq!(traffic.requests[2].host, None);
    assert_eq!(traffic.resolution, Duration::from_secs(1));
    assert_eq!(traffic.instants_ns(), [0, 500_000_000, 2_000_000_000]);
}

#[test]
fn combined_log() {
    let traffic = sample!("combined.log");
    assert_eq!(traffic.format, Format::AccessLog);
    let expected = [
        "0 GET /up",
        "1000000 GET /products/17?tab=reviews",
        "1000000 GET /caf%C3%A9",
    ];
    assert_eq!(lines(&traffic), expected);
    let page = &traffic.requests[1];
    let agent = "Mozilla/5.0 (X11; Linux x86_64) \"quoted\"";
    assert_eq!(header(page, "User-Agent"), Some(agent));
    assert_eq!(header(page, "Referer"), Some("https://shop.example.com/"));
    assert!(traffic.requests[0].headers.is_empty(), "a dash is no value");
    assert_eq!(
        places(&traffic),
        [Place::Line(2), Place::Line(5), Place::Line(6)]
    );
    let named = sample!("vhost_combined.log");
    assert_eq!(
        named.requests[0].host.as_deref(),
        Some("shop.example.com:443")
    );
}

#[test]
fn json_lines() {
    let traffic = sample!("nginx.jsonl");
    assert_eq!((traffic.format, traffic.timed), (Format::JsonLines, true));
    // The instants are those of the answers' ends less what they took.
    let expected = [
        "0 POST /cart",
        "100000 GET /products?page=2",
        "1000000 GET /up",
    ];
    assert_eq!(lines(&traffic), expected);
    assert_eq!(traffic.resolution, Duration::from_millis(1));
    assert_eq!(
        header(&traffic.requests[1], "User-Agent"),
        Some("curl/7.88.1")
    );
    assert_eq!(places(&traffic), [Place::Line(4), Place::Line(5)]);
    let caddy = sample!("caddy.jsonl");
    let request = &caddy.requests[0];
    assert_eq!(lines(&caddy), ["0 GET /products?page=2"]);
    assert_eq!(
        (header(request, "Accept"), header(request, "Cookie")),
        (Some("*/*"), None)
    );
    assert_eq!(request.host.as_deref(), Some("localhost"));
}

#[test]
fn json_lines_under_other_names() {
    for line in [
        r#"{"time":"2026-11-21T12:45:58Z","method":"get","path":"/a","query":"?b=c"}"#,
        r#"{"ts":1795265158,"verb":"GET","uri":"/a","args":"b=c"}"#,
        r#"{"@timestamp":"2026-11-21T12:45:58.000Z","method":"GET","url":"http://x/a?b=c"}"#,
        r#"{"time_local":"21/Nov/2026:12:45:58 +0000","request":"GET /a?b=c HTTP/1.1"}"#,
        r#"{"StartUTC":"2026-11-21T12:45:58Z","time":"later","RequestMethod":"GET","RequestPath":"/a?b=c"}"#,
    ] {
        let traffic = read(line.as_bytes(), None).unwrap();
        assert_eq!(
            (traffic.format, traffic.timed),
            (Format::JsonLines, true),
            "{line}"
        );
        assert_eq!(lines(&traffic), ["0 GET /a?b=c"], "{line}");
        assert_eq!(traffic.resolution, Duration::from_secs(1), "{line}");
    }
    let untimed = read(br#"{"method":"GET","path":"/a"}"#, None).unwrap();
    assert!(!untimed.timed);
    let mixed =
        b"{\"time\":1,\"method\":\"GET\",\"path\":\"/a\"}\n{\"method\":\"GET\",\"path\":\"/b\"}\n\
        {\"time\":\"soon\",\"method\":\"GET\",\"path\":\"/c\"}";
    let mixed = read(mixed, None).unwrap();
    assert_eq!(lines(&mixed), ["0 GET /a"]);
    assert_eq!(places(&mixed), [Place::Line(2), Place::Line(3)]);
}

#[test]
fn what_is_no_traffic_is_refused_with_a_remedy() {
    assert_eq!(read(b" \n", None), Err(ReadError::Empty));
    assert_eq!(read(b"\x1f\x8b\x08\x00", None), Err(ReadError::Gzip));
    for text in [
        "hello\nworld\n",
        "[1,2]",
        "{}",
        "{\"a\":1}\n",
        "<html>",
        "\u{0}",
    ] {
        let error = read(text.as_bytes(), None).unwrap_err();
        assert!(
            matches!(error, ReadError::NotRecognised { .. }),
            "{text:?}: {error:?}"
        );
        let told = error.to_string();
        for name in [
            ".pbc",
            "gor",
            "HAR",
            "vegeta",
            "h2load",
            "combined",
            "JSON lines",
        ] {
            assert!(told.contains(name), "{name}: {told}");
        }
    }
    let error = read(b"hello\nworld\n", Some(Format::AccessLog))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("2 skipped: line 1: ") && error.contains("line 2"),
        "{error}"
    );
}

#[test]
fn garbage_before_and_among_the_lines_is_counted_and_only_the_first_kept() {
    let garbage = "what?\n".repeat(50);
    let line = "1.2.3.4 - - [21/Nov/2026:12:45:58 +0000] \"GET / HTTP/1.1\" 200 5\r\n";
    let traffic = read(
        format!("\u{feff}{garbage}{line}{garbage}{line}").as_bytes(),
        None,
    )
    .unwrap();
    assert_eq!(traffic.requests.len(), 2);
    assert_eq!(traffic.skipped.count, 100);
    assert_eq!(traffic.skipped.first.len(), capture::FIRST_SKIPPED);
}

#[test]
fn a_body_beyond_the_limit_costs_only_its_request() {
    let body = "A".repeat((capture::MAX_BODY / 3 + 1) * 4);
    let text = format!(
        "{{\"method\":\"PUT\",\"url\":\"http://x/\",\"body\":\"{body}\"}}\n{{\"method\":\"GET\",\"url\":\"http://x/\"}}"
    );
    let traffic = read(text.as_bytes(), Some(Format::VegetaJson)).unwrap();
    assert_eq!(lines(&traffic), ["0 GET /"]);
    assert!(
        traffic.skipped.first[0].why.contains("16777216"),
        "{}",
        traffic.skipped
    );
}
