//! What a check says: found, fine, or not known here. Pure.

/// A fact, or why it is not known here, as a clause for people.
pub type Known<T> = Result<T, String>;

/// What a finding spoils.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Figures that are measured so would mislead.
    SpoilsMeasurements,
    /// A production server is slower so, fails, or is not what its owner believes.
    HarmsServer,
    /// Worth knowing; neither of the two.
    Note,
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    /// What is wrong, in a clause.
    pub what: String,
    /// The numbers that say so.
    pub evidence: String,
    /// Why it matters, in a sentence or two.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.evidence, self.remedy)
    }
}

/// How a check came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Found(Finding),
    /// With the numbers that say so.
    Fine(String),
    /// With the reason. It is never passed in silence.
    NotKnown(String),
}

/// A check by its name, which `docs/doctor.md` lists, and how it came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub check: &'static str,
    pub outcome: Outcome,
}

impl Checked {
    #[must_use]
    pub fn new(check: &'static str, outcome: Outcome) -> Self {
        Self { check, outcome }
    }
}

impl Outcome {
    /// What was found, if anything.
    #[must_use]
    pub fn into_finding(self) -> Option<Finding> {
        match self {
            Self::Found(finding) => Some(finding),
            Self::Fine(_) | Self::NotKnown(_) => None,
        }
    }

    #[must_use]
    pub fn found(
        severity: Severity,
        what: impl Into<String>,
        evidence: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Found(Finding {
            severity,
            what: what.into(),
            evidence: evidence.into(),
            why: why.into(),
            remedy: remedy.into(),
        })
    }

    #[must_use]
    pub fn fine(evidence: impl Into<String>) -> Self {
        Self::Fine(evidence.into())
    }

    #[must_use]
    pub fn not_known(why: impl Into<String>) -> Self {
        Self::NotKnown(why.into())
    }

    /// What `judge` makes of a fact; not known where the fact is not.
    pub fn of<T>(fact: &Known<T>, judge: impl FnOnce(&T) -> Self) -> Self {
        match fact {
            Ok(fact) => judge(fact),
            Err(why) => Self::NotKnown(why.clone()),
        }
    }
}
