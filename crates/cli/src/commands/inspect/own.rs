//! Which application is meant where the user's files are of several, and none is named: that of the current folder.

use super::looked_into;
use crate::Failure;
use inspect::{Selection, applications};
use std::collections::BTreeSet;
use std::path::Path;

/// `--application all`: no choice.
pub const ALL: &str = "all";

/// The application of the current folder, and what to say of the choice.
pub struct Own {
    pub root: String,
    pub note: String,
}

/// `None` where the files below `root` are of one application, or of none that the current folder belongs to.
pub fn application(
    root: &Path,
    selection: &Selection,
    now_ns: u64,
) -> Result<Option<Own>, Failure> {
    let Ok(here) = std::env::current_dir() else {
        return Ok(None);
    };
    let document = looked_into(&[], root, selection.clone(), now_ns)?;
    Ok(chosen(&applications(&document), &here))
}

/// Of several applications, the innermost that holds the folder.
pub fn chosen(all: &BTreeSet<&str>, here: &Path) -> Option<Own> {
    let holding = all.iter().filter(|root| here.starts_with(root));
    let root = holding.max_by_key(|root| root.len())?;
    (all.len() > 1).then(|| Own {
        root: (*root).to_owned(),
        note: format!(
            "The files are of {} applications: counted is the one of this folder, {root}. --application {ALL} counts all of them.",
            all.len()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_application_that_holds_the_folder() {
        let of = |all: &[&'static str], here: &str| {
            let own = chosen(&all.iter().copied().collect(), Path::new(here));
            own.map(|own| own.root)
        };
        let all = ["/srv/shop", "/srv/shop/engines/admin", "/srv/sho"];
        assert_eq!(of(&all, "/srv/shop/app").as_deref(), Some("/srv/shop"));
        let engine = of(&all, "/srv/shop/engines/admin");
        assert_eq!(engine.as_deref(), Some("/srv/shop/engines/admin"));
        assert_eq!(of(&all, "/srv"), None);
        assert_eq!(of(&["/srv/shop"], "/srv/shop"), None, "nothing to choose");
    }
}
