//! Which Ruby there is, and whether the agent can work in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

/// The GVL events that the agent listens to came with it.
const OLDEST: (u32, u32) = (3, 2);
const ASK: &str = "require 'rbconfig'; puts RUBY_VERSION, RUBY_ENGINE, \
                   RbConfig::CONFIG['ruby_version'], RbConfig::CONFIG['arch'], RbConfig.ruby";

/// A Ruby that the agent works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RubyInfo {
    /// Such as `3.3.8`.
    pub version: String,
    /// Always `ruby`, which is CRuby.
    pub engine: String,
    /// The version whose extensions it loads, such as `3.3.0`.
    pub ruby_version: String,
    /// Such as `x86_64-linux-gnu`.
    pub arch: String,
    /// The interpreter itself.
    pub path: PathBuf,
}

/// Why there is no Ruby to work with. Each message says what works all the same.
#[derive(Debug, Error)]
pub enum RubyError {
    #[error(
        "no Ruby: cannot run {program:?} ({source}); install Ruby 3.2 or newer, or put it on PATH. \
         {WITHOUT_RUBY}"
    )]
    Missing {
        program: String,
        source: std::io::Error,
    },
    #[error("Ruby {version} at {path} is too old: the agent needs 3.2 or newer. {WITHOUT_RUBY}")]
    TooOld { version: String, path: PathBuf },
    #[error("{engine} {version} at {path} is not CRuby, which the agent needs. {WITHOUT_RUBY}")]
    OtherEngine {
        engine: String,
        version: String,
        path: PathBuf,
    },
    #[error("{program:?} does not answer as a Ruby does: {said}. {WITHOUT_RUBY}")]
    Odd { program: String, said: String },
}

const WITHOUT_RUBY: &str = "`powerband report` and `powerband runs` work without Ruby";

/// Asks `program` what it is.
///
/// # Errors
/// When it cannot be run, is no CRuby, or is older than 3.2.
pub fn probe(program: impl AsRef<OsStr>) -> Result<RubyInfo, RubyError> {
    ask(Command::new(program.as_ref()))
}

/// Asks `program` what it is when it runs in `dir` with `env` on top of this process's environment, as
/// the application's server will: a version manager chooses by the folder (`.ruby-version`) and by
/// variables. A bare name is looked for on `env`'s `PATH` if that has one.
///
/// # Errors
/// As for [`probe`]; a folder that is not there counts as [`RubyError::Missing`].
pub fn probe_in(
    program: impl AsRef<OsStr>,
    dir: &Path,
    env: &BTreeMap<String, String>,
) -> Result<RubyInfo, RubyError> {
    let mut command = Command::new(program.as_ref());
    command.current_dir(dir).envs(env);
    ask(command)
}

fn ask(mut command: Command) -> Result<RubyInfo, RubyError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .args(["-e", ASK])
        // What a user preloads into every Ruby may print, and is not asked about here.
        .env_remove("RUBYOPT")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| RubyError::Missing {
            program: name.clone(),
            source,
        })?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said
            .lines()
            .next()
            .unwrap_or("it failed silently")
            .to_string();
        return Err(RubyError::Odd {
            program: name,
            said,
        });
    }
    judge(&name, &said)
}

fn judge(program: &str, said: &str) -> Result<RubyInfo, RubyError> {
    let odd = || RubyError::Odd {
        program: program.into(),
        said: format!("{said:?}"),
    };
    let lines: Vec<&str> = said.lines().collect();
    let [version, engine, ruby_version, arch, path] = lines.as_slice() else {
        return Err(odd());
    };
    let (version, path) = ((*version).to_string(), PathBuf::from(path));
    if *engine != "ruby" {
        return Err(RubyError::OtherEngine {
            engine: (*engine).into(),
            version,
            path,
        });
    }
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return Err(odd());
    };
    if (major, minor) < OLDEST {
        return Err(RubyError::TooOld { version, path });
    }
    Ok(RubyInfo {
        version,
        engine: (*engine).into(),
        ruby_version: (*ruby_version).into(),
        arch: (*arch).into(),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ruby_that_is_installed_will_do() {
        let ruby = probe("ruby").unwrap();
        assert_eq!(ruby.engine, "ruby");
        assert!(
            ruby.path.is_file() && ruby.ruby_version.ends_with(".0"),
            "{ruby:?}"
        );
    }

    /// A stand-in for a version manager's shim: `ruby` on its own `PATH`, which chooses by the folder.
    #[test]
    fn a_version_manager_is_asked_in_the_applications_folder() {
        use std::os::unix::fs::PermissionsExt;

        let shims = tempfile::tempdir().unwrap();
        let shim = shims.path().join("ruby");
        let text = "#!/bin/sh\nread version < .ruby-version || exit 1\n\
                    echo $version; echo ruby; echo $ABI; echo x86_64-linux; echo /opt/$version/bin/ruby\n";
        std::fs::write(&shim, text).unwrap();
        std::fs::set_permissions(&shim, std::fs::Permissions::from_mode(0o700)).unwrap();
        let env = BTreeMap::from([
            ("PATH".to_string(), shims.path().display().to_string()),
            ("ABI".to_string(), "3.3.0".to_string()),
        ]);
        for version in ["3.3.8", "3.4.1"] {
            let app = tempfile::tempdir().unwrap();
            std::fs::write(app.path().join(".ruby-version"), format!("{version}\n")).unwrap();
            let ruby = probe_in("ruby", app.path(), &env).unwrap();
            assert_eq!(
                (ruby.version.as_str(), ruby.ruby_version.as_str()),
                (version, "3.3.0")
            );
            assert_eq!(ruby.path, PathBuf::from(format!("/opt/{version}/bin/ruby")));
        }
        let none = tempfile::tempdir().unwrap();
        let error = probe_in("ruby", &none.path().join("absent"), &env).unwrap_err();
        assert!(matches!(error, RubyError::Missing { .. }), "{error}");
    }

    #[test]
    fn what_will_not_do_is_named_with_what_still_works() {
        let said = |version: &str, engine: &str| {
            judge(
                "ruby",
                &format!("{version}\n{engine}\n3.1.0\nx86_64-linux\n/usr/bin/ruby\n"),
            )
        };
        for (answer, named) in [
            (said("3.1.2", "ruby"), "3.1.2"),
            (said("2.7.8", "ruby"), "2.7.8"),
            (said("3.2.0", "truffleruby"), "truffleruby"),
            (judge("ruby", "hello\n"), "hello"),
            (probe("no-such-ruby"), "no-such-ruby"),
            (probe("false"), "false"),
        ] {
            let message = answer.unwrap_err().to_string();
            assert!(
                message.contains(named) && message.contains("powerband report"),
                "{message}"
            );
        }
        assert!(
            said("3.10.0", "ruby").is_ok(),
            "versions are numbers, not text"
        );
    }
}
