use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::*;

/// What the tests take for secrets.
fn rules(tokens: &[String]) -> Rules<'_> {
    Rules {
        tokens,
        is_secret: &|name| ["api_key", "csrf-token", "password"].contains(&name),
        reveals: &|text| text.contains("pin="),
        redact: &|target| target.replace("pin=1", "pin=REDACTED"),
    }
}

fn answer(status: u16, content_type: &str, body: &[u8]) -> Answer {
    Answer {
        status,
        first_byte_ns: 1,
        took_ns: 2,
        body_bytes: body.len() as u64,
        digest: xxh3_64(body),
        content_type: content_type.into(),
        complete: true,
    }
}

fn compared(content_type: &str, ours: &[u8], theirs: &[u8]) -> Vec<Difference> {
    let answers = [ours, theirs].map(|body| answer(200, content_type, body));
    let side = |index: usize, body| Side {
        answer: &answers[index],
        headers: Some(&[]),
        body,
    };
    differences(
        &side(0, ours),
        &side(1, theirs),
        &rules(&["authenticity_token".into()]),
    )
}

fn told(content_type: &str, ours: &str, theirs: &str) -> Vec<(String, String, String)> {
    let found = compared(content_type, ours.as_bytes(), theirs.as_bytes());
    found
        .into_iter()
        .map(|one| (one.kind, one.primary, one.shadow))
        .collect()
}

fn all(expected: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    let owned =
        |(a, b, c): &(&str, &str, &str)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned());
    expected.iter().map(owned).collect()
}

#[test]
fn json_is_compared_by_structure() {
    let ours =
        r#"{"items":[{"id":1,"price":"1.00"},{"id":2,"price":"2.00"}],"a/b":1,"same":[1,2]}"#;
    let theirs =
        r#"{ "same":[1,2], "items":[{"id":1,"price":"1.10"},{"price":"2.20"},{"id":3}], "a/b":2 }"#;
    let expected = [
        ("json /a~1b", "1", "2"),
        ("json /items/*/price", "\"1.00\"", "\"1.10\""),
        ("json /items/*/id", "2", "(absent)"),
        ("json /items/*", "(absent)", "{1 members}"),
    ];
    assert_eq!(told("application/json", ours, theirs), all(&expected));
    assert_eq!(
        told(
            "application/hal+json",
            r#"{"a":1,"b":2}"#,
            r#"{"b":2, "a":1}"#
        ),
        []
    );
}

#[test]
fn json_maps_by_number_and_secrets() {
    let ours = r#"{"by_id":{"17":1,"18":2},"by/user":{"alice@example.com":1},"user":{"api_key":"one","authenticity_token":"x"},"t":"x7Gh2Kd9Qw3Er5Ty8Ui1op","url":"/a?pin=1"}"#;
    let theirs = r#"{"by_id":{"17":3,"18":4},"by/user":{"alice@example.com":2},"user":{"api_key":"two","authenticity_token":"y"},"t":"other","url":"/a?pin=2"}"#;
    let expected = [
        ("json /by~1user/*", "1", "2"),
        ("json /by_id/*", "1", "3"),
        ("json /t", "\"REDACTED\"", "\"other\""),
        ("json /url", "REDACTED", "REDACTED"),
        ("json /user/api_key", "REDACTED", "REDACTED"),
    ];
    assert_eq!(told("application/json", ours, theirs), all(&expected));
}

#[test]
fn html_is_compared_line_by_line() {
    let ours = "<ul>\n  <li id=\"i1\">One, 1.00</li>\n  <li id=\"i2\">Two, 2.00</li>\n</ul>\n<p>Thanks</p><b>x</b>";
    let theirs = "<ul>\n<li id=\"i1\">One, 1.10</li>\n<li id=\"i2\">Two, 2.00</li>\n</ul>\n<p>Welcome</p><b>x</b>\n<hr>";
    let expected = [
        (
            "line <li id=\"i#\">One, #</li>",
            "<li id=\"i1\">One, 1.00</li>",
            "<li id=\"i1\">One, 1.10</li>",
        ),
        ("line <p>…</p>", "<p>Thanks</p>", "<p>Welcome</p>"),
        ("line <hr>", "(absent)", "<hr>"),
    ];
    assert_eq!(told("text/html", ours, theirs), all(&expected));
}

