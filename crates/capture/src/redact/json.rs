//! Values of members by name, in text that is JSON. Everything else keeps its
//! very bytes: numbers that no machine type holds, white space, order, members
//! that come twice.

use serde::de::IgnoredAny;

use super::names::Names;
use super::{REDACTED, Unreadable};

/// `None`: nothing to take out.
pub(super) fn redacted(bytes: &[u8], names: &Names) -> Result<Option<Vec<u8>>, Unreadable> {
    let text = std::str::from_utf8(bytes).map_err(|_| Unreadable)?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| Unreadable)?;
    // From here on brackets match and strings end.
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'"' {
            at += 1;
            continue;
        }
        let end = end_of_string(bytes, at);
        let colon = past_space(bytes, end);
        if bytes.get(colon) != Some(&b':') {
            at = end;
            continue;
        }
        // Only a member's name is followed by a colon.
        let name: String = serde_json::from_str(&text[at..end]).map_err(|_| Unreadable)?;
        at = past_space(bytes, colon + 1);
        if names.covers(&name) {
            out.extend_from_slice(&bytes[copied..at]);
            out.push(b'"');
            out.extend_from_slice(REDACTED.as_bytes());
            out.push(b'"');
            at = end_of_value(bytes, at);
            copied = at;
        }
    }
    if out.is_empty() {
        return Ok(None);
    }
    out.extend_from_slice(&bytes[copied..]);
    Ok(Some(out))
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
