//! `name=value&name=value`: queries and urlencoded forms. What no rule covers
//! keeps its very bytes.

use std::borrow::Cow;

use super::REDACTED;
use super::names::Names;

/// `None`: nothing to take out.
pub(super) fn redacted(text: &[u8], names: &Names) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    // Older servers separate pairs by semicolons as well; where one does not, what is taken out is part of a value.
    for piece in text.split(|byte| matches!(byte, b'&' | b';')) {
        let end = at + piece.len();
        if let Some(equals) = memchr::memchr(b'=', piece)
            && equals + 1 < piece.len()
            && names.covers(&decoded(&piece[..equals]))
        {
            out.extend_from_slice(&text[copied..=at + equals]);
            out.extend_from_slice(REDACTED.as_bytes());
            copied = end;
        }
        at = end + 1;
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(&text[copied..]);
    Some(out)
}

fn decoded(name: &[u8]) -> Cow<'_, str> {
    if !name.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return String::from_utf8_lossy(name);
    }
    let pair = form_urlencoded::parse(name).next();
    pair.map_or(Cow::Borrowed(""), |(name, _)| name)
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
        let expected = "a=%20&token=REDACTED&b=c;pin=REDACTED&d";
        assert_eq!(
            of("a=%20&token=x=y&b=c;pin=1234&d").as_deref(),
            Some(expected)
        );
        assert_eq!(of("%70assword=x").as_deref(), Some("%70assword=REDACTED"));
        assert_eq!(of("password=x").as_deref(), Some("password=REDACTED"));
        assert_eq!(of("a&+pass+=x").as_deref(), Some("a&+pass+=REDACTED"));
    }
}
