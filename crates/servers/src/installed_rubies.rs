//! Rubies that are installed, by version: as Debian names them on `PATH`, and where version managers put them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Folders of version managers whose entries are Rubies, below the home folder.
const BELOW_HOME: [&str; 6] = [
    ".rbenv/versions",
    ".asdf/installs/ruby",
    ".local/share/mise/installs/ruby",
    ".rubies",
    ".rvm/rubies",
    ".local/share/rv/rubies",
];

/// The same of the whole machine.
const OF_ALL: [&str; 3] = [
    "/opt/rubies",
    "/usr/local/rvm/rubies",
    "/usr/local/rbenv/versions",
];

/// Where Rubies are looked for.
#[derive(Debug)]
pub struct RubyPlaces {
    /// Folders of programs: `ruby3.4`.
    path: Vec<PathBuf>,
    /// Folders of Rubies: `3.4.1` or `ruby-3.4.1`, each with `bin/ruby`.
    versions: Vec<PathBuf>,
}

impl RubyPlaces {
    /// Of this user; each argument is the variable of that name.
    pub fn of(
        path: Option<&OsStr>,
        home: Option<&OsStr>,
        rbenv_root: Option<&OsStr>,
    ) -> RubyPlaces {
        let home = home.map(Path::new);
        let below_home = home
            .into_iter()
            .flat_map(|home| BELOW_HOME.map(|folder| home.join(folder)));
        let of_rbenv = rbenv_root.map(|root| Path::new(root).join("versions"));
        RubyPlaces {
            path: path.into_iter().flat_map(std::env::split_paths).collect(),
            versions: of_rbenv
                .into_iter()
                .chain(below_home)
                .chain(OF_ALL.map(PathBuf::from))
                .collect(),
        }
    }

    /// The newest installed Ruby of this version; `3.4` stands for all of that series.
    pub fn find(&self, version: &str) -> Option<PathBuf> {
        let wanted = numbers(version)?;
        let installed = self
            .versions
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok());
        let installed = installed.flatten().flatten().filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str()?;
            let found = numbers(name.strip_prefix("ruby-").unwrap_or(name))?;
            let program = entry.path().join("bin/ruby");
            (found.starts_with(&wanted) && program.is_file()).then_some((found, program))
        });
        let newest = installed
            .max_by(|one, other| one.0.cmp(&other.0))
            .map(|(_, program)| program);
        newest.or_else(|| {
            let programs = self
                .path
                .iter()
                .map(|folder| folder.join(format!("ruby{version}")));
            programs.into_iter().find(|program| program.is_file())
        })
    }
}

/// Whether this is a version and no path: `3.4` or `3.4.1`.
pub fn is_ruby_version(text: &str) -> bool {
    numbers(text).is_some_and(|numbers| (2..=3).contains(&numbers.len()))
}

/// The numbers of a version; `None` for others, such as `3.5.0-preview1`.
fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_series_is_found_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let ruby = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let older = ruby("home/.rbenv/versions/3.4.9/bin/ruby");
        let newer = ruby("home/.rubies/ruby-3.4.10/bin/ruby");
        let of_root = ruby("rbenv/versions/4.0.1/bin/ruby");
        ruby("home/.rbenv/versions/jruby-9.4/bin/ruby");
        std::fs::create_dir_all(dir.path().join("home/.rubies/ruby-3.4.11")).unwrap();
        let of_debian = ruby("bin/ruby3.3");
        let [bin, home, root] =
            ["bin", "home", "rbenv"].map(|name| dir.path().join(name).into_os_string());
        let places = RubyPlaces::of(Some(&bin), Some(&home), Some(&root));
        for (version, found) in [
            ("3.4", Some(&newer)),
            ("3.4.9", Some(&older)),
            ("4.0", Some(&of_root)),
            ("3.3", Some(&of_debian)),
            ("3.2", None),
            ("3.4.11", None),
            ("3.4.1", None),
        ] {
            assert_eq!(places.find(version).as_ref(), found, "{version}");
        }
        assert_eq!(RubyPlaces::of(None, None, None).find("97.1"), None);
    }

    #[test]
    fn a_version_has_two_or_three_numbers() {
        for (text, is_version) in [
            ("3.4", true),
            ("3.4.1", true),
            ("3", false),
            ("3.4/bin/ruby", false),
            ("ruby-3.4", false),
            ("", false),
        ] {
            assert_eq!(is_ruby_version(text), is_version, "{text}");
        }
    }
}
