//! Variables whose values are shown nowhere.

use crate::names_a_secret;

/// What stands in place of a value that is shown nowhere.
pub const REDACTED: &str = "REDACTED";

/// Anywhere in the names of variables, further to `names_a_secret`: nothing depends on the value that is shown.
const PARTS: [&str; 5] = ["PASS", "KEY", "AUTH", "DATABASE_URL", "DSN"];

/// Folders that a shell keeps, by the word for passwords.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// True for a variable whose value is shown nowhere: by its name, or because the value holds a URL with a user in it.
pub fn is_secret(variable: &str, value: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    let named = names_a_secret(variable) || PARTS.iter().any(|part| name.contains(part));
    (named && !FOLDERS.contains(&name.as_str())) || holds_a_user(value)
}

/// The value as it may be shown.
pub fn shown<'a>(variable: &str, value: &'a str) -> &'a str {
    if is_secret(variable, value) {
        REDACTED
    } else {
        value
    }
}

/// What a knob sets, as it may be shown: only free text can be a secret.
pub fn shown_of<'a>(knob: &str, variable: &str, holds: &'a str) -> &'a str {
    if crate::catalogue::is_free(knob) {
        shown(variable, holds)
    } else {
        holds
    }
}

/// In any of its URLs: there may be several with commas between them.
fn holds_a_user(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
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
            ("CACHES", "redis://a:1,redis://:pw@b:2"),
            ("CACHES", "redis://:pw@b:2,redis://a:1"),
            ("DB_PWD", "x"),
            ("SMTP_PASSCODE", "x"),
            ("DEVISE_PEPPER_SALT", "x"),
            ("TWILIO_SID", "x"),
        ] {
            assert!(is_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("MALLOC_ARENA_MAX", "2"),
            ("REDIS_URL", "redis://127.0.0.1/a@b"),
            ("RUBY_GC_MALLOC_LIMIT", "1"),
            ("PWD", "/srv/shop"),
        ] {
            assert!(!is_secret(name, value), "{name}");
        }
    }
}
