//! Commands that a reader copies into a shell.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A word as a shell takes it: as it is where that is safe, else quoted. The library quotes `threads=5` as well.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=,._/:-".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => Cow::Borrowed(word),
        false => shell_words::quote(word),
    }
}

/// Settings as `compare` takes them: `threads=5` for each.
pub fn typed(settings: &BTreeMap<String, String>) -> Vec<String> {
    let settings = settings.iter();
    settings
        .map(|(knob, value)| format!("{knob}={value}"))
        .collect()
}

/// A configuration as `compare` takes it, with these settings in place of its own: `threads=5,workers=2` and `workers=3` give
/// `threads=5,workers=3`.
pub fn with_settings(configuration: &str, settings: &[String]) -> String {
    let knob = |setting: &str| setting.split('=').next().unwrap_or_default().to_owned();
    let stays = |own: &&str| settings.iter().all(|setting| knob(setting) != knob(own));
    let mut all: Vec<&str> = configuration.split(',').filter(stays).collect();
    all.extend(settings.iter().map(String::as_str));
    all.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stay_readable_and_everything_else_is_one_word() {
        assert_eq!(
            shell_word("threads=5,gc.malloc_limit=32MiB"),
            "threads=5,gc.malloc_limit=32MiB"
        );
        for word in ["", "a b", "$(x)", "it's", "a;b", "\u{1b}[1m"] {
            let quoted = shell_word(word).into_owned();
            assert_eq!(shell_words::split(&quoted).unwrap(), [word], "{quoted}");
            assert_ne!(quoted, word);
        }
    }
}
