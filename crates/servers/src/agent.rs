//! The agent in a server: its gem, its extension for the Ruby at hand, and the variables that load it.
//!
//! What the agent records is `flight`'s; that it goes into the server's environment is `puma`'s.

mod embedded;
mod error;
mod extension;
mod gem;
mod own_folder;

use std::path::Path;

pub use error::AgentError;
pub use extension::ensure_built;
pub use gem::{AgentGem, locate};

/// The word of `RUBYOPT` that loads the agent.
pub const INJECT_OPTION: &str = "-rpowerband/inject";

/// The variables that put the agent into a Ruby process and every one that it starts. `given` looks
/// up what those variables hold already, which is kept behind the agent's part. Without a flight
/// folder the agent chooses its own.
pub fn injection(
    lib_dir: &Path,
    ext_path: &Path,
    flight_dir: Option<&Path>,
    given: impl Fn(&str) -> Option<String>,
) -> Vec<(&'static str, String)> {
    let after = |key: &str, first: String, separator: &str| match given(key) {
        Some(existing) if !existing.is_empty() => format!("{first}{separator}{existing}"),
        _ => first,
    };
    let mut variables = vec![
        (
            "RUBYLIB",
            after("RUBYLIB", lib_dir.display().to_string(), ":"),
        ),
        // RUBYOPT cannot hold a path with spaces, so it names the file and RUBYLIB its folder.
        ("RUBYOPT", after("RUBYOPT", INJECT_OPTION.to_owned(), " ")),
        ("POWERBAND_EXT", ext_path.display().to_string()),
    ];
    variables.extend(flight_dir.map(|dir| ("POWERBAND_DIR", dir.display().to_string())));
    variables
}
