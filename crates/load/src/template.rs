//! A request as bytes, made once: only the digits of `X-Request-Start` change
//! from one sending to the next.

use crate::plan::Plan;
use crate::workload::Request;

/// Unix time in µs has sixteen digits until the year 2286.
const DIGITS: usize = 16;

#[derive(Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    stamp_at: Option<usize>,
    pub(crate) to_head: bool,
    pub(crate) idempotent: bool,
}

impl Template {
    pub(crate) fn new(request: &Request, plan: &Plan) -> Self {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\n",
            request.method, request.path, plan.host
        );
        let has = |name: &str| {
            request
                .headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        if !has("user-agent") {
            head += concat!("User-Agent: powerband/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        if !has("accept") {
            head += "Accept: */*\r\n";
        }
        for (name, value) in &request.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !plan.keep_alive {
            head += "Connection: close\r\n";
        }
        let expects_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
        if expects_body || !request.body.is_empty() {
            head += &format!("Content-Length: {}\r\n", request.body.len());
        }
        let stamp_at = plan.send_request_start.then(|| {
            head += "X-Request-Start: t=";
            let at = head.len();
            head += &"0".repeat(DIGITS);
            head += "\r\n";
            at
        });
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&request.body);
        Self {
            bytes,
            stamp_at,
            to_head: request.method == "HEAD",
            idempotent: request.is_idempotent(),
        }
    }

    /// The bytes for a request that was due at this Unix time.
    pub(crate) fn stamped(&mut self, wall_ns: u64) -> &[u8] {
        if let Some(at) = self.stamp_at {
            let mut rest = wall_ns / 1_000;
            for digit in self.bytes[at..at + DIGITS].iter_mut().rev() {
                *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
                rest /= 10;
            }
        }
        &self.bytes
    }
}
