//! Sections of `powerband.toml` taken apart, every problem kept.

use super::{ArmRequest, Asked, Problem, ServiceRequest};
use toml::{Table, Value};

/// Takes keys out of tables and collects the errors, so that all of them are reported at once.
pub(super) struct Reader {
    pub(super) file: String,
    pub(super) problems: Vec<Problem>,
}

impl Reader {
    pub(super) fn section(&mut self, table: &mut Table, name: &str) -> Option<Table> {
        match table.remove(name)? {
            Value::Table(section) => Some(section),
            _ => {
                self.problems.push(Problem::with(
                    format!("{name} in {} is no section", self.file),
                    format!("write it as [{name}]"),
                ));
                None
            }
        }
    }

    pub(super) fn section_in(
        &mut self,
        table: &mut Table,
        parent: &str,
        name: &str,
    ) -> Option<Table> {
        match table.remove(name)? {
            Value::Table(section) => Some(section),
            _ => {
                let what = format!("{parent}.{name} in {} is no section", self.file);
                self.problems.push(Problem::with(
                    what,
                    format!("write it as [{parent}.{name}]"),
                ));
                None
            }
        }
    }

    pub(super) fn text(&mut self, table: &mut Table, section: &str, key: &str) -> Option<Asked> {
        let value = table.remove(key)?;
        let origin = format!("{section}.{key} in {}", self.file);
        match plain(&value) {
            Some(text) => Some(Asked::new(text, origin)),
            None => {
                self.problems.push(Problem::with(
                    format!("{origin} is neither text, number, boolean nor a list of them"),
                    "write one value",
                ));
                None
            }
        }
    }

    /// Each item of a list by itself, since it may hold commas; a single text is a list of one.
    pub(super) fn texts(&mut self, table: &mut Table, section: &str, key: &str) -> Vec<Asked> {
        let origin = format!("{section}.{key} in {}", self.file);
        let items = match table.remove(key) {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(alone) => vec![alone],
        };
        let texts: Option<Vec<String>> = items.iter().map(scalar).collect();
        let Some(texts) = texts else {
            self.problems.push(Problem::with(
                format!("{origin} is no list of texts"),
                format!("write {key} = [\"…\", \"…\"]"),
            ));
            return Vec::new();
        };
        let asked = |text| Asked::new(text, origin.clone());
        texts.into_iter().map(asked).collect()
    }

    /// The sections of a list, `[[name]]`.
    pub(super) fn list(&mut self, table: &mut Table, name: &str) -> Vec<Table> {
        let entries = match table.remove(name) {
            None => return Vec::new(),
            Some(Value::Array(entries)) => entries,
            Some(_) => {
                self.problems.push(Problem::with(
                    format!("{name} in {} is no list", self.file),
                    format!("write each as [[{name}]]"),
                ));
                return Vec::new();
            }
        };
        let mut sections = Vec::new();
        for entry in entries {
            match entry {
                Value::Table(section) => sections.push(section),
                _ => self.problems.push(Problem::with(
                    format!("an entry of {name} in {} is no section", self.file),
                    format!("write each as [[{name}]]"),
                )),
            }
        }
        sections
    }

    /// Everything in an arm but its name is a knob.
    pub(super) fn arms(&mut self, table: &mut Table) -> Vec<ArmRequest> {
        let mut arms = Vec::new();
        for mut section in self.list(table, "arm") {
            let Some(name) = self.text(&mut section, "arm", "name") else {
                self.problems.push(Problem::with(
                    format!("an [[arm]] in {} has no name", self.file),
                    "give it one of letters, digits, ., _ and -",
                ));
                continue;
            };
            let mut knobs = Vec::new();
            self.typed(&section, "", "arm", &mut knobs);
            let origin = format!("arm {:?} in {}", name.text, self.file);
            arms.push(ArmRequest {
                knobs: Asked::new(knobs.join(","), origin),
                name,
            });
        }
        arms
    }

    /// Knobs as they would be typed: `[baseline.gc]` is the prefix of what is in it.
    pub(super) fn typed(
        &mut self,
        table: &Table,
        prefix: &str,
        section: &str,
        settings: &mut Vec<String>,
    ) {
        for (key, value) in table {
            let name = format!("{prefix}{key}");
            if let Value::Table(inner) = value {
                self.typed(inner, &format!("{name}."), section, settings);
            } else if value.is_float() && knobs::is_version(&name) {
                self.problems.push(Problem::with(
                    format!("{section}.{name} in {} is a number, and a version such as 3.10 would lose its zero", self.file),
                    "write it in quotes".to_owned(),
                ));
            } else if let Some(text) = plain(value) {
                settings.push(format!("{name}={}", knobs::quoted(&text)));
            } else {
                self.problems.push(Problem::with(
                    format!("{section}.{name} in {} is neither text, number, boolean nor a list of them", self.file),
                    "write one value, in quotes where it is a date",
                ));
            }
        }
    }

    pub(super) fn services(&mut self, table: &mut Table) -> Vec<ServiceRequest> {
        let mut services = Vec::new();
        for mut service in self.list(table, "service") {
            let name = self.text(&mut service, "service", "name");
            let command = self.text(&mut service, "service", "command");
            let port_env = self.text(&mut service, "service", "port_env");
            let template = self.text(&mut service, "service", "template");
            let ready_path = self.text(&mut service, "service", "ready_path");
            self.rest(
                service,
                "service",
                &["name", "command", "port_env", "template", "ready_path"],
            );
            match (name, command) {
                (Some(name), Some(command)) => services.push(ServiceRequest {
                    name,
                    command,
                    port_env,
                    template,
                    ready_path,
                }),
                _ => self.problems.push(Problem::with(
                    format!(
                        "a [[service]] in {} lacks its name or its command",
                        self.file
                    ),
                    "give it both",
                )),
            }
        }
        services
    }

    pub(super) fn rest(&mut self, table: Table, section: &str, known: &[&str]) {
        for key in table.keys() {
            let known: Vec<String> = known.iter().map(|k| format!("{section}.{k}")).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            self.unknown(&format!("{section}.{key}"), &known);
        }
    }

    pub(super) fn unknown(&mut self, key: &str, known: &[&str]) {
        self.problems.push(Problem::with(
            format!("unknown key {key} in {}", self.file),
            match knobs::nearest_of(
                within(key),
                known.iter().map(|known| (within(known), known)),
            ) {
                Some(meant) => format!("did you mean {meant}?"),
                None => format!("the keys there are {}", known.join(", ")),
            },
        ));
    }
}

/// A key without its section.
fn within(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, key)| key)
}

/// A value as the text that a flag would have; a list as its items with commas.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => items
            .iter()
            .map(plain)
            .collect::<Option<Vec<_>>>()
            .map(|items| items.join(",")),
        other => scalar(other),
    }
}

/// A single value as the text that a flag would have.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(yes) => Some(yes.to_string()),
        Value::Array(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}
