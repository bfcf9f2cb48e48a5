//! `name=value&name=value`: queries and urlencoded forms. What no rule covers
//! keeps its very bytes.

use super::names::Names;
use super::{REDACTED, text};

/// Whether a body is one that a browser or a library encodes as a form. Any other body may be read in another way,
/// and then an `&` ends nothing.
pub(super) fn is_form(body: &[u8]) -> bool {
    let plain = |byte: &u8| *byte >= 0x20 && *byte != 0x7f && !b"\"<>\\{}`^|".contains(byte);
    body.contains(&b'=') && body.iter().all(plain) && std::str::from_utf8(body).is_ok()
}

/// `None`: nothing to take out.
pub(super) fn redacted(pairs: &[u8], names: &Names) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::with_capacity(pairs.len());
    let mut after_secret = false;
    for (index, piece) in pairs.split(|byte| *byte == b'&').enumerate() {
        if index > 0 {
            out.push(b'&');
        }
        let kept = kept(piece, names, after_secret);
        out.extend_from_slice(&piece[..kept.unwrap_or(piece.len())]);
        if kept.is_some() {
            out.extend_from_slice(REDACTED.as_bytes());
        }
        after_secret = kept.is_some();
    }
    (out != pairs).then_some(out)
}

/// How much of what is between two `&` stays, if not all of it.
fn kept(piece: &[u8], names: &Names, after_secret: bool) -> Option<usize> {
    let parts = || piece.split(|byte| matches!(byte, b';' | b'?' | b'#'));
    // The rest of a secret with an `&` in it.
    if after_secret && !piece.is_empty() && parts().next().is_some_and(|part| !part.contains(&b'='))
    {
        return Some(0);
    }
    let mut start = 0;
    // Older servers separate pairs by semicolons as well, and URLs hold URLs. Where a server does not, what follows is
    // part of the value: so the value of a secret goes on until the next `&`.
    for part in parts() {
        if let Some(equals) = memchr::memchr(b'=', part) {
            let value = start + equals + 1;
            if value < piece.len() && names.covers_encoded(&decoded(&part[..equals])) {
                return Some(value);
            }
        }
        start += part.len() + 1;
    }
    let reveals = |bytes: &[u8]| text::reveals(&String::from_utf8_lossy(bytes), names);
    match memchr::memchr(b'=', piece) {
        Some(equals) if reveals(&piece[equals + 1..]) => Some(equals + 1),
        _ => reveals(piece).then_some(0),
    }
}

fn decoded(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.replace('+', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        let redacted = redacted(text.as_bytes(), &Names::default());
        redacted.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn values_are_replaced_and_all_else_stays() {
        assert_eq!(of("a=b&c=%zz&&=;d"), None);
        assert_eq!(of("password="), None);
        for (text, expected) in [
            (
                "a=%20&token=x=y&b=c;pin=1234&d",
                "a=%20&token=REDACTED&b=c;pin=REDACTED&REDACTED",
            ),
            ("%70assword=x", "%70assword=REDACTED"),
            ("%2570assword=x", "%2570assword=REDACTED"),
            ("password=x", "password=REDACTED"),
            ("a&+pass+=x", "a&+pass+=REDACTED"),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_tail_of_a_secret_goes_with_it() {
        for (text, expected) in [
            ("password=abc;S3CRET", "password=REDACTED"),
            ("password=;S3CRET&a=b", "password=REDACTED&a=b"),
            ("a=1;password=abc;b=S3CRET", "a=1;password=REDACTED"),
            ("password=abc&S3CRET&a=b", "password=REDACTED&REDACTED&a=b"),
            ("password=abc?S3CRET#S3CRET", "password=REDACTED"),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn values_that_hold_secrets_go_as_a_whole() {
        for (text, expected) in [
            ("a=1&back=%2Flogin%3Ftoken%3Dx", "a=1&back=REDACTED"),
            ("back=https%3A%2F%2Fme%3Ax%40shop.test", "back=REDACTED"),
            (
                "data=%7B%22password%22%3A%22x%22%7D&b=2",
                "data=REDACTED&b=2",
            ),
            ("data=%3Cpassword%3Ex%3C%2Fpassword%3E", "data=REDACTED"),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(of("back=%2Forders%3Fpage%3D2"), None);
    }

    #[test]
    fn forms_are_told_from_other_text() {
        for form in ["a=b", "a=b&c", "user[name]=x%20y", "a=é;b=(c)"] {
            assert!(is_form(form.as_bytes()), "{form}");
        }
        for other in ["", "text", "<a b=\"c\">", "a=b\r\nc=d", "a={}", "a\u{7f}=b"] {
            assert!(!is_form(other.as_bytes()), "{other}");
        }
        assert!(!is_form(b"a=\xff"));
    }
}
