//! A secret wherever a rule covers it is in no byte that is written.

use crate::support::{exchanges, field};
use capture::file::{About, Head, Kind, Record, Writer};
use capture::{Exchange, Rules};
use proptest::prelude::*;

/// Not to be found in anything by chance, and changed by no encoding.
const SECRET: &str = "5ecReT0fAl1s3cRets";

/// Where a secret is planted, and how it is called there.
#[derive(Debug, Clone)]
enum Plant {
    Header(String),
    Cookie(String),
    Query(String),
    Referer(String),
    Form(String),
    Json(Vec<String>, String),
    BrokenJson(String),
    PackedJson(String),
    CutForm(String),
    Multipart(String),
    Xml(String),
}

fn cased(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    (prop::sample::select(names), any::<u32>()).prop_map(|(name, bits)| {
        let flip = |(index, c): (usize, char)| match bits >> (index % 32) & 1 {
            1 => c.to_ascii_uppercase(),
            _ => c,
        };
        name.chars().enumerate().map(flip).collect()
    })
}

fn field_name() -> impl Strategy<Value = String> {
    cased(&[
        "password",
        "passwd",
        "secret",
        "token",
        "authenticity_token",
        "api_key",
        "api-key",
        "card",
        "cvv",
        "user[password]",
        "user[card][cvv]",
        "session[login][token]",
        "tokens[]",
        "configured",
        "a[configured]",
    ])
}

/// Names that are no secrets, some with a secret's name inside a word. Their case is fixed: a capital would begin a word.
fn plain_name() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "page",
        "q",
        "cardboard",
        "passenger",
        "user[spin]",
        "order[pinned]",
        "side",
        "tags[]",
    ]);
    (names, any::<bool>()).prop_map(|(name, upper)| {
        if upper {
            name.to_uppercase()
        } else {
            name.to_owned()
        }
    })
}

fn plants() -> impl Strategy<Value = Plant> {
    let headers = cased(&[
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-api-key",
        "x-csrf-token",
        "x-auth-token",
        "x-configured",
    ]);
    prop_oneof![
        headers.prop_map(Plant::Header),
        "[a-zA-Z_]{1,8}".prop_map(Plant::Cookie),
        field_name().prop_map(Plant::Query),
        field_name().prop_map(Plant::Referer),
        field_name().prop_map(Plant::Form),
        (
            prop::collection::vec("[a-z]{1,4}|\\[\\]", 0..4),
            field_name()
        )
            .prop_map(|(path, name)| Plant::Json(path, name)),
        field_name().prop_map(Plant::BrokenJson),
        field_name().prop_map(Plant::PackedJson),
        field_name().prop_map(Plant::CutForm),
        field_name().prop_map(Plant::Multipart),
        field_name().prop_map(Plant::Xml),
    ]
}

/// A value around the secret, as long as it takes.
fn json_around(path: &[String], name: &str, value: &str) -> String {
    let name = serde_json::to_string(name).unwrap();
    path.iter().rev().fold(
        format!("{{\"a\":1,{name}:{value},\"b\":[2.50]}}"),
        |inner, step| match step.as_str() {
            "[]" => format!("[null,{inner},\"x\"]"),
            step => format!("{{\"{step}\" : {inner}}}"),
        },
    )
}

