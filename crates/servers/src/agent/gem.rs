//! Where the agent's gem is.

use std::path::{Path, PathBuf};

use super::embedded;
use super::error::AgentError;

const INJECT: &str = "lib/powerband/inject.rb";

/// The gem's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentGem {
    root: PathBuf,
}

impl AgentGem {
    fn at(root: &Path) -> Option<Self> {
        let root = root.canonicalize().ok()?;
        root.join(INJECT).is_file().then_some(AgentGem { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What goes into `RUBYLIB`.
    pub fn lib_dir(&self) -> PathBuf {
        self.root.join("lib")
    }
}

/// Finds the gem: `explicit` (a flag or `POWERBAND_GEM`) and nothing else when given; otherwise the one that was installed with
/// this program, and where there is none the copy inside this program, which is written to `cache_dir`.
///
/// # Errors
/// When `explicit` is no gem of the agent, or the copy cannot be written.
pub fn locate(explicit: Option<&Path>, cache_dir: &Path) -> Result<AgentGem, AgentError> {
    if let Some(path) = explicit {
        return AgentGem::at(path).ok_or_else(|| AgentError::NotTheGem {
            path: path.to_path_buf(),
        });
    }
    let program = std::env::current_exe().ok();
    if let Some(gem) = program.as_deref().and_then(installed_with) {
        return Ok(gem);
    }
    let root = embedded::written_to(cache_dir)?;
    Ok(AgentGem { root })
}

/// The gem in the same installation as the program.
fn installed_with(program: &Path) -> Option<AgentGem> {
    let prefix = program.parent()?.parent()?;
    let above = prefix.parent();
    let places = [
        // PREFIX/bin/powerband
        Some(prefix.join("share/powerband/gem")),
        // GEM/exe/x86_64-linux/powerband
        above.map(Path::to_path_buf),
        // CHECKOUT/target/release/powerband
        above.map(|checkout| checkout.join("gem")),
    ];
    places
        .iter()
        .flatten()
        .find_map(|place| AgentGem::at(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_without_the_gem_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        let message = locate(Some(Path::new("/usr")), cache.path())
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("/usr does not hold"), "{message}");
    }

    #[test]
    fn an_installation_has_its_gem_and_a_single_file_the_copy_inside() {
        let dir = tempfile::tempdir().unwrap();
        for (program, gem) in [
            ("usr/bin/powerband", "usr/share/powerband/gem"),
            (
                "gems/powerband-1/exe/x86_64-linux/powerband",
                "gems/powerband-1",
            ),
            ("checkout/target/release/powerband", "checkout/gem"),
        ] {
            let gem = dir.path().join(gem);
            assert_eq!(installed_with(&dir.path().join(program)), None);
            let inject = gem.join(INJECT);
            fs::create_dir_all(inject.parent().unwrap()).unwrap();
            fs::write(inject, "").unwrap();
            let found = installed_with(&dir.path().join(program)).unwrap();
            assert_eq!(found.root(), gem.canonicalize().unwrap());
        }
        // The program of this test lies in none of these places.
        let gem = locate(None, &dir.path().join("cache")).unwrap();
        assert!(gem.root().starts_with(dir.path().join("cache")));
        assert!(gem.lib_dir().join("powerband/inject.rb").is_file());
    }
}
