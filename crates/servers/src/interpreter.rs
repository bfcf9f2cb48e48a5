//! What a Ruby says of itself when it starts as the server's does: of settings that it ignores, of YJIT, of huge pages.
//!
//! Nothing of the application is loaded, no gem either, and what `RUBYOPT` and `LD_PRELOAD` name is left out: it is
//! other people's code, and could do anything.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A Ruby, and how it is started.
#[derive(Debug, Clone, Copy)]
pub struct Interpreter<'a> {
    /// A name is looked for on the `PATH`.
    pub program: &'a OsStr,
    /// Version managers choose by the folder.
    pub folder: Option<&'a Path>,
    pub environment: &'a BTreeMap<String, String>,
    /// The environment is all there is; else it comes on top of this process's own.
    pub alone: bool,
}

/// How a Ruby starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// `--yjit` switches it on.
    pub has_yjit: bool,
    /// Its own `/proc/self/status`.
    pub status: String,
}

const STATE: &str = "print defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? 'yjit' : 'none', \"\\n\", File.read('/proc/self/status')";

impl Interpreter<'_> {
    /// What it prints about the `RUBY_…` variables that it takes, refuses or has given up, as `-w` makes it.
    ///
    /// # Errors
    /// A clause that says why it could not be asked.
    pub fn words_on_settings(&self) -> Result<String, String> {
        let output = self.run(&["-w", "--disable-gems", "-e", ""])?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// How it starts with YJIT asked for.
    ///
    /// # Errors
    /// As for [`Interpreter::words_on_settings`].
    pub fn started(&self) -> Result<Started, String> {
        let output = self.run(&["--disable-gems", "--yjit", "-e", STATE])?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let (yjit, status) = printed
            .split_once('\n')
            .ok_or_else(|| "Ruby printed nothing".to_owned())?;
        Ok(Started {
            has_yjit: yjit == "yjit",
            status: status.to_owned(),
        })
    }

    fn run(&self, arguments: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(self.program);
        if self.alone {
            command.env_clear();
        }
        command.envs(self.environment);
        for code in ["RUBYOPT", "LD_PRELOAD"] {
            command.env_remove(code);
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
        let said = asked(&environment, |ruby| ruby.words_on_settings()).unwrap();
        assert!(said.contains("RUBY_GC_MALLOC_LIMIT=64000000"), "{said}");
        assert!(
            said.contains("RUBY_GC_OLDMALLOC_LIMIT_GROWTH_FACTOR") && said.contains("ignored"),
            "{said}"
        );
        assert!(!said.contains("NO_SUCH_THING"), "{said}");
    }

    #[test]
    fn it_tells_how_it_starts() {
        let started = asked(&[], |ruby| ruby.started()).unwrap();
        assert!(started.status.contains("Name:"), "{started:?}");
    }

    #[test]
    fn what_is_no_ruby_is_an_error() {
        let environment = BTreeMap::new();
        let with = |program| Interpreter {
            program: OsStr::new(program),
            folder: None,
            environment: &environment,
            alone: true,
        };
        assert!(
            with("/no/such/ruby")
                .started()
                .unwrap_err()
                .contains("cannot be started")
        );
        assert!(
            with("/bin/false")
                .words_on_settings()
                .unwrap_err()
                .contains("ended with")
        );
        assert!(
            with("/bin/true")
                .started()
                .unwrap_err()
                .contains("printed nothing")
        );
    }
}
