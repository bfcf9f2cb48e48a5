//! What came of one check.

/// What a check says.
#[derive(Debug, Clone, PartialEq)]
pub enum Looked {
    /// A change is worth a test.
    Suggest(Change),
    /// The figures that speak against one.
    Leave(String),
}

/// What a check says, or why it cannot be known.
pub type Checked = Result<Looked, String>;

/// A change of settings with its reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Knobs and values, as `powerband compare` takes them.
    pub settings: Vec<(&'static str, String)>,
    /// The figures that suggest it.
    pub evidence: String,
    /// What the settings change.
    pub effect: String,
    /// What they may cost.
    pub cost: &'static str,
}
