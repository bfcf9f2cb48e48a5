//! The keys of a workload file, or of the `[[request]]` and `[[session]]` entries
//! of a larger document: reads a table, collects every problem. What may stand in
//! a request is `sendable.rs`. What is particular to
//! sessions is `workload_file/session.rs`, to names in braces
//! `workload_file/filled.rs`.

mod filled;
mod session;

use std::path::Path;

use toml::Value;

use crate::sendable::{header_name_problem, header_value_problem, method_problem, path_problem};
use crate::session::pattern::{Pattern, without_names};
use crate::session::{Body, Recipe, Session};
use crate::workload::{MAX_NAMES, Request, Workload, WorkloadProblem};
use filled::Scope;

const KEYS: &str = "name, method, path, weight, headers, body, body_file, form, data, status";
/// Of a request in a session.
const STEP_KEYS: &str = "name, method, path, headers, body, body_file, form, capture, status";
const FORM_TYPE: &str = "application/x-www-form-urlencoded";

struct Reader<'a> {
    folder: &'a Path,
    problems: Vec<WorkloadProblem>,
}

impl Workload {
    /// Reads a workload file. `body_file` is relative to the working directory;
    /// see [`Workload::from_toml_in`].
    ///
    /// # Errors
    /// Every problem found, in the file's order.
    pub fn from_toml(text: &str) -> Result<Self, Vec<WorkloadProblem>> {
        Self::from_toml_in(text, Path::new("."))
    }

    /// As [`Workload::from_toml`], with `body_file` relative to `folder`.
    ///
    /// # Errors
    /// Every problem found, in the file's order.
    pub fn from_toml_in(text: &str, folder: &Path) -> Result<Self, Vec<WorkloadProblem>> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            vec![WorkloadProblem {
                key: "workload".into(),
                value: error.message().into(),
                remedy: match error.span() {
                    Some(span) => format!(
                        "correct the TOML at line {}",
                        1 + text[..span.start.min(text.len())].matches('\n').count()
                    ),
                    None => "correct the TOML".into(),
                },
            }]
        })?;
        Self::from_value_in(&toml::Value::Table(table), folder)
    }

    /// Takes the `request` and `session` arrays of a table: the whole workload
    /// file, or the part of `powerband.toml` that holds them. Unknown keys are
    /// problems.
    ///
    /// # Errors
    /// Every problem found.
    pub fn from_value(value: &toml::Value) -> Result<Self, Vec<WorkloadProblem>> {
        Self::from_value_in(value, Path::new("."))
    }

    /// As [`Workload::from_value`], with `body_file` relative to `folder`.
    ///
    /// # Errors
    /// Every problem found.
    pub fn from_value_in(value: &toml::Value, folder: &Path) -> Result<Self, Vec<WorkloadProblem>> {
        read(value, folder)
    }

    /// A single GET.
    ///
    /// # Errors
    /// One problem when the path cannot be sent.
    pub fn get(path: &str) -> Result<Self, Vec<WorkloadProblem>> {
        let mut request = toml::Table::new();
        request.insert("path".into(), path.into());
        let mut table = toml::Table::new();
        table.insert("request".into(), toml::Value::Array(vec![request.into()]));
        Self::from_value(&toml::Value::Table(table))
    }
}

fn read(value: &Value, folder: &Path) -> Result<Workload, Vec<WorkloadProblem>> {
    let mut reader = Reader {
        folder,
        problems: Vec::new(),
    };
    let workload = reader.document(value);
    if reader.problems.is_empty() {
        Ok(workload)
    } else {
        Err(reader.problems)
    }
}

