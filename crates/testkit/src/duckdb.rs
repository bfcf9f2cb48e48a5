//! DuckDB, which reads Parquet files.

use serde::Deserialize;
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Reads statements as JSON from its standard input, and writes for each its columns and rows, or why it fails.
const SCRIPT: &str = r#"
import json, sys
import duckdb
connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
answers = []
for statement in json.load(sys.stdin):
    try:
        result = connection.execute(statement)
        columns = [column[0] for column in result.description]
        answers.append({"columns": columns, "rows": [list(row) for row in result.fetchall()], "error": None})
    except Exception as error:
        answers.append({"columns": [], "rows": [], "error": str(error)})
json.dump(answers, sys.stdout, default=str)
"#;

/// What a statement gives. Dates, times and decimals are strings.
#[derive(Debug, Clone, Deserialize)]
pub struct Answer {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    /// Why it fails.
    pub error: Option<String>,
}

/// The answers to statements on one connection, in this folder. `None` where DuckDB's Python package is not installed:
/// `script/bootstrap` installs it.
///
/// # Panics
/// When it cannot be spoken to.
#[must_use]
#[expect(clippy::print_stderr, reason = "a test that is skipped says why")]
pub fn duckdb(folder: &Path, statements: &[&str]) -> Option<Vec<Answer>> {
    let python = || {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", packages());
        python
    };
    let there = python().args(["-c", "import duckdb"]).output().ok()?;
    if !there.status.success() {
        eprintln!("skipped: python3 has no package duckdb, which script/bootstrap installs");
        return None;
    }
    let mut command = python();
    let command = command.args(["-c", SCRIPT]).current_dir(folder);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().expect("it was there a moment ago");
    let mut input = process.stdin.take().expect("its standard input is a pipe");
    let asked = serde_json::to_vec(statements).expect("texts are JSON");
    input.write_all(&asked).expect("it reads to the end");
    drop(input);
    let output = process.wait_with_output().expect("it ends");
    assert!(
        output.status.success(),
        "DuckDB ends with {}",
        output.status
    );
    Some(serde_json::from_slice(&output.stdout).expect("answers as JSON"))
}

/// Where `script/bootstrap` installs it.
fn packages() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target =
        target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    target.join("python")
}

#[cfg(test)]
mod tests {
    use super::duckdb;
    use std::path::Path;

    #[test]
    fn a_statement_that_fails_says_why_and_the_next_goes_on() {
        let Some(answers) = duckdb(Path::new("."), &["SELECT nothing", "SELECT 7 AS n"]) else {
            return;
        };
        assert!(answers[0].error.as_deref().unwrap().contains("nothing"));
        assert_eq!(answers[1].columns, ["n"]);
        assert_eq!(answers[1].rows, [[7]]);
    }
}
