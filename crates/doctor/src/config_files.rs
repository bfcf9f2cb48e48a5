//! The Ruby files of an application's configuration, as text: read, never run.

use std::fs;
use std::path::Path;

use host::Known;
use host::serving::unreadable;
use small_sort::SmallSort;

/// Folders deeper than this are no configuration.
const DEEPEST: usize = 8;
/// More files, or larger ones, are no configuration either.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 1 << 20;

/// Threads of Rails' global executor where nothing says how many.
const RAILS_CONCURRENCY: u32 = 4;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// From the application's folder: `config/puma.rb`.
    pub place: String,
    pub text: String,
}

impl ConfigFile {
    /// Its lines of code that `wanted` accepts, as `config/puma.rb:12: the line`. Comments are no code.
    pub fn lines<'a>(
        &'a self,
        wanted: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = String> + 'a {
        let lines = self.text.lines().enumerate();
        lines.filter_map(move |(index, line)| {
            let code = line.split(" #").next().unwrap_or_default().trim();
            let is_code = !code.is_empty() && !code.starts_with('#');
            (is_code && wanted(code)).then(|| format!("{}:{}: {code}", self.place, index + 1))
        })
    }
}

/// Threads of the executor that `load_async` uses, as the configuration says; 0 without one.
///
/// # Errors
/// Why they are not known.
pub fn async_threads(files: &Known<Vec<ConfigFile>>) -> Known<u32> {
    let files = files.as_ref().map_err(Clone::clone)?;
    let last = |setting: &str| {
        let lines = files.iter().flat_map(|file| {
            file.lines(|line| line.starts_with("config.") && line.contains(setting))
        });
        let line = lines.last()?;
        let value = line.rsplit_once('=')?.1.trim().to_owned();
        Some((line, value))
    };
    match last(".async_query_executor") {
        None => Ok(0),
        Some((_, value)) if value == "nil" => Ok(0),
        Some((_, value)) if value == ":global_thread_pool" => {
            match last(".global_executor_concurrency") {
                None => Ok(RAILS_CONCURRENCY),
                Some((line, value)) => value
                    .parse()
                    .map_err(|_| format!("{line}: how many threads only Ruby can tell")),
            }
        }
        Some((line, _)) => Err(format!(
            "{line}: how many connections this executor needs is not known; hold the pool against it yourself"
        )),
    }
}

/// `config/**/*.rb` below `folder`, in order of their names.
///
/// # Errors
/// A clause that says why there are none to look at.
pub fn read(folder: &Path) -> Known<Vec<ConfigFile>> {
    let root = folder.join("config");
    let mut found = Vec::new();
    let mut pending = vec![(root.clone(), 0)];
    while let Some((current, depth)) = pending.pop() {
        let entries = match fs::read_dir(&current) {
            Ok(entries) => entries,
            Err(e) if current == root => return Err(unreadable(Path::new("config"), &e)),
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            // Links are not followed: they may lead in a circle, or out of the application.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() && depth < DEEPEST {
                pending.push((path, depth + 1));
            } else if kind.is_file() && path.extension().is_some_and(|end| end == "rb") {
                found.push(path);
            }
        }
    }
    found.small_sort();
    found.truncate(MOST_FILES);
    let small = |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() <= MOST_BYTES);
    let files = found.iter().filter(|path| small(path)).filter_map(|path| {
        let text = fs::read(path).ok()?;
        let place = path.strip_prefix(folder).unwrap_or(path);
        Some(ConfigFile {
            place: place.display().to_string(),
            text: String::from_utf8_lossy(&text).into_owned(),
        })
    });
    Ok(files.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executor_of_async_queries_is_as_the_files_say() {
        let threads = |text: &str| {
            let (place, text) = ("config/application.rb".to_owned(), text.to_owned());
            async_threads(&Ok(vec![ConfigFile { place, text }]))
        };
        let global = "  config.active_record.async_query_executor = :global_thread_pool\n";
        let with = |more: &str| threads(&format!("{global}  config.active_record.{more}\n"));
        assert_eq!(threads(""), Ok(0));
        assert_eq!(threads(global), Ok(4));
        assert_eq!(with("global_executor_concurrency = 7"), Ok(7));
        assert!(with("global_executor_concurrency = ENV.fetch('N').to_i").is_err());
        assert_eq!(with("async_query_executor = nil"), Ok(0));
        assert!(with("async_query_executor = :multi_thread_pool").is_err());
    }

    #[test]
    fn ruby_below_config_is_read_and_its_comments_are_not() {
        let app = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = app.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("config/puma.rb", "# wanted\nwanted 1 # a reason\nother\n");
        write("config/initializers/deep/a.rb", "  wanted 2\n");
        write("config/database.yml", "wanted 3\n");
        write("lib/b.rb", "wanted 4\n");
        std::os::unix::fs::symlink(app.path(), app.path().join("config/circle")).unwrap();
        let files = read(app.path()).unwrap();
        let lines: Vec<String> = files
            .iter()
            .flat_map(|file| file.lines(|line| line.contains("wanted")))
            .collect();
        assert_eq!(
            lines,
            [
                "config/initializers/deep/a.rb:1: wanted 2",
                "config/puma.rb:2: wanted 1"
            ]
        );
        assert!(read(&app.path().join("lib")).is_err());
    }
}
