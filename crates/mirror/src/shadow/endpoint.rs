//! Names of endpoints, bounded in number and length.

use std::collections::HashSet;

use capture::name_of;

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
        let name = cut(name_of(method, target));
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

/// So that a client that asks for long paths does not fill the names.
fn cut(mut name: String) -> String {
    let cut = (0..=MOST_BYTES.min(name.len()))
        .rev()
        .find(|at| name.is_char_boundary(*at));
    name.truncate(cut.unwrap_or(0));
    name
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
        assert!(cut(name_of("GET", &"/é".repeat(500))).len() <= MOST_BYTES);
    }
}
