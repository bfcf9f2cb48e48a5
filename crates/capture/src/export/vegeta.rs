//! vegeta's JSON targets: requests without instants or order of headers.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::{host, text_headers};
use crate::Exchange;

#[derive(Serialize)]
struct Target<'a> {
    method: &'a str,
    url: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    header: BTreeMap<&'a str, Vec<&'a str>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    body: String,
}

pub(super) fn write(exchange: &Exchange, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut header: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in text_headers(exchange)? {
        header.entry(name).or_default().push(value);
    }
    let target = Target {
        method: &exchange.method,
        url: format!("http://{}{}", host(exchange), exchange.target),
        header,
        body: STANDARD.encode(&exchange.body),
    };
    serde_json::to_writer(&mut *out, &target).map_err(|_| "it cannot be written as JSON")?;
    out.push(b'\n');
    Ok(())
}
