//! Variables whose values are shown nowhere.

/// What stands in place of a value that is shown nowhere.
pub const REDACTED: &str = "REDACTED";

/// Words in the names of variables that hold secrets.
const WORDS: [&str; 9] = [
    "SECRET",
    "PASS",
    "PWD",
    "TOKEN",
    "KEY",
    "CREDENTIAL",
    "AUTH",
    "DATABASE_URL",
    "DSN",
];

/// True for a variable whose value is shown nowhere: by its name, or because the value is a URL with a user in it.
pub fn is_secret(variable: &str, value: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word)) || holds_a_user(value)
}

fn holds_a_user(value: &str) -> bool {
    value.split_once("://").is_some_and(|(_, rest)| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        host.contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_urls_tell() {
        for (name, value) in [
            ("SECRET_KEY_BASE", "x"),
            ("database_url", "sqlite3:x"),
            ("REDIS_URL", "redis://me:pw@127.0.0.1/0"),
            ("STRIPE_API_KEY", "x"),
        ] {
            assert!(is_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("MALLOC_ARENA_MAX", "2"),
            ("REDIS_URL", "redis://127.0.0.1/a@b"),
            ("RUBY_GC_MALLOC_LIMIT", "1"),
        ] {
            assert!(!is_secret(name, value), "{name}");
        }
    }
}
