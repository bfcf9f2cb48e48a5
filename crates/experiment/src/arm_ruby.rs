//! The knob `ruby`: which Ruby runs an arm, where it is, and whether a server's processes run it.

use crate::request::Experiment;
use servers::Mismatch;
use servers::installed_rubies::{RubyPlaces, is_ruby_version};
use servers::interpreter::Interpreter;
use servers::ruby::{self, RubyInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variable in which programs are looked for.
pub const PATH: &str = "PATH";

/// A Ruby that was named.
#[derive(Debug)]
pub struct ArmRuby {
    /// What is started.
    pub program: PathBuf,
    /// What a process that runs it has mapped: a shim or a link is not there.
    runs: PathBuf,
    pub info: RubyInfo,
    /// The agent's extension for it; `None` where no agent is wanted.
    pub agent: Option<PathBuf>,
}

/// Those of all arms, by how they were named.
#[derive(Debug, Default)]
pub struct Rubies(BTreeMap<String, ArmRuby>);

impl Rubies {
    /// Finds the Ruby of that name, from the configuration's folder on; what is wrong where there is none.
    pub fn find(&mut self, named: &str, experiment: &Experiment) -> Result<(), String> {
        if self.0.contains_key(named) {
            return Ok(());
        }
        let program = program(named, experiment)?;
        let told = |wrong: String| format!("ruby = {named:?}: {wrong}");
        let info = ruby::probe_in(&program, &experiment.app_dir, &experiment.env)
            .map_err(|e| told(e.to_string()))?;
        let asked = Interpreter {
            program: program.as_os_str(),
            folder: Some(&experiment.app_dir),
            environment: &experiment.env,
            alone: false,
            preloads: false,
        };
        let runs = asked.probe().map_err(told)?.program;
        let found = ArmRuby {
            program,
            runs,
            info,
            agent: None,
        };
        self.0.insert(named.to_owned(), found);
        Ok(())
    }

    pub fn named(&self, name: Option<&str>) -> Option<&ArmRuby> {
        self.0.get(name?)
    }

    pub fn each(&mut self) -> impl Iterator<Item = &mut ArmRuby> {
        self.0.values_mut()
    }
}

/// The file of that name, else the installed Ruby of that version.
fn program(named: &str, experiment: &Experiment) -> Result<PathBuf, String> {
    let file = experiment.base_dir.join(named);
    if file.is_file() {
        return Ok(file);
    }
    if !is_ruby_version(named) {
        return Err(format!(
            "ruby = {named:?}: {} is no file; give the path of a ruby, such as /opt/ruby-3.4/bin/ruby, or an installed version, such as 3.4",
            file.display()
        ));
    }
    let variable = |name: &str| {
        let given = experiment.env.get(name).map(OsString::from);
        given.or_else(|| std::env::var_os(name))
    };
    let (path, home, rbenv) = (variable(PATH), variable("HOME"), variable("RBENV_ROOT"));
    let places = RubyPlaces::of(path.as_deref(), home.as_deref(), rbenv.as_deref());
    places.find(named).ok_or_else(|| {
        format!(
            "ruby = {named:?}: no such Ruby is installed where rbenv, asdf, mise, chruby and RVM have theirs, and PATH has no ruby{named}; \
             install it, or give the path of a ruby"
        )
    })
}

impl ArmRuby {
    /// `PATH` with its folder first, so that what it starts by name is its own.
    pub fn path(&self, existing: &str) -> String {
        let folder = self.program.parent().unwrap_or(Path::new("/"));
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(existing));
        let joined = std::env::join_paths(folders);
        joined.map_or_else(
            |_| existing.to_owned(),
            |path| path.to_string_lossy().into_owned(),
        )
    }

    /// Is appended to an error about it, since it is not the default Ruby.
    pub fn shown(&self) -> String {
        format!(
            " (Ruby {} at {})",
            self.info.version,
            self.info.path.display()
        )
    }

    /// The first of these processes, in which the agent records, that runs another.
    pub fn not_running(&self, named: &str, pids: &BTreeSet<u32>) -> Option<Mismatch> {
        let runs = self.runs.display().to_string();
        pids.iter().find_map(|pid| {
            // One that has ended has nothing to read back.
            let files = servers::mapped_files(*pid).ok()?;
            let its_own = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            (!files.contains(&runs)).then(|| Mismatch {
                knob: "ruby".into(),
                asked: named.to_owned(),
                runs_with: its_own.display().to_string(),
                hint: "the start command, or a script in it, names a Ruby of its own; let it take the one that is first on PATH",
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruby(runs: &Path) -> ArmRuby {
        ArmRuby {
            program: "/opt/ruby/bin/ruby".into(),
            runs: runs.to_owned(),
            info: ruby::probe("ruby").unwrap(),
            agent: None,
        }
    }

    #[test]
    fn its_folder_comes_first_on_the_path() {
        let ruby = ruby(Path::new("/opt/ruby/bin/ruby"));
        assert_eq!(ruby.path("/usr/bin:/bin"), "/opt/ruby/bin:/usr/bin:/bin");
    }

    #[test]
    fn a_process_tells_by_what_it_runs() {
        let me = BTreeSet::from([std::process::id()]);
        let exe = std::fs::read_link("/proc/self/exe").unwrap();
        assert!(ruby(&exe).not_running("mine", &me).is_none());
        let other = ruby(Path::new("/opt/ruby/bin/ruby")).not_running("other", &me);
        let told = other.unwrap().to_string();
        assert!(told.contains("ruby = other was asked"), "{told}");
        assert!(told.contains(&exe.display().to_string()), "{told}");
    }
}
