//! Secrets out of requests before anything is written: values of headers and of
//! fields, by name. What the rules cannot read they do not vouch for: such a
//! body is dropped whole. `docs/traffic.md` lists the names.

mod body;
mod json;
mod multipart;
mod names;
mod pairs;

use std::borrow::Cow;

use crate::{Exchange, Field};
use body::Rewritten;
use names::{HeaderRule, Names};

/// What stands in place of a secret.
pub const REDACTED: &str = "REDACTED";

/// A body that cannot be read the way the server will read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unreadable;

/// Which values are taken out.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    names: Names,
    keep_other_bodies: bool,
}

impl Rules {
    /// The usual names, without `except`, and further ones. Letter case makes no difference, nor do hyphens and
    /// underscores in names of fields.
    #[must_use]
    pub fn new(headers: &[String], fields: &[String], except: &[String]) -> Self {
        Self {
            names: Names::new(headers, fields, except),
            keep_other_bodies: false,
        }
    }

    /// Keeps bodies of types in which no rule can look for fields, such as XML; by default they are dropped.
    #[must_use]
    pub fn keeping_other_bodies(mut self) -> Self {
        self.keep_other_bodies = true;
        self
    }

    /// Whether the value of a field of this name is taken out: of a query, a form or JSON.
    #[must_use]
    pub fn covers_field(&self, name: &str) -> bool {
        self.names.covers(name)
    }

    /// Takes out of a request all that the rules cover. A body that is changed is then as long as `body_bytes` says;
    /// one that is dropped is empty, and `body_bytes` still tells how long it was.
    pub fn exchange(&self, exchange: &mut Exchange) {
        self.target(&mut exchange.target);
        for field in &mut exchange.headers {
            self.header(field);
        }
        if exchange.body.is_empty() {
            return;
        }
        match body::rewritten(exchange, &self.names, self.keep_other_bodies) {
            Rewritten::Same => {}
            Rewritten::To(body) => {
                exchange.body_bytes = body.len() as u64;
                exchange.body = body;
            }
            Rewritten::Dropped => exchange.body = Vec::new(),
        }
    }

    /// Takes secrets out of a request target's query.
    pub fn target(&self, target: &mut String) {
        let Some(at) = target.find('?') else {
            return;
        };
        if let Some(query) = pairs::redacted(&target.as_bytes()[at + 1..], &self.names) {
            target.truncate(at + 1);
            // Whole pieces of UTF-8 and REDACTED in between.
            target.push_str(&String::from_utf8_lossy(&query));
        }
    }

    /// Takes secrets out of one header field.
    pub fn header(&self, field: &mut Field) {
        match self.names.header(&field.name) {
            HeaderRule::Plain => {}
            HeaderRule::Secret => field.value = REDACTED.into(),
            HeaderRule::Cookies => field.value = cookies(&field.value),
            HeaderRule::Url => {
                if let Some(at) = memchr::memchr(b'?', &field.value)
                    && let Some(query) = pairs::redacted(&field.value[at + 1..], &self.names)
                {
                    field.value.truncate(at + 1);
                    field.value.extend_from_slice(&query);
                }
            }
        }
    }
}

/// Names stay, because they say what a client has: whether it was logged in, which experiment it is part of.
fn cookies(value: &[u8]) -> Vec<u8> {
    let mut redacted = Vec::with_capacity(value.len());
    for cookie in value.split(|byte| *byte == b';') {
        if !redacted.is_empty() {
            redacted.extend_from_slice(b"; ");
        }
        if let Some(at) = memchr::memchr(b'=', cookie) {
            redacted.extend_from_slice(cookie[..=at].trim_ascii_start());
        }
        redacted.extend_from_slice(REDACTED.as_bytes());
    }
    redacted
}

/// The only one of its name; `Err` when there are several.
fn only<'a>(headers: &'a [Field], name: &str) -> Result<Option<Cow<'a, str>>, Unreadable> {
    let mut found = headers.iter().filter(|f| f.name.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some(field), None) => Ok(Some(String::from_utf8_lossy(&field.value))),
        _ => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &str) -> Field {
        Field {
            name: name.into(),
            value: value.into(),
        }
    }

    fn header(name: &str, value: &str) -> String {
        let mut field = field(name, value);
        Rules::default().header(&mut field);
        String::from_utf8(field.value).unwrap()
    }

    #[test]
    fn headers_by_name() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "X-API-Key",
            "X-CSRF-Token",
            "X-Auth-Token",
            "x-amz-security-token",
            "X-Hub-Signature-256",
        ] {
            assert_eq!(header(name, "s3cret"), REDACTED, "{name}");
        }
        for name in [
            "Host",
            "User-Agent",
            "Accept",
            "X-Request-Id",
            "X-Forwarded-For",
        ] {
            assert_eq!(header(name, "plain"), "plain", "{name}");
        }
        assert_eq!(
            header("Cookie", "_shop_session=s3cret%3D; theme=dark;s3cret"),
            "_shop_session=REDACTED; theme=REDACTED; REDACTED"
        );
        assert_eq!(
            header("Referer", "https://shop.test/reset?token=s3cret&x=1"),
            "https://shop.test/reset?token=REDACTED&x=1"
        );
    }

    #[test]
    fn targets() {
        let redacted = |target: &str| {
            let mut target = target.to_owned();
            Rules::default().target(&mut target);
            target
        };
        assert_eq!(redacted("/a?b=c"), "/a?b=c");
        assert_eq!(
            redacted("/a?user%5Bpassword%5D=s3cret&page=2&API-KEY=s3cret"),
            "/a?user%5Bpassword%5D=REDACTED&page=2&API-KEY=REDACTED"
        );
        assert_eq!(redacted("/password=1"), "/password=1");
    }

    #[test]
    fn further_names_and_exceptions() {
        let rules = Rules::new(
            &["X-Customer".into()],
            &["iban".into()],
            &["cookie".into(), "authenticity_token".into()],
        );
        assert!(rules.covers_field("account[IBAN]"));
        assert!(!rules.covers_field("authenticity-token"));
        assert!(rules.covers_field("token"));
        let mut fields = [field("x-customer", "s3cret"), field("Cookie", "a=b")];
        fields.iter_mut().for_each(|f| rules.header(f));
        assert_eq!(
            fields,
            [field("x-customer", REDACTED), field("Cookie", "a=b")]
        );
    }
}
