//! A command line as a person writes it, taken apart as a shell does, without running one.

use thiserror::Error;

/// A quote or a backslash that is never closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a quote is not closed")]
pub struct WordsError;

/// Splits at spaces, honouring quotes and backslashes; nothing is expanded.
///
/// # Errors
/// When a quote is not closed.
pub fn split_words(command: &str) -> Result<Vec<String>, WordsError> {
    shell_words::split(command).map_err(|_| WordsError)
}

/// The command line that a shell splits into these words.
#[must_use]
pub fn join_words(words: &[String]) -> String {
    shell_words::join(words)
}

/// The words that have the shell execute a command line.
#[must_use]
pub fn by_shell(line: &str) -> [String; 3] {
    ["/bin/sh", "-c", line].map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(
            split_words("a 'b c' \"d\" $E").unwrap(),
            ["a", "b c", "d", "$E"]
        );
        assert_eq!(split_words("a 'b"), Err(WordsError));
        let words = ["a", "b c", "$E", "'"].map(String::from);
        assert_eq!(split_words(&join_words(&words)).unwrap(), words);
    }
}
