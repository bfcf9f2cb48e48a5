//! Values of members by name, in text that is JSON. Everything else keeps its
//! very bytes: numbers that no machine type holds, white space, order, members
//! that come twice.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::names::Names;
use super::{REDACTED, Unreadable, text};

/// `None`: nothing to take out.
pub(super) fn redacted(bytes: &[u8], names: &Names) -> Result<Option<Vec<u8>>, Unreadable> {
    let text = std::str::from_utf8(bytes).map_err(|_| Unreadable)?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| Unreadable)?;
    // From here on brackets match, strings end, and nothing is deeper than serde_json reads.
    let mut walk = Walk {
        text,
        names,
        replaced: Vec::new(),
    };
    walk.value(past_space(bytes, 0));
    if walk.replaced.is_empty() {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for (start, end) in walk.replaced {
        out.extend_from_slice(&bytes[copied..start]);
        out.push(b'"');
        out.extend_from_slice(REDACTED.as_bytes());
        out.push(b'"');
        copied = end;
    }
    out.extend_from_slice(&bytes[copied..]);
    Ok(Some(out))
}

struct Walk<'a> {
    text: &'a str,
    names: &'a Names,
    /// Where values begin and end, in their order.
    replaced: Vec<(usize, usize)>,
}

impl<'a> Walk<'a> {
    /// Looks into the value that begins here, and says where it ends.
    fn value(&mut self, at: usize) -> usize {
        match self.text.as_bytes().get(at) {
            Some(b'{') => self.object(at),
            Some(b'[') => self.array(at),
            Some(b'"') => {
                let end = end_of_string(self.text.as_bytes(), at);
                if text::reveals(&self.string(at, end), self.names) {
                    self.replaced.push((at, end));
                }
                end
            }
            _ => end_of_value(self.text.as_bytes(), at),
        }
    }

    fn object(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let before = self.replaced.len();
        // One member says what another one is called: `{"name":"password","value":"…"}`.
        let mut names_a_secret = false;
        let mut at = past_space(bytes, start + 1);
        while bytes.get(at) == Some(&b'"') {
            let end = end_of_string(bytes, at);
            let name = self.string(at, end);
            at = past_space(bytes, past_space(bytes, end) + 1);
            let value = at;
            if self.names.covers_encoded(&name) {
                at = end_of_value(bytes, value);
                self.replaced.push((value, at));
            } else {
                at = self.value(value);
            }
            names_a_secret |= text::is_namer(&name) && self.is_secret_name(value, at);
            at = past_separator(bytes, at);
        }
        if names_a_secret {
            self.replaced.truncate(before);
            self.replaced.push((start, at + 1));
        }
        at + 1
    }

    fn array(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let before = self.replaced.len();
        let first = past_space(bytes, start + 1);
        let mut at = first;
        let mut items = 0;
        // `["password", "…"]`.
        let mut names_a_secret = false;
        while !matches!(bytes.get(at), Some(b']') | None) {
            let value = at;
            at = self.value(value);
            names_a_secret |= items == 0 && self.is_secret_name(value, at);
            items += 1;
            at = past_separator(bytes, at);
        }
        if names_a_secret && items == 2 {
            self.replaced.truncate(before);
            self.replaced.push((start, at + 1));
        }
        at + 1
    }

    fn is_secret_name(&self, start: usize, end: usize) -> bool {
        self.text[start..].starts_with('"') && self.names.covers_encoded(&self.string(start, end))
    }

    fn string(&self, start: usize, end: usize) -> Cow<'a, str> {
        let text: &'a str = &self.text[start..end];
        if text.contains('\\') {
            return serde_json::from_str(text).map_or(Cow::Borrowed(text), Cow::Owned);
        }
        Cow::Borrowed(text.trim_matches('"'))
    }
}

/// Past the comma after a value and the white space around it.
fn past_separator(bytes: &[u8], at: usize) -> usize {
    let at = past_space(bytes, at);
    match bytes.get(at) {
        Some(b',') => past_space(bytes, at + 1),
        _ => at,
    }
}

fn past_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Past the quote that ends the string that begins here.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Past the value that begins here.
fn end_of_value(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            // A number or a word.
            _ if depth == 0 => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                let rest = bytes[at..].iter().position(ends);
                return rest.map_or(bytes.len(), |length| at + length);
            }
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn of(text: &str) -> Result<Option<String>, Unreadable> {
        let redacted = redacted(text.as_bytes(), &Names::default())?;
        Ok(redacted.map(|bytes| String::from_utf8(bytes).unwrap()))
    }

    #[test]
    fn members_are_replaced_and_all_else_stays() {
        for text in [
            "{}",
            "null",
            " [1, 123456789012345678901234567890.10, \"password\"] ",
            r#"{"a": "token", "b": ["pin"]}"#,
        ] {
            assert_eq!(of(text), Ok(None), "{text}");
        }
        for (text, expected) in [
            (r#"{"password":"s3cret"}"#, r#"{"password":"REDACTED"}"#),
            (
                r#"{"n" : 1.10, "Pass\u0077ord" : "a\"}b" , "x":[]}"#,
                r#"{"n" : 1.10, "Pass\u0077ord" : "REDACTED" , "x":[]}"#,
            ),
            (
                r#"[{"card":{"n":"4111","pin":[1,{"a":"]"}]}},{"pin":12,"pin":-1e3}]"#,
                r#"[{"card":"REDACTED"},{"pin":"REDACTED","pin":"REDACTED"}]"#,
            ),
            ("{\"pin\":\n12\n}", "{\"pin\":\n\"REDACTED\"\n}"),
        ] {
            assert_eq!(of(text), Ok(Some(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_not_vouched_for() {
        for text in [
            "",
            "{",
            "{\"a\":1}x",
            "{'a':1}",
            "{\"a\":NaN}",
            "\u{feff}{}",
            "{\"a\":1,}",
        ] {
            assert_eq!(of(text), Err(Unreadable), "{text:?}");
        }
        assert_eq!(redacted(b"\"\xff\"", &Names::default()), Err(Unreadable));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
        ];
        let name = prop_oneof![
            "[a-z\"\\\\]{0,4}",
            Just("api_key".to_owned()),
            Just("Token".to_owned())
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(name.clone(), inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// The naive way: read it all, replace, compare what was read.
    fn naive(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(naive).collect(),
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    let covered = Names::default().covers(name);
                    (
                        name.clone(),
                        if covered {
                            json!(REDACTED)
                        } else {
                            naive(value)
                        },
                    )
                };
                Value::Object(members.iter().map(member).collect())
            }
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn as_if_it_were_read_and_written(value in values(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.unwrap();
            let redacted = of(&text).unwrap().unwrap_or(text);
            prop_assert_eq!(serde_json::from_str::<Value>(&redacted).unwrap(), naive(&value));
        }
    }
}
