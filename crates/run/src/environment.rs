//! What a configuration sets in the server's environment in addition to its settings.

use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// A knob that is a variable of the server's environment, and what it is set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetVariable {
    /// The knob's name as typed, such as `gc.malloc_limit` or `env.NAME`.
    pub knob: String,
    /// Its value as typed; `REDACTED` where the variable looks like a secret.
    pub value: String,
    /// The variable.
    pub variable: String,
    /// What the variable holds; `REDACTED` likewise.
    pub holds: String,
}

impl SetVariable {
    /// Whether only Powerband sets the variable to this: what a user sets is the knob.
    pub fn is_internal(&self) -> bool {
        self.variable.starts_with("POWERBAND_") || self.variable == "PATH"
    }
}

/// A configuration in words, as tables show it: `2 workers × 3 threads, gc.malloc_limit=32MiB`.
pub fn called(settings: Settings, environment: &[SetVariable]) -> String {
    let mut called = settings.to_string();
    for set in environment {
        called.push_str(&format!(", {}={}", set.knob, set.value));
    }
    called
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_come_first() {
        let set = SetVariable {
            knob: "yjit".to_owned(),
            value: "on".to_owned(),
            variable: "RUBY_YJIT_ENABLE".to_owned(),
            holds: "1".to_owned(),
        };
        assert_eq!(called(Settings::PUMA_DEFAULT, &[]), "single × 5 threads");
        assert_eq!(
            called(Settings::PUMA_DEFAULT, &[set]),
            "single × 5 threads, yjit=on"
        );
    }
}
