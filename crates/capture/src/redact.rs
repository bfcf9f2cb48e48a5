//! Secrets out of requests before anything is written: values of headers and of
//! fields, by name. A body that no parser here understands is dropped whole.
//! `docs/traffic.md` lists the names.

mod body;
mod filter_parameters;
mod json;
mod multipart;
mod names;
mod pairs;
mod percent;
mod text;

use std::borrow::Cow;

use crate::{Exchange, Field};
use body::Rewritten;
pub use filter_parameters::{FilterError, filter_parameters};
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

    /// Further names, as Rails' `filter_parameters` has them: found anywhere in a name, a dot between levels.
    #[must_use]
    pub fn filtering(mut self, filters: &[String]) -> Self {
        self.names.filter(filters);
        self
    }

    /// Keeps the values of these headers as they are; a header that is named as a further one goes all the same.
    #[must_use]
    pub fn keeping_headers(mut self, names: &[String]) -> Self {
        self.names.keep_headers(names);
        self
    }

    /// Whether the value of this header stays, although it would be taken out otherwise.
    #[must_use]
    pub fn keeps_header(&self, name: &str) -> bool {
        self.names.header(name) == HeaderRule::Kept
    }

    /// Keeps bodies of types that no parser here understands, such as XML and pictures; by default they are dropped.
    #[must_use]
    pub fn keeping_other_bodies(mut self) -> Self {
        self.keep_other_bodies = true;
        self
    }

    /// Whether the value of a field of this name is taken out: of a query, a form or JSON.
    #[must_use]
    pub fn covers_field(&self, name: &str) -> bool {
        self.names.covers_encoded(name)
    }

    /// Whether text holds a value that the rules cover, in any notation, or a URL with a user in it.
    #[must_use]
    pub fn cover_part_of(&self, text: &str) -> bool {
        text::reveals(text, &self.names)
    }

    /// Takes out of a request all that the rules cover. A body that is changed is then as long as `body_bytes` says;
    /// one that is dropped is empty, and `body_bytes` still has its length.
    pub fn exchange(&self, exchange: &mut Exchange) {
        // The body first: its type is in a header.
        if !exchange.body.is_empty() {
            match body::rewritten(exchange, &self.names, self.keep_other_bodies) {
                Rewritten::Same => {}
                Rewritten::To(body) => {
                    exchange.body_bytes = body.len() as u64;
                    exchange.body = body;
                }
                Rewritten::Dropped => exchange.body = Vec::new(),
            }
        }
        self.target(&mut exchange.target);
        for field in &mut exchange.headers {
            self.header(field);
        }
    }

    /// Takes secrets out of a request target or a URL: out of its query, its user, and what of its path has a name.
    pub fn target(&self, target: &mut String) {
        let path_end = target.find(['?', '#']).unwrap_or(target.len());
        if let Some(path) = self.path(&target[..path_end]) {
            *target = path + &target[path_end..];
        }
        let Some(at) = target.find(['?', '#']) else {
            return;
        };
        if let Some(query) = pairs::redacted(&target.as_bytes()[at + 1..], &self.names) {
            target.truncate(at + 1);
            // Whole pieces of UTF-8 and REDACTED in between.
            target.push_str(&String::from_utf8_lossy(&query));
        }
    }

    fn path(&self, path: &str) -> Option<String> {
        if !path
            .bytes()
            .any(|byte| matches!(byte, b'=' | b':' | b'@' | b'%' | b'<' | b'&' | b'\\'))
        {
            return None;
        }
        let without_users = text::without_users(path);
        let whole = without_users.as_deref().unwrap_or(path);
        let segments: Vec<Cow<'_, str>> = whole
            .split('/')
            .map(|segment| self.segment(segment))
            .collect();
        let redacted = segments.join("/");
        (redacted != path).then_some(redacted)
    }

    /// `name;parameter=value` as a pair, all else as text.
    fn segment<'a>(&self, segment: &'a str) -> Cow<'a, str> {
        let mut start = 0;
        for part in segment.split([';', '&', ',']) {
            let value = part.find('=').map(|equals| start + equals + 1);
            if let Some(value) = value.filter(|value| *value < segment.len())
                && self.names.covers_encoded(&segment[start..value - 1])
            {
                return format!("{}{REDACTED}", &segment[..value]).into();
            }
            start += part.len() + 1;
        }
        let user = percent::percent_decoded(segment).map_or(Cow::Borrowed(segment), Cow::Owned);
        let before_at = user.rfind('@').map_or("", |at| &user[..at]);
        if before_at.contains(':') || text::reveals(segment, &self.names) {
            return REDACTED.into();
        }
        segment.into()
    }

    /// Takes secrets out of one header field.
    pub fn header(&self, field: &mut Field) {
        match self.names.header(&field.name) {
            HeaderRule::Kept => {}
            HeaderRule::Secret => field.value = REDACTED.into(),
            HeaderRule::Cookies => field.value = cookies(&field.value),
            HeaderRule::Searched => {
                if let Some(value) = self.header_value(&field.value) {
                    field.value = value;
                }
            }
        }
    }

    /// URLs in it lose their users and the secrets of their queries. A value that holds a secret in another way goes.
    fn header_value(&self, value: &[u8]) -> Option<Vec<u8>> {
        if !value
            .iter()
            .any(|byte| matches!(byte, b'=' | b':' | b'@' | b'%' | b'<' | b'?' | b' ' | b'\\'))
        {
            return None;
        }
        let text = String::from_utf8_lossy(value);
        let redacted = self.header_text(&text);
        (redacted.as_bytes() != text.as_bytes()).then(|| redacted.into_bytes())
    }

    fn header_text(&self, text: &str) -> String {
        if has_scheme(text) {
            return REDACTED.into();
        }
        let mut value = text::without_users(text).unwrap_or_else(|| text.to_owned());
        let Some(at) = value.find(['?', '#']) else {
            return self.without_secret_words(value);
        };
        if let Some(query) = pairs::redacted(&value.as_bytes()[at + 1..], &self.names) {
            value.truncate(at + 1);
            value.push_str(&String::from_utf8_lossy(&query));
        }
        let query = value.split_off(at);
        let before = self.without_secret_words(value);
        if before == REDACTED {
            return before;
        }
        before + &query
    }

    /// All of the text, or nothing: a header is short.
    fn without_secret_words(&self, text: String) -> String {
        let holds_user = text.split_whitespace().any(|word| {
            let before = word.rfind('@').map_or("", |at| &word[..at]);
            before.contains(':') && !before.ends_with(REDACTED)
        });
        if holds_user || text::reveals(&text, &self.names) {
            return REDACTED.into();
        }
        text
    }
}

