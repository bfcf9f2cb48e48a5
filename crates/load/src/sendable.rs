//! What may stand in a request, wherever it comes from: nothing that could end
//! a line early, contradict the framing, or send a second request. Each function
//! says why not, or what to do instead.

/// Headers that frame the message, that the run sets itself, or that mark a shadow's copy.
const RESERVED: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "expect",
    "upgrade",
    "te",
    "x-request-start",
    "x-powerband-shadow",
];

/// The remedy when this is no method to send.
pub(crate) fn method_problem(method: &str) -> Option<&'static str> {
    let legal =
        is_token(method) && method != "CONNECT" && !method.bytes().any(|b| b.is_ascii_lowercase());
    (!legal).then_some("give an HTTP method in capitals, such as GET, HEAD or POST")
}

/// The remedy when this is no path and query to send.
pub(crate) fn path_problem(path: &str) -> Option<&'static str> {
    let legal = path.starts_with('/') && path.bytes().all(may_stand_in_path);
    (!legal).then_some(
        "start with / and percent-encode spaces, #, quotes, <, >, \\, control and non-ASCII characters",
    )
}

fn may_stand_in_path(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'<' | b'>' | b'\\')
}

/// What is wrong with a header's name, and the remedy.
pub(crate) fn header_name_problem(name: &str) -> Option<(&'static str, &'static str)> {
    if !is_token(name) {
        return Some((
            "not a header name",
            "a header name holds letters, digits and - only",
        ));
    }
    RESERVED
        .iter()
        .any(|reserved| reads_as(name, reserved))
        .then_some(("set by powerband", "remove it"))
}

/// Whether a server can pass `name` to an application as the header `reserved`: most fold `-` and `_`, some every byte
/// that is neither letter nor digit. The mirror and the replay of recorded traffic use the same rule.
fn reads_as(name: &str, reserved: &str) -> bool {
    let folded = name.bytes().map(|byte| match byte {
        byte if byte.is_ascii_alphanumeric() => byte.to_ascii_lowercase(),
        _ => b'-',
    });
    folded.eq(reserved.bytes())
}

/// The remedy when this is no header's value to send.
pub(crate) fn header_value_problem(value: &str) -> Option<&'static str> {
    let ends_line = |b: u8| (b < b' ' && b != b'\t') || b == 0x7f;
    value
        .bytes()
        .any(ends_line)
        .then_some("remove line breaks and control characters")
}

/// RFC 9110 §5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_refuses_what_it_is_for() {
        for (method, legal) in [("GET", true), ("M-SEARCH", true), ("get", false)] {
            assert_eq!(method_problem(method).is_none(), legal, "{method}");
        }
        assert!(method_problem("CONNECT").is_some() && method_problem("A B").is_some());
        assert_eq!(path_problem("/a?b=%20&c[]={x}"), None);
        for path in ["", "a", "*", "/ ", "/#", "/\"", "/<", "/\\", "/é", "/\r\n"] {
            assert!(path_problem(path).is_some(), "{path:?}");
        }
        for name in [
            "X-Sid",
            "XRequestStart",
            "X-Request-Start2",
            "Content0Length",
        ] {
            assert_eq!(header_name_problem(name), None, "{name:?}");
        }
        for name in [
            "",
            "A B",
            "A:",
            "Host",
            "TE",
            "X-Request-Start",
            "content_Length",
            "Content.Length",
            "transfer+encoding",
            "X.Request.Start",
            "X_Request-Start",
            "X-Powerband-Shadow",
            "x_powerband_shadow",
            "X.Powerband~Shadow",
        ] {
            assert!(header_name_problem(name).is_some(), "{name:?}");
        }
        assert_eq!(header_value_problem("a\té"), None);
        for value in ["a\r\nB: c", "\0", "\x7f"] {
            assert!(header_value_problem(value).is_some(), "{value:?}");
        }
    }
}
