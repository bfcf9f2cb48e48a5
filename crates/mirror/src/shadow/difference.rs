//! Two answers to the same request -> in what they differ. Pure. Kinds are the
//! same whichever of the two comes first, so that what a twin differs in can be
//! set against what a candidate differs in.

mod json;
mod lines;
mod secrets;
mod shape;

use capture::{Answer, Difference, Field};

use super::learned::TokenTags;

/// Kinds of one pair, at most; further ones are not reported.
const MOST_KINDS: usize = 20;
/// Of an example.
const EXAMPLE_BYTES: usize = 200;
/// Of a kind.
const KIND_BYTES: usize = 160;

/// One of the two answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) answer: &'a Answer,
    /// `None`: there was no room for them, and nothing is said of them.
    pub(super) headers: Option<&'a [Field]>,
    /// The beginning of the body, or all of it.
    pub(super) body: &'a [u8],
}

impl Side<'_> {
    fn has_whole_body(&self) -> bool {
        self.body.len() as u64 == self.answer.body_bytes
    }

    fn header(&self, name: &str) -> Option<String> {
        let field = self
            .headers?
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(&field.value).into_owned())
    }

    fn is_encoded(&self) -> bool {
        let coding = self.header("content-encoding");
        coding.is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"))
    }

    fn size(&self) -> String {
        format!("{} bytes", self.answer.body_bytes)
    }
}

/// What was found so far: one example of each kind.
#[derive(Debug, Default)]
struct Found {
    differences: Vec<Difference>,
}

impl Found {
    /// Examples, the primary's and the shadow's, are made only for reported kinds.
    fn add(&mut self, kind: &str, examples: impl FnOnce() -> (String, String)) {
        let kind = cut(kind, KIND_BYTES);
        if self.is_full() || self.differences.iter().any(|known| known.kind == kind) {
            return;
        }
        let (primary, shadow) = examples();
        self.differences.push(Difference {
            kind,
            primary: cut(&primary, EXAMPLE_BYTES),
            shadow: cut(&shadow, EXAMPLE_BYTES),
        });
    }

    fn is_full(&self) -> bool {
        self.differences.len() >= MOST_KINDS
    }
}

/// At a character's boundary.
fn cut(text: &str, most_bytes: usize) -> String {
    if text.len() <= most_bytes {
        return text.to_owned();
    }
    let end = (0..=most_bytes - 3)
        .rev()
        .find(|at| text.is_char_boundary(*at));
    format!("{}…", &text[..end.unwrap_or(0)])
}

/// What is not compared and what is not shown.
pub(super) struct Rules<'a> {
    /// Fields whose values are each server's own; they are not compared.
    pub(super) tokens: &'a [String],
    /// Whether a field of this name has a secret for its value.
    pub(super) is_secret: &'a dyn Fn(&str) -> bool,
    /// Whether text holds a secret under its name, such as a URL or JSON in a string.
    pub(super) reveals: &'a dyn Fn(&str) -> bool,
    /// A target without its secrets.
    pub(super) redact: &'a dyn Fn(&str) -> String,
}

impl Rules<'_> {
    fn is_own(&self, name: &str) -> bool {
        self.tokens
            .iter()
            .any(|token| token.eq_ignore_ascii_case(name))
    }
}

/// In what the two differ.
pub(super) fn differences(
    primary: &Side<'_>,
    shadow: &Side<'_>,
    rules: &Rules<'_>,
) -> Vec<Difference> {
    let mut found = Found::default();
    let (ours, theirs) = (primary.answer, shadow.answer);
    let same_page = ours.status == theirs.status && ours.content_type == theirs.content_type;
    if ours.status != theirs.status {
        found.add("status", || {
            (ours.status.to_string(), theirs.status.to_string())
        });
    }
    if ours.content_type != theirs.content_type {
        let types = || {
            (
                or_absent(&ours.content_type),
                or_absent(&theirs.content_type),
            )
        };
        found.add("content-type", types);
    }
    let [ours_at, theirs_at] = [primary, shadow].map(|side| side.header("location"));
    if primary.headers.is_some() && shadow.headers.is_some() && ours_at != theirs_at {
        let shown = |place: Option<String>| {
            place.map_or_else(
                || ABSENT.into(),
                |place| secrets::masked(&(rules.redact)(&place)),
            )
        };
        found.add("location", || (shown(ours_at), shown(theirs_at)));
    }
    let same_body = ours.digest == theirs.digest && ours.body_bytes == theirs.body_bytes;
    // An error's page differs from the page itself in everything, and says nothing more.
    if same_page && !same_body {
        bodies(primary, shadow, rules, &mut found);
    }
    found.differences
}

const ABSENT: &str = "(absent)";

fn or_absent(text: &str) -> String {
    if text.is_empty() { ABSENT } else { text }.to_owned()
}

fn bodies(primary: &Side<'_>, shadow: &Side<'_>, rules: &Rules<'_>, found: &mut Found) {
    let sizes = |found: &mut Found| found.add("body", || (primary.size(), shadow.size()));
    let kind = primary.answer.content_type.as_str();
    let whole = primary.has_whole_body() && shadow.has_whole_body();
    if primary.is_encoded()
        || shadow.is_encoded()
        || primary.body.is_empty()
        || shadow.body.is_empty()
    {
        return sizes(found);
    }
    if is_json(kind) {
        if whole
            && let Ok(ours) = serde_json::from_slice(primary.body)
            && let Ok(theirs) = serde_json::from_slice(shadow.body)
        {
            return json::compare(&ours, &theirs, rules, found);
        }
        return sizes(found);
    }
    if !is_text(kind) {
        return sizes(found);
    }
    let [ours, theirs] = [primary.body, shadow.body]
        .map(|body| String::from_utf8_lossy(&without_secrets(body, rules)).into_owned());
    let before = found.differences.len();
    let compared = lines::compare(&ours, &theirs, is_markup(kind), found);
    // What differs lies beyond what was kept or looked at.
    if found.differences.len() == before && !(whole && compared) {
        sizes(found);
    }
}

fn is_json(content_type: &str) -> bool {
    matches!(content_type, "application/json" | "text/json") || content_type.ends_with("+json")
}

fn is_markup(content_type: &str) -> bool {
    content_type.ends_with("html") || content_type.ends_with("xml")
}

fn is_text(content_type: &str) -> bool {
    content_type.starts_with("text/")
        || content_type.ends_with("xml")
        || matches!(
            content_type,
            "application/javascript" | "application/x-javascript" | "application/yaml"
        )
}

/// Values of inputs that are secrets or each server's own, and of `csrf-token`, taken out.
fn without_secrets(body: &[u8], rules: &Rules<'_>) -> Vec<u8> {
    let mut rest = Vec::with_capacity(body.len());
    let mut copied = 0;
    for tag in TokenTags::new(body) {
        let named = tag
            .name(body)
            .is_some_and(|name| rules.is_own(&name) || (rules.is_secret)(&name));
        if named && tag.value.start >= copied {
            rest.extend_from_slice(&body[copied..tag.value.start]);
            copied = tag.value.end;
        }
    }
    rest.extend_from_slice(&body[copied..]);
    rest
}

#[cfg(test)]
mod tests;
