//! The tables of an experiment file with the lines of their values: text out, and every problem noted.

use crate::problem::Problem;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value as text, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) key: String,
    pub(super) text: String,
    pub(super) line: usize,
}

/// Reads tables of one file.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    file: &'t str,
    pub(super) problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(file: &'t str) -> Reader<'t> {
        Reader {
            file,
            problems: Vec::new(),
        }
    }

    /// The file's own table.
    pub(super) fn tables(&mut self) -> DeTable<'t> {
        match DeTable::parse(self.file) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                let line = error.span().map_or(1, |span| self.line(&span));
                let what = format!("no TOML: {}", error.message());
                self.problem(line, "", None, what, "correct this line");
                DeTable::new()
            }
        }
    }

    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        let before = &self.file.as_bytes()[..span.start.min(self.file.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    pub(super) fn problem(
        &mut self,
        line: usize,
        key: &str,
        value: Option<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(Problem {
            line,
            key: if key.is_empty() { "the file" } else { key }.to_owned(),
            value,
            what: what.into(),
            remedy: remedy.into(),
        });
    }

    /// Adds a problem of a value.
    pub(super) fn wrong(
        &mut self,
        value: &Value,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let text = Some(value.text.clone());
        self.problem(value.line, &value.key, text, what, remedy);
    }

    /// The line and the value of a key.
    pub(super) fn found<'a>(
        &self,
        table: &'a DeTable<'t>,
        key: &str,
    ) -> Option<(usize, &'a DeValue<'t>)> {
        let (name, value) = table.iter().find(|(name, _)| name.get_ref() == key)?;
        Some((self.line(&name.span()), value.get_ref()))
    }

    /// A plain value as text.
    pub(super) fn text(&mut self, table: &DeTable<'t>, section: &str, key: &str) -> Option<Value> {
        let (line, value) = self.found(table, key)?;
        self.plain(value, line, &format!("{section}{key}"))
    }

    pub(super) fn plain(&mut self, value: &DeValue<'t>, line: usize, key: &str) -> Option<Value> {
        let text = match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(instant) => instant.to_string(),
            DeValue::Array(_) | DeValue::Table(_) => {
                let what = format!("a {} where a plain value belongs", value.type_str());
                self.problem(line, key, None, what, "give a text or a number");
                return None;
            }
        };
        Some(Value {
            key: key.to_owned(),
            text,
            line,
        })
    }

    /// A required value.
    pub(super) fn needed(
        &mut self,
        table: &DeTable<'t>,
        (section, line): (&str, usize),
        key: &str,
        remedy: &str,
    ) -> Option<Value> {
        if self.found(table, key).is_none() {
            self.problem(line, &format!("{section}{key}"), None, "missing", remedy);
        }
        self.text(table, section, key)
    }

    /// The table of a key; empty where there is none.
    pub(super) fn table<'a>(
        &mut self,
        table: &'a DeTable<'t>,
        section: &str,
        key: &str,
    ) -> Option<&'a DeTable<'t>> {
        let (line, value) = self.found(table, key)?;
        let inner = value.as_table();
        if inner.is_none() {
            let remedy = format!("write [{section}{key}] on a line of its own");
            self.problem(line, &format!("{section}{key}"), None, "no table", remedy);
        }
        inner
    }

    /// The tables of `[[key]]`, each with its line.
    pub(super) fn list<'a>(
        &mut self,
        table: &'a DeTable<'t>,
        key: &str,
    ) -> Vec<(usize, &'a DeTable<'t>)> {
        let Some((line, value)) = self.found(table, key) else {
            return Vec::new();
        };
        let entries = value.as_array().map(|entries| {
            let tables = entries.iter().map(|entry: &Spanned<DeValue<'t>>| {
                Some((self.line(&entry.span()), entry.get_ref().as_table()?))
            });
            tables.collect::<Option<Vec<_>>>()
        });
        if let Some(Some(entries)) = entries {
            return entries;
        }
        self.problem(
            line,
            key,
            None,
            "no list of tables",
            format!("write [[{key}]], with two brackets"),
        );
        Vec::new()
    }

    /// Refuses unknown keys.
    pub(super) fn only(&mut self, table: &DeTable<'t>, section: &str, known: &[&str]) {
        let strangers: Vec<(usize, String)> = table
            .keys()
            .filter(|name| !known.contains(&name.get_ref().as_ref()))
            .map(|name| {
                (
                    self.line(&name.span()),
                    format!("{section}{}", name.get_ref()),
                )
            })
            .collect();
        for (line, key) in strangers {
            let remedy = format!("the keys here are {}", known.join(", "));
            self.problem(line, &key, None, "unknown key", remedy);
        }
    }
}
