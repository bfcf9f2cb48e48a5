//! `[[session]]`: its requests in order, and what they capture for those after
//! them.

use toml::Value;

use super::filled::Scope;
use super::{Reader, STEP_KEYS};
use crate::sendable::is_token;
use crate::session::capture::{Capture, Place};
use crate::session::pattern::is_name;
use crate::session::{Recipe, Session};
use crate::workload::Request;

const SESSION_KEYS: &str = "name, weight, users, data, request";
const PLACES: &str = "form, meta, header, cookie, json, regex";
/// Each has a cookie jar and what it captured.
const MAX_USERS: i64 = 100_000;

impl Reader<'_> {
    /// Reads a session and appends its requests.
    pub(super) fn session(
        &mut self,
        index: usize,
        entry: &Value,
        requests: &mut Vec<(Request, Option<Recipe>)>,
    ) -> Session {
        let key = format!("session[{}]", index + 1);
        let empty = toml::Table::new();
        let table = self.table(&key, entry, SESSION_KEYS).unwrap_or(&empty);
        let name = self
            .name(&key, table)
            .unwrap_or_else(|| (index + 1).to_string());
        let weight = self.weight(&key, table);
        let data = self.data(&key, table);
        let users = self.users(&key, table);
        let steps = self.entries(&format!("{key}."), table, "request");
        if steps.is_empty() && entry.is_table() {
            self.problem(
                &format!("{key}.request"),
                "none",
                "add at least one [[session.request]] entry",
            );
        }
        let captures: Vec<Vec<(String, Option<Place>)>> = steps
            .iter()
            .enumerate()
            .map(|(step, entry)| self.captures(&format!("{key}.request[{}]", step + 1), entry))
            .collect();
        let first = requests.len();
        let mut scope = Scope {
            data: data.as_deref(),
            unreadable: data.is_none() && table.contains_key("data"),
            in_session: true,
            later: captures
                .iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect(),
            ..Scope::default()
        };
        for (step, (entry, captures)) in steps.iter().zip(captures).enumerate() {
            let key = format!("{key}.request[{}]", step + 1);
            let table = self.table(&key, entry, STEP_KEYS).unwrap_or(&empty);
            let (mut request, mut recipe) = self.sendable(&key, table, &mut scope);
            #[allow(clippy::cast_precision_loss)]
            let share = weight / steps.len() as f64;
            request.weight = share;
            recipe.session = Some(index);
            for (name, place) in captures {
                let slot = self.slot(&key, &name, &mut scope);
                recipe.captures.extend(place.map(|place| Capture {
                    name,
                    slot,
                    place,
                    address: false,
                }));
            }
            requests.push((request, Some(recipe)));
        }
        for (_, recipe) in &mut requests[first..] {
            for capture in recipe.iter_mut().flat_map(|recipe| &mut recipe.captures) {
                capture.address = scope.addresses.contains(&capture.slot);
            }
        }
        let captures = scope.captured.len();
        Session {
            name,
            weight,
            users,
            steps: first..requests.len(),
            data,
            captures,
        }
    }

    fn users(&mut self, key: &str, table: &toml::Table) -> Option<usize> {
        let value = table.get("users")?;
        let users = value
            .as_integer()
            .filter(|users| (1..=MAX_USERS).contains(users))
            .and_then(|users| usize::try_from(users).ok());
        if users.is_none() {
            self.problem(
                &format!("{key}.users"),
                value.to_string(),
                &format!("give a whole number from 1 to {MAX_USERS}, or none"),
            );
        }
        users
    }

    /// The place of a captured name; the same name has the same place.
    fn slot(&mut self, key: &str, name: &str, scope: &mut Scope<'_>) -> usize {
        if scope
            .data
            .is_some_and(|data| data.columns.iter().any(|column| column == name))
        {
            self.problem(
                &format!("{key}.capture.{name}"),
                "the data file has a column of this name",
                "capture it under another name",
            );
        }
        if let Some(slot) = scope.captured.iter().position(|captured| captured == name) {
            return slot;
        }
        scope.captured.push(name.to_owned());
        scope.captured.len() - 1
    }

    /// `capture = { token = { form = "authenticity_token" } }`.
    fn captures(&mut self, key: &str, entry: &Value) -> Vec<(String, Option<Place>)> {
        let at = format!("{key}.capture");
        let given = match entry.get("capture") {
            None => return Vec::new(),
            Some(Value::Table(given)) => given,
            Some(other) => {
                self.problem(
                    &at,
                    other.type_str(),
                    "give a table: capture = { token = { form = \"authenticity_token\" } }",
                );
                return Vec::new();
            }
        };
        given
            .iter()
            .map(|(name, place)| {
                let at = format!("{at}.{name}");
                if !is_name(name) {
                    self.problem(
                        &at,
                        format!("{name:?}"),
                        "a name holds letters, digits, _, - and . only",
                    );
                }
                (name.clone(), self.place(&at, place))
            })
            .collect()
    }

    fn place(&mut self, at: &str, place: &Value) -> Option<Place> {
        let one = place
            .as_table()
            .filter(|place| place.len() == 1)
            .and_then(|place| place.iter().next())
            .and_then(|(kind, value)| Some((kind.as_str(), value.as_str()?.to_owned())));
        let Some((kind, value)) = one else {
            self.problem(
                at,
                place.to_string(),
                &format!(
                    "give one place and what to look for: {{ form = \"…\" }}; places are {PLACES}"
                ),
            );
            return None;
        };
        let mut wrong = |remedy: &str| {
            self.problem(&format!("{at}.{kind}"), format!("{value:?}"), remedy);
            None
        };
        match kind {
            _ if value.is_empty() && kind != "json" => wrong("give what to look for"),
            "form" => Some(Place::Form(value)),
            "meta" => Some(Place::Meta(value)),
            "header" if !is_token(&value) => {
                wrong("a header name holds letters, digits and - only")
            }
            "header" => Some(Place::Header(value)),
            "cookie" => Some(Place::Cookie(value)),
            "json" if !value.is_empty() && !value.starts_with('/') => {
                wrong("give a JSON pointer, such as /items/0/id")
            }
            "json" => Some(Place::Json(value)),
            "regex" => match regex::bytes::Regex::new(&value) {
                Ok(regex) => Some(Place::Regex(regex)),
                Err(error) => {
                    let why = error.to_string();
                    let last = why.lines().last().unwrap_or_default().to_owned();
                    wrong(&format!("correct the regular expression: {last}"))
                }
            },
            _ => wrong(&format!("places are {PLACES}")),
        }
    }
}
