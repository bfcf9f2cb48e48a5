//! The agent's extension, built for the Ruby at hand.

use small_sort::SmallSort;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::error::{AgentError, file_error};
use super::gem::AgentGem;
use super::own_folder::{make_own, trusted, try_to_write};
use crate::ruby::RubyInfo;

const BUILD: &str = "ext/powerband/build.rb";
const LIBRARY: &str = "powerband.so";
const ERROR_LINES: usize = 20;

/// The extension for this Ruby: the one in the gem if it is there and no older than its sources,
/// else one in `cache_dir`, built now unless the same sources were built for the same Ruby before. A build takes some seconds:
/// `before_build` is called first.
///
/// # Errors
/// When it cannot be built; the error shows what the compiler said last.
pub fn ensure_built(
    gem: &AgentGem,
    ruby: &RubyInfo,
    cache_dir: &Path,
    before_build: impl FnOnce(),
) -> Result<PathBuf, AgentError> {
    let sources = sources(gem)?;
    let target = format!("{}-{}", ruby.ruby_version, ruby.arch);
    let shipped = gem
        .root()
        .join("lib/powerband/ext")
        .join(&target)
        .join(LIBRARY);
    let newest = sources.iter().filter_map(|path| modified(path)).max();
    if modified(&shipped).is_some_and(|built| Some(built) >= newest) {
        return Ok(shipped);
    }
    let folder = cache_dir.join(format!("{target}-{:016x}", digest(&sources)?));
    let cached = folder.join(LIBRARY);
    make_own(&folder)?;
    trusted(cache_dir)?;
    trusted(&folder)?;
    if !cached.is_file() {
        try_to_write(&folder)?;
        before_build();
        build(gem, ruby, &folder)?;
        if !cached.is_file() {
            let last_lines = vec![format!("it made no {}", cached.display())];
            return Err(AgentError::NotBuilt {
                ruby: ruby.version.clone(),
                last_lines,
            });
        }
        // A umask of 002 would let the group write.
        let mode = Permissions::from_mode(0o755);
        fs::set_permissions(&cached, mode).map_err(file_error(&cached))?;
    }
    trusted(&cached)?;
    Ok(cached)
}

fn build(gem: &AgentGem, ruby: &RubyInfo, folder: &Path) -> Result<(), AgentError> {
    let output = Command::new(&ruby.path)
        .arg(gem.root().join(BUILD))
        .arg(folder)
        .env_remove("RUBYOPT")
        .env_remove("RUBYLIB")
        .stdin(Stdio::null())
        .output()
        .map_err(file_error(&ruby.path))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last_lines = lines[lines.len().saturating_sub(ERROR_LINES)..]
        .iter()
        .map(|line| (*line).to_string())
        .collect();
    Err(AgentError::NotBuilt {
        ruby: ruby.version.clone(),
        last_lines,
    })
}

/// In a fixed order, so that their digest is the same each time.
fn sources(gem: &AgentGem) -> Result<Vec<PathBuf>, AgentError> {
    let folder = gem.root().join("ext/powerband");
    let mut sources = Vec::new();
    for entry in fs::read_dir(&folder).map_err(file_error(&folder))? {
        let path = entry.map_err(file_error(&folder))?.path();
        if path
            .extension()
            .is_some_and(|kind| kind == "c" || kind == "h" || kind == "rb")
        {
            sources.push(path);
        }
    }
    sources.small_sort();
    Ok(sources)
}

