//! Access logs of nginx and Apache in the common and the combined format, with
//! or without a virtual host in front.

use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use crate::collector::{Collector, Found};
use crate::excerpt::excerpt;
use crate::{instant, request_target};

/// What stands before the instant, the instant, the request line, status and
/// size, and in the combined format referrer and agent. Quotes and backslashes
/// within quotes are escaped.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let quoted = r#""((?:[^"\\]|\\.)*)""#;
    let pattern = format!(
        r#"^(?s-u)([^\["]*)\[([^\]]{{20,40}})\] {quoted} (?:\d{{3}}|-) (?:\d+|-)(?: {quoted} {quoted})?"#
    );
    Regex::new(&pattern).expect("a constant pattern")
});

pub(crate) fn is_line(line: &[u8]) -> bool {
    LINE.is_match(line)
}

pub(crate) fn read(text: &[u8], found: &mut Collector) {
    found.take_lines(text, |line| {
        let parts = LINE
            .captures(line)
            .ok_or_else(|| format!("not an access log's line: {:?}", excerpt(line)))?;
        request(&parts)
    });
}

fn request(parts: &Captures<'_>) -> Result<Found, String> {
    let part = |index: usize| parts.get(index).map(|found| found.as_bytes());
    let written = part(2).unwrap_or_default();
    let at_ns = std::str::from_utf8(written)
        .ok()
        .and_then(instant::of_log)
        .ok_or_else(|| format!("not a time: {:?}", excerpt(written)))?;
    let (method, target) = request_target::request_line(&unescaped(part(3).unwrap_or_default()))?;
    let headers = [("Referer", part(4)), ("User-Agent", part(5))]
        .into_iter()
        .filter_map(|(name, value)| {
            let value = unescaped(value.filter(|value| *value != b"-" && !value.is_empty())?);
            Some((
                name.to_owned(),
                String::from_utf8_lossy(&value).into_owned(),
            ))
        })
        .collect();
    // address, identity, user; a virtual host stands before these.
    let before: Vec<&[u8]> = part(1)
        .unwrap_or_default()
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty())
        .collect();
    let host = (before.len() == 4).then(|| String::from_utf8_lossy(before[0]).into_owned());
    Ok(Found {
        at_ns: Some(at_ns),
        method,
        target,
        host,
        headers,
        ..Found::default()
    })
}

/// Undoes nginx's `\xHH` and Apache's C-like escapes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            result.push(*first);
            continue;
        }
        let Some((escape, after)) = rest.split_first() else {
            result.push(b'\\');
            break;
        };
        rest = after;
        let hex = rest
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (escape, hex) {
            (b'x', Some(byte)) => {
                result.push(byte);
                rest = &rest[2..];
            }
            (b'n', _) => result.push(b'\n'),
            (b'r', _) => result.push(b'\r'),
            (b't', _) => result.push(b'\t'),
            (other, _) => result.push(*other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(
            unescaped(br#"/a\x22b\"c\\d\xC3\xA9"#),
            "/a\"b\"c\\d\u{e9}".as_bytes()
        );
        assert_eq!(unescaped(br"a\x2"), b"ax2");
        assert_eq!(unescaped(br"a\"), br"a\");
    }
}
