//! Data files: CSV with a header line, or JSON lines, read whole before the
//! run. Every row has a value for every column.

use std::path::Path;

/// Columns and rows, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Data {
    /// Without its folder.
    file: String,
    pub(crate) columns: Vec<String>,
    /// At least one; each as long as `columns`.
    pub(crate) rows: Vec<Vec<String>>,
    /// The line of the file at which each row begins.
    lines: Vec<u64>,
}

/// Why a data file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataProblem {
    pub(crate) found: String,
    pub(crate) remedy: &'static str,
}

impl Data {
    /// The row for the n-th taker: in order, and again from the top.
    pub(crate) fn row(&self, number: u64) -> &[String] {
        &self.rows[self.index(number)]
    }

    /// What messages call this row: its line. Its values may be secrets, or say who somebody is.
    pub(crate) fn named(&self, number: u64) -> String {
        format!("line {} of {}", self.lines[self.index(number)], self.file)
    }

    fn index(&self, number: u64) -> usize {
        usize::try_from(number % self.rows.len() as u64).unwrap_or(0)
    }
}

/// Reads a file by what its name ends in.
pub(crate) fn read(path: &Path) -> Result<Data, DataProblem> {
    let shown = path.display();
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let parse = match extension.as_str() {
        "csv" => parse_csv,
        "jsonl" | "ndjson" => parse_json_lines,
        _ => {
            return Err(DataProblem {
                found: shown.to_string(),
                remedy: "name a file that ends in .csv (with a header line), .jsonl or .ndjson",
            });
        }
    };
    let bytes = std::fs::read(path).map_err(|error| DataProblem {
        found: format!("{shown}: {error}"),
        remedy: "name a readable file, relative to the workload file",
    })?;
    let mut data = parse(&bytes).map_err(|(found, remedy)| DataProblem {
        found: format!("{shown}: {found}"),
        remedy,
    })?;
    if data.rows.is_empty() {
        return Err(DataProblem {
            found: format!("{shown}: no rows"),
            remedy: "give at least one row",
        });
    }
    data.file = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok(data)
}

type Found = (String, &'static str);

fn parse_csv(bytes: &[u8]) -> Result<Data, Found> {
    const REMEDY: &str = "give every line as many fields as the header, in UTF-8";
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let wrong = |error: csv::Error| (error.to_string(), REMEDY);
    let mut reader = csv::Reader::from_reader(bytes);
    let columns: Vec<String> = reader
        .headers()
        .map_err(wrong)?
        .iter()
        .map(|column| column.trim().to_owned())
        .collect();
    for (index, column) in columns.iter().enumerate() {
        if columns[..index].contains(column) {
            return Err((
                format!("two columns are called {column:?}"),
                "give each column a name of its own",
            ));
        }
    }
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        lines.push(record.position().map_or(0, csv::Position::line));
        rows.push(record.iter().map(str::to_owned).collect());
    }
    Ok(Data {
        file: String::new(),
        columns,
        rows,
        lines,
    })
}

fn parse_json_lines(bytes: &[u8]) -> Result<Data, Found> {
    const REMEDY: &str = "write one JSON object a line, each with the keys of the first";
    let text = std::str::from_utf8(bytes).map_err(|error| (error.to_string(), REMEDY))?;
    let mut columns: Vec<String> = Vec::new();
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    let numbered = (1..).zip(text.lines());
    for (number, line) in numbered.filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |found: String| (format!("line {number}: {found}"), REMEDY);
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if rows.is_empty() {
            columns = object.keys().cloned().collect();
        }
        let mut row = Vec::with_capacity(columns.len());
        for column in &columns {
            match object.get(column).map(scalar) {
                Some(Some(value)) => row.push(value),
                Some(None) => return Err(wrong(format!("{column:?} is a list or an object"))),
                None => return Err(wrong(format!("{column:?} is missing"))),
            }
        }
        rows.push(row);
        lines.push(number);
    }
    Ok(Data {
        file: String::new(),
        columns,
        rows,
        lines,
    })
}

/// The text of a JSON value that is one; null is empty.
pub(crate) fn scalar(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Null => Some(String::new()),
        serde_json::Value::Bool(value) => Some(value.to_string()),
        serde_json::Value::Number(value) => Some(value.to_string()),
        serde_json::Value::String(value) => Some(value.clone()),
        serde_json::Value::Array(_) | serde_json::Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, text: &str) -> Result<Data, DataProblem> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn both_formats_give_the_same_rows() {
        let csv = written("u.csv", "\u{feff}email, age\na@x,30\n\"b, c@x\",\n").unwrap();
        let json = written(
            "u.JSONL",
            "{\"age\":30,\"email\":\"a@x\"}\n\n{\"email\":\"b, c@x\",\"age\":null,\"more\":[1]}\n",
        )
        .unwrap();
        assert_eq!(csv.columns, ["email", "age"]);
        assert_eq!(csv.rows, [["a@x", "30"], ["b, c@x", ""]]);
        let column = |name: &str| json.columns.iter().position(|c| c == name).unwrap();
        for (row, of_csv) in json.rows.iter().zip(&csv.rows) {
            assert_eq!(row[column("email")], of_csv[0]);
            assert_eq!(row[column("age")], of_csv[1]);
        }
        assert_eq!(csv.row(3), csv.row(1));
    }

    #[test]
    fn a_row_is_named_by_its_line_and_never_by_a_secret() {
        let users = "password,Email\ns3cret,\"a\n@x\"\nt0p,b@x\n";
        let users = written("users.csv", users).unwrap();
        assert_eq!(users.named(1), "line 4 of users.csv");
        assert_eq!(users.named(3), users.named(1));
        let tokens = written("t.jsonl", "{\"token\":\"s3cret\"}\n\n{\"token\":\"t0p\"}\n").unwrap();
        assert_eq!(tokens.named(1), "line 3 of t.jsonl");
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        for (name, text, found) in [
            ("u.txt", "a\n1\n", "u.txt"),
            ("u.csv", "a,b\n1\n", "line: 2"),
            ("u.csv", "a,b\n", "no rows"),
            ("u.csv", "a,a\n1,2\n", "two columns"),
            ("u.jsonl", "", "no rows"),
            (
                "u.jsonl",
                "{\"a\":1}\n{\"b\":1}\n",
                "line 2: \"a\" is missing",
            ),
            ("u.jsonl", "{\"a\":[1]}\n", "line 1"),
            ("u.jsonl", "[1]\n", "line 1"),
        ] {
            let problem = written(name, text).unwrap_err();
            assert!(problem.found.contains(found), "{problem:?}");
        }
        let missing = read(Path::new("/does/not/exist.csv")).unwrap_err();
        assert!(missing.found.contains("exist.csv"), "{missing:?}");
    }
}
