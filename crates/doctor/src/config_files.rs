//! The Ruby files of an application's configuration, as text: read, never run.

use std::fs;
use std::path::Path;

use host::Known;
use host::serving::unreadable;

/// Folders deeper than this are no configuration.
const DEEPEST: usize = 8;
/// More files, or larger ones, are no configuration either.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 1 << 20;

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
    found.sort();
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
