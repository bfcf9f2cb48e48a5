//! What a Ruby says of itself when it starts as the server's does: of variables that it takes or ignores, of YJIT, of huge
//! pages. All of it in one start.
//!
//! Nothing of the application is loaded, no gem either, and what `RUBYOPT` names is left out: it is other people's code, and
//! could do anything.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A Ruby, and how it is started.
#[derive(Clone, Copy)]
pub struct Interpreter<'a> {
    /// A name is looked for on the `PATH`.
    pub program: &'a OsStr,
    /// Version managers choose by the folder.
    pub folder: Option<&'a Path>,
    pub environment: &'a BTreeMap<String, String>,
    /// The environment is all there is; else it comes on top of this process's own.
    pub alone: bool,
    /// With what `LD_PRELOAD` names; else that is left out as well.
    pub preloads: bool,
}

/// The environment's values stay out of messages and panics.
impl std::fmt::Debug for Interpreter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} in {:?}", self.program, self.folder)
    }
}

/// What a probe of the interpreter found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RubyProbe {
    /// What `-w` makes it print about the variables that it takes, refuses or has given up.
    pub stderr: String,
    /// Whether YJIT runs; `None` where Ruby was built without it.
    pub yjit: Option<bool>,
    /// The program that runs, whatever chose it.
    pub program: PathBuf,
    /// Its own `/proc/self/status`.
    pub status: String,
}

const STATE: &str = "puts defined?(RubyVM::YJIT) ? RubyVM::YJIT.enabled? : 'absent', \
                     File.readlink('/proc/self/exe'), File.read('/proc/self/status')";

impl Interpreter<'_> {
    /// Starts the interpreter once and reads what it prints.
    ///
    /// # Errors
    /// A clause that says why it could not be asked.
    pub fn probe(&self) -> Result<RubyProbe, String> {
        let output = self.run(&["-w", "--disable-gems", "-e", STATE])?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let mut parts = printed.splitn(3, '\n');
        let (Some(yjit), Some(program), Some(status)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err("Ruby printed nothing".to_owned());
        };
        Ok(RubyProbe {
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            yjit: match yjit {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            },
            program: program.into(),
            status: status.to_owned(),
        })
    }

    fn run(&self, arguments: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(self.program);
        if self.alone {
            command.env_clear();
        }
        command.envs(self.environment);
        command.env_remove("RUBYOPT");
        if !self.preloads {
            command.env_remove("LD_PRELOAD");
        }
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        let name = Path::new(self.program).display();
        let output = command
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("{name} cannot be started: {e}"))?;
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("it said nothing");
        Err(format!("{name} ended with {}: {said}", output.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<T>(environment: &[(&str, &str)], ask: impl Fn(&Interpreter<'_>) -> T) -> T {
        let environment = environment
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        ask(&Interpreter {
            program: OsStr::new("ruby"),
            folder: None,
            environment: &environment,
            alone: false,
            preloads: false,
        })
    }

    #[test]
    fn ruby_names_the_settings_that_it_takes_and_refuses() {
        let environment = [
            ("RUBY_GC_MALLOC_LIMIT", "64000000"),
            ("RUBY_GC_OLDMALLOC_LIMIT_GROWTH_FACTOR", "0.5"),
            ("RUBY_GC_NO_SUCH_THING", "1"),
            // It would end with an error if this were heeded.
            ("RUBYOPT", "-rno/such/file"),
        ];
        let said = asked(&environment, |ruby| ruby.probe()).unwrap().stderr;
        assert!(said.contains("RUBY_GC_MALLOC_LIMIT=64000000"), "{said}");
        assert!(
            said.contains("RUBY_GC_OLDMALLOC_LIMIT_GROWTH_FACTOR") && said.contains("ignored"),
            "{said}"
        );
        assert!(!said.contains("NO_SUCH_THING"), "{said}");
    }

    #[test]
    fn it_tells_how_it_starts() {
        let probe = asked(&[("POWERBAND_TEST_VALUE", "x")], |ruby| ruby.probe()).unwrap();
        assert!(probe.status.contains("Name:"), "{probe:?}");
        assert!(probe.program.is_file(), "{probe:?}");
        assert_eq!(probe.stderr, "");
    }

    #[test]
    fn a_value_that_it_ignores_is_reported() {
        let environment = [("RUBY_GC_HEAP_GROWTH_FACTOR", "0.5"), ("RUBYLIB", "x")];
        let probe = asked(&environment, |ruby| ruby.probe()).unwrap();
        assert!(probe.stderr.contains("is ignored"), "{probe:?}");
        let nowhere = Interpreter {
            program: OsStr::new("no-such-ruby"),
            folder: Some(&std::env::temp_dir()),
            environment: &BTreeMap::new(),
            alone: false,
            preloads: true,
        };
        assert!(nowhere.probe().is_err());
    }

    #[test]
    fn what_is_no_ruby_is_an_error() {
        let environment = BTreeMap::new();
        let with = |program| Interpreter {
            program: OsStr::new(program),
            folder: None,
            environment: &environment,
            alone: true,
            preloads: false,
        };
        assert!(
            with("/no/such/ruby")
                .probe()
                .unwrap_err()
                .contains("cannot be started")
        );
        assert!(
            with("/bin/false")
                .probe()
                .unwrap_err()
                .contains("ended with")
        );
        assert!(
            with("/bin/true")
                .probe()
                .unwrap_err()
                .contains("printed nothing")
        );
    }
}
