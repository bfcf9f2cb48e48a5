//! Which names have secrets for values.

/// Wherever they stand in a name, hyphens, underscores and case apart: `passw` is in `user_password_confirmation`.
const STEMS: [&str; 15] = [
    "accesskey",
    "apikey",
    "authorization",
    "cardnumber",
    "creditcard",
    "csrf",
    "cvc",
    "cvv",
    "jwt",
    "passphrase",
    "passw",
    "privatekey",
    "secret",
    "signature",
    "token",
];

/// As a whole name, or as one of its parts: `card` is in `payment[card]`, and not in `cardboard`.
const WHOLE: [&str; 10] = [
    "card",
    "cardno",
    "otp",
    "pass",
    "pin",
    "pwd",
    "sessionid",
    "sid",
    "sig",
    "ssn",
];

/// Headers that nearly every request has, so that their names need no closer look.
const PLAIN: [&str; 31] = [
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
    "upgrade-insecure-requests",
    "user-agent",
    "x-request-id",
];

/// Their values are cookies.
const COOKIES: [&str; 2] = ["cookie", "set-cookie"];

/// Their values are URLs, whose queries repeat fields of other requests or of this one.
const URLS: [&str; 8] = [
    "referer",
    "location",
    "content-location",
    "x-forwarded-uri",
    "x-original-uri",
    "x-original-url",
    "x-rewrite-url",
    "x-url",
];

/// Certificates and assertions by other names.
const SECRET_HEADERS: [&str; 4] = [
    "x-amzn-oidc-data",
    "x-amzn-oidc-identity",
    "x-forwarded-client-cert",
    "x-remote-user-ticket",
];

/// What becomes of a header's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderRule {
    Plain,
    Secret,
    Cookies,
    Url,
}

/// The usual names and the configured ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    headers: Vec<String>,
    /// Reduced to letters and digits, as are the exceptions.
    fields: Vec<String>,
    except: Vec<String>,
}

impl Names {
    pub(super) fn new(headers: &[String], fields: &[String], except: &[String]) -> Self {
        let all = |names: &[String]| names.iter().map(|name| reduced(name)).collect();
        Self {
            headers: headers.to_vec(),
            fields: all(fields),
            except: all(except),
        }
    }

    pub(super) fn header(&self, name: &str) -> HeaderRule {
        let among = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if self.headers.iter().any(|n| n.eq_ignore_ascii_case(name)) {
            return HeaderRule::Secret;
        }
        if among(&PLAIN) {
            return HeaderRule::Plain;
        }
        let rule = if among(&COOKIES) {
            HeaderRule::Cookies
        } else if among(&SECRET_HEADERS) || self.covers(name) {
            HeaderRule::Secret
        } else if among(&URLS) {
            HeaderRule::Url
        } else {
            HeaderRule::Plain
        };
        if rule != HeaderRule::Plain && self.is_excepted(&reduced(name)) {
            return HeaderRule::Plain;
        }
        rule
    }

    /// Whether a field of this name holds a secret: `user[password]`, `apiKey`, `card.cvv`.
    pub(super) fn covers(&self, name: &str) -> bool {
        let whole = with_reduced(name, |whole| {
            if self.is_excepted(whole) {
                return Some(false);
            }
            (has_stem(whole) || self.is_known(whole)).then_some(true)
        });
        let parts = || name.split(['[', ']', '.']);
        whole.unwrap_or_else(|| {
            name.contains(['[', ']', '.'])
                && parts().any(|part| with_reduced(part, |part| self.is_known(part)))
        })
    }

    fn is_known(&self, reduced: &str) -> bool {
        WHOLE.contains(&reduced) || self.fields.iter().any(|name| name == reduced)
    }

    fn is_excepted(&self, reduced: &str) -> bool {
        self.except.iter().any(|name| name == reduced)
    }
}

/// Letters and digits alone, in lower case.
fn reduced(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The same without an allocation for the names that there usually are: this is asked for each header of each request.
fn with_reduced<T>(name: &str, then: impl FnOnce(&str) -> T) -> T {
    const SHORT: usize = 64;
    if name.len() > SHORT || !name.is_ascii() {
        return then(&reduced(name));
    }
    let mut kept = [0; SHORT];
    let mut length = 0;
    for byte in name.bytes().filter(u8::is_ascii_alphanumeric) {
        kept[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    then(std::str::from_utf8(&kept[..length]).unwrap_or_default())
}

fn has_stem(reduced: &str) -> bool {
    let bytes = reduced.as_bytes();
    (0..bytes.len()).any(|at| {
        // Their first letters.
        matches!(bytes[at], b'a' | b'c' | b'j' | b'p' | b's' | b't')
            && STEMS
                .iter()
                .any(|stem| bytes[at..].starts_with(stem.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stem_is_passed_over() {
        for stem in STEMS {
            assert!(has_stem(stem) && has_stem(&format!("x{stem}x")), "{stem}");
        }
    }

    #[test]
    fn long_names_and_those_of_other_letters_are_reduced_alike() {
        let names = Names::new(&[], &["Schlüssel".to_owned()], &[]);
        assert!(names.covers("SCHLÜSSEL") && names.covers("a[schlüssel]"));
        assert!(names.covers(&format!("{}[pin]", "x".repeat(100))));
        assert!(names.covers(&format!("{}Pass_Word", "é".repeat(100))));
    }

    #[test]
    fn names_in_every_notation() {
        let names = Names::default();
        for name in [
            "password",
            "PASSWORD",
            "user[password]",
            "user[password_confirmation]",
            "passwd",
            "clientSecret",
            "client-secret",
            "access_token",
            "authenticity_token",
            "Api-Key",
            "card[cvv]",
            "payment.card",
            "cards[][card]",
            " pin ",
        ] {
            assert!(names.covers(name), "{name}");
        }
        for name in [
            "",
            "page",
            "q",
            "cardboard",
            "pinned",
            "passenger",
            "spin",
            "compass",
        ] {
            assert!(!names.covers(name), "{name}");
        }
    }
}
