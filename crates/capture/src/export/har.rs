//! HTTP Archive 1.2: what a browser would have exported, answers' bodies left
//! out. Holds everything, the connection's number included.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{host, text_headers};
use crate::{Answer, Exchange};

pub(super) const BEGIN: &str = concat!(
    "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"powerband\",\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\"},\"entries\":["
);
pub(super) const END: &str = "\n]}}\n";

pub(super) fn write(
    exchange: &Exchange,
    began_ns: u64,
    first: bool,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let at_ns = i128::from(began_ns) + i128::from(exchange.at_ns);
    let at =
        jiff::Timestamp::from_nanosecond(at_ns).map_err(|_| "its instant is in no calendar")?;
    let headers = text_headers(exchange)?;
    let pair = |name: &str, value: &str| json!({"name": name, "value": value});
    let mut named = vec![pair("Host", host(exchange))];
    named.extend(headers.iter().map(|(name, value)| pair(name, value)));
    let mut request = json!({
        "method": exchange.method,
        "url": format!("http://{}{}", host(exchange), exchange.target),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": named,
        "queryString": [],
        "headersSize": -1,
        "bodySize": exchange.body.len(),
    });
    if !exchange.body.is_empty() {
        let of_type = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case("content-type");
        let media = headers.iter().find(of_type).map_or("", |(_, value)| value);
        request["postData"] = posted(&exchange.body, media);
    }
    let (response, took) = answered(exchange.answer.as_ref());
    let mut entry = json!({
        "startedDateTime": at.to_string(),
        "time": took["wait"].as_f64().unwrap_or(0.0) + took["receive"].as_f64().unwrap_or(0.0),
        "request": request,
        "response": response,
        "cache": {},
        "timings": took,
    });
    if exchange.connection > 0 {
        entry["connection"] = exchange.connection.to_string().into();
    }
    out.extend_from_slice(if first { b"\n" } else { b",\n" });
    serde_json::to_writer(out, &entry).map_err(|_| "it cannot be written as JSON")
}

fn posted(body: &[u8], media: &str) -> Value {
    match std::str::from_utf8(body) {
        Ok(text) => json!({"mimeType": media, "text": text}),
        Err(_) => json!({"mimeType": media, "text": STANDARD.encode(body), "encoding": "base64"}),
    }
}

/// Status 0 is what browsers write where there was no answer.
fn answered(answer: Option<&Answer>) -> (Value, Value) {
    let ms = |ns: u64| ns as f64 / 1e6;
    let (status, bytes, media) = answer.map_or((0, 0, ""), |a| {
        (a.status, a.body_bytes, a.content_type.as_str())
    });
    let response = json!({
        "status": status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": [],
        "content": {"size": bytes, "mimeType": media},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": bytes,
    });
    let wait = answer.map_or(0.0, |a| ms(a.first_byte_ns));
    let receive = answer.map_or(0.0, |a| ms(a.took_ns.saturating_sub(a.first_byte_ns)));
    (
        response,
        json!({"send": 0, "wait": wait, "receive": receive}),
    )
}
