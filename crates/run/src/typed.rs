//! What a run was asked, as it was typed: what `--resume` need not be given again.
//!
//! No contract: only the same version of powerband goes on with a run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The command line of a run, but for its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typed {
    /// The command's name.
    pub verb: String,
    /// Where it was typed: relative paths start there.
    pub directory: PathBuf,
    /// Values of each argument, by its name in the command's definition; of a switch none.
    pub given: BTreeMap<String, Vec<String>>,
    /// What may be secret and is not kept, as it is to be given again.
    pub withheld: Vec<Withheld>,
}

/// An argument whose values are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// Its name in the command's definition.
    pub argument: String,
    /// The variable or header field, where the argument sets one.
    pub variable: Option<String>,
    /// How it is given: `--env TOKEN=…`.
    pub shown: String,
}
