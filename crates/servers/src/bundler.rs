//! Whether an application's server is started through Bundler.

use std::path::Path;
use std::process::{Command, Stdio};

/// The words that start `gem`'s program of the same name for this application: `bundle exec` where its Gemfile.lock
/// names the gem and that works, else the plain name. An application installed by the system's packages (below
/// `/usr/share` or `/usr/lib`) gets the plain name: its gems are the system's, and its Gemfile.lock is not the user's
/// to resolve.
pub(crate) fn command(app_dir: &Path, gem: &str) -> Vec<String> {
    let words: &[&str] = if wants_bundler(app_dir, gem) {
        &["bundle", "exec", gem]
    } else {
        &[gem]
    };
    words.iter().map(|word| (*word).to_string()).collect()
}

fn wants_bundler(app_dir: &Path, gem: &str) -> bool {
    let real = app_dir
        .canonicalize()
        .unwrap_or_else(|_| app_dir.to_path_buf());
    if ["/usr/share", "/usr/lib"]
        .iter()
        .any(|system| real.starts_with(system))
    {
        return false;
    }
    if !app_dir.join("Gemfile").is_file() {
        return false;
    }
    bundles(app_dir, gem) && bundler_works(app_dir, gem)
}

/// Whether the application's Gemfile.lock names this gem.
#[must_use]
pub fn bundles(app_dir: &Path, gem: &str) -> bool {
    let lock = std::fs::read_to_string(app_dir.join("Gemfile.lock")).unwrap_or_default();
    let locked = format!("    {gem} (");
    lock.lines().any(|line| line.starts_with(&locked))
}

fn bundler_works(app_dir: &Path, gem: &str) -> bool {
    Command::new("bundle")
        .args(["exec", gem, "--version"])
        .current_dir(app_dir)
        // Looking must not rewrite the application's Gemfile.lock.
        .env("BUNDLE_FROZEN", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_without_a_lock_and_one_of_the_system_get_the_plain_name() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Gemfile"), "gem 'puma'\n").unwrap();
        assert_eq!(command(dir.path(), "puma"), ["puma"]);
        assert_eq!(
            command(Path::new("/usr/share/redmine"), "unicorn"),
            ["unicorn"]
        );
    }
}
