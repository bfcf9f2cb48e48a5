//! What a log says of a failure, fit to be shown: bounded, and without secrets.

use small_sort::SmallSort;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::{cause, inherited};

const LINES_SHOWN: usize = 20;
const BYTES_READ: u64 = 256 * 1024;
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
    /// Where a framework writes its own log, if it writes one, and how long that was.
    framework: Option<(PathBuf, u64)>,
    secrets: Vec<String>,
    /// Value of `RAILS_ENV`.
    environment: String,
}

/// What a log says of a failure, as a message ends with it: the reason first, the remedy, then lines of the log.
#[derive(Debug, Clone)]
pub struct Excerpt(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    /// The exception and its message, and what to do about it; `None` where no line says why.
    why: Option<(String, Option<String>)>,
    /// Oldest first; values of secret variables are masked.
    lines: Vec<String>,
    path: PathBuf,
}

impl Parts {
    /// The exception and its message, and the remedy below it.
    fn reason(&self) -> Option<String> {
        let (said, remedy) = self.why.as_ref()?;
        Some(match remedy {
            Some(remedy) => format!("{said}\n  {remedy}"),
            None => said.clone(),
        })
    }
}

impl Excerpt {
    /// The reason and the remedy, or else the last lines, without the name of the log: for a log that is deleted.
    pub(crate) fn brief(&self) -> String {
        self.0.reason().unwrap_or_else(|| match &*self.0.lines {
            [] => "it wrote nothing".to_owned(),
            lines => format!("its last lines:\n    {}", lines.join("\n    ")),
        })
    }

    /// Whether a line that is shown says so.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.0.lines.iter().any(|line| line.contains(text))
    }
}

impl Display for Excerpt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Parts { lines, path, .. } = &*self.0;
        let (path, joined) = (path.display(), lines.join("\n    "));
        let Some(reason) = self.0.reason() else {
            if lines.is_empty() {
                return write!(f, "it wrote nothing to {path}");
            }
            return write!(f, "the last lines of {path}:\n    {joined}");
        };
        write!(f, "{reason}\n  from {path}:\n    {joined}")
    }
}

