//! The environment of each arm: what its knobs come to on this machine, whether the Ruby there takes them, and whether a
//! server that runs has them.

mod of_search;
mod refusal;

pub use of_search::RejectedValue;
use refusal::{Refusal, not_in_this_libc, not_in_this_version, refused};

use crate::arm_bundle::{ArmBundle, Bundles, Resolver, Variables};
use crate::arm_ruby::{PATH, Rubies};
use crate::error::Stopped;
use crate::pod::Pod;
use crate::progress::Watcher;
use crate::request::{Arm, Experiment, Goal};
use knobs::{Allocator, Overlay, PRELOAD};
use run::SetVariable;
use servers::Mismatch;
use servers::ruby::RubyInfo;
use servers::safety::{self, Danger};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Active Record's own variable, whose parameters win over `config/database.yml`.
const DATABASE: &str = "DATABASE_URL";

/// What arms need of this machine.
#[derive(Debug, Default)]
pub struct ArmEnvironments {
    libraries: BTreeMap<Allocator, PathBuf>,
    /// The Rubies that arms name.
    pub rubies: Rubies,
    bundles: Bundles,
    /// What a search does not try together.
    pub apart: Vec<RejectedValue>,
}

/// What arms are checked against.
struct Against<'a> {
    experiment: &'a Experiment,
    /// The Ruby that runs where none is named.
    found: &'a RubyInfo,
    /// The server's environment, but for what `app.prepare` adds.
    env: &'a Variables,
    /// The run folder.
    scratch: &'a Path,
    watcher: &'a dyn Watcher,
}

impl ArmEnvironments {
    /// Checks every arm against the Ruby that is there, finds allocators and makes bundles; everything wrong at once.
    pub fn check(
        experiment: &Experiment,
        found: &RubyInfo,
        env: &Variables,
        scratch: &Path,
        watcher: &dyn Watcher,
    ) -> Result<ArmEnvironments, Stopped> {
        let mut here = ArmEnvironments::default();
        let against = Against {
            experiment,
            found,
            env,
            scratch,
            watcher,
        };
        let mut wrong = here.check_search(&against)?;
        for arm in overlaid(experiment) {
            let refused = here.wrong_with(&arm, &against)?;
            wrong.extend(refused.iter().map(ToString::to_string));
        }
        if wrong.is_empty() {
            Ok(here)
        } else {
            let lines: Vec<String> = wrong.into_iter().collect();
            Err(Stopped::Configuration(lines.join("\n")))
        }
    }

    /// What is wrong with one arm.
    fn wrong_with(&mut self, arm: &Arm, against: &Against<'_>) -> Result<Vec<Refusal>, Stopped> {
        if against.watcher.cancelled() {
            return Err(Stopped::Interrupted);
        }
        let experiment = against.experiment;
        let named = arm.overlay.ruby();
        let no_ruby = named.and_then(|named| self.rubies.find(named, experiment).err());
        let no_pod = Pod::of(&arm.overlay).err();
        let missing = self.find_library(&arm.overlay).into_iter();
        let missing = missing.chain(no_ruby).chain(no_pod);
        let mut wrong: Vec<Refusal> = missing.map(Refusal::ByAny).collect();
        let (program, found, where_it_is) = match self.rubies.named(named) {
            Some(ruby) => (ruby.program.as_os_str(), &ruby.info, ruby.shown()),
            None => (OsStr::new("ruby"), against.found, String::new()),
        };
        wrong.extend(not_in_this_version(&arm.overlay, found, &where_it_is));
        wrong.extend(not_in_this_libc(&arm.overlay, found, &where_it_is));
        if wrong.is_empty() {
            let variables = self.variables(&arm.overlay, &experiment.env);
            wrong = refused(arm, experiment, program, found, variables.clone());
            let mut env = against.env.clone();
            env.extend(variables);
            let resolver = Resolver {
                app_dir: &experiment.app_dir,
                scratch: against.scratch,
                ruby: program,
                env,
            };
            wrong.extend(wrong_with_bundle(
                &mut self.bundles,
                arm,
                experiment,
                &resolver,
            ));
        }
        Ok(wrong)
    }

