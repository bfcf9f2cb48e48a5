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
            lacks: INJECT,
        });
    }
    let program = std::env::current_exe().ok();
    if let Some(gem) = program.as_deref().and_then(installed_with) {
        return Ok(gem);
    }
    let root = embedded::written_to(cache_dir)?;
    Ok(AgentGem { root })
}

/// The gem in the same installation as the program. The folders' names identify the installation: elsewhere, as in `/tmp/x`,
/// another user may have made a folder in the gem's place.
fn installed_with(program: &Path) -> Option<AgentGem> {
    let folder = program.parent()?;
    let above = folder.parent()?;
    // PREFIX/bin/powerband
    if folder.ends_with("bin") {
        return AgentGem::at(&above.join("share/powerband/gem"));
    }
    let root = above.parent()?;
    // GEM/exe/x86_64-linux/powerband
    if above.ends_with("exe") {
        return AgentGem::at(root);
    }
    // CHECKOUT/target/release/powerband
    if above.ends_with("target") {
        return AgentGem::at(&root.join("gem"));
    }
    None
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

    fn make_gem(root: &Path) {
        let inject = root.join(INJECT);
        fs::create_dir_all(inject.parent().unwrap()).unwrap();
        fs::write(inject, "").unwrap();
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
            make_gem(&gem);
            let found = installed_with(&dir.path().join(program)).unwrap();
            assert_eq!(found.root(), gem.canonicalize().unwrap());
        }
        // The program of this test is in none of these places.
        let gem = locate(None, &dir.path().join("cache")).unwrap();
        assert!(gem.root().starts_with(dir.path().join("cache")));
        assert!(gem.lib_dir().join("powerband/inject.rb").is_file());
    }

    #[test]
    fn a_program_in_another_place_takes_no_gem_that_lies_near_it() {
        let dir = tempfile::tempdir().unwrap();
        for gem in [
            "share/powerband/gem",
            "gem",
            "up/share/powerband/gem",
            "up/gem",
            ".",
        ] {
            make_gem(&dir.path().join(gem));
        }
        for program in [
            "x/powerband",
            "up/x/powerband",
            "bin/x/powerband",
            "up/x/y/powerband",
        ] {
            assert_eq!(installed_with(&dir.path().join(program)), None, "{program}");
        }
    }
}
