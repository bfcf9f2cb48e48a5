//! A command line as a person writes it, taken apart as a shell does, without running one.

use std::path::PathBuf;

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

/// The words that enter control groups, by their folders, and become the command there: whatever it starts is in them, too.
pub(crate) fn inside(groups: &[PathBuf], words: Vec<String>) -> Vec<String> {
    if groups.is_empty() {
        return words;
    }
    let enter = groups.iter().map(|folder| {
        let procs = folder.join("cgroup.procs").display().to_string();
        format!("echo $$ > {} && ", shell_words::quote(&procs))
    });
    let script = format!("{}exec \"$@\"", enter.collect::<String>());
    let [shell, flag, line] = by_shell(&script);
    let name = "sh".to_owned();
    [shell, flag, line, name].into_iter().chain(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_in_its_groups_before_it_runs_and_keeps_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let groups = ["a b", "c"].map(|name| folder.path().join(name));
        for group in &groups {
            std::fs::create_dir(group).unwrap();
        }
        let words = ["echo", "x  y", "$HOME"].map(String::from).to_vec();
        assert_eq!(inside(&[], words.clone()), words);
        let words = inside(&groups, words);
        let child = std::process::Command::new(&words[0])
            .args(&words[1..])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let said = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), "x  y $HOME\n");
        for group in &groups {
            let written = std::fs::read_to_string(group.join("cgroup.procs")).unwrap();
            assert_eq!(written, format!("{pid}\n"));
        }
    }

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
