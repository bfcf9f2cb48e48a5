//! An answer -> the cookies that it sets and the tokens that it holds: hidden
//! inputs and `<meta name="csrf-token">` in HTML, fields in JSON, headers.

use capture::Field;

use super::sessions::{Learned, Named};

/// Tokens that are read from one answer, at most.
const MOST_TOKENS: usize = 200;
/// A tag that is longer holds no token. Without a bound a page of tags that never end is read once for each of them.
const TAG_BYTES: usize = 4096;

/// Name and value of each cookie that is set; attributes are of no concern here.
pub(super) fn cookies_set(headers: &[Field]) -> Vec<(String, Vec<u8>)> {
    let fields = headers
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case("set-cookie"));
    fields
        .filter_map(|field| {
            let pair = field.value.split(|byte| *byte == b';').next()?;
            name_and_value(pair)
        })
        .collect()
}

/// Name and value of each cookie that a client sends.
pub(super) fn cookies_sent<'a>(
    headers: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Vec<(String, Vec<u8>)> {
    let fields = headers.filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    fields
        .flat_map(|(_, value)| value.split(|byte| *byte == b';'))
        .filter_map(name_and_value)
        .collect()
}

fn name_and_value(pair: &[u8]) -> Option<(String, Vec<u8>)> {
    let equals = memchr::memchr(b'=', pair)?;
    let name = std::str::from_utf8(pair[..equals].trim_ascii()).ok()?;
    Some((name.to_owned(), pair[equals + 1..].trim_ascii().to_vec()))
}

/// What an answer teaches; of tokens, those with these names (in any case).
pub(super) fn learn(headers: &[Field], body: &[u8], names: &[String]) -> Learned {
    let mut tokens = Named::new();
    if !names.is_empty() {
        let wanted = |name: &str| names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name));
        for field in headers.iter().filter(|field| wanted(&field.name)) {
            add(&mut tokens, &field.name, field.value.clone());
        }
        let content_type = headers
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case("content-type"))
            .map_or_else(Vec::new, |field| field.value.to_ascii_lowercase());
        if contains(&content_type, b"html") {
            in_html(body, &wanted, &mut tokens);
        } else if contains(&content_type, b"json")
            && let Ok(value) = serde_json::from_slice(body)
        {
            in_json(&value, &wanted, &mut tokens);
        }
    }
    Learned {
        cookies: cookies_set(headers),
        tokens,
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

fn add(tokens: &mut Named, name: &str, value: Vec<u8>) {
    let total: usize = tokens.values().map(Vec::len).sum();
    if total < MOST_TOKENS {
        tokens
            .entry(name.to_ascii_lowercase())
            .or_default()
            .push(value);
    }
}

fn in_json(value: &serde_json::Value, wanted: &impl Fn(&str) -> bool, tokens: &mut Named) {
    match value {
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| in_json(item, wanted, tokens));
        }
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    serde_json::Value::String(text) if wanted(name) => {
                        add(tokens, name, text.clone().into_bytes());
                    }
                    _ => in_json(field, wanted, tokens),
                }
            }
        }
        _ => {}
    }
}

fn in_html(body: &[u8], wanted: &impl Fn(&str) -> bool, tokens: &mut Named) {
    for token in TokenTags::new(body) {
        let Some(name) = token.name(body) else {
            continue;
        };
        if token.is_meta && name.eq_ignore_ascii_case("csrf-token")
            || !token.is_meta && wanted(&name)
        {
            add(tokens, &name, unescaped(&body[token.value.clone()]));
        }
    }
}

/// An `<input>` or `<meta>` that has a name and a value.
#[derive(Debug)]
pub(super) struct TokenTag {
    pub(super) is_meta: bool,
    name: std::ops::Range<usize>,
    /// Where the value stands, without its quotes.
    pub(super) value: std::ops::Range<usize>,
}

impl TokenTag {
    pub(super) fn name(&self, body: &[u8]) -> Option<String> {
        std::str::from_utf8(&body[self.name.clone()])
            .ok()
            .map(str::to_owned)
    }
}

/// The tags of a document, in its order; anything else in it is passed over.
pub(super) struct TokenTags<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> TokenTags<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self { body, at: 0 }
    }

    fn tag(&self, start: usize) -> Option<TokenTag> {
        let body = &self.body[..self.body.len().min(start + TAG_BYTES)];
        let rest = &body[start..];
        let is_meta = starts(rest, b"<meta");
        if !is_meta && !starts(rest, b"<input") {
            return None;
        }
        let mut at = start + if is_meta { 5 } else { 6 };
        if !body.get(at)?.is_ascii_whitespace() {
            return None;
        }
        let (mut name, mut value) = (None, None);
        while let Some((attribute, given, next)) = attribute(body, at) {
            let attribute = &body[attribute];
            if attribute.eq_ignore_ascii_case(b"name") {
                name = Some(given);
            } else if attribute.eq_ignore_ascii_case(if is_meta {
                b"content".as_slice()
            } else {
                b"value"
            }) {
                value = Some(given);
            }
            at = next;
        }
        Some(TokenTag {
            is_meta,
            name: name?,
            value: value?,
        })
    }
}

