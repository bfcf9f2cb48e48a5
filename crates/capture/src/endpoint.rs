//! What requests are called: the method and the path with its numbers taken out,
//! so that what is the same page for different records is one endpoint.

/// `GET /orders/:id` for `GET /orders/17?page=2`: the method and the path
/// without its query, in which numbers, UUIDs and long hexadecimal words, an
/// asset's digest among them, stand as `:id`.
#[must_use]
pub fn name_of(method: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or(path);
    let segments: Vec<String> = path.split('/').map(general).collect();
    format!("{method} {}", segments.join("/"))
}

fn general(segment: &str) -> String {
    let (stem, extension) = match segment.find('.') {
        Some(dot) => segment.split_at(dot),
        None => (segment, ""),
    };
    if is_id(stem) {
        return format!(":id{extension}");
    }
    match stem.rsplit_once('-') {
        Some((name, digest)) if digest.len() >= 16 && is_id(digest) => {
            format!("{name}-:id{extension}")
        }
        _ => segment.to_owned(),
    }
}

/// A number, a UUID, or a long hexadecimal word.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let all = |test: fn(&u8) -> bool| text.bytes().all(|byte| test(&byte));
    let number = !text.is_empty() && all(u8::is_ascii_digit);
    // With a digit, since `facade` and `decade` are words.
    let hex = text.len() >= 8
        && all(u8::is_ascii_hexdigit)
        && text.bytes().any(|byte| byte.is_ascii_digit());
    let uuid = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| {
            if matches!(at, 8 | 13 | 18 | 23) {
                byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        });
    number || hex || uuid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kinds_of_pages() {
        for (path, name) in [
            ("/", "GET /"),
            ("/orders/17?page=2", "GET /orders/:id"),
            ("/orders/17.json", "GET /orders/:id.json"),
            ("/2026/11/21/a-day", "GET /:id/:id/:id/a-day"),
            ("/facade/decade", "GET /facade/decade"),
            ("/deadbeef", "GET /deadbeef"),
            ("/c/0a1b2c3d", "GET /c/:id"),
            ("/u/123e4567-e89b-12d3-a456-426614174000/x", "GET /u/:id/x"),
            ("/assets/app-0123456789abcdef0.js", "GET /assets/app-:id.js"),
            ("/v2/caf%C3%A9", "GET /v2/caf%C3%A9"),
        ] {
            assert_eq!(name_of("GET", path), name, "{path}");
        }
    }
}
