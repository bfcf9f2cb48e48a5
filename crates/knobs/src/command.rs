//! A command as it may be shown: what is given to a secret variable in it, or stands in a URL as password, is not.

use crate::arm_text::masked;
use crate::secret::{REDACTED, is_secret};

/// The command without its secrets.
pub fn shown_command(command: &str) -> String {
    shown_each(words(command), shown_word).concat()
}

/// The words of a command that is already split, without its secrets.
pub fn shown_words(words: &[String]) -> Vec<String> {
    let show = |word: &str| shown_command(&masked(word));
    shown_each(words.iter().map(String::as_str), show)
}

/// Each word as `show` has it, but for the value of an option that names a secret.
fn shown_each<'a>(
    words: impl Iterator<Item = &'a str>,
    show: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut after_secret_option = false;
    let one = |word: &str| {
        let text = word.trim_end();
        // Space before the first word.
        if text.is_empty() {
            return word.to_owned();
        }
        let is_value = after_secret_option && !text.starts_with('-');
        after_secret_option = is_secret_option(text);
        match is_value {
            true => format!("{REDACTED}{}", &word[text.len()..]),
            false => show(word),
        }
    };
    words.map(one).collect()
}

/// Whether the next word is the value of an option that names a secret: `--control-token`.
fn is_secret_option(word: &str) -> bool {
    word.starts_with("--") && !word.contains('=') && is_secret(word.trim_start_matches('-'), "")
}

/// A word with the space after it. Options (`--api-key=…`) and assignments are looked at alike, and within one another:
/// `--env=API_KEY=…`.
fn shown_word(piece: &str) -> String {
    let text = piece.trim_end();
    let space = &piece[text.len()..];
    let mut from = 0;
    loop {
        let rest = &text[from..];
        let Some(equals) = rest.find('=') else {
            // No more names: a URL may stand there by itself.
            return match is_secret("", rest) {
                true => format!("{}{REDACTED}{}{space}", &text[..from], closing(rest)),
                false => piece.to_owned(),
            };
        };
        let name = rest[..equals].trim_start_matches(['-', '"', '\'']);
        let value = &rest[equals + 1..];
        if !value.is_empty() && is_secret(name, "") {
            let kept = &text[..from + equals + 1];
            return format!("{kept}{REDACTED}{}{space}", closing(value));
        }
        from += equals + 1;
    }
}

/// The quote that a value ends with, where it was opened before its name.
fn closing(value: &str) -> String {
    let quote = value.chars().last().filter(|c| matches!(c, '"' | '\''));
    let opened = value.starts_with(['"', '\'']);
    quote
        .filter(|_| !opened)
        .map_or_else(String::new, String::from)
}

/// The words with their spaces, so that what is shown is what was typed. A space in quotes ends none.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    command.split_inclusive(move |c: char| {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && c.is_whitespace()
    })
}

#[cfg(test)]
mod tests {
    use super::{shown_command, shown_words};

    #[test]
    fn secrets_are_not_shown_and_all_else_is() {
        for (command, expected) in [
            ("bin/rails test  -n a=b", "bin/rails test  -n a=b"),
            ("API_TOKEN=hunter2 rake", "API_TOKEN=REDACTED rake"),
            ("A=1 API_TOKEN=hunter2 rake", "A=1 API_TOKEN=REDACTED rake"),
            ("rake --api-key=hunter2 x", "rake --api-key=REDACTED x"),
            ("rake --api-key  hunter2 x", "rake --api-key  REDACTED x"),
            ("rake --api-key -v x", "rake --api-key -v x"),
            ("--env=API_TOKEN=hunter2", "--env=API_TOKEN=REDACTED"),
            (
                "--baseline=env.API_KEY=hunter2",
                "--baseline=env.API_KEY=REDACTED",
            ),
            ("psql postgres://me:hunter2@localhost/x", "psql REDACTED"),
            (
                "DB=postgres://me:hunter2@localhost/x rake",
                "DB=REDACTED rake",
            ),
            ("API_TOKEN='hun ter2' rake", "API_TOKEN=REDACTED rake"),
            (
                "env \"SECRET=hunter2\" rake",
                "env \"SECRET=REDACTED\" rake",
            ),
            (
                "threads=5,gc.malloc_limit=16MiB",
                "threads=5,gc.malloc_limit=16MiB",
            ),
        ] {
            assert_eq!(shown_command(command), expected);
        }
    }

    #[test]
    fn secrets_are_not_shown_in_words_either() {
        let shown = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            shown_words(&words).join(" | ")
        };
        assert_eq!(
            shown(&["puma", "--control-token", "hun ter2", "-p", "{port}"]),
            "puma | --control-token | REDACTED | -p | {port}"
        );
        assert_eq!(
            shown(&[
                "env",
                "API_KEY=hunter2,x",
                "sh",
                "-c",
                "A=1 TOKEN=hunter2 puma"
            ]),
            "env | API_KEY=REDACTED | sh | -c | A=1 TOKEN=REDACTED puma"
        );
    }
}
