//! The experiment's file and the one beside it that names halted arms, as they lie on the disk.

use crate::{Failure, output};
use fleet::{Experiment, Halted};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Reads the experiment; every problem of the file at once.
pub(super) fn read(file: &Path) -> Result<Experiment, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| {
        Failure::usage(format!(
            "{shown}: {e}; name an experiment file that can be read (docs/experiment.md)"
        ))
    })?;
    fleet::read(&text).map_err(|problems| {
        let lines = problems.iter().map(|problem| format!("{shown}: {problem}"));
        Failure::usage(lines.collect::<Vec<_>>().join("\n"))
    })
}

/// `FILE.halted`.
pub(super) fn halted_path(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".halted");
    path.into()
}

/// The halted arms; what is wrong with their file as an error.
pub(super) fn halted_or_wrong(file: &Path) -> Result<Vec<Halted>, String> {
    let path = halted_path(file);
    match std::fs::read_to_string(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("{}: {e}", path.display())),
        Ok(text) => fleet::halted(&text).map_err(|e| format!("{}: {e}", path.display())),
    }
}

/// The halted arms for a start. A server has to start whatever somebody wrote there, so with a damaged file every arm is halted: none of
/// them is started against an order that cannot be read.
pub(super) fn halted(file: &Path, experiment: &Experiment) -> Vec<Halted> {
    halted_or_wrong(file).unwrap_or_else(|wrong| {
        output::error(&format!(
            "{wrong}; until it is corrected, only the first arm is run"
        ));
        let arms = experiment.arms.iter().skip(1);
        arms.map(|arm| Halted {
            arm: arm.name.clone(),
            at: String::new(),
            reason: wrong.clone(),
        })
        .collect()
    })
}
