//! Which names have secrets for values: the usual ones (`knobs::names_a_secret`), configured ones, and exceptions.

use knobs::{names_a_secret, with_reduced};

/// Headers that nearly every request has, and names that look like secrets' but are none. Their values are still
/// searched for URLs.
const PLAIN: [&str; 33] = [
    "host",
    "forwarded",
    "if-range",
    "range",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-real-ip",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "dnt",
    "if-modified-since",
    "if-none-match",
    "origin",
    "pragma",
    "priority",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
    "sec-websocket-key",
    "upgrade-insecure-requests",
    "user-agent",
    "x-real-port",
    "x-request-id",
];

/// Their values are cookies.
const COOKIES: [&str; 2] = ["cookie", "set-cookie"];

/// Certificates, assertions, tokens and addresses under other names.
const SECRET_HEADERS: [&str; 6] = [
    "from",
    "sec-websocket-protocol",
    "x-amzn-oidc-data",
    "x-amzn-oidc-identity",
    "x-forwarded-client-cert",
    "x-remote-user-ticket",
];

/// So often names may be percent-encoded; one that still is then is a secret.
const MOST_ENCODED: usize = 5;

/// What becomes of a header's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderRule {
    /// Searched for URLs and fields.
    Searched,
    /// Kept as it is.
    Kept,
    Secret,
    Cookies,
}

/// The usual names and the configured ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    headers: Vec<String>,
    /// Headers whose value stays, whatever it is.
    kept_headers: Vec<String>,
    /// Reduced to letters and digits, as are the exceptions.
    fields: Vec<String>,
    except: Vec<String>,
    /// Rails' filters: lower case, found anywhere in a name.
    filters: Vec<String>,
}

impl Names {
    pub(super) fn new(headers: &[String], fields: &[String], except: &[String]) -> Self {
        let reduced = |name: &String| with_reduced(name, str::to_owned);
        let all = |names: &[String]| names.iter().map(reduced).collect();
        Self {
            headers: headers.to_vec(),
            kept_headers: Vec::new(),
            fields: all(fields),
            except: all(except),
            filters: Vec::new(),
        }
    }

    pub(super) fn keep_headers(&mut self, names: &[String]) {
        self.kept_headers.extend_from_slice(names);
    }

    pub(super) fn filter(&mut self, filters: &[String]) {
        let lower = filters.iter().map(|filter| filter.to_lowercase());
        self.filters
            .extend(lower.filter(|filter| !filter.is_empty()));
    }

    pub(super) fn header(&self, name: &str) -> HeaderRule {
        let among = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if self.headers.iter().any(|n| n.eq_ignore_ascii_case(name)) {
            return HeaderRule::Secret;
        }
        let mut kept = self.kept_headers.iter();
        if kept.any(|kept| kept.eq_ignore_ascii_case(name)) {
            return HeaderRule::Kept;
        }
        if among(&PLAIN) {
            return HeaderRule::Searched;
        }
        if !self.except.is_empty() && with_reduced(name, |name| self.is_excepted(name)) {
            return HeaderRule::Kept;
        }
        if among(&COOKIES) {
            HeaderRule::Cookies
        } else if among(&SECRET_HEADERS) || self.covers(name) {
            HeaderRule::Secret
        } else {
            HeaderRule::Searched
        }
    }

    /// Whether a field of this name holds a secret, however often the name is percent-encoded.
    pub(super) fn covers_encoded(&self, name: &str) -> bool {
        let mut name = std::borrow::Cow::Borrowed(name);
        for _ in 0..MOST_ENCODED {
            if self.covers(&name) {
                return true;
            }
            let Some(decoded) = super::percent::percent_decoded(&name) else {
                return false;
            };
            name = decoded.into();
        }
        true
    }

    /// Whether a field of this name holds a secret: `user[password]`, `apiKey`, `card.cvv`.
    pub(super) fn covers(&self, name: &str) -> bool {
        let parts = || {
            name.split(['[', ']', '.'])
                .filter(|part| !part.trim().is_empty())
        };
        let is_excepted = |part: &str| with_reduced(part, |part| self.is_excepted(part));
        if !self.except.is_empty() {
            if is_excepted(name) {
                return false;
            }
            // What stands around a name that is kept is looked at part by part.
            if parts().any(is_excepted) {
                return parts().any(|part| !is_excepted(part) && self.covers_part(part));
            }
        }
        self.covers_part(name)
            || (name.contains(['[', ']', '.']) && parts().any(|part| self.covers_part(part)))
    }

    fn covers_part(&self, name: &str) -> bool {
        names_a_secret(name) || self.is_configured(name) || self.is_filtered(name)
    }

    fn is_configured(&self, name: &str) -> bool {
        !self.fields.is_empty()
            && with_reduced(name, |name| self.fields.iter().any(|field| field == name))
    }

    fn is_filtered(&self, name: &str) -> bool {
        if self.filters.is_empty() {
            return false;
        }
        let name = name.replace("][", ".").replace('[', ".").replace(']', "");
        let [plain, snake] = [name.to_lowercase(), snake_case(&name)];
        let mut filters = self.filters.iter();
        filters.any(|filter| plain.contains(filter.as_str()) || snake.contains(filter.as_str()))
    }

    fn is_excepted(&self, reduced: &str) -> bool {
        self.except.iter().any(|name| name == reduced)
    }
}

/// `first_name` for `firstName` and `First-Name`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        match c {
            '-' | ' ' => snake.push('_'),
            c => snake.extend(c.to_lowercase()),
        }
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_and_those_of_other_letters_are_reduced_alike() {
        let names = Names::new(&[], &["Schlüssel".to_owned()], &[]);
        assert!(names.covers("SCHLÜSSEL") && names.covers("a[schlüssel]"));
        assert!(names.covers(&format!("{}[pin]", "x".repeat(100))));
        assert!(names.covers(&format!("{}Pass_Word", "é".repeat(100))));
    }

    #[test]
    fn encoded_names_are_the_same() {
        let names = Names::default();
        for name in [
            "%70assword",
            "%2570assword",
            "%252570assword",
            "user%5Bpin%5D",
            "a%25252525252525b",
        ] {
            assert!(names.covers_encoded(name), "{name}");
        }
        for name in ["page", "p%61ge", "100%", "user%5Bname%5D"] {
            assert!(!names.covers_encoded(name), "{name}");
        }
    }

    #[test]
    fn an_exception_holds_for_its_part_of_a_name() {
        let names = Names::new(&[], &[], &["ticket".to_owned(), "X-Auth".to_owned()]);
        assert!(!names.covers("ticket") && !names.covers("ticket[subject]"));
        assert!(names.covers("ticket[password]") && names.covers("ticket[][token]"));
        assert_eq!(names.header("x-auth"), HeaderRule::Kept);
        assert_eq!(names.header("x-auth-key"), HeaderRule::Secret);
    }

    #[test]
    fn filters_are_found_anywhere_as_rails_does() {
        let mut names = Names::default();
        names.filter(&["first_na".to_owned(), "bank.HOLDER".to_owned()]);
        for name in [
            "first_name",
            "userFirstName",
            "USER[FIRST_NAME]",
            "First-Name",
            "bank[holder]",
            "a[bank][holder]",
        ] {
            assert!(names.covers(name), "{name}");
        }
        assert!(!names.covers("holder") && !names.covers("last_name"));
    }
}
