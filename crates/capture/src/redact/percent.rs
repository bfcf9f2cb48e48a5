//! Percent escapes of names in URLs and forms.

/// Percent signs with two digits, and `+`, decoded once; `None` where there are none.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    if !memchr::memchr_iter(b'%', bytes).any(|at| is_digit(at + 1) && is_digit(at + 2)) {
        return None;
    }
    let escaped = escaped_separators(bytes);
    let decoded = form_urlencoded::parse(&escaped).next();
    decoded.map(|(name, _)| name.into_owned())
}

/// So that the decoder takes all for one name.
fn escaped_separators(text: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'&' => escaped.extend_from_slice(b"%26"),
            b'=' => escaped.extend_from_slice(b"%3D"),
            byte => escaped.push(*byte),
        }
    }
    escaped
}
