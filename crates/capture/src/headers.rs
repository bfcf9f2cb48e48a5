//! Which recorded headers a replay may send again.

use http::{HeaderName, HeaderValue};

use crate::field_name::{SHADOW_MARK, reads_as};
use crate::redact::REDACTED;

/// Those that belonged to the recorded connection and its framing (RFC 9110
/// §7.6.1), `X-Request-Start`, which stamps an instant long past, and the mark
/// of a shadow's copy, which a replay is not.
const DROPPED: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-request-start",
    SHADOW_MARK,
];

/// Names and values.
pub(crate) type Headers = Vec<(String, String)>;

/// The host that `Host` or HTTP/2's `:authority` names, and the headers to keep.
pub(crate) fn end_to_end(headers: Headers) -> Result<(Option<String>, Headers), String> {
    let nominated: Vec<String> = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut host = None;
    let mut kept = Vec::with_capacity(headers.len());
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        let value = value.trim();
        if (lower == "host" || lower == ":authority") && !value.is_empty() {
            host.get_or_insert_with(|| value.to_owned());
        }
        // Pseudo headers of HTTP/2 are in the method and the path already.
        let dropped = lower.starts_with(':')
            || lower.starts_with("proxy-")
            || DROPPED.iter().any(|known| reads_as(name.as_bytes(), known))
            || nominated.contains(&lower)
            // What a log's writer put in place of a secret is no value.
            || value == REDACTED;
        if dropped {
            continue;
        }
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(format!("not a header name: {name:?}"));
        }
        let value = if lower == "cookie" {
            cookies(value)
        } else {
            value.to_owned()
        };
        if value.is_empty() && lower == "cookie" {
            continue;
        }
        // The value may be a secret: it is not shown.
        if HeaderValue::from_str(&value).is_err() {
            return Err(format!("header {name} holds control characters"));
        }
        kept.push((name, value));
    }
    Ok((host, kept))
}

/// Without those whose value was taken out: a server would take them for forged.
fn cookies(value: &str) -> String {
    if !value.contains(REDACTED) {
        return value.to_owned();
    }
    let redacted = |cookie: &&str| {
        let value = cookie.split_once('=').map_or(*cookie, |(_, value)| value);
        value.trim() == REDACTED
    };
    let kept: Vec<&str> = value
        .split(';')
        .filter(|c| !redacted(c))
        .map(str::trim)
        .collect();
    kept.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(headers: &[(&str, &str)]) -> Result<(Option<String>, Headers), String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        end_to_end(headers.iter().map(owned).collect())
    }

    #[test]
    fn what_belonged_to_the_connection_is_dropped() {
        let (host, headers) = kept(&[
            ("Host", "shop.test"),
            ("Connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("Proxy-Authorization", "Basic x"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "3"),
            ("TE", "trailers"),
            ("X-Powerband-Shadow", "next"),
            ("x_powerband_shadow", "next"),
            ("Content_Length", "4"),
            ("transfer_Encoding", "chunked"),
            ("X_Request_Start", "1"),
            (":method", "GET"),
            ("Authorization", "REDACTED"),
            ("Cookie", " a=b "),
            ("Cookie", "c=d"),
            ("Cookie", "s=REDACTED"),
            ("Cookie", "e=REDACTED; f=g; h=REDACTED; i=j"),
        ])
        .unwrap();
        assert_eq!(host.as_deref(), Some("shop.test"));
        let cookie = |value: &str| ("Cookie".to_owned(), value.to_owned());
        assert_eq!(headers, [cookie("a=b"), cookie("c=d"), cookie("f=g; i=j")]);
    }

    #[test]
    fn what_could_end_a_line_is_refused_without_showing_it() {
        assert!(kept(&[("A B", "x")]).is_err());
        let refusal = kept(&[("A", "secret\r\nX: y")]).unwrap_err();
        assert!(!refusal.contains("secret"), "{refusal}");
    }
}
