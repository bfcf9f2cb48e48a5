//! How far flight files were read.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far a flight file was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The number of the next record.
    pub records: u64,
    /// The number of the next collection.
    pub collections: u64,
}

/// Positions by the names of the files, which no two processes share.
pub type Positions = BTreeMap<String, Position>;