impl Log {
    /// What is written to `path` from now on, with the secrets masked of `env` and of this
    /// process's own environment, and passwords in URLs.
    pub(crate) fn from_here(path: &Path, env: &BTreeMap<String, String>) -> Self {
        let given = env.iter().map(|(key, value)| (key.clone(), value.clone()));
        let mut secrets: Vec<String> = inherited::variables()
            .into_iter()
            .chain(given)
            .flat_map(|(key, value)| {
                let password = password(&value);
                let whole = knobs::is_secret(&key, &value).then_some(value);
                whole.into_iter().chain(password)
            })
            .filter(|secret| secret.len() >= SHORTEST_SECRET)
            .collect();
        // The longest first, so that one that contains another is masked whole.
        secrets.small_sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let environment = env.get("RAILS_ENV").cloned();
        Log {
            path: path.to_path_buf(),
            from: length(path),
            framework: None,
            secrets,
            environment: environment.unwrap_or_else(|| "production".to_owned()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The same, with what Rails writes to a log of its own in an application's folder.
    pub(crate) fn of_application(self, app_dir: &Path) -> Self {
        let path = app_dir
            .join("log")
            .join(format!("{}.log", self.environment));
        let from = length(&path);
        Log {
            framework: Some((path, from)),
            ..self
        }
    }

    /// Why it failed, or else its last lines.
    pub(crate) fn excerpt(&self) -> Excerpt {
        self.explained().unwrap_or_else(|| {
            let text = text(&self.path, self.from);
            let written = text.lines().filter(|line| !line.trim().is_empty());
            let written: Vec<&str> = written.collect();
            let last = &written[written.len().saturating_sub(LINES_SHOWN)..];
            self.shown(&self.path, None, last)
        })
    }

    fn explained(&self) -> Option<Excerpt> {
        self.sources().find_map(|(path, from)| {
            let text = text(path, from);
            let lines: Vec<&str> = text.lines().collect();
            let cause = cause::of(&lines, &self.environment)?;
            let shown = cause::shown_from(&lines, cause.line);
            Some(self.shown(path, Some((self.fit(&cause.said), cause.remedy)), &shown))
        })
    }

    fn shown(&self, path: &Path, why: Option<(String, Option<String>)>, lines: &[&str]) -> Excerpt {
        Excerpt(Box::new(Parts {
            why,
            lines: lines.iter().map(|line| self.fit(line)).collect(),
            path: path.to_path_buf(),
        }))
    }

    /// What the server writes itself, then the log of the framework.
    fn sources(&self) -> impl Iterator<Item = (&Path, u64)> {
        let framework = self.framework.iter().map(|(path, from)| (&**path, *from));
        std::iter::once((&*self.path, self.from)).chain(framework)
    }

    /// Why requests such as `GET /weather` fail, with the remedy where it is known.
    pub(crate) fn of_page(&self, request: &str) -> Option<String> {
        self.sources().find_map(|(path, from)| {
            let text = text(path, from);
            let lines: Vec<&str> = text.lines().collect();
            let cause = cause::of_page(&lines, request, &self.environment)?;
            let remedy = cause.remedy.map_or(String::new(), |r| format!("; {r}"));
            Some(format!("{}{remedy}", self.fit(&cause.said)))
        })
    }

    /// Whether a worker could not be started.
    pub(crate) fn tells_of_no_worker(&self) -> bool {
        let text = text(&self.path, self.from);
        cause::never_boots(&text.lines().collect::<Vec<_>>())
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

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

/// The end of what a file holds after a position; empty where it cannot be read.
fn text(path: &Path, from: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let end = file.metadata()?.len();
        let start = from.max(end.saturating_sub(BYTES_READ)).min(end);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(BYTES_READ).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
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
        assert!(log.excerpt().0.lines.is_empty());
        let text = "an earlier server\n\u{1b}[31mred /home/someone\n\nkey hunter2-hunter2!\nto https://0a1b2c@sentry/1\nas me:open:sesame@localhost\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(
            log.excerpt().0.lines,
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
        let lines = log.excerpt().0.lines;
        assert_eq!(lines.len(), LINES_SHOWN);
        assert_eq!(lines[LINES_SHOWN - 2], "line 19999");
        assert_eq!(lines[LINES_SHOWN - 1].chars().count(), LONGEST_LINE + 1);
    }
    #[test]
    fn what_rails_logs_in_a_file_of_its_own_explains_a_page_too() {
        let dir = tempfile::tempdir().unwrap();
        let rails = dir.path().join("log/staging.log");
        std::fs::create_dir(dir.path().join("log")).unwrap();
        let failed = |id: u32, message: &str| {
            format!("[id-{id}] Started GET \"/a\" for 127.0.0.1\n[id-{id}] KeyError ({message}):\n")
        };
        std::fs::write(&rails, failed(1, "of an earlier server")).unwrap();
        let env = BTreeMap::from([
            ("RAILS_ENV".to_string(), "staging".to_string()),
            ("API_TOKEN".to_string(), "hunter2-hunter2".to_string()),
        ]);
        let path = dir.path().join("server.log");
        std::fs::write(&path, "* Listening\n").unwrap();
        let log = Log::from_here(&path, &env).of_application(dir.path());
        assert_eq!(log.of_page("GET /a"), None);
        let text = failed(1, "of an earlier server") + &failed(2, "no hunter2-hunter2");
        std::fs::write(&rails, text).unwrap();
        assert_eq!(log.of_page("GET /a").unwrap(), "KeyError (no [masked])");
        assert_eq!(log.of_page("GET /b"), None);
        let excerpt = log.excerpt().to_string();
        assert!(
            excerpt.starts_with("KeyError (no") && excerpt.contains("staging.log"),
            "{excerpt}"
        );
    }
}
