//! Which application a process runs, by its root folder, and which code is its own.

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

/// Whether code of this path is the application's own: a file below its root folder, and not of a library that was installed there.
/// Paths that are relative are those that the server was given, such as its rackup file's. Ruby's own code is named in angle brackets,
/// evaluated text in parentheses.
#[must_use]
pub fn is_of_application(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    if root.is_empty() || path.starts_with(['<', '(']) {
        return false;
    }
    let rest = match path.starts_with('/') {
        true => path.strip_prefix(root).filter(|rest| rest.starts_with('/')),
        false => Some(path),
    };
    let is_installed = |rest: &str| {
        let mut folders = rest.split('/').rev().skip(1);
        folders.any(|folder| matches!(folder, "gems" | "vendor"))
    };
    rest.is_some_and(|rest| !is_installed(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_evaluated_text_are_not_the_applications() {
        let is_own = |path| is_of_application(path, "/srv/shop/");
        assert!(is_own("/srv/shop/app/models/order.rb") && is_own("config.ru"));
        for other in [
            "/srv/shop/vendor/bundle/ruby/3.3.0/gems/i18n-1.14/lib/i18n.rb",
            "/srv/shop/gems/own/a.rb",
            "vendor/tax/tax.rb",
            "/srv/shopkeeper/app.rb",
            "<internal:kernel>",
            "(eval at /srv/shop/app/models/order.rb:3)",
        ] {
            assert!(!is_own(other), "{other}");
        }
        assert!(!is_of_application("config.ru", ""));
    }
}