    /// What is wrong when the library of the allocator is not there.
    fn find_library(&mut self, overlay: &Overlay) -> Option<String> {
        let allocator = overlay.allocator().filter(|a| *a != Allocator::Glibc)?;
        if self.libraries.contains_key(&allocator) {
            return None;
        }
        match servers::allocator_library(allocator) {
            Ok(path) => {
                self.libraries.insert(allocator, path);
                None
            }
            Err(missing) => Some(missing),
        }
    }

    /// The variables of an arm on top of the application's own environment `env`.
    pub fn variables(&self, overlay: &Overlay, env: &Variables) -> Variables {
        let mut variables = overlay.variables();
        if let Some(allocator) = overlay.allocator() {
            let existing = env
                .get(PRELOAD)
                .cloned()
                .or_else(|| std::env::var(PRELOAD).ok());
            let library = self.libraries.get(&allocator).map(|path| path.display());
            let library = library.map(|path| path.to_string());
            let preload = knobs::preload(existing.as_deref(), library.as_deref());
            variables.insert(PRELOAD.to_owned(), preload);
        }
        if let Some(ruby) = self.rubies.named(overlay.ruby()) {
            let existing = env.get(PATH).cloned();
            let existing = existing.or_else(|| std::env::var(PATH).ok());
            variables.insert(PATH.to_owned(), ruby.path(&existing.unwrap_or_default()));
        }
        if let Some(bundle) = self.bundles.of(overlay) {
            variables.extend(bundle.variables());
        }
        if let Some(pool) = overlay.pool() {
            let given = variables
                .get(DATABASE)
                .or_else(|| env.get(DATABASE))
                .cloned();
            if let Some(url) = given.or_else(|| std::env::var(DATABASE).ok()) {
                variables.insert(DATABASE.to_owned(), with_pool(&url, pool));
            }
        }
        variables
    }

    /// The bundle that Powerband has made for an arm.
    pub fn bundle(&self, overlay: &Overlay) -> Option<&ArmBundle> {
        self.bundles.of(overlay)
    }

    /// The same for the run document: secrets left out.
    pub fn told(&self, overlay: &Overlay, env: &Variables) -> Vec<SetVariable> {
        let variables = self.variables(overlay, env);
        let told = |chosen: knobs::Chosen| {
            // What is no variable, or only a part of one, holds its value.
            let holds = variables.get(&chosen.variable);
            let holds = holds.filter(|_| chosen.variable != PATH);
            let gem = chosen.knob.strip_prefix(knobs::GEM);
            let version = gem.and_then(|gem| self.bundles.of(overlay)?.versions.get(gem));
            let holds = holds.or(version).unwrap_or(&chosen.value);
            SetVariable {
                holds: knobs::shown_of(&chosen.knob, &chosen.variable, holds).to_owned(),
                knob: chosen.knob,
                value: chosen.value,
                variable: chosen.variable,
            }
        };
        overlay.chosen().into_iter().map(told).collect()
    }

    /// What of the arm did not take in a server, by its processes: the first that is found.
    pub fn not_taken(&self, arm: &Arm, env: &Variables, pids: &BTreeSet<u32>) -> Option<Mismatch> {
        let asked = self.variables(&arm.overlay, env);
        pids.iter().find_map(|pid| {
            let environment = match servers::environment_of(*pid) {
                Ok(environment) => environment,
                Err(error) => return unreadable(*pid, &error),
            };
            variable_not_taken(&arm.overlay, &asked, &environment).or_else(|| {
                let (knob, allocator) = arm.overlay.needs()?;
                match servers::mapped_files(*pid) {
                    Ok(files) => allocator_not_taken(&arm.overlay, knob, allocator, &files),
                    Err(error) => unreadable(*pid, &error),
                }
            })
        })
    }
}

/// Why the arm has no bundle. Each revision has its own Gemfile, and one bundle for both would hide what they change there.
fn wrong_with_bundle(
    bundles: &mut Bundles,
    arm: &Arm,
    experiment: &Experiment,
    resolver: &Resolver<'_>,
) -> Option<Refusal> {
    let of_revisions = !experiment.revisions.all.is_empty();
    let why = match (of_revisions, arm.overlay.gems().first_key_value()) {
        (false, _) => bundles.make(&arm.overlay, resolver).err(),
        (true, None) => None,
        (true, Some((gem, version))) => Some(format!(
            "{}{gem}={version}: the revisions of a check run with the gems of their own Gemfiles; leave it out",
            knobs::GEM
        )),
    };
    why.map(Refusal::ByAny)
}

