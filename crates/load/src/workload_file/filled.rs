//! What is filled in: names in braces and where their values come from, forms,
//! data files, and the statuses that a request may be answered with.

use std::sync::Arc;

use toml::Value;

use super::Reader;
use crate::session::data::{self, Data};
use crate::session::pattern::{self, Pattern, Source, address_path, form_encode};

/// The names that a request may use.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    pub(super) data: Option<&'a Data>,
    /// There are data, but which columns is not known.
    pub(super) unreadable: bool,
    /// Captured by the requests before, in order of their places.
    pub(super) captured: Vec<String>,
    /// Captured by this request or a later one.
    pub(super) later: Vec<String>,
    /// Captures that are a path by themselves.
    pub(super) addresses: Vec<usize>,
    /// In a session?
    pub(super) in_session: bool,
}

impl Scope<'_> {
    fn find(&self, name: &str) -> Option<Source> {
        let column = self
            .data
            .and_then(|data| data.columns.iter().position(|column| column == name));
        let captured = || self.captured.iter().position(|captured| captured == name);
        column
            .map(Source::Column)
            .or_else(|| captured().map(Source::Capture))
    }

    /// Of text whose names were looked at before.
    pub(super) fn pattern(&self, text: &str) -> Pattern {
        Pattern::parse(text, |name| self.find(name))
    }

    fn known(&self) -> String {
        let columns = self.data.map_or(&[][..], |data| &data.columns);
        let mut names: Vec<&str> = columns
            .iter()
            .chain(&self.captured)
            .map(String::as_str)
            .collect();
        names.dedup();
        names.join(", ")
    }
}

/// A form as written, and its fields.
pub(super) struct Form {
    pub(super) as_written: Vec<u8>,
    pub(super) fields: Vec<(String, Pattern)>,
}

impl Reader<'_> {
    /// Parses text and says which of its names are not to be had.
    pub(super) fn pattern(&mut self, key: &str, text: &str, scope: &Scope<'_>) -> Pattern {
        for name in pattern::names(text) {
            if scope.unreadable || scope.find(name).is_some() {
                continue;
            }
            let remedy = if scope.later.iter().any(|later| later == name) {
                "capture it in a request before this one".to_owned()
            } else {
                match (scope.known(), scope.in_session) {
                    (known, _) if !known.is_empty() => format!("the names known here are {known}"),
                    (_, true) => "give the session data, or capture it in a request before".into(),
                    (_, false) => {
                        "name a data file with data = \"….csv\"; braces in a body_file are kept"
                            .into()
                    }
                }
            };
            self.problem(key, format!("unknown name {{{{{name}}}}}"), &remedy);
        }
        scope.pattern(text)
    }

    /// A path is this value alone: every value must be one that can be sent.
    pub(super) fn address(&mut self, key: &str, source: Source, scope: &mut Scope<'_>) {
        match (source, scope.data) {
            (Source::Capture(slot), _) => scope.addresses.push(slot),
            (Source::Column(column), Some(data)) => {
                let wrong = |row: &&Vec<String>| address_path(&row[column]).is_none();
                if let Some(row) = data.rows.iter().find(wrong) {
                    self.problem(
                        key,
                        format!("{:?} in the data file", row[column]),
                        "where a path is one value alone, each must be a URL or begin with /",
                    );
                }
            }
            (Source::Column(_), None) => {}
        }
    }

    /// `form = { name = "value" }`.
    pub(super) fn form(
        &mut self,
        key: &str,
        table: &toml::Table,
        scope: &Scope<'_>,
    ) -> Option<Form> {
        let at = format!("{key}.form");
        let given = match table.get("form")? {
            Value::Table(given) => given,
            other => {
                self.problem(&at, other.type_str(), "give a table of names and values");
                return None;
            }
        };
        let mut form = Form {
            as_written: Vec::new(),
            fields: Vec::new(),
        };
        for (name, value) in given {
            let at = format!("{at}.{name}");
            let value = match value {
                Value::String(value) => value.clone(),
                Value::Integer(value) => value.to_string(),
                other => {
                    self.problem(&at, other.type_str(), "give a string in quotes");
                    continue;
                }
            };
            if !form.fields.is_empty() {
                form.as_written.push(b'&');
            }
            form_encode(name, &mut form.as_written);
            form.as_written.push(b'=');
            // Of a request with names in braces this is never sent.
            form_encode(&value, &mut form.as_written);
            form.fields
                .push((name.clone(), self.pattern(&at, &value, scope)));
        }
        Some(form)
    }

    /// `data = "users.csv"` or `data = { file = "users.csv" }`.
    pub(super) fn data(&mut self, key: &str, table: &toml::Table) -> Option<Arc<Data>> {
        let at = format!("{key}.data");
        let file = match table.get("data")? {
            Value::String(file) => file.clone(),
            entry @ Value::Table(_) => {
                let inner = self.table(&at, entry, "file")?;
                let Some(file) = self.text(&at, inner, "file") else {
                    if !inner.contains_key("file") {
                        self.problem(&at, "no file", "name it: file = \"users.csv\"");
                    }
                    return None;
                };
                file
            }
            other => {
                self.problem(&at, other.type_str(), "name a file: data = \"users.csv\"");
                return None;
            }
        };
        match data::read(&self.folder.join(file)) {
            Ok(data) => Some(Arc::new(data)),
            Err(problem) => {
                self.problem(&at, problem.found, problem.remedy);
                None
            }
        }
    }

    /// `status = 302` or `status = [200, 204]`.
    pub(super) fn expected(&mut self, key: &str, table: &toml::Table) -> Vec<u16> {
        let one = |value: &Value| {
            let status = u16::try_from(value.as_integer()?).ok()?;
            (200..400).contains(&status).then_some(status)
        };
        let statuses: Option<Vec<u16>> = match table.get("status") {
            None => return Vec::new(),
            Some(Value::Array(list)) if !list.is_empty() => list.iter().map(one).collect(),
            Some(value) => one(value).map(|status| vec![status]),
        };
        statuses.unwrap_or_else(|| {
            self.problem(
                &format!("{key}.status"),
                table["status"].to_string(),
                "give a status from 200 to 399, or a list of them",
            );
            Vec::new()
        })
    }
}
