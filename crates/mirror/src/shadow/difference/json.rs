//! Two JSON documents, compared by structure: order of names and white space
//! do not count, indices stand as `*`.

use capture::{REDACTED, general};
use serde_json::Value;

use super::secrets::masked;
use super::{ABSENT, Found, Rules};

/// Deeper documents are not looked into: what is there differs as a whole.
const MOST_DEPTH: usize = 64;

pub(super) fn compare(ours: &Value, theirs: &Value, rules: &Rules<'_>, found: &mut Found) {
    let mut walk = Walk {
        rules,
        found,
        path: Vec::new(),
        secret: 0,
    };
    walk.both(ours, theirs);
}

struct Walk<'a> {
    rules: &'a Rules<'a>,
    found: &'a mut Found,
    path: Vec<String>,
    /// How many names on the path are secrets'.
    secret: usize,
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
        let both = matches!(
            (ours, theirs),
            (Some(Value::String(_)), Some(Value::String(_)))
        );
        if ours == theirs || both && self.rules.is_own(name) {
            return;
        }
        let secret = usize::from((self.rules.is_secret)(name));
        self.secret += secret;
        // A map by number or by address has as many kinds as records otherwise, and shows who its users are.
        let step = general(name).replace(":id", "*");
        let step = step.replace('~', "~0").replace('/', "~1");
        self.path.push(step);
        self.maybe(ours, theirs);
        self.path.pop();
        self.secret -= secret;
    }

    fn maybe(&mut self, ours: Option<&Value>, theirs: Option<&Value>) {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => self.both(ours, theirs),
            _ => self.differ(ours, theirs),
        }
    }

    fn differ(&mut self, ours: Option<&Value>, theirs: Option<&Value>) {
        let kind = format!("json /{}", self.path.join("/"));
        let secret = self.secret > 0;
        let reveals = |value: Option<&Value>| {
            let text = value.and_then(Value::as_str);
            secret || text.is_some_and(|text| (self.rules.reveals)(text))
        };
        self.found.add(&kind, || {
            (shown(ours, reveals(ours)), shown(theirs, reveals(theirs)))
        });
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