impl Iterator for TokenTags<'_> {
    type Item = TokenTag;

    fn next(&mut self) -> Option<TokenTag> {
        while let Some(found) = memchr::memchr(b'<', &self.body[self.at..]) {
            let start = self.at + found;
            self.at = start + 1;
            if let Some(tag) = self.tag(start) {
                return Some(tag);
            }
        }
        None
    }
}

fn starts(text: &[u8], with: &[u8]) -> bool {
    text.get(..with.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(with))
}

type Range = std::ops::Range<usize>;

/// Name, value and where it ends; `None` at the tag's end.
fn attribute(body: &[u8], mut at: usize) -> Option<(Range, Range, usize)> {
    let skip = |mut at: usize| {
        while body
            .get(at)
            .is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'/')
        {
            at += 1;
        }
        at
    };
    at = skip(at);
    let start = at;
    while !matches!(body.get(at)?, b'=' | b'>' | b'/') && !body[at].is_ascii_whitespace() {
        at += 1;
    }
    if at == start {
        return None;
    }
    let name = start..at;
    let after = skip(at);
    if body.get(after) != Some(&b'=') {
        return Some((name, at..at, at));
    }
    at = skip(after + 1);
    match body.get(at)? {
        quote @ (b'"' | b'\'') => {
            let from = at + 1;
            let end = from + memchr::memchr(*quote, &body[from..])?;
            Some((name, from..end, end + 1))
        }
        _ => {
            let from = at;
            while !matches!(body.get(at)?, b'>') && !body[at].is_ascii_whitespace() {
                at += 1;
            }
            Some((name, from..at, at))
        }
    }
}

/// The character references that a token can hold.
fn unescaped(value: &[u8]) -> Vec<u8> {
    const REFERENCES: [(&[u8], u8); 8] = [
        (b"&amp;", b'&'),
        (b"&quot;", b'"'),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
        (b"&#39;", b'\''),
        (b"&#43;", b'+'),
        (b"&#x2B;", b'+'),
        (b"&#x3D;", b'='),
    ];
    let mut plain = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((first, tail)) = rest.split_first() {
        let found = REFERENCES.iter().find(|(text, _)| starts(rest, text));
        if let Some((text, byte)) = found {
            plain.push(*byte);
            rest = &rest[text.len()..];
        } else {
            plain.push(*first);
            rest = tail;
        }
    }
    plain
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

    #[test]
    fn rails_forms_teach_their_tokens_in_order() {
        let page = br#"<html><head><meta name="csrf-param" content="authenticity_token" />
<META content="meta+token&#43;1==" NAME=csrf-token></head><body>
<form><input type="hidden" name="authenticity_token" value="first" autocomplete="off" /></form>
< input name="authenticity_token" value="not a tag"><inputs name="authenticity_token" value="nor this">
<form><input name='authenticity_token' type=hidden value=second></form><input name="other" value="x">"#;
        let headers = [
            field("Content-Type", "text/html; charset=utf-8"),
            field("X-CSRF-Token", "header"),
        ];
        let learned = learn(
            &headers,
            page,
            &["authenticity_token".into(), "x-csrf-token".into()],
        );
        let expected: Named = [
            ("authenticity_token", vec!["first", "second"]),
            ("csrf-token", vec!["meta+token+1=="]),
            ("x-csrf-token", vec!["header"]),
        ]
        .into_iter()
        .map(|(name, values)| {
            (
                name.to_owned(),
                values.into_iter().map(|v| v.as_bytes().to_vec()).collect(),
            )
        })
        .collect();
        assert_eq!(learned.tokens, expected);
    }

    #[test]
    fn json_teaches_fields_of_that_name_at_any_depth() {
        let body = br#"{"a":[{"authenticity_token":"one"}],"authenticity_token":"two","n":{"authenticity_token":3}}"#;
        let learned = learn(
            &[field("content-type", "application/json")],
            body,
            &["authenticity_token".into()],
        );
        assert_eq!(
            learned.tokens["authenticity_token"],
            [b"one".to_vec(), b"two".to_vec()]
        );
    }

    #[test]
    fn cookies_are_read_from_both_sides() {
        let set = cookies_set(&[
            field("Set-Cookie", "a=b=c; path=/; HttpOnly"),
            field("set-cookie", "d="),
        ]);
        assert_eq!(
            set,
            [("a".into(), b"b=c".to_vec()), ("d".into(), Vec::new())]
        );
        let headers: [(&str, &[u8]); 2] = [("Cookie", b"a=b=c;d=e ; broken"), ("cookie", b"f=g")];
        let sent = cookies_sent(headers.into_iter());
        assert_eq!(sent.len(), 3);
        assert_eq!(sent[2], ("f".into(), b"g".to_vec()));
    }

    #[test]
    fn a_tag_has_a_bounded_length() {
        let page = |padding: usize| {
            let padding = " ".repeat(padding);
            format!("<input name=a{padding} value=\"b\"><input name=\"a\" value=\"c\">")
        };
        let values = |body: &str| {
            let tags = TokenTags::new(body.as_bytes());
            tags.map(|tag| body[tag.value].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(values(&page(TAG_BYTES / 2)), ["b", "c"]);
        assert_eq!(values(&page(TAG_BYTES)), ["c"]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(body in proptest::collection::vec(proptest::sample::select(b"<input meta name=value'\"/> \n&#4x".to_vec()), 0..200)) {
            for tag in TokenTags::new(&body) {
                assert!(tag.value.end <= body.len());
            }
        }
    }
}