/// The URL with this pool, whatever it says of one.
fn with_pool(url: &str, pool: u32) -> String {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let others = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("pool="));
    let pairs: Vec<String> = others
        .map(str::to_owned)
        .chain([format!("pool={pool}")])
        .collect();
    format!("{place}?{}", pairs.join("&"))
}

/// The arms that set anything, the first of those that set the same; in a search, today's.
fn overlaid(experiment: &Experiment) -> Vec<Arm> {
    let arms = match (&experiment.goal, &experiment.workload_command) {
        (Goal::Arms { arms, .. }, _) => arms.clone(),
        (Goal::Tune, Some(command)) => {
            let settings = experiment.kind.defaults();
            vec![Arm::with(settings, command.today.clone()).of_command()]
        }
        (Goal::Tune, None) => Vec::new(),
    };
    let mut seen = HashSet::new();
    let arms = arms.into_iter();
    arms.filter(|arm| !arm.overlay.is_empty() && seen.insert(arm.overlay.clone()))
        .collect()
}

/// Addresses in arms' own variables that are not on this machine.
pub fn remote(experiment: &Experiment, env: &Variables) -> Vec<Danger> {
    let arms = overlaid(experiment).into_iter().map(|arm| arm.overlay);
    let overlays = arms.chain(of_search::values(experiment));
    let found = overlays.flat_map(|overlay| {
        let mut env = env.clone();
        env.extend(overlay.variables());
        safety::check(&env, &experiment.app_dir, &experiment.allow_remote)
    });
    found.collect()
}

fn variable_not_taken(
    overlay: &Overlay,
    asked: &Variables,
    environment: &Variables,
) -> Option<Mismatch> {
    overlay.chosen().into_iter().find_map(|chosen| {
        // Start scripts put folders of their own first; which Ruby it comes to is read back by itself.
        let key = asked
            .get(&chosen.variable)
            .filter(|_| chosen.variable != PATH)?;
        let found = environment.get(&chosen.variable);
        // Where nothing was to be there, nothing will do.
        if found.map_or("", String::as_str) == key {
            return None;
        }
        let name = &chosen.variable;
        Some(Mismatch {
            asked: format!("{} ({name}={})", chosen.value, knobs::shown(name, key)),
            runs_with: match found {
                Some(value) => format!("{name}={}", knobs::shown(name, value)),
                None => format!("no {name}"),
            },
            knob: chosen.knob.into(),
            hint: "the start command, or a script in it, sets a value of its own; take that out",
        })
    })
}

/// What is wrong where a process has another allocator than the knob is for.
fn allocator_not_taken(
    overlay: &Overlay,
    knob: &'static str,
    asked: Allocator,
    files: &BTreeSet<String>,
) -> Option<Mismatch> {
    let chosen = overlay.chosen().into_iter().find(|c| c.knob == knob);
    let value = chosen.map(|chosen| chosen.value).unwrap_or_default();
    let runs_with = Allocator::mapped(files.iter().map(String::as_str));
    (runs_with != asked).then(|| Mismatch {
        knob: knob.into(),
        asked: match knob {
            "allocator" => value,
            _ => format!("{value} (of {})", asked.name()),
        },
        runs_with: runs_with.name().to_owned(),
        hint: match asked {
            _ if knob != "allocator" => "that one does not look at it; name the allocator with the knob allocator too",
            Allocator::Glibc => "Ruby, or a gem, is linked with that one; measure with a Ruby that is not",
            _ => "the start command clears LD_PRELOAD, or its library was not loaded; the server's log says why",
        },
    })
}

