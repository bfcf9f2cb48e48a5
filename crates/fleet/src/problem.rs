//! A problem of a file: its place, its cause and its remedy.

use std::fmt;

/// One problem of an experiment file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: usize,
    /// The key, as `arm.share`.
    pub key: String,
    /// The value; `None` if it is missing or may be a secret.
    pub value: Option<String>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.key)?;
        if let Some(value) = &self.value {
            write!(f, " = {value:?}")?;
        }
        write!(f, ": {}; {}", self.what, self.remedy)
    }
}
