//! Two JSON documents, compared by structure: order of names and white space
//! do not count, indices stand as `*`.

use serde_json::Value;

use super::secrets::{REDACTED, is_secret_name, masked};
use super::{ABSENT, Found};
use crate::shadow::endpoint::is_id;

/// Deeper documents are not looked into: what is there differs as a whole.
const MOST_DEPTH: usize = 64;

pub(super) fn compare(ours: &Value, theirs: &Value, tokens: &[String], found: &mut Found) {
    let mut walk = Walk {
        tokens,
        found,
        path: Vec::new(),
    };
    walk.both(ours, theirs);
}

struct Walk<'a> {
    tokens: &'a [String],
    found: &'a mut Found,
    path: Vec<String>,
}

impl Walk<'_> {
    fn both(&mut self, ours: &Value, theirs: &Value) {
        if self.found.is_full() || ours == theirs {
            return;
        }
        match (ours, theirs) {
            (Value::Object(ours), Value::Object(theirs)) if self.path.len() < MOST_DEPTH => {
                let more = theirs.keys().filter(|name| !ours.contains_key(*name));
                let mut names: Vec<&String> = ours.keys().chain(more).collect();
                // In an order that does not depend on which of the two comes first.
                names.sort_unstable();
                for name in names {
                    self.member(name, ours.get(name), theirs.get(name));
                }
            }
            (Value::Array(ours), Value::Array(theirs)) if self.path.len() < MOST_DEPTH => {
                self.path.push("*".into());
                for index in 0..ours.len().max(theirs.len()) {
                    self.maybe(ours.get(index), theirs.get(index));
                }
                self.path.pop();
            }
            _ => self.differ(Some(ours), Some(theirs)),
        }
    }

    fn member(&mut self, name: &str, ours: Option<&Value>, theirs: Option<&Value>) {
        let own = self
            .tokens
            .iter()
            .any(|token| token.eq_ignore_ascii_case(name));
        if own
            && matches!(
                (ours, theirs),
                (Some(Value::String(_)), Some(Value::String(_)))
            )
        {
            return;
        }
        // A map by number has as many kinds as records otherwise.
        let step = if is_id(name) {
            "*".into()
        } else {
            name.replace('~', "~0").replace('/', "~1")
        };
        self.path.push(step);
        self.maybe(ours, theirs);
        self.path.pop();
    }

    fn maybe(&mut self, ours: Option<&Value>, theirs: Option<&Value>) {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => self.both(ours, theirs),
            _ => self.differ(ours, theirs),
        }
    }

    fn differ(&mut self, ours: Option<&Value>, theirs: Option<&Value>) {
        let kind = format!("json /{}", self.path.join("/"));
        let secret = self.path.iter().any(|step| is_secret_name(step));
        self.found
            .add(&kind, shown(ours, secret), shown(theirs, secret));
    }
}

/// Of containers only the size: what is in them may be secret by its name.
fn shown(value: Option<&Value>, secret: bool) -> String {
    match value {
        None => ABSENT.into(),
        Some(_) if secret => REDACTED.into(),
        Some(Value::Object(fields)) => format!("{{{} members}}", fields.len()),
        Some(Value::Array(items)) => format!("[{} items]", items.len()),
        Some(value) => masked(&value.to_string()),
    }
}
