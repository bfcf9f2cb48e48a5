//! What a model says of the configurations that it can judge.

use crate::Point;
use serde::{Deserialize, Serialize};

/// What a model has to say. Its predictions choose what is tried, and are believed in nothing else.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Proposals {
    /// What is worth a trial, the most promising first. Factors that are not modelled are as today.
    pub candidates: Vec<Point>,
    /// Whatever was predicted, the baseline and points beyond the memory limit among it: a change that saves memory may
    /// make room for them.
    pub foreseen: Vec<Foreseen>,
}

/// A prediction; factors that are not modelled are as today.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Foreseen {
    pub point: Point,
    /// As logarithms, in whatever unit: differences count.
    pub log_score: f64,
    pub log_memory: Option<f64>,
}
