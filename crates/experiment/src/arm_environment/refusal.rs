//! Why an arm's environment is not taken, asked of Ruby before the first trial.

use super::Variables;
use crate::request::{Arm, Experiment};
use knobs::{Allocator, Overlay, Version};
use servers::interpreter::Interpreter;
use servers::ruby::RubyInfo;
use std::ffi::OsStr;
use std::fmt;

/// One reason, as a line for the user.
#[derive(Debug)]
pub enum Refusal {
    /// This Ruby does not take it; another may.
    ByThisRuby { what: String, remedy: String },
    /// Whatever Ruby runs it, as far as is known.
    ByAny(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::ByThisRuby { what, remedy } => write!(f, "{what}; {remedy}"),
            Refusal::ByAny(why) => f.write_str(why),
        }
    }
}

/// `named`: is appended to an error about a Ruby that is not the default one.
pub fn not_in_this_version(overlay: &Overlay, found: &RubyInfo, named: &str) -> Vec<Refusal> {
    let Some(version) = Version::of(&found.version) else {
        return Vec::new();
    };
    let wrong = |knob: &knobs::Knob| {
        let wrong = knob.works_in(version).err()?;
        Some(Refusal::ByThisRuby {
            what: format!("{}: {}{named}", knob.name, wrong.what),
            remedy: wrong.remedy,
        })
    };
    overlay.of_catalogue().filter_map(wrong).collect()
}

/// Of a Ruby without glibc: what is glibc's alone does nothing there.
pub fn not_in_this_libc(overlay: &Overlay, found: &RubyInfo, named: &str) -> Option<Refusal> {
    let knob = match overlay.needs()? {
        (knob, Allocator::Glibc) if found.arch.contains("musl") => knob,
        _ => return None,
    };
    let version = &found.version;
    Some(Refusal::ByThisRuby {
        what: format!(
            "{knob}: it is for glibc's malloc, and Ruby {version} is linked with musl{named}"
        ),
        remedy: "leave it out; allocator = jemalloc and others replace musl's malloc, too"
            .to_owned(),
    })
}

/// What Ruby says against the arm's variables when it is started with them.
pub fn refused(
    arm: &Arm,
    experiment: &Experiment,
    program: &OsStr,
    found: &RubyInfo,
    variables: Variables,
) -> Vec<Refusal> {
    if variables.is_empty() {
        return Vec::new();
    }
    let mut env = experiment.env.clone();
    env.extend(variables.clone());
    let ruby = Interpreter {
        program,
        folder: Some(&experiment.app_dir),
        environment: &env,
        alone: false,
        preloads: true,
    };
    let probe = match ruby.probe() {
        Ok(probe) => probe,
        // Whether the value is to blame, or a start that failed by chance, is not known.
        Err(error) => return vec![Refusal::ByAny(format!("{arm}: {error}"))],
    };
    let version = &found.version;
    let mut refused: Vec<Refusal> = knobs::refusals(&probe.stderr, &variables)
        .into_iter()
        .map(|line| Refusal::ByThisRuby {
            what: format!("{arm}: Ruby {version} does not take it: {line}"),
            remedy: "give another value, or leave the knob out".to_owned(),
        })
        .collect();
    let wants_yjit = arm
        .overlay
        .chosen()
        .iter()
        .any(|c| c.knob == "yjit" && c.value == "on");
    if wants_yjit && probe.yjit != Some(true) {
        let why = match probe.yjit {
            None => "was built without YJIT",
            Some(_) => "does not start YJIT",
        };
        refused.push(Refusal::ByThisRuby {
            what: format!("{arm}: Ruby {version} at {} {why}", found.path.display()),
            remedy: "measure with one that has it, or leave yjit out".to_owned(),
        });
    }
    refused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_glibcs_alone_is_refused_for_a_ruby_linked_with_musl() {
        let linked = |arch: &str| RubyInfo {
            version: "3.3.8".to_owned(),
            engine: "ruby".to_owned(),
            ruby_version: "3.3.0".to_owned(),
            arch: arch.to_owned(),
            path: "/usr/bin/ruby".into(),
        };
        let refusal = |set: &[(&str, &str)], arch: &str| {
            let overlay = Overlay::of(set).unwrap();
            let refusal = not_in_this_libc(&overlay, &linked(arch), " (ruby = \"3.3\")");
            refusal.map(|refusal| refusal.to_string())
        };
        for of_glibc in [&[("malloc_arena_max", "2")], &[("allocator", "glibc")]] {
            let said = refusal(of_glibc, "x86_64-linux-musl").unwrap();
            let beginning = format!(
                "{}: it is for glibc's malloc, and Ruby 3.3.8 ",
                of_glibc[0].0
            );
            assert!(said.starts_with(&beginning), "{said}");
            assert!(
                said.contains("musl (ruby = \"3.3\"); leave it out"),
                "{said}"
            );
            assert_eq!(refusal(of_glibc, "x86_64-linux-gnu"), None);
        }
        for of_others in [
            &[("malloc_arena_max", "default")][..],
            &[("allocator", "jemalloc"), ("malloc_conf", "narenas:2")],
            &[("yjit", "on")],
        ] {
            assert_eq!(refusal(of_others, "x86_64-linux-musl"), None);
        }
    }
}
