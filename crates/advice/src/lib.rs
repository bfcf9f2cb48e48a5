//! Evidence in, recommendations and configuration files out. Pure: the files come as text and go as text.
//!
//! What to recommend is decided from measurements by `experiment`; this crate says how to write it down.

mod environment;
mod puma;

pub use environment::environment_file;
pub use puma::puma_config;

/// The knobs to write down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knobs {
    /// Worker processes; 0 is single mode.
    pub workers: u16,
    /// Threads in each.
    pub threads: u16,
    /// Whether to load the application before forking.
    pub preload: bool,
}

/// A file as it is and as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its path, for the diff's header.
    pub path: String,
    /// As it should be.
    pub text: String,
    /// Unified diff; empty when nothing changes.
    pub diff: String,
}

impl Change {
    /// `context` is how many unchanged lines the diff shows on each side of a change.
    fn between(path: &str, before: &str, after: String, context: usize) -> Change {
        // A last line without its newline would count as changed, and be shown, as soon as another follows it.
        let whole = match before {
            "" => String::new(),
            text if text.ends_with('\n') => text.to_owned(),
            text => format!("{text}\n"),
        };
        let diff = similar::TextDiff::from_lines(&whole, &after)
            .unified_diff()
            .context_radius(context)
            .header(&format!("a/{path}"), &format!("b/{path}"))
            .to_string();
        let diff = if whole == after { String::new() } else { diff };
        Change {
            path: path.to_owned(),
            text: after,
            diff,
        }
    }
}
