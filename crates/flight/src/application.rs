//! Which application a process runs, by its root folder.

/// The application that a root folder is of, whichever its release: deployments put each into a folder of its own.
#[must_use]
pub fn application_of(root: &str) -> &str {
    match root.rsplit_once('/') {
        Some((before, release)) if !release.is_empty() => {
            let application = before.strip_suffix("/releases");
            application.filter(|a| !a.is_empty()).unwrap_or(root)
        }
        _ => root,
    }
}
