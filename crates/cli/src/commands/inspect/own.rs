//! Which application is meant where the user's files are of several, and none is named: that of the current folder.

use super::found;
use crate::Failure;
use crate::commands::init::is_application;
use std::collections::BTreeSet;
use std::path::Path;

/// `--application all`: no choice.
pub const ALL: &str = "all";

/// What the current folder says of the choice.
#[derive(Debug, PartialEq, Eq)]
pub struct Own {
    /// The application that is meant; `None`: all of them.
    pub root: Option<String>,
    pub note: String,
}

/// `None` where there is nothing to choose or to say.
pub fn application(root: &Path) -> Result<Option<Own>, Failure> {
    let Ok(here) = std::env::current_dir() else {
        return Ok(None);
    };
    let (processes, _) = ::inspect::counters(&found(&[], root)?);
    let roots = processes.iter().map(|of| of.header.app_root.as_str());
    let all: BTreeSet<&str> = roots.map(flight::application_of).collect();
    Ok(match holding(&all, &here) {
        Some(root) => (all.len() > 1).then(|| Own {
            root: Some(root.to_owned()),
            note: format!(
                "The files are of {} applications, and this page counts the one of this folder, {root}. --application {ALL} counts all of them.",
                all.len()
            ),
        }),
        // What cannot be read is the page's to say.
        None if all.is_empty() => None,
        None => (is_application(&here) && !is_above(&all, &here)).then(|| Own {
            root: None,
            note: format!(
                "No file is of the application in this folder: start its server with powerband run -- CMD, or with the gem. These are of {}.",
                all.into_iter().collect::<Vec<_>>().join(", ")
            ),
        }),
    })
}

/// The innermost application that holds the folder. A service without a working directory has the root /, which holds every folder.
pub fn holding<'a>(all: &BTreeSet<&'a str>, here: &Path) -> Option<&'a str> {
    let named = all.iter().filter(|root| !matches!(**root, "" | "/"));
    let holding = named.filter(|root| here.starts_with(root));
    holding.max_by_key(|root| root.len()).copied()
}

/// As a repository of several applications is.
fn is_above(all: &BTreeSet<&str>, here: &Path) -> bool {
    all.iter().any(|root| Path::new(root).starts_with(here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_application_that_holds_the_folder() {
        let of = |all: &[&'static str], here: &str| {
            holding(&all.iter().copied().collect(), Path::new(here))
        };
        let all = ["", "/", "/srv/shop", "/srv/shop/engines/admin", "/srv/sho"];
        assert_eq!(of(&all, "/srv/shop/app"), Some("/srv/shop"));
        assert_eq!(
            of(&all, "/srv/shop/engines/admin"),
            Some("/srv/shop/engines/admin")
        );
        assert_eq!(of(&all, "/srv"), None);
        assert!(is_above(&all.into(), Path::new("/srv")));
        assert!(!is_above(&all.into(), Path::new("/srv/other")));
    }
}
