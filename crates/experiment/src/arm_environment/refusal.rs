//! Why an arm's environment is not taken, asked of Ruby before the first trial.

use super::Variables;
use crate::request::{Arm, Experiment};
use knobs::{Overlay, Version};
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
