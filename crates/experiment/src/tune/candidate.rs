//! A configuration that is worth a trial.

use crate::request::Arm;

/// A candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateArm {
    /// The arm.
    pub arm: Arm,
    /// Why it is worth trying.
    pub because: &'static str,
}
