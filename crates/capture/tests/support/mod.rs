//! Exchanges for the tests of files.

use capture::{Answer, Exchange, Field};
use proptest::prelude::*;

/// A GET without anything to hide.
pub fn plain(id: u64) -> Exchange {
    Exchange {
        id,
        at_ns: id * 1_000_000,
        connection: 1 + id % 3,
        sequence: 1 + (id / 3) as u32,
        method: "GET".into(),
        target: format!("/products/{id}?page=2"),
        headers: vec![field("Host", "shop.test"), field("Accept", "*/*")],
        body: Vec::new(),
        body_bytes: 0,
        answer: Some(Answer {
            status: 200,
            first_byte_ns: 4_000_000,
            took_ns: 5_000_000,
            body_bytes: 1234,
            digest: 0x1234_5678_9abc_def0 ^ id,
            content_type: "text/html".into(),
            complete: true,
        }),
    }
}

/// A header field.
pub fn field(name: &str, value: &str) -> Field {
    Field {
        name: name.into(),
        value: value.into(),
    }
}

/// Requests as clients send them, whole bodies among them.
pub fn exchanges() -> impl Strategy<Value = Exchange> {
    let value = "[ -~]{0,12}";
    let headers = prop::collection::vec(("[A-Za-z][A-Za-z0-9-]{0,10}", value), 0..4);
    let methods = prop::sample::select(vec![
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
    ]);
    let target = "/[a-z0-9/._~-]{0,20}(\\?[a-z0-9=&%._-]{0,20})?";
    let body = prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 1..200),
        "[a-z]{1,6}=[a-z0-9]{0,8}".prop_map(String::into_bytes),
    ];
    (any::<u32>(), 1_u64..9, methods, target, headers, body).prop_map(
        |(at_us, connection, method, target, headers, body)| {
            let mut exchange = plain(1);
            exchange.at_ns = u64::from(at_us) * 1_000;
            exchange.connection = connection;
            exchange.method = method.into();
            exchange.target = target;
            let own = headers
                .iter()
                .map(|(name, value)| field(&format!("X-{name}"), value.trim()));
            exchange.headers.extend(own);
            exchange.body_bytes = body.len() as u64;
            exchange.body = body;
            exchange
        },
    )
}
