//! GoReplay's `.gor` files: payloads, each a line `type id instant [latency]`
//! and the message as captured, between separators. Type 1 is a request; types
//! 2 and 3 are answers, which a replay does not need.

use memchr::memmem;

use crate::MAX_BODY;
use crate::collector::{Collector, Found};
use crate::excerpt::excerpt;
use crate::traffic::Place;

pub(crate) const SEPARATOR: &[u8] = "\n🐵🙈🙉\n".as_bytes();
/// As many header fields as the load engine would send.
const HEADER_LIMIT: usize = 128;

/// Whether this can be a payload's first line.
pub(crate) fn is_header(line: &[u8]) -> bool {
    kind_and_instant(line).is_some()
}

fn kind_and_instant(line: &[u8]) -> Option<(u8, i128)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let kind = match fields.next()? {
        "1" => 1,
        "2" => 2,
        "3" => 3,
        _ => return None,
    };
    let id = fields.next()?;
    let instant: i64 = fields.next()?.parse().ok()?;
    let is_id = id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && instant >= 0).then_some((kind, i128::from(instant)))
}

pub(crate) fn read(text: &[u8], found: &mut Collector) {
    let mut line = 1;
    let mut rest = text;
    while !rest.is_empty() {
        let (payload, after) = match memmem::find(rest, SEPARATOR) {
            Some(at) => (&rest[..at], &rest[at + SEPARATOR.len()..]),
            None => (rest, &rest[rest.len()..]),
        };
        let place = Place::Line(line);
        if !payload.trim_ascii().is_empty() {
            match payload_of(payload) {
                Ok(None) => {}
                Ok(Some(request)) => found.take(place, Ok(request)),
                Err(why) => found.take(place, Err(why)),
            }
        }
        let taken = &rest[..rest.len() - after.len()];
        line += taken.iter().filter(|byte| **byte == b'\n').count() as u64;
        rest = after;
    }
}

fn payload_of(payload: &[u8]) -> Result<Option<Found>, String> {
    let end = memchr::memchr(b'\n', payload).unwrap_or(payload.len());
    let (header, message) = payload.split_at(end);
    let Some((kind, instant)) = kind_and_instant(header) else {
        return Err(format!("not a payload header: {:?}", excerpt(header)));
    };
    if kind != 1 {
        return Ok(None);
    }
    let message = message.get(1..).unwrap_or_default();
    let mut fields = [httparse::EMPTY_HEADER; HEADER_LIMIT];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(message) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err("the request's head is cut off".into()),
        Err(error) => return Err(format!("not an HTTP/1 request: {error}")),
    };
    let mut headers = Vec::with_capacity(head.headers.len());
    for field in head.headers.iter() {
        let Ok(value) = std::str::from_utf8(field.value) else {
            return Err(format!("header {} is not UTF-8", field.name));
        };
        headers.push((field.name.to_owned(), value.to_owned()));
    }
    Ok(Some(Found {
        at_ns: Some(instant),
        method: head.method.unwrap_or_default().into(),
        target: head.path.unwrap_or_default().into(),
        body: body(&headers, &message[length..])?,
        headers,
        ..Found::default()
    }))
}

/// The strict reading: a body that is framed in two ways, or cut off, is
/// refused.
fn body(headers: &[(String, String)], bytes: &[u8]) -> Result<Vec<u8>, String> {
    let all = |name: &str| -> Vec<&str> {
        let named = headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim()).collect()
    };
    let lengths = all("content-length");
    match (all("transfer-encoding").as_slice(), lengths.as_slice()) {
        ([], []) if bytes.trim_ascii().is_empty() => Ok(Vec::new()),
        ([], []) => Err("a body without a Content-Length".into()),
        ([coding], []) if coding.eq_ignore_ascii_case("chunked") => unchunked(bytes),
        ([_, ..], []) => Err("a transfer coding other than chunked".into()),
        ([], [announced]) => {
            let Some(length) = announced
                .parse::<usize>()
                .ok()
                .filter(|_| announced.bytes().all(|byte| byte.is_ascii_digit()))
            else {
                return Err(format!(
                    "Content-Length is {:?}",
                    excerpt(announced.as_bytes())
                ));
            };
            if length > MAX_BODY {
                return Err(format!(
                    "the body has {length} bytes, at most {MAX_BODY} are read"
                ));
            }
            let body = bytes
                .get(..length)
                .ok_or_else(|| format!("the body is cut off: {} bytes of {length}", bytes.len()))?;
            if bytes[length..].trim_ascii().is_empty() {
                Ok(body.to_vec())
            } else {
                Err(format!(
                    "the body is longer than the {length} bytes announced"
                ))
            }
        }
        _ => Err("the length of the body can be read in two ways".into()),
    }
}

fn unchunked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let cut = || "a chunked body that is cut off".to_owned();
    let mut body = Vec::new();
    let mut rest = bytes;
    loop {
        let (start, size) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Err(cut()),
            Err(_) => return Err("a chunk's size is not a number".into()),
        };
        if size == 0 {
            // Trailers follow, and are not sent again.
            return Ok(body);
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MAX_BODY - body.len() {
            return Err(format!("a chunked body of more than {MAX_BODY} bytes"));
        }
        let data = rest.get(start..start + size).ok_or_else(cut)?;
        body.extend_from_slice(data);
        rest = rest[start + size..].strip_prefix(b"\r\n").ok_or_else(cut)?;
    }
}
