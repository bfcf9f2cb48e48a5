//! The folder of flight files, where none is named.

use std::path::PathBuf;

/// Where the agent writes by default; `docs/agent.md` has the rule.
pub fn flight_root() -> PathBuf {
    let named = |key: &str| std::env::var_os(key).filter(|value| !value.is_empty());
    match named("POWERBAND_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => named("XDG_RUNTIME_DIR")
            .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
            .join("powerband"),
    }
}