/// A process that has ended has nothing to read back; one that cannot be read is not known to have taken anything.
fn unreadable(pid: u32, error: &std::io::Error) -> Option<Mismatch> {
    (error.kind() != std::io::ErrorKind::NotFound).then(|| Mismatch {
        knob: "the environment".into(),
        asked: "one of its own".to_owned(),
        runs_with: format!("one that cannot be read (process {pid}: {error})"),
        hint: "run powerband as the server's user",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Settings;

    fn overlay(settings: &[(&str, &str)]) -> Overlay {
        Overlay::of(settings).unwrap()
    }

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn a_variable_that_did_not_take_is_reported_without_its_secret() {
        let overlay = overlay(&[("malloc_arena_max", "2"), ("env.API_KEY", "hunter2")]);
        let asked = overlay.variables();
        let runs = |pairs: &[(&str, &str)]| {
            variable_not_taken(&overlay, &asked, &variables(pairs)).map(|m| m.to_string())
        };
        assert_eq!(
            runs(&[("MALLOC_ARENA_MAX", "2"), ("API_KEY", "hunter2")]),
            None
        );
        let other = runs(&[("MALLOC_ARENA_MAX", "4"), ("API_KEY", "hunter2")]).unwrap();
        assert!(
            other.contains("malloc_arena_max = 2") && other.contains("MALLOC_ARENA_MAX=4"),
            "{other}"
        );
        let secret = runs(&[("MALLOC_ARENA_MAX", "2"), ("API_KEY", "hunter3")]).unwrap();
        assert!(
            secret.contains("REDACTED") && !secret.contains("hunter"),
            "{secret}"
        );
        assert!(
            runs(&[("API_KEY", "hunter2")])
                .unwrap()
                .contains("no MALLOC_ARENA_MAX")
        );
    }

    #[test]
    fn a_pool_is_a_parameter_of_the_database_s_url() {
        for (url, with) in [
            ("sqlite3:/a/b", "sqlite3:/a/b?pool=7"),
            (
                "postgres://h/d?pool=5&sslmode=off",
                "postgres://h/d?sslmode=off&pool=7",
            ),
        ] {
            assert_eq!(with_pool(url, 7), with);
        }
        let here = ArmEnvironments::default();
        let env = variables(&[("DATABASE_URL", "sqlite3:/x")]);
        let set = here.variables(&overlay(&[("pool", "7")]), &env);
        assert_eq!(set["DATABASE_URL"], "sqlite3:/x?pool=7");
    }

    #[test]
    fn a_default_is_a_variable_that_is_empty_or_absent() {
        let overlay = overlay(&[("malloc_arena_max", "default")]);
        let asked = overlay.variables();
        assert!(variable_not_taken(&overlay, &asked, &variables(&[])).is_none());
        let set = variables(&[("MALLOC_ARENA_MAX", "2")]);
        assert!(variable_not_taken(&overlay, &asked, &set).is_some());
    }

    #[test]
    fn an_allocator_is_read_back_from_what_is_mapped() {
        let mapped = |file: &str| BTreeSet::from([file.to_owned()]);
        let (je, libc) = (
            mapped("/usr/lib/libjemalloc.so.2"),
            mapped("/usr/lib/libc.so.6"),
        );
        let told = |knob: &str, value: &str, files: &BTreeSet<String>| {
            let overlay = overlay(&[(knob, value)]);
            let (knob, allocator) = overlay.needs().unwrap();
            allocator_not_taken(&overlay, knob, allocator, files).map(|m| m.to_string())
        };
        assert_eq!(told("allocator", "jemalloc", &je), None);
        for (knob, value, files, said) in [
            (
                "allocator",
                "glibc",
                &je,
                "allocator = glibc was asked, the server runs with jemalloc",
            ),
            ("allocator", "tcmalloc", &libc, "runs with glibc"),
            (
                "malloc_conf",
                "narenas:1",
                &libc,
                "malloc_conf = narenas:1 (of jemalloc) was asked",
            ),
            ("malloc_arena_max", "2", &je, "that one does not look at it"),
        ] {
            let message = told(knob, value, files).unwrap();
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn this_process_has_what_it_has() {
        let here = ArmEnvironments::default();
        let arm = |settings: &[(&str, &str)]| Arm::with(Settings::PUMA_DEFAULT, overlay(settings));
        let me = BTreeSet::from([std::process::id()]);
        let lacks = here.not_taken(&arm(&[("env.SURELY_NOT_SET", "1")]), &variables(&[]), &me);
        assert_eq!(lacks.unwrap().knob, "env.SURELY_NOT_SET");
        let glibc = here.not_taken(&arm(&[("allocator", "glibc")]), &variables(&[]), &me);
        assert!(glibc.is_none(), "{glibc:?}");
        // It has ended: nothing to say.
        let gone = BTreeSet::from([u32::MAX >> 1]);
        assert!(
            here.not_taken(&arm(&[("env.SURELY_NOT_SET", "1")]), &variables(&[]), &gone)
                .is_none()
        );
    }
}
