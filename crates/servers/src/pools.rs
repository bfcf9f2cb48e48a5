//! How many connections each of an application's database pools holds in one process, as `config/database.yml` asks for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::database_yml::{Entry, entries};

/// What Rails takes where nothing is written.
pub const RAILS_DEFAULT: u32 = 5;

/// Names of the key: Rails 8.1 took up the second.
const KEYS: &[&str] = &["pool", "max_connections"];

/// One variable, its default if it has one, and nothing else: what Rails' templates write.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    let name = r#"["'](\w+)["']"#;
    let number = r#"["']?(\d+)["']?"#;
    let fetch =
        format!(r"ENV\.fetch\(\s*{name}\s*(?:,\s*{number}\s*)?\)\s*(?:\{{\s*{number}\s*\}})?");
    let index = format!(r"ENV\[\s*{name}\s*\]\s*(?:\|\|\s*{number})?");
    Regex::new(&format!(r"^<%=\s*(?:{fetch}|{index})\s*-?%>$")).expect("a constant")
});

/// The pool of one database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Its name where an environment has several; empty where it has one.
    pub database: String,
    pub adapter: Option<String>,
    pub size: PoolSize,
}

/// What is written for its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoolSize {
    Literal(u32),
    Variable {
        name: String,
        default: Option<u32>,
    },
    /// ERB of another shape.
    Computed,
    Unset,
}

impl Pool {
    /// Connections that the pool may hold in one process with these variables; `None` where only Ruby can evaluate it.
    #[must_use]
    pub fn connections(&self, environment: &BTreeMap<String, String>) -> Option<u32> {
        match &self.size {
            PoolSize::Literal(size) => Some(*size),
            PoolSize::Variable { name, default } => match environment.get(name) {
                Some(value) => value.trim().parse().ok(),
                None => *default,
            },
            PoolSize::Computed => None,
            PoolSize::Unset => Some(RAILS_DEFAULT),
        }
    }

    /// Whether the database is a server that counts its connections, rather than a file.
    #[must_use]
    pub fn is_served(&self) -> bool {
        let adapter = self.adapter.as_deref().unwrap_or_default();
        [
            "postgres",
            "postgis",
            "mysql",
            "trilogy",
            "sqlserver",
            "oracle",
        ]
        .iter()
        .any(|name| adapter.starts_with(name))
    }
}

/// The pools of an environment (`section`), from the file's text.
#[must_use]
pub fn pools(text: &str, section: &str) -> Vec<Pool> {
    let entries = entries(text, section);
    let database = |entry: &&Entry<'_>| {
        entry.above.len() <= 1 && matches!(entry.key, "adapter" | "database" | "url")
    };
    let databases: BTreeSet<&[&str]> = entries
        .iter()
        .filter(database)
        .filter(|entry| !entry.value.is_empty())
        .map(|entry| entry.above.as_slice())
        .collect();
    let value = |above: &[&str], keys: &[&str]| {
        let mut found = entries.iter().filter(|e| e.above == above);
        found
            .find(|entry| keys.contains(&entry.key))
            .map(|entry| entry.value)
    };
    databases
        .into_iter()
        .map(|above| Pool {
            database: above.first().copied().unwrap_or_default().to_owned(),
            adapter: value(above, &["adapter"]).map(str::to_owned),
            size: value(above, KEYS).map_or(PoolSize::Unset, size),
        })
        .collect()
}

fn size(value: &str) -> PoolSize {
    if let Ok(size) = value.parse() {
        return PoolSize::Literal(size);
    }
    let Some(found) = VARIABLE.captures(value) else {
        return PoolSize::Computed;
    };
    let group = |numbers: &[usize]| numbers.iter().find_map(|&number| found.get(number));
    match group(&[1, 4]) {
        Some(name) => PoolSize::Variable {
            name: name.as_str().to_owned(),
            default: group(&[2, 3, 5]).and_then(|number| number.as_str().parse().ok()),
        },
        None => PoolSize::Computed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str) -> PoolSize {
        let text = format!("production:\n  adapter: postgresql\n  pool: {value}\n");
        pools(&text, "production").swap_remove(0).size
    }

    #[test]
    fn a_number_or_one_variable_is_understood() {
        assert_eq!(written("12"), PoolSize::Literal(12));
        let variable = |default| PoolSize::Variable {
            name: "RAILS_MAX_THREADS".to_owned(),
            default,
        };
        for (text, default) in [
            (r#"<%= ENV.fetch("RAILS_MAX_THREADS") { 5 } %>"#, Some(5)),
            (r#"<%= ENV.fetch("RAILS_MAX_THREADS", 3) %>"#, Some(3)),
            (r#"<%= ENV.fetch('RAILS_MAX_THREADS', "4") -%>"#, Some(4)),
            (r#"<%=ENV["RAILS_MAX_THREADS"] || 6%>"#, Some(6)),
            (r#"<%= ENV["RAILS_MAX_THREADS"] %>"#, None),
            (r#"<%= ENV.fetch("RAILS_MAX_THREADS") %> # as many"#, None),
        ] {
            assert_eq!(written(text), variable(default), "{text}");
        }
    }

    #[test]
    fn other_ruby_is_left_to_ruby() {
        for text in [
            r#"<%= ENV.fetch("RAILS_MAX_THREADS", 5).to_i + 2 %>"#,
            r#"<%= ENV.fetch("POOL") { ENV.fetch("RAILS_MAX_THREADS") { 5 } } %>"#,
            "<%= 5 %>",
            "many",
        ] {
            assert_eq!(written(text), PoolSize::Computed, "{text}");
        }
    }

    #[test]
    fn the_environment_decides_on_a_variable() {
        let pool = |text: &str| {
            pools(
                &format!("production:\n  adapter: trilogy\n{text}"),
                "production",
            )
            .swap_remove(0)
        };
        let env =
            |value: &str| BTreeMap::from([("RAILS_MAX_THREADS".to_owned(), value.to_owned())]);
        let by_variable = pool("  max_connections: <%= ENV.fetch(\"RAILS_MAX_THREADS\", 3) %>\n");
        assert_eq!(by_variable.connections(&env("9")), Some(9));
        assert_eq!(by_variable.connections(&env("nine")), None);
        assert_eq!(by_variable.connections(&BTreeMap::new()), Some(3));
        assert_eq!(pool("").connections(&env("9")), Some(RAILS_DEFAULT));
        assert!(by_variable.is_served());
    }

    #[test]
    fn each_of_several_databases_has_its_own() {
        let text = "default: &default\n  adapter: sqlite3\n  pool: 5\n  variables:\n    database: none\n\
                    production:\n  primary:\n    <<: *default\n    database: a\n  cache:\n    <<: *default\n    pool: 9\n";
        let found = pools(text, "production");
        let sizes: Vec<(&str, &PoolSize)> = found
            .iter()
            .map(|pool| (pool.database.as_str(), &pool.size))
            .collect();
        assert_eq!(
            sizes,
            [
                ("cache", &PoolSize::Literal(9)),
                ("primary", &PoolSize::Literal(5))
            ]
        );
        assert!(!found[0].is_served());
        assert_eq!(pools("", "production"), []);
    }
}
