//! What is wrong with a file, where, and what to do about it.

use std::fmt;

/// One problem of an experiment file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: usize,
    /// The key, as `arm.share`.
    pub key: String,
    /// The value, where it is no secret and there is one.
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
