//! Values that look like secrets: by how random they look.

use std::sync::LazyLock;

use capture::REDACTED;
use regex::Regex;

/// Long words of letters and digits, in URLs and attributes too.
#[allow(clippy::expect_used)]
static LONG_WORDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{20,}={0,2}").expect("a constant expression"));

/// Random words taken out.
pub(super) fn masked(text: &str) -> String {
    replaced(text, REDACTED)
}

/// Each random word is this one.
pub(super) fn replaced(text: &str, with: &str) -> String {
    let all = LONG_WORDS.replace_all(text, |found: &regex::Captures<'_>| {
        let word = &found[0];
        if is_random(word) {
            with.to_owned()
        } else {
            word.to_owned()
        }
    });
    all.into_owned()
}

/// Base64 and long hexadecimal numbers, but neither paths nor identifiers.
fn is_random(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.bytes().any(|byte| test(&byte));
    let is_path = word.contains('/') && !word.contains('+') && !word.ends_with('=');
    let hex = word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    !is_path && (hex || mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_words_go_and_others_stay() {
        for (text, expected) in [
            (
                "value=\"x7Gh2Kd9Qw3Er5Ty8Ui1op\" class",
                "value=\"REDACTED\" class",
            ),
            ("YWJjZGVmZ2hpamtsbW5vcA0+1A==", "REDACTED"),
            ("d41d8cd98f00b204e9800998ecf8427e", "REDACTED"),
            ("/Users/alice/orders/1234567", "/Users/alice/orders/1234567"),
            (
                "app/assets/stylesheets/application",
                "app/assets/stylesheets/application",
            ),
            (
                "a_long_identifier_of_words_2",
                "a_long_identifier_of_words_2",
            ),
        ] {
            assert_eq!(masked(text), expected);
        }
    }
}
