//! A client chooses the bytes that are redacted, and the mirror redacts while it serves: the work grows as the length
//! of a request, whatever is in it.

use std::time::Duration;

use capture::{Exchange, Field, Rules};
use rustix::time::{ClockId, clock_gettime};

const SMALL: usize = 4 << 10;
/// Work in proportion to the square of the length would take 256 and 4096 times as long.
const LARGE: [(usize, u32); 2] = [(64 << 10, 16), (256 << 10, 64)];
/// Of noise and of caches.
const FACTOR: u32 = 10;

/// Each begins, ends or continues something that a parser looks for.
const REPEATED: [&str; 38] = [
    "id:", "id=", "id: ", "id%3a", "name:", "name=\"", "name: 'a", "key=a ", "a:", "=", ":", ",",
    "<", "<a", "&", "&lt;", "a=b&", "a=b;", "pass=&", "%25", "%2525", "%", "+", "{", "[", "(",
    "\"", "'", "\\", "\\\"", "\",", "['a',", "//", "//a@", "//a:b/@ ", "@", ";", " ",
];

fn exchange(target: String, headers: &[(&str, &str)], body: String) -> Exchange {
    let field = |(name, value): &(&str, &str)| Field {
        name: (*name).into(),
        value: (*value).into(),
    };
    Exchange {
        id: 1,
        connection: 1,
        sequence: 1,
        method: "POST".into(),
        target,
        headers: headers.iter().map(field).collect(),
        body_bytes: body.len() as u64,
        body: body.into_bytes(),
        ..Exchange::default()
    }
}

/// The text everywhere in a request where a client can write it.
fn requests(text: &str) -> [(&'static str, Exchange); 7] {
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let json = ("Content-Type", "application/json");
    let multipart = ("Content-Type", "multipart/form-data; boundary=b");
    let part = "--b\r\nContent-Disposition: form-data; name=";
    let quoted = serde_json::to_string(text).unwrap();
    let body = |header, body| exchange("/".into(), &[header], body);
    [
        ("form", body(form, format!("a={text}"))),
        ("JSON", body(json, format!("{{\"a\":{quoted}}}"))),
        ("JSON name", body(json, format!("{{{quoted}:1}}"))),
        ("broken JSON", body(json, text.to_owned())),
        (
            "multipart",
            body(multipart, format!("{part}a\r\n\r\n{text}\r\n--b--")),
        ),
        (
            "target",
            exchange(format!("/{text}?{text}"), &[], String::new()),
        ),
        (
            "header",
            exchange(
                "/".into(),
                &[("X-A", text), ("Cookie", text)],
                String::new(),
            ),
        ),
    ]
}

/// CPU time of this thread: other processes do not count.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs().try_into().unwrap(),
    )
}

fn time(rules: &Rules, mut request: Exchange) -> Duration {
    let began = cpu_time();
    rules.exchange(&mut request);
    cpu_time() - began
}

/// Each text in turn, in all places, and each time against that of the shortest text.
fn assert_linear(rules: &Rules, repeated: &[&str], lengths: &[(usize, u32)]) {
    for repeated in repeated {
        let of = |length: usize| requests(&repeated.repeat(length / repeated.len()));
        let small = of(SMALL).map(|(_, request)| {
            let times = (0..3).map(|_| time(rules, request.clone()));
            // Of a request that is done at once, the time is that of the clock.
            times.min().unwrap().max(Duration::from_micros(20))
        });
        for (length, times) in lengths {
            for (small, (place, request)) in small.into_iter().zip(of(*length)) {
                let bound = small * *times * FACTOR;
                // Twice: caches may have been cold the first time.
                let is_within = || time(rules, request.clone()) < bound;
                assert!(
                    is_within() || is_within(),
                    "{repeated:?} in {place}: {small:?}, but over {bound:?} for {times} times the length"
                );
            }
        }
    }
}

#[test]
fn work_grows_as_the_length() {
    assert_linear(&Rules::default(), &REPEATED, &LARGE);
}

#[test]
fn work_grows_as_the_length_with_configured_names() {
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(|n| (*n).into()).collect() };
    let rules = Rules::new(&names(&["x-b"]), &names(&["birthday"]), &names(&["ticket"]));
    let rules = rules.filtering(&names(&["first_na"]));
    let repeated = ["id:", "name=\"", "a=b&", "a[b]", "a.", "ticket[a]"];
    assert_linear(&rules, &repeated, &LARGE[..1]);
}
