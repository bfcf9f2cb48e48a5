//! The workload file's keys: reads a table, collects every problem. The rules
//! keep a request what it claims to be: nothing that could end a line early,
//! contradict the framing, or send a second request.

use std::path::Path;

use toml::Value;

use crate::workload::{MAX_NAMES, Request, WorkloadProblem};

const KEYS: &str = "name, method, path, weight, headers, body, body_file";
/// Headers that frame the message or that the run sets itself.
const RESERVED: [&str; 8] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "expect",
    "upgrade",
    "te",
    "x-request-start",
];

struct Reader<'a> {
    folder: &'a Path,
    problems: Vec<WorkloadProblem>,
}

pub(crate) fn read(value: &Value, folder: &Path) -> Result<Vec<Request>, Vec<WorkloadProblem>> {
    let mut reader = Reader {
        folder,
        problems: Vec::new(),
    };
    let requests = reader.document(value);
    if reader.problems.is_empty() {
        Ok(requests)
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

    fn document(&mut self, value: &Value) -> Vec<Request> {
        let Some(table) = value.as_table() else {
            self.problem(
                "workload",
                value.type_str(),
                "give a table with [[request]] entries",
            );
            return Vec::new();
        };
        for key in table.keys().filter(|key| *key != "request") {
            self.problem(
                key,
                "unknown key",
                "a workload holds [[request]] entries only",
            );
        }
        let entries = match table.get("request") {
            Some(Value::Array(entries)) if !entries.is_empty() => entries,
            None | Some(Value::Array(_)) => {
                self.problem("request", "none", "add at least one [[request]] entry");
                return Vec::new();
            }
            Some(other) => {
                self.problem(
                    "request",
                    other.type_str(),
                    "write [[request]], with two brackets",
                );
                return Vec::new();
            }
        };
        let requests: Vec<Request> = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| self.request(&format!("request[{}]", index + 1), entry))
            .collect();
        let mut names: Vec<&str> = requests.iter().map(|r| r.name.as_str()).collect();
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
        requests
    }

    fn request(&mut self, key: &str, entry: &Value) -> Request {
        let empty = toml::Table::new();
        let table = entry.as_table().unwrap_or_else(|| {
            self.problem(key, entry.type_str(), "give a table");
            &empty
        });
        for unknown in table
            .keys()
            .filter(|k| !KEYS.split(", ").any(|known| known == k.as_str()))
        {
            self.problem(
                &format!("{key}.{unknown}"),
                "unknown key",
                &format!("the keys are {KEYS}"),
            );
        }
        let method = self.method(key, table);
        let path = self.path(key, table);
        let given = self.text(key, table, "name");
        if given
            .as_ref()
            .is_some_and(|name| name.is_empty() || name.chars().any(char::is_control))
        {
            self.problem(
                &format!("{key}.name"),
                format!("{:?}", given.as_deref().unwrap_or_default()),
                "give a name without control characters, or none",
            );
        }
        let name = given
            .unwrap_or_else(|| format!("{method} {}", path.split('?').next().unwrap_or(&path)));
        Request {
            name,
            weight: self.weight(key, table),
            headers: self.headers(key, table),
            body: self.body(key, table),
            method,
            path,
        }
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
        if !is_token(&method) || method == "CONNECT" || method != method.to_ascii_uppercase() {
            self.problem(
                &format!("{key}.method"),
                format!("{method:?}"),
                "give an HTTP method in capitals, such as GET, HEAD or POST",
            );
        }
        method
    }

    fn path(&mut self, key: &str, table: &toml::Table) -> String {
        let path = self.text(key, table, "path").unwrap_or_else(|| "/".into());
        let legal = path.starts_with('/')
            && path
                .bytes()
                .all(|b| b.is_ascii_graphic() && !matches!(b, b'#' | b'"' | b'<' | b'>' | b'\\'));
        if !legal {
            self.problem(
                &format!("{key}.path"),
                format!("{path:?}"),
                "start with / and percent-encode spaces, #, quotes, control and non-ASCII characters",
            );
        }
        path
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
                    other.type_str(),
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

    fn headers(&mut self, key: &str, table: &toml::Table) -> Vec<(String, String)> {
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
            if !is_token(name) {
                self.problem(
                    &at,
                    format!("{name:?}"),
                    "a header name holds letters, digits and - only",
                );
            } else if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
                self.problem(&at, "set by powerband", "remove it");
            }
            let Some(value) = value.as_str() else {
                self.problem(&at, value.type_str(), "give a string in quotes");
                continue;
            };
            if value.bytes().any(|b| (b < b' ' && b != b'\t') || b == 0x7f) {
                self.problem(
                    &at,
                    format!("{value:?}"),
                    "remove line breaks and control characters",
                );
            }
            result.push((name.clone(), value.to_owned()));
        }
        result
    }

    fn body(&mut self, key: &str, table: &toml::Table) -> Vec<u8> {
        let body = self.text(key, table, "body");
        let Some(file) = self.text(key, table, "body_file") else {
            return body.unwrap_or_default().into_bytes();
        };
        if body.is_some() {
            self.problem(
                &format!("{key}.body_file"),
                format!("{file:?}"),
                "give body or body_file, not both",
            );
        }
        let path = self.folder.join(&file);
        std::fs::read(&path).unwrap_or_else(|error| {
            self.problem(
                &format!("{key}.body_file"),
                format!("{}: {error}", path.display()),
                "name a readable file, relative to the workload file",
            );
            Vec::new()
        })
    }
}

/// RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
