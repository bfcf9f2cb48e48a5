//! GoReplay: a request as it was sent, between separators. Holds everything but
//! which connection it came on; answers are left out.

use std::io::Write;

use crate::Exchange;
use crate::gor::SEPARATOR;

/// Of the connection that it came on: the body follows whole, and its length is written anew.
const FRAMING: [&str; 4] = [
    "connection",
    "content-length",
    "keep-alive",
    "transfer-encoding",
];

pub(super) fn write(
    exchange: &Exchange,
    began_ns: u64,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let at_ns = began_ns.saturating_add(exchange.at_ns);
    let Exchange {
        id,
        connection,
        method,
        target,
        body,
        ..
    } = exchange;
    // Writing to memory does not fail.
    let _ = write!(
        out,
        "1 {connection:016x}{id:08x} {at_ns} 0\n{method} {target} HTTP/1.1\r\n"
    );
    for field in &exchange.headers {
        if FRAMING
            .iter()
            .any(|name| field.name.eq_ignore_ascii_case(name))
        {
            continue;
        }
        out.extend_from_slice(field.name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(&field.value);
        out.extend_from_slice(b"\r\n");
    }
    if !body.is_empty() || matches!(method.as_str(), "POST" | "PUT" | "PATCH") {
        let _ = write!(out, "Content-Length: {}\r\n", body.len());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    if memchr::memmem::find(out, SEPARATOR).is_some() {
        return Err("it holds GoReplay's separator");
    }
    out.extend_from_slice(SEPARATOR);
    Ok(())
}
