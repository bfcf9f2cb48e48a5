//! The last lines of a server's log, fit to be shown: bounded, and without secrets.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const LINES_SHOWN: usize = 20;
const BYTES_READ: u64 = 64 * 1024;
const LONGEST_LINE: usize = 400;
/// A shorter value would mask ordinary words.
const SHORTEST_SECRET: usize = 8;

/// The one in `scheme://user:password@host`.
fn password(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    Some(user.split_once(':')?.1.to_string())
}

/// One server's part of a log file that others may have written to before.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    path: PathBuf,
    from: u64,
    secrets: Vec<String>,
}

impl Log {
    /// What is written to `path` from now on, with the secrets masked of `env` and of this
    /// process's own environment, and passwords in URLs.
    pub(crate) fn from_here(path: &Path, env: &BTreeMap<String, String>) -> Self {
        let inherited = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        let given = env.iter().map(|(key, value)| (key.clone(), value.clone()));
        let mut secrets: Vec<String> = inherited
            .chain(given)
            .flat_map(|(key, value)| {
                let password = password(&value);
                let whole = knobs::is_secret(&key, &value).then_some(value);
                whole.into_iter().chain(password)
            })
            .filter(|secret| secret.len() >= SHORTEST_SECRET)
            .collect();
        // The longest first, so that one that contains another is masked whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let from = std::fs::metadata(path).map_or(0, |meta| meta.len());
        Log {
            path: path.to_path_buf(),
            from,
            secrets,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Oldest first; empty when nothing was written or the file cannot be read.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let Ok(bytes) = self.read_end() else {
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let shown = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
        shown.iter().map(|line| self.fit(line)).collect()
    }

    fn read_end(&self) -> std::io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        let end = file.metadata()?.len();
        let start = self.from.max(end.saturating_sub(BYTES_READ)).min(end);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(BYTES_READ).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn fit(&self, line: &str) -> String {
        let mut line = line.trim_end().to_string();
        for secret in &self.secrets {
            line = line.replace(secret.as_str(), "[masked]");
        }
        // A log may hold terminal escapes; they have no business in a message.
        line.retain(|c| c == '\t' || !c.is_control());
        match line.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

/// For messages: the lines, or that there are none, and where the rest is.
pub(crate) fn indented(lines: &[String], path: &Path) -> String {
    if lines.is_empty() {
        return format!("it wrote nothing to {}", path.display());
    }
    format!(
        "the last lines of {}:\n    {}",
        path.display(),
        lines.join("\n    ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_only_what_came_after_and_masks_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "an earlier server\n").unwrap();
        let env = BTreeMap::from([
            ("SECRET_KEY_BASE".to_string(), "hunter2-hunter2".to_string()),
            ("HOME".to_string(), "/home/someone".to_string()),
            (
                "SENTRY_DSN".to_string(),
                "https://0a1b2c@sentry/1".to_string(),
            ),
            (
                "DATABASE_URL".to_string(),
                "postgres://me:open:sesame@localhost/x".to_string(),
            ),
        ]);
        let log = Log::from_here(&path, &env);
        assert!(log.last_lines().is_empty());
        let text = "an earlier server\n\u{1b}[31mred /home/someone\n\nkey hunter2-hunter2!\nto https://0a1b2c@sentry/1\nas me:open:sesame@localhost\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(
            log.last_lines(),
            [
                "[31mred /home/someone",
                "key [masked]!",
                "to [masked]",
                "as me:[masked]@localhost"
            ]
        );
    }

    #[test]
    fn shows_a_bounded_end_of_a_long_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log::from_here(&path, &BTreeMap::new());
        let text: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&path, text + &"é".repeat(1_000)).unwrap();
        let lines = log.last_lines();
        assert_eq!(lines.len(), LINES_SHOWN);
        assert_eq!(lines[LINES_SHOWN - 2], "line 19999");
        assert_eq!(lines[LINES_SHOWN - 1].chars().count(), LONGEST_LINE + 1);
    }
}