/// Credentials as `Authorization` has them, in a header of another name.
fn has_scheme(value: &str) -> bool {
    let Some((scheme, credentials)) = value.trim_start().split_once(' ') else {
        return false;
    };
    let is = |name: &str| scheme.eq_ignore_ascii_case(name);
    let is_one_word = credentials.len() >= 6 && !credentials.trim().contains(' ');
    is("bearer")
        || is("negotiate")
        || is("aws4-hmac-sha256")
        || (is_one_word && (is("basic") || is("token")))
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

/// A media type without its parameters.
fn media_of(content_type: &str) -> String {
    let media = content_type.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
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
            "X-Session-Id",
            "X-Auth-Key",
            "Ocp-Apim-Subscription-Key",
            "X-Functions-Key",
            "X-GitHub-OTP",
            "Sec-WebSocket-Protocol",
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
    }

    #[test]
    fn urls_in_any_header() {
        for name in [
            "Referer",
            "Location",
            "X-Original-URL",
            "X-Anything",
            "User-Agent",
            "Link",
        ] {
            for (value, expected) in [
                (
                    "https://shop.test/reset?token=s3cret&x=1",
                    "https://shop.test/reset?token=REDACTED&x=1",
                ),
                (
                    "https://me:s3cret@shop.test/a",
                    "https://REDACTED@shop.test/a",
                ),
                (
                    "https://s3cret@shop.test/a?pin=1",
                    "https://REDACTED@shop.test/a?pin=REDACTED",
                ),
                (
                    "<https://a.test/?x=1>; rel=a, <https://b.test/?token=s3cret>",
                    "<https://a.test/?x=1>; rel=a, <https://b.test/?token=REDACTED",
                ),
                ("/a#access_token=s3cret", "/a#access_token=REDACTED"),
                ("/a?b=%2Fc%3Ftoken%3Ds3cret", "/a?b=REDACTED"),
                ("https://shop.test/a?page=2", "https://shop.test/a?page=2"),
            ] {
                assert_eq!(header(name, value), expected, "{name}");
            }
        }
    }

    #[test]
    fn secrets_in_headers_of_other_names() {
        for value in [
            "Bearer s3cret",
            "basic bWU6czNjcmV0",
            "token=s3cret",
            "{\"password\":\"s3cret\"}",
            "me:s3cret@shop.test",
        ] {
            assert_eq!(header("X-Anything", value), REDACTED, "{value}");
        }
        for (name, value) in [
            (
                "User-Agent",
                "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0 (+https://bot.test/a)",
            ),
            ("Accept", "text/html;q=0.9, */*; q=0.8"),
            ("Forwarded", "for=192.0.2.1;proto=https;host=shop.test"),
            (
                "Content-Type",
                "multipart/form-data; boundary=--WebKitFormBoundary7MA4YWxkTrZu0gW",
            ),
            ("If-Modified-Since", "Tue, 01 Jan 2026 10:00:00 GMT"),
            (
                "Sec-CH-UA",
                "\"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\"",
            ),
            (
                "Traceparent",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            ),
            ("Host", "shop.test:8443"),
            ("X-Plan", "Basic plan"),
        ] {
            assert_eq!(header(name, value), value);
        }
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
        for (target, expected) in [
            ("/a;jsessionid=s3cret/b", "/a;jsessionid=REDACTED/b"),
            ("/password=s3cret", "/password=REDACTED"),
            ("/a/%74oken%3Ds3cret/b", "/a/REDACTED/b"),
            (
                "http://me:s3cret@shop.test/a",
                "http://REDACTED@shop.test/a",
            ),
            (
                "/go/https://me:s3cret@shop.test/a",
                "/go/https://REDACTED@shop.test/a",
            ),
            ("/go/https:/me:s3cret@shop.test/a", "/go/https:/REDACTED/a"),
            ("/go/https%3A%2F%2Fme%3As3cret%40shop.test", "/go/REDACTED"),
            ("me:s3cret@shop.test:443", "REDACTED"),
            ("/a#token=s3cret", "/a#token=REDACTED"),
            ("/a?b=1?token=s3cret", "/a?b=1?token=REDACTED"),
            ("/@alice/12:30", "/@alice/12:30"),
            ("//two/slashes", "//two/slashes"),
        ] {
            assert_eq!(redacted(target), expected, "{target}");
        }
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
