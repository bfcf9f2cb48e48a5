//! The requests of a Rails log: `Started GET "/products?page=2" for 10.0.0.1 at …`.

use regex::Regex;
use std::sync::LazyLock;

static STARTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"Started ([A-Z]+) "([^"]*)" for "#).unwrap_or_else(|e| unreachable!("{e}"))
});

/// Whether a text is a log of Rails, by its first requests.
#[must_use]
pub fn is_rails_log(text: &str) -> bool {
    STARTED.is_match(text)
}

/// Method and target of each request.
pub(crate) fn requests(text: &str) -> impl Iterator<Item = (&str, &str)> {
    STARTED.captures_iter(text).filter_map(|found| {
        let method = found.get(1)?.as_str();
        Some((method, found.get(2)?.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_behind_tags() {
        let log = "I, [2026-11-24T10:00:00.1 #7]  INFO -- : [9f1c] Started GET \"/a?b=1\" for 127.0.0.1 at 2026-11-24\n\
                   [9f1c] Completed 200 OK in 3ms\n\
                   Started POST \"/a\" for ::1 at 2026-11-24\n";
        assert!(is_rails_log(log));
        let found: Vec<_> = requests(log).collect();
        assert_eq!(found, [("GET", "/a?b=1"), ("POST", "/a")]);
        assert!(!is_rails_log("127.0.0.1 - - \"GET / HTTP/1.1\" 200 5"));
    }
}
