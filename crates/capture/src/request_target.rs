//! Request targets as files hold them -> what can be sent in a request line.

use std::fmt::Write;

use crate::excerpt::excerpt;

/// Splits a target in origin or absolute form (RFC 9112 §3.2) into host, if it
/// names one, and path with query. Bytes that no request line may hold are
/// percent-encoded, as browsers do: servers accept and log some of them.
pub(crate) fn origin_form(target: &[u8]) -> Result<(Option<String>, String), String> {
    let refuse = |why: &str| Err(format!("{why}: {:?}", excerpt(target)));
    let shown = target.split(|byte| *byte == b'#').next().unwrap_or(target);
    let mut escaped = String::with_capacity(shown.len());
    for byte in shown {
        if byte.is_ascii_graphic() && !b"\"<>\\`".contains(byte) {
            escaped.push(char::from(*byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    let Ok(uri) = escaped.parse::<http::Uri>() else {
        return refuse("not a path or URL");
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    if uri.scheme().is_none() {
        return if escaped.starts_with('/') {
            Ok((None, escaped))
        } else {
            refuse("neither a path nor a URL")
        };
    }
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return refuse("neither http nor https");
    }
    let host = uri.authority().map(|authority| {
        // Credentials before an @ are no part of the host.
        let text = authority.as_str();
        text.rsplit_once('@').map_or(text, |(_, host)| host).into()
    });
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    Ok((host, path))
}

/// The target with every byte beyond ASCII percent-encoded.
pub(crate) fn ascii(target: &str) -> String {
    let mut encoded = String::with_capacity(target.len());
    for byte in target.bytes() {
        if byte.is_ascii() {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// `GET /path HTTP/1.1`, as access logs quote it: method and target.
pub(crate) fn request_line(line: &[u8]) -> Result<(String, Vec<u8>), String> {
    let refuse = || format!("not a request line: {:?}", excerpt(line));
    let mut parts = line.splitn(2, |byte| *byte == b' ');
    let method = parts.next().unwrap_or_default();
    let rest = parts.next().ok_or_else(refuse)?;
    let method = std::str::from_utf8(method).map_err(|_| refuse())?;
    // The version is after the last space: some clients send spaces in paths.
    let target = match rest.iter().rposition(|byte| *byte == b' ') {
        Some(at) if rest[at + 1..].starts_with(b"HTTP/") => &rest[..at],
        _ => rest,
    };
    if target.is_empty() {
        return Err(refuse());
    }
    Ok((method.into(), target.to_vec()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(target: &str) -> Option<(Option<String>, String)> {
        origin_form(target.as_bytes()).ok()
    }

    #[test]
    fn urls_are_reduced_to_what_a_request_line_holds() {
        let host = |name: &str| Some(name.to_owned());
        for (target, expected) in [
            ("/", (None, "/")),
            ("/a?b=c#d", (None, "/a?b=c")),
            ("/a b\"c", (None, "/a%20b%22c")),
            ("/caf\u{e9}", (None, "/caf%C3%A9")),
            ("//two/slashes", (None, "//two/slashes")),
            ("http://shop.test", (host("shop.test"), "/")),
            (
                "HTTPS://shop.test:8443?q=1",
                (host("shop.test:8443"), "/?q=1"),
            ),
            ("http://me:secret@shop.test/a", (host("shop.test"), "/a")),
            ("http://[::1]:3000/a", (host("[::1]:3000"), "/a")),
        ] {
            assert_eq!(
                of(target),
                Some((expected.0, expected.1.into())),
                "{target}"
            );
        }
        for target in [
            "",
            "*",
            "shop.test:443",
            "a/b",
            "ftp://x/y",
            "data:text/plain,a",
        ] {
            assert_eq!(of(target), None, "{target}");
        }
    }

    #[test]
    fn request_lines_may_hold_spaces_and_lack_a_version() {
        let of = |line: &str| request_line(line.as_bytes()).ok();
        let expected = |method: &str, target: &str| Some((method.into(), target.into()));
        assert_eq!(of("GET /a HTTP/1.1"), expected("GET", "/a"));
        assert_eq!(of("GET /a b HTTP/2.0"), expected("GET", "/a b"));
        assert_eq!(of("GET /a"), expected("GET", "/a"));
        assert_eq!(of("-"), None);
        assert_eq!(of("GET "), None);
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_can_be_sent(target in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok((_, path)) = origin_form(&target) {
                prop_assert!(path.starts_with('/'));
                prop_assert!(path.bytes().all(|b| b.is_ascii_graphic() && !b"#\"<>\\".contains(&b)));
            }
        }
    }
}