impl Reader<'_> {
    fn problem(&mut self, key: &str, value: impl Into<String>, remedy: &str) {
        self.problems.push(WorkloadProblem {
            key: key.into(),
            value: value.into(),
            remedy: remedy.into(),
        });
    }

    fn document(&mut self, value: &Value) -> Workload {
        let empty = toml::Table::new();
        let table = value.as_table().unwrap_or_else(|| {
            self.problem(
                "workload",
                value.type_str(),
                "give a table with [[request]] or [[session]] entries",
            );
            &empty
        });
        for key in table
            .keys()
            .filter(|key| !matches!(key.as_str(), "request" | "session"))
        {
            self.problem(
                key,
                "unknown key",
                "a workload holds [[request]] and [[session]] entries only",
            );
        }
        let mut requests: Vec<(Request, Option<Recipe>)> = self
            .entries("", table, "request")
            .iter()
            .enumerate()
            .map(|(index, entry)| self.request(&format!("request[{}]", index + 1), entry))
            .collect();
        let mut sessions: Vec<Session> = Vec::new();
        for (index, entry) in self.entries("", table, "session").iter().enumerate() {
            let session = self.session(index, entry, &mut requests);
            sessions.push(session);
        }
        let none = |name: &str| {
            let entries = table.get(name);
            entries.is_none_or(|entries| entries.as_array().is_some_and(Vec::is_empty))
        };
        if value.is_table() && none("request") && none("session") {
            self.problem(
                "request",
                "none",
                "add at least one [[request]] or [[session]] entry",
            );
        }
        let mut names: Vec<&str> = requests.iter().map(|(r, _)| r.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() > MAX_NAMES {
            self.problem(
                "request",
                format!("{} distinct names", names.len()),
                &format!(
                    "at most {MAX_NAMES}: give requests of one kind the same name, so that they share a histogram"
                ),
            );
        }
        let (requests, recipes) = requests.into_iter().unzip();
        Workload::new(requests, recipes, sessions)
    }

    /// The tables of `[[name]]`; none when there is no such key.
    fn entries<'v>(&mut self, key: &str, table: &'v toml::Table, name: &str) -> &'v [Value] {
        match table.get(name) {
            None => &[],
            Some(Value::Array(entries)) => entries,
            Some(other) => {
                self.problem(
                    &format!("{key}{name}"),
                    other.type_str(),
                    &format!("write [[{name}]], with two brackets"),
                );
                &[]
            }
        }
    }

    fn table<'v>(&mut self, key: &str, entry: &'v Value, keys: &str) -> Option<&'v toml::Table> {
        let Some(table) = entry.as_table() else {
            self.problem(key, entry.type_str(), "give a table");
            return None;
        };
        for unknown in table
            .keys()
            .filter(|k| !keys.split(", ").any(|known| known == k.as_str()))
        {
            self.problem(
                &format!("{key}.{unknown}"),
                "unknown key",
                &format!("the keys are {keys}"),
            );
        }
        Some(table)
    }

    /// A request outside sessions.
    fn request(&mut self, key: &str, entry: &Value) -> (Request, Option<Recipe>) {
        let empty = toml::Table::new();
        let table = self.table(key, entry, KEYS).unwrap_or(&empty);
        let data = self.data(key, table);
        let mut scope = Scope {
            data: data.as_deref(),
            unreadable: data.is_none() && table.contains_key("data"),
            ..Scope::default()
        };
        let (mut request, mut recipe) = self.sendable(key, table, &mut scope);
        request.weight = self.weight(key, table);
        recipe.data = data;
        let plain = recipe.data.is_none() && recipe.expected.is_empty();
        (request, (!plain).then_some(recipe))
    }

    /// What requests have in common, in sessions and outside.
    fn sendable(
        &mut self,
        key: &str,
        table: &toml::Table,
        scope: &mut Scope<'_>,
    ) -> (Request, Recipe) {
        let form = self.form(key, table, scope);
        let method = self.method(key, table);
        let (path, path_pattern) = self.path(key, table, scope);
        let name = self
            .name(key, table)
            .unwrap_or_else(|| format!("{method} {}", path.split('?').next().unwrap_or(&path)));
        let mut headers = self.headers(key, table, scope);
        let (mut body, mut filled_body) = self.body(key, table, scope);
        if let Some(form) = form {
            let typed = |(name, _): &(String, _)| name.eq_ignore_ascii_case("content-type");
            if !headers.iter().any(|(header, _)| typed(header)) {
                let header = ("Content-Type".to_owned(), FORM_TYPE.to_owned());
                headers.push((header.clone(), scope.pattern(&header.1)));
            }
            if table.contains_key("body") || table.contains_key("body_file") {
                self.problem(
                    &format!("{key}.form"),
                    "and a body",
                    "give form or a body, not both",
                );
            }
            body = form.as_written;
            filled_body = Body::Form(form.fields);
        }
        let expected = self.expected(key, table);
        let (headers, filled_headers) = headers
            .into_iter()
            .map(|((name, value), pattern)| ((name.clone(), value), (name, pattern)))
            .unzip();
        let request = Request {
            name,
            weight: 1.0,
            headers,
            body,
            method,
            path,
            host: None,
            recorded_status: None,
        };
        let recipe = Recipe {
            path: path_pattern,
            headers: filled_headers,
            body: filled_body,
            captures: Vec::new(),
            expected,
            data: None,
            session: None,
        };
        (request, recipe)
    }

    fn name(&mut self, key: &str, table: &toml::Table) -> Option<String> {
        let given = self.text(key, table, "name")?;
        if given.is_empty() || given.chars().any(char::is_control) {
            self.problem(
                &format!("{key}.name"),
                format!("{given:?}"),
                "give a name without control characters, or none",
            );
        }
        Some(given)
    }

    fn text(&mut self, key: &str, table: &toml::Table, name: &str) -> Option<String> {
        match table.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.problem(
                    &format!("{key}.{name}"),
                    other.type_str(),
                    "give a string in quotes",
                );
                None
            }
        }
    }

    fn method(&mut self, key: &str, table: &toml::Table) -> String {
        let method = self
            .text(key, table, "method")
            .unwrap_or_else(|| "GET".into());
        if let Some(remedy) = method_problem(&method) {
            self.problem(&format!("{key}.method"), format!("{method:?}"), remedy);
        }
        method
    }

    fn path(&mut self, key: &str, table: &toml::Table, scope: &mut Scope<'_>) -> (String, Pattern) {
        let path = self.text(key, table, "path").unwrap_or_else(|| "/".into());
        let at = format!("{key}.path");
        let pattern = self.pattern(&at, &path, scope);
        if let Some(source) = pattern.lone_value() {
            self.address(&at, source, scope);
            return (path, pattern);
        }
        // A value in front of the first / could make another host of it.
        let fixed = if path.starts_with('/') {
            without_names(&path)
        } else {
            path.clone()
        };
        if let Some(remedy) = path_problem(&fixed) {
            self.problem(&at, format!("{path:?}"), remedy);
        }
        (path, pattern)
    }

    fn weight(&mut self, key: &str, table: &toml::Table) -> f64 {
        let weight = match table.get("weight") {
            None => return 1.0,
            #[allow(clippy::cast_precision_loss)]
            Some(Value::Integer(weight)) => *weight as f64,
            Some(Value::Float(weight)) => *weight,
            Some(other) => {
                self.problem(
                    &format!("{key}.weight"),
                    other.to_string(),
                    "give a number above 0",
                );
                return 1.0;
            }
        };
        // The bounds keep shares finite and every request reachable.
        if !(1e-9..=1e9).contains(&weight) {
            self.problem(
                &format!("{key}.weight"),
                weight.to_string(),
                "give a finite number above 0 (1e-9 to 1e9), or remove the request",
            );
            return 1.0;
        }
        weight
    }

    fn headers(
        &mut self,
        key: &str,
        table: &toml::Table,
        scope: &mut Scope<'_>,
    ) -> Vec<((String, String), Pattern)> {
        let headers = match table.get("headers") {
            None => return Vec::new(),
            Some(Value::Table(headers)) => headers,
            Some(other) => {
                self.problem(
                    &format!("{key}.headers"),
                    other.type_str(),
                    "give a table of names and values",
                );
                return Vec::new();
            }
        };
        let mut result = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            let at = format!("{key}.headers.{name}");
            if let Some((what, remedy)) = header_name_problem(name) {
                self.problem(&at, what, remedy);
            }
            let Some(value) = value.as_str() else {
                self.problem(&at, value.type_str(), "give a string in quotes");
                continue;
            };
            if let Some(remedy) = header_value_problem(value) {
                self.problem(&at, format!("{value:?}"), remedy);
            }
            let pattern = self.pattern(&at, value, scope);
            result.push(((name.clone(), value.to_owned()), pattern));
        }
        result
    }

    fn body(&mut self, key: &str, table: &toml::Table, scope: &mut Scope<'_>) -> (Vec<u8>, Body) {
        let body = self.text(key, table, "body");
        let Some(file) = self.text(key, table, "body_file") else {
            let body = body.unwrap_or_default();
            let pattern = self.pattern(&format!("{key}.body"), &body, scope);
            return (body.into_bytes(), Body::Text(pattern));
        };
        if body.is_some() {
            self.problem(
                &format!("{key}.body_file"),
                format!("{file:?}"),
                "give body or body_file, not both",
            );
        }
        let path = self.folder.join(&file);
        let body = std::fs::read(&path).unwrap_or_else(|error| {
            self.problem(
                &format!("{key}.body_file"),
                format!("{}: {error}", path.display()),
                "name a readable file, relative to the workload file",
            );
            Vec::new()
        });
        (body.clone(), Body::Fixed(body))
    }
}