/// FNV-1a, which is the same on every machine and in every version of this program; it
/// distinguishes versions of our own sources and is no protection against an attacker.
fn digest(paths: &[PathBuf]) -> Result<u64, AgentError> {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for path in paths {
        for byte in fs::read(path).map_err(file_error(path))? {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(digest)
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::super::gem::locate;
    use super::*;

    /// A gem whose build script is `build`.
    fn gem(build: &str) -> (tempfile::TempDir, AgentGem) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("lib/powerband/inject.rb", ""),
            (BUILD, build),
            ("ext/powerband/a.c", "int a;"),
        ] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let gem = locate(Some(dir.path()), dir.path()).unwrap();
        (dir, gem)
    }

    const COUNTS: &str = "File.write(File.join(ARGV[0], 'powerband.so'), 'built')\n\
                          File.write(File.join(__dir__, 'count'), '.', mode: 'a')\n";

    #[test]
    fn built_once_and_again_when_a_source_changes() {
        let (dir, gem) = gem(COUNTS);
        let (ruby, cache) = (
            crate::ruby::probe("ruby").unwrap(),
            dir.path().join("cache"),
        );
        let builds = || {
            fs::read(dir.path().join("ext/powerband/count"))
                .unwrap()
                .len()
        };
        let mut announced = false;
        let first = ensure_built(&gem, &ruby, &cache, || announced = true).unwrap();
        assert!(announced);
        let again = ensure_built(&gem, &ruby, &cache, || panic!("it is built"));
        assert_eq!(again.unwrap(), first);
        assert_eq!(builds(), 1);
        fs::write(dir.path().join("ext/powerband/a.c"), "int b;").unwrap();
        assert_ne!(ensure_built(&gem, &ruby, &cache, || ()).unwrap(), first);
        assert_eq!(builds(), 2);
    }

    #[test]
    fn code_that_others_could_have_written_is_refused() {
        use std::os::unix::fs::symlink;
        let (dir, gem) = gem(COUNTS);
        let ruby = crate::ruby::probe("ruby").unwrap();
        let cache = dir.path().join("cache");
        let built = ensure_built(&gem, &ruby, &cache, || ()).unwrap();
        let allow = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        let refused = || match ensure_built(&gem, &ruby, &cache, || ()) {
            Err(AgentError::Untrusted { path }) => Some(path),
            other => panic!("{other:?}"),
        };
        for path in [cache.as_path(), built.parent().unwrap(), &built] {
            let before = fs::metadata(path).unwrap().permissions();
            allow(path, 0o777);
            assert_eq!(refused().as_deref(), Some(path));
            fs::set_permissions(path, before).unwrap();
        }
        assert_eq!(ensure_built(&gem, &ruby, &cache, || ()).unwrap(), built);
        fs::rename(&cache, dir.path().join("moved")).unwrap();
        symlink(dir.path().join("moved"), &cache).unwrap();
        assert_eq!(refused().as_deref(), Some(cache.as_path()));
    }

    #[test]
    fn a_cache_that_cannot_be_written_names_the_variable() {
        let (dir, gem) = gem(COUNTS);
        let ruby = crate::ruby::probe("ruby").unwrap();
        // A file in the place of a folder stops root, too.
        let cache = dir.path().join("file/cache");
        fs::write(dir.path().join("file"), "").unwrap();
        let message = ensure_built(&gem, &ruby, &cache, || ())
            .unwrap_err()
            .to_string();
        assert!(message.contains(&cache.display().to_string()), "{message}");
        assert!(message.contains("XDG_CACHE_HOME"), "{message}");
        assert!(!message.contains("C compiler"), "{message}");
    }

    #[test]
    fn what_the_gem_brings_is_used_unless_its_sources_are_newer() {
        let (dir, gem) = gem(COUNTS);
        let (ruby, cache) = (
            crate::ruby::probe("ruby").unwrap(),
            dir.path().join("cache"),
        );
        let target = format!("lib/powerband/ext/{}-{}", ruby.ruby_version, ruby.arch);
        let shipped = gem.root().join(target).join(LIBRARY);
        fs::create_dir_all(shipped.parent().unwrap()).unwrap();
        fs::write(&shipped, "shipped").unwrap();
        assert_eq!(ensure_built(&gem, &ruby, &cache, || ()).unwrap(), shipped);
        let source = fs::File::options()
            .write(true)
            .open(gem.root().join(BUILD))
            .unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(100);
        source.set_modified(later).unwrap();
        assert!(
            ensure_built(&gem, &ruby, &cache, || ())
                .unwrap()
                .starts_with(&cache)
        );
    }

    #[test]
    fn a_failed_build_shows_what_the_compiler_said() {
        let (dir, gem) = gem("warn 'a.c:1: error: expected something else'\nexit 1\n");
        let ruby = crate::ruby::probe("ruby").unwrap();
        let error = ensure_built(&gem, &ruby, &dir.path().join("cache"), || ()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("expected something else"), "{message}");
        assert!(message.contains("ruby-dev"), "{message}");
        let (_dir, full) = self::gem("warn 'No space left on device - sendfile'\nexit 1\n");
        let error = ensure_built(&full, &ruby, &dir.path().join("cache"), || ()).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("TMPDIR") && !message.contains("ruby-dev"),
            "{message}"
        );
    }
}
