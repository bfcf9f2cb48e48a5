//! Which Ruby there is, and whether the agent can work in it.

use std::ffi::OsStr;
use std::path::PathBuf;
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
    let program = program.as_ref();
    let name = program.to_string_lossy().into_owned();
    let output = Command::new(program)
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
