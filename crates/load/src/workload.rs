//! What is asked of the server: weighted requests from a workload file or from
//! the `[[request]]` entries of a larger document. Everything that is wrong is
//! reported at once. What the bytes look like is `template.rs`.

use std::path::{Path, PathBuf};

use crate::workload_file;

/// Most distinct request names; each keeps a histogram of its own (about 200 KB).
pub const MAX_NAMES: usize = 256;

/// One kind of request and how often it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What results are grouped by; several requests may share one.
    /// Defaults to the method and the path without its query.
    pub name: String,
    /// An HTTP method token, as sent.
    pub method: String,
    /// Origin form: path and query, percent-encoded.
    pub path: String,
    /// Relative frequency, above zero.
    pub weight: f64,
    /// Sent in this order, beside those that the generator sets itself.
    pub headers: Vec<(String, String)>,
    /// Sent with `Content-Length` when not empty.
    pub body: Vec<u8>,
}

impl Request {
    /// GET and HEAD: safe to send to a server whose data matter.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// May be sent again when a reused connection turns out to be closed
    /// (RFC 9110 §9.2.2).
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        matches!(
            self.method.as_str(),
            "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE"
        )
    }
}

/// One thing wrong with a workload: where, what was found, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {value}: {remedy}")]
pub struct WorkloadProblem {
    /// The key, as `request[2].path`, counted from 1.
    pub key: String,
    /// What was found there.
    pub value: String,
    /// What to write instead.
    pub remedy: String,
}

/// A checked, non-empty list of requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    requests: Vec<Request>,
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

    /// Takes the `request` array of a table: the whole workload file, or the
    /// part of `powerband.toml` that holds one. Unknown keys are problems.
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
        workload_file::read(value, &PathBuf::from(folder)).map(|requests| Self { requests })
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

    /// The requests, in the file's order; never empty.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Methods other than GET and HEAD, each once, in order of appearance: the
    /// caller refuses these unless the user allowed them.
    #[must_use]
    pub fn unsafe_methods(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for request in self.requests.iter().filter(|r| !r.is_safe()) {
            if !found.contains(&request.method.as_str()) {
                found.push(&request.method);
            }
        }
        found
    }

    /// The distinct names, in order of appearance.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for request in &self.requests {
            if !names.contains(&request.name.as_str()) {
                names.push(&request.name);
            }
        }
        names
    }
}
