//! How an application's server is started where nobody says how.

use std::path::Path;
use std::process::{Command, Stdio};

/// The words that start `puma` or `unicorn` for this application: `bundle exec …` where its Gemfile.lock names the server
/// and that works, else the plain name. An application installed by the system's packages (below `/usr/share` or
/// `/usr/lib`) gets the plain name: its gems are the system's, and its Gemfile.lock is not the user's to resolve.
pub fn default_command(server: &str, app_dir: &Path) -> Vec<String> {
    let words = match wants_bundler(server, app_dir) {
        true => vec!["bundle", "exec", server],
        false => vec![server],
    };
    words.into_iter().map(str::to_owned).collect()
}

fn wants_bundler(server: &str, app_dir: &Path) -> bool {
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
    let lock = std::fs::read_to_string(app_dir.join("Gemfile.lock")).unwrap_or_default();
    let named = format!("    {server} (");
    lock.lines().any(|line| line.starts_with(&named)) && bundler_works(server, app_dir)
}

fn bundler_works(server: &str, app_dir: &Path) -> bool {
    Command::new("bundle")
        .args(["exec", server, "--version"])
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
    fn an_application_without_a_lock_and_one_of_the_system_get_plain_puma() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Gemfile"), "gem 'puma'\n").unwrap();
        assert_eq!(default_command("puma", dir.path()), ["puma"]);
        assert_eq!(
            default_command("puma", Path::new("/usr/share/redmine")),
            ["puma"]
        );
    }
}