fn plant(exchange: &mut Exchange, plant: &Plant, encoded: bool) {
    let encode = |name: &str| match encoded {
        true => form_urlencoded::byte_serialize(name.as_bytes()).collect(),
        false => name.to_owned(),
    };
    let body = |exchange: &mut Exchange, content_type: &str, body: String| {
        exchange.headers.push(field("content-type", content_type));
        exchange.body_bytes = body.len() as u64;
        exchange.body = body.into_bytes();
    };
    match plant {
        Plant::Header(name) => exchange.headers.push(field(name, SECRET)),
        Plant::Cookie(name) => {
            exchange
                .headers
                .push(field("Cookie", &format!("a=b; {name}={SECRET}; c=d")));
        }
        Plant::Query(name) => exchange.target = format!("/a?x=y&{}={SECRET}&z=1", encode(name)),
        Plant::Referer(name) => {
            let url = format!("https://shop.test/?{}={SECRET}", encode(name));
            exchange.headers.push(field("Referer", &url));
        }
        Plant::Form(name) => body(
            exchange,
            "application/x-www-form-urlencoded",
            format!("{}={SECRET}&x=y", encode(name)),
        ),
        Plant::Json(path, name) => {
            let value = if encoded {
                format!("[{{\"deep\":\"{SECRET}\"}}]")
            } else {
                format!("\"{SECRET}\"")
            };
            body(
                exchange,
                "application/json",
                json_around(path, name, &value),
            );
        }
        Plant::BrokenJson(name) => {
            body(
                exchange,
                "application/json",
                format!("{{\"{name}\": \"{SECRET}\","),
            );
        }
        Plant::PackedJson(name) => {
            body(
                exchange,
                "application/json",
                format!("{{\"{name}\": \"{SECRET}\"}}"),
            );
            exchange.headers.push(field("Content-Encoding", "br"));
        }
        Plant::CutForm(name) => {
            body(
                exchange,
                "application/x-www-form-urlencoded",
                format!("{name}={SECRET}"),
            );
            exchange.body_bytes += 1;
        }
        Plant::Multipart(name) => body(
            exchange,
            "multipart/form-data; boundary=b",
            format!(
                "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n\
                 --b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{SECRET}\r\n--b--\r\n"
            ),
        ),
        Plant::Xml(name) => body(exchange, "text/xml", format!("<{name}>{SECRET}</{name}>")),
    }
}

fn holds(bytes: &[u8]) -> bool {
    bytes
        .windows(SECRET.len())
        .any(|window| window == SECRET.as_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_secret_is_in_no_byte(mut exchange in exchanges(), planted in prop::collection::vec(plants(), 1..3), encoded: bool) {
        for p in &planted {
            plant(&mut exchange, p, encoded);
        }
        let rules = Rules::new(&["X-Configured".into()], &["Configured".into()], &[]);
        prop_assert!(holds(&rmp_serde::to_vec_named(&exchange).unwrap()), "planted");
        exchange.redact(&rules);
        let raw = rmp_serde::to_vec_named(&exchange).unwrap();
        prop_assert!(!holds(&raw), "{:?}", exchange);
        let head = Head::new(Kind::Traffic, 0, About::default());
        let mut writer = Writer::new(Vec::new(), &head).unwrap();
        writer.push(&exchange).unwrap();
        prop_assert!(!holds(&writer.finish().unwrap()));
        // What is redacted has nothing left to redact.
        let once = exchange.clone();
        exchange.redact(&rules);
        prop_assert_eq!(exchange, once);
    }

    /// What no rule covers is as it was, to the byte. Of the letters a value has only x, y and z: with all of them one value in
    /// some hundred thousand has markup such as `<Pin`, which is redacted.
    #[test]
    fn nothing_else_changes(mut exchange in exchanges(), kind in 0..6_usize, name in plain_name(), value in "[ -9;-?X-`x-~]{0,20}") {
        exchange.headers.clear();
        for (name, value) in [("Host", "shop.test"), ("Accept-Language", "de"), ("X-Shop", "shop=1"), ("Referer", "http://a/?page=2")] {
            exchange.headers.push(field(name, value));
        }
        let encoded: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        exchange.target = format!("/password/{encoded}?{name}={encoded}&q");
        let (content_type, body) = match kind {
            0 => ("application/x-www-form-urlencoded", format!("{name}={encoded}&utf8=%E2%9C%93")),
            1 => ("application/json", format!("{{ \"{name}\": [1.50, {}, null] }}", serde_json::to_string(&value).unwrap())),
            2 => ("multipart/form-data; boundary=b", format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n--b--\r\n")),
            3 => ("text/xml", format!("<{name}>{value}</{name}>")),
            4 => ("application/octet-stream", value.clone()),
            _ => ("", String::new()),
        };
        exchange.headers.push(field("Content-Type", content_type));
        exchange.body_bytes = body.len() as u64;
        exchange.body = body.into_bytes();
        let before = exchange.clone();
        exchange.redact(&Rules::default().keeping_other_bodies());
        prop_assert_eq!(exchange, before);
    }
}