#[test]
fn tokens_are_each_servers_own() {
    let page = |token: &str| {
        format!(
            "<meta name=\"csrf-token\" content=\"{token}\">\n<input type=hidden name=authenticity_token value='{token}'>"
        )
    };
    assert_eq!(told("text/html", &page("a"), &page("b")), []);
    let nonce = |nonce: &str| format!("<script nonce=\"{nonce}\">");
    let found = told(
        "text/html",
        &nonce("x7Gh2Kd9Qw3Er5Ty8Ui1op"),
        &nonce("P0oI9uY8tR7eW6qA5sD4fg"),
    );
    assert_eq!(
        found,
        all(&[(
            "line <script nonce=\"#\">",
            "<script nonce=\"REDACTED\">",
            "<script nonce=\"REDACTED\">"
        )])
    );
}

#[test]
fn what_cannot_be_read_differs_in_size() {
    assert_eq!(
        told("image/png", "abc", "abcd"),
        all(&[("body", "3 bytes", "4 bytes")])
    );
    assert_eq!(
        told("application/json", "{", "[1"),
        all(&[("body", "1 bytes", "2 bytes")])
    );
    // Only the beginning was kept, and it is the same.
    let (ours, theirs) = (
        answer(200, "text/plain", b"same, one"),
        answer(200, "text/plain", b"same, other"),
    );
    let found = differences(
        &Side {
            answer: &ours,
            headers: Some(&[]),
            body: b"same",
        },
        &Side {
            answer: &theirs,
            headers: Some(&[]),
            body: b"same",
        },
        &rules(&[]),
    );
    assert_eq!(found[0].kind, "body");
    assert_eq!(found.len(), 1);
}

#[test]
fn heads_are_compared() {
    let location = |to: &str| {
        [Field {
            name: "Location".into(),
            value: to.as_bytes().to_vec(),
        }]
    };
    let (ours, theirs) = (answer(302, "text/html", b"a"), answer(200, "", b"b"));
    let headers = (location("/orders/1?pin=1"), location("/login"));
    let found = differences(
        &Side {
            answer: &ours,
            headers: Some(&headers.0),
            body: b"a",
        },
        &Side {
            answer: &theirs,
            headers: Some(&headers.1),
            body: b"b",
        },
        &rules(&[]),
    );
    let kinds: Vec<&str> = found.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["status", "content-type", "location"]);
    assert_eq!(
        (found[2].primary.as_str(), found[2].shadow.as_str()),
        ("/orders/1?pin=REDACTED", "/login")
    );
}

#[test]
fn kinds_and_examples_are_bounded() {
    let many = |sign: &str| -> String {
        (0..5000)
            .map(|n| format!("{}{sign}{}\n", "x".repeat(n % 300 + 3), "é".repeat(900)))
            .collect()
    };
    let found = compared("text/plain", many("a").as_bytes(), many("b").as_bytes());
    assert_eq!(found.len(), MOST_KINDS);
    for one in found {
        assert!(
            one.kind.len() <= KIND_BYTES
                && one.primary.len() <= EXAMPLE_BYTES
                && one.shadow.len() <= EXAMPLE_BYTES
        );
    }
}

fn kinds(content_type: &str, ours: &[u8], theirs: &[u8]) -> Vec<String> {
    let mut kinds: Vec<String> = compared(content_type, ours, theirs)
        .into_iter()
        .map(|one| one.kind)
        .collect();
    kinds.sort();
    kinds
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "<p>",
        "</p>",
        "a",
        "b",
        "17",
        "2",
        " ",
        "\n",
        "\n",
        "é",
        "\"",
        "<li>x</li>",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        (0..5_i64).prop_map(serde_json::Value::from),
        "[a-c]{0,2}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::btree_map("[a-c1]", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn texts_differ_in_the_same_kinds_either_way(ours in text(), theirs in text()) {
        for content_type in ["text/html", "text/plain"] {
            prop_assert_eq!(kinds(content_type, ours.as_bytes(), theirs.as_bytes()), kinds(content_type, theirs.as_bytes(), ours.as_bytes()));
            prop_assert!(compared(content_type, ours.as_bytes(), ours.as_bytes()).is_empty());
        }
    }

    #[test]
    fn documents_differ_in_the_same_kinds_either_way(ours in json(), theirs in json()) {
        let (a, b) = (ours.to_string(), theirs.to_string());
        let found = kinds("application/json", a.as_bytes(), b.as_bytes());
        prop_assert_eq!(&found, &kinds("application/json", b.as_bytes(), a.as_bytes()));
        prop_assert_eq!(found.is_empty(), ours == theirs);
    }

    #[test]
    fn any_bytes_are_compared(ours in prop::collection::vec(any::<u8>(), 0..200), theirs in prop::collection::vec(any::<u8>(), 0..200)) {
        for content_type in ["text/html", "application/json", "text/plain", "image/png"] {
            let _ = compared(content_type, &ours, &theirs);
        }
    }
}
