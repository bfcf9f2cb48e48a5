//! A request as bytes. Most are made once, and only the digits of
//! `X-Request-Start` change from one sending to the next; those with a user's
//! cookies or values are put together for each sending.

use crate::header::Header;
use crate::https::shown_location;
use crate::plan::Plan;
use crate::session::jar::Jar;
use crate::session::pattern::{Pattern, Place, Values};
use crate::session::{Body, Recipe};
use crate::workload::Request;

/// Unix time in µs has sixteen digits until the year 2286.
const DIGITS: usize = 16;

#[derive(Debug)]
pub(crate) struct Template<'a> {
    request: &'a Request,
    /// What is done anew for each sending, and with its answer.
    pub(crate) recipe: Option<&'a Recipe>,
    /// Its bytes differ from one sending to the next.
    pub(crate) varies: bool,
    /// The whole request; where it varies, the lines that never do.
    bytes: Vec<u8>,
    stamp_at: Option<usize>,
    /// Of the run, sent with a user's own.
    cookie: Option<&'a str>,
    pub(crate) to_head: bool,
    pub(crate) idempotent: bool,
}

/// What a varying request is filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filling<'a> {
    pub(crate) values: Values<'a>,
    /// Of a user; none outside sessions.
    pub(crate) jar: Option<&'a Jar>,
    pub(crate) secure: bool,
    /// Unix time of the scheduled instant.
    pub(crate) wall_ns: u64,
}

impl<'a> Template<'a> {
    pub(crate) fn new(request: &'a Request, recipe: Option<&'a Recipe>, plan: &'a Plan) -> Self {
        let varies = recipe.is_some_and(Recipe::varies);
        let host = request.host.as_deref().unwrap_or(plan.target.host());
        let mut head = format!("Host: {host}\r\n");
        let has = |name: &str| {
            request
                .headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        let of_run: Vec<&Header> = plan.headers.iter().filter(|h| !has(h.name())).collect();
        let has = |name: &str| has(name) || of_run.iter().any(|header| header.is(name));
        // In addition to those of a user.
        let cookie = of_run.iter().find(|header| varies && header.is("cookie"));
        let cookie = cookie.map(|header| header.value());
        if !has("user-agent") {
            head += concat!("User-Agent: powerband/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        if !has("accept") {
            head += "Accept: */*\r\n";
        }
        if !varies {
            head = format!("{} {} HTTP/1.1\r\n{head}", request.method, request.path);
            for (name, value) in &request.headers {
                head += &format!("{name}: {value}\r\n");
            }
        }
        let fixed = of_run
            .iter()
            .filter(|header| cookie.is_none() || !header.is("cookie"));
        for header in fixed {
            head += &format!("{}: {}\r\n", header.name(), header.value());
        }
        if !plan.keep_alive {
            head += "Connection: close\r\n";
        }
        if !varies && has_length(request, request.body.len()) {
            head += &format!("Content-Length: {}\r\n", request.body.len());
        }
        let stamp_at = plan.send_request_start.then(|| {
            head += "X-Request-Start: t=";
            let at = head.len();
            head += &"0".repeat(DIGITS);
            head += "\r\n";
            at
        });
        let mut bytes = head.into_bytes();
        if !varies {
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(&request.body);
        }
        Self {
            request,
            recipe,
            varies,
            bytes,
            stamp_at,
            cookie,
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

    /// Whether it sends a form or another body, as a login does.
    pub(crate) fn sends_values(&self) -> bool {
        !self.recipe.is_none_or(|recipe| recipe.body.is_empty())
    }

    /// Path and query as the workload has them.
    pub(crate) fn written_path(&self) -> &'a str {
        &self.request.path
    }

    /// Path and query of a varying request.
    pub(crate) fn path(&self, values: Values<'_>) -> String {
        let mut path = Vec::new();
        if let Some(recipe) = self.recipe {
            recipe.path.fill(values, Place::Path, &mut path);
        }
        String::from_utf8(path).unwrap_or_default()
    }

    /// What messages call a varying request that was sent to this path. A value in its query may be a token.
    pub(crate) fn label(&self, path: &str) -> String {
        format!("{} {}", self.request.method, shown_location(path))
    }

    /// Puts a varying request together.
    pub(crate) fn fill(&mut self, filling: Filling<'_>, out: &mut Vec<u8>) {
        out.clear();
        let Some(recipe) = self.recipe else {
            return;
        };
        let values = filling.values;
        let path = self.path(values);
        for piece in [&self.request.method, " ", &path, " HTTP/1.1\r\n"] {
            out.extend_from_slice(piece.as_bytes());
        }
        out.extend_from_slice(self.stamped(filling.wall_ns));
        let mut cookies: Vec<u8> = self.cookie.unwrap_or_default().as_bytes().to_vec();
        for (name, value) in &recipe.headers {
            if name.eq_ignore_ascii_case("cookie") {
                separate(&mut cookies);
                value.fill(values, Place::Header, &mut cookies);
                continue;
            }
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            value.fill(values, Place::Header, out);
            out.extend_from_slice(b"\r\n");
        }
        if let Some(jar) = filling.jar {
            let now_s = i64::try_from(filling.wall_ns / 1_000_000_000).unwrap_or(i64::MAX);
            let mut own = Vec::new();
            if jar.write(&path, filling.secure, now_s, &mut own) {
                separate(&mut cookies);
                cookies.extend_from_slice(&own);
            }
        }
        if !cookies.is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(&cookies);
            out.extend_from_slice(b"\r\n");
        }
        let body = filled(&recipe.body, values);
        if has_length(self.request, body.len()) {
            out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&body);
    }
}

fn has_length(request: &Request, body: usize) -> bool {
    body > 0 || matches!(request.method.as_str(), "POST" | "PUT" | "PATCH")
}

fn separate(cookies: &mut Vec<u8>) {
    if !cookies.is_empty() {
        cookies.extend_from_slice(b"; ");
    }
}

fn filled(body: &Body, values: Values<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match body {
        Body::Fixed(bytes) => out.extend_from_slice(bytes),
        Body::Text(text) => text.fill(values, Place::Body, &mut out),
        Body::Form(fields) => {
            for (name, value) in fields {
                if !out.is_empty() {
                    out.push(b'&');
                }
                crate::session::pattern::form_encode(name, &mut out);
                out.push(b'=');
                Pattern::fill(value, values, Place::Form, &mut out);
            }
        }
    }
    out
}
