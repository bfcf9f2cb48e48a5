//! `run --experiment`: the arm of this unit, and its variables in the command's environment.

use super::experiment_file::{self, variable};
use crate::{Failure, output};
use fleet::{Assigned, Experiment, Label, Outside, UnitKind};
use knobs::{Allocator, PRELOAD};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::BTreeMap;
use std::path::Path;

/// The variable from which the agent reads the arm.
const ARM: &str = "POWERBAND_ARM";

/// The arm's variables, with its label; prints which arm it is.
pub(super) fn variables(file: &Path, dry_run: bool) -> Result<BTreeMap<String, String>, Failure> {
    let experiment = experiment_file::read(file)?;
    let unit = unit(experiment.unit)?;
    let halted = experiment_file::halted(file, &experiment);
    let now_s = jiff::Timestamp::now().as_second();
    let assigned = fleet::assign(&experiment, &halted, &unit, now_s);
    let mut variables = assigned.arm.variables();
    if let Some(allocator) = assigned.arm.knobs.allocator() {
        variables.insert(PRELOAD.to_owned(), preloaded(allocator)?);
    }
    if let Ok(label) = &assigned.label {
        variables.insert(ARM.to_owned(), label.to_string());
    }
    let said = said(&experiment, &assigned, &unit);
    if dry_run {
        let shown = variables.iter().map(|(name, value)| {
            let value = knobs::shown(name, value);
            format!("{name}={value}\n")
        });
        output::print(&format!("{said}\n{}", shown.collect::<String>()))?;
    } else {
        output::say(&format!("powerband: {said}"));
    }
    Ok(variables)
}

fn said(experiment: &Experiment, assigned: &Assigned<'_>, unit: &str) -> String {
    let (name, arm) = (&experiment.name, &assigned.arm.name);
    let why = match (&assigned.label, assigned.drawn) {
        (
            Ok(Label {
                halted: Some(drawn),
                ..
            }),
            Some((_, period)),
        ) => {
            format!("in period {period}: {drawn} was drawn, but it is halted")
        }
        (Ok(_), Some((drawn, period))) => format!("in period {period}, drawn {:.6}", drawn.number),
        (Err(Outside::Before), _) => "because the experiment has not begun".to_owned(),
        _ => "because the experiment is over".to_owned(),
    };
    format!("experiment {name}: unit {unit} runs {arm} {why}")
}

/// The unit's name. A pod and a host keep it; each start of a process has another one.
fn unit(kind: UnitKind) -> Result<String, Failure> {
    let named = match variable("POWERBAND_UNIT")? {
        None => variable("HOSTNAME")?,
        given => given,
    };
    let name = named.unwrap_or_else(super::host_name);
    if kind != UnitKind::Process {
        return Ok(name);
    }
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        Failure::usage("the system has no random numbers for the unit's name; set unit = \"host\"")
    })?;
    Ok(format!("{name}/{:016x}", u64::from_be_bytes(bytes)))
}

/// `LD_PRELOAD` with the allocator's library in front.
fn preloaded(allocator: Allocator) -> Result<String, Failure> {
    let existing = std::env::var(PRELOAD).ok();
    if allocator == Allocator::Glibc {
        return Ok(knobs::preload(existing.as_deref(), None));
    }
    let library = servers::allocator_library(allocator).map_err(Failure::usage)?;
    Ok(knobs::preload(
        existing.as_deref(),
        Some(&library.to_string_lossy()),
    ))
}
