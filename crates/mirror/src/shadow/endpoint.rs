//! What requests are called: the method and the path with its numbers taken
//! out, so that what is the same page for different records is one endpoint.
//! The rule is that of the load generator for recorded traffic; the two crates
//! may not know each other, and it is short.

use std::collections::HashSet;

/// Most different names; further ones share one.
const MOST_NAMES: usize = 1000;
/// Longer names are cut.
const MOST_BYTES: usize = 200;
/// The name of all that come when there are enough.
const OTHER: &str = "(other)";

/// Names given so far.
#[derive(Debug, Default)]
pub(super) struct Endpoints {
    known: HashSet<String>,
}

impl Endpoints {
    /// `GET /orders/:id` for `GET /orders/17?page=2`.
    pub(super) fn name(&mut self, method: &str, target: &str) -> String {
        let name = name_of(method, target);
        if self.known.contains(&name) {
            return name;
        }
        if self.known.len() >= MOST_NAMES {
            return OTHER.into();
        }
        self.known.insert(name.clone());
        name
    }
}

fn name_of(method: &str, target: &str) -> String {
    let path = target.split('?').next().unwrap_or(target);
    let segments: Vec<String> = path.split('/').map(general).collect();
    let mut name = format!("{method} {}", segments.join("/"));
    let cut = (0..=MOST_BYTES.min(name.len()))
        .rev()
        .find(|at| name.is_char_boundary(*at));
    name.truncate(cut.unwrap_or(0));
    name
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

/// A number, a UUID, or a long hexadecimal word (with a digit, since `facade` and `decade` are words).
pub(super) fn is_id(text: &str) -> bool {
    let all = |test: fn(&u8) -> bool| text.bytes().all(|byte| test(&byte));
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    let number = digits && all(u8::is_ascii_digit);
    let hex = text.len() >= 8 && digits && all(u8::is_ascii_hexdigit);
    let uuid = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    number || hex || uuid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_share_a_name() {
        let mut names = Endpoints::default();
        for (target, name) in [
            ("/orders/17?page=2", "GET /orders/:id"),
            (
                "/orders/0190a3c4-0000-7000-8000-00000000000a/edit",
                "GET /orders/:id/edit",
            ),
            (
                "/assets/app-0123456789abcdef.css",
                "GET /assets/app-:id.css",
            ),
            ("/facade", "GET /facade"),
            ("/", "GET /"),
        ] {
            assert_eq!(names.name("GET", target), name);
        }
    }

    #[test]
    fn names_are_bounded_in_number_and_length() {
        let mut names = Endpoints::default();
        for n in 0..2 * MOST_NAMES {
            names.name("GET", &format!("/n{n}"));
        }
        assert_eq!(names.known.len(), MOST_NAMES);
        assert_eq!(names.name("GET", "/n0"), "GET /n0");
        assert_eq!(names.name("GET", "/new"), OTHER);
        assert!(name_of("GET", &"/é".repeat(500)).len() <= MOST_BYTES);
    }
}
