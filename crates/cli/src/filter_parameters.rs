//! Rails' filter_parameters, from the application's own file.

use std::path::Path;

/// The names that a Rails application filters out of its log.
///
/// # Errors
/// Why the file does not say.
pub fn filter_parameters(file: &Path) -> Result<Vec<String>, String> {
    let ruby = std::fs::read_to_string(file).map_err(|why| format!("cannot be read: {why}"))?;
    ::capture::filter_parameters(&ruby).map_err(|why| why.to_string())
}
