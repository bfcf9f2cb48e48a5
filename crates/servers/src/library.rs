//! Where a shared library lies that a server is to load first.

use knobs::Allocator;
use std::path::{Path, PathBuf};

/// Folders of libraries, the administrator's own before the system's.
const FOLDERS: [&str; 5] = ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib", "/lib64"];

/// The first of these file names that is in one of the usual folders.
pub fn library(names: &[&str]) -> Option<PathBuf> {
    among(&FOLDERS.map(PathBuf::from), names)
}

/// The library of an allocator.
///
/// # Errors
/// It is not installed: which library is missing, and which package has it.
pub fn allocator_library(allocator: Allocator) -> Result<PathBuf, String> {
    library(allocator.libraries()).ok_or_else(|| {
        format!(
            "allocator = {:?}: its library {} is in none of the usual folders; install Debian's package {}",
            allocator.name(),
            allocator.libraries()[0],
            allocator.package()
        )
    })
}

fn among(folders: &[PathBuf], names: &[&str]) -> Option<PathBuf> {
    let places: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| own_architecture(folder).chain([folder.clone()]))
        .collect();
    names.iter().find_map(|name| {
        let mut found = places.iter().map(|place| place.join(name));
        found.find(|path| path.is_file())
    })
}

/// Debian's `x86_64-linux-gnu`: a library of another architecture would not be loaded.
fn own_architecture(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(std::env::consts::ARCH) && name.contains("-linux-")
        })
        .map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_name_wins_over_the_earlier_folder() {
        let root = tempfile::tempdir().unwrap();
        let own = root
            .path()
            .join(format!("{}-linux-gnu", std::env::consts::ARCH));
        let foreign = root.path().join("other-linux-gnu");
        for folder in [&own, &foreign] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(foreign.join("libx.so.3"), "").unwrap();
        std::fs::write(own.join("libx.so.2"), "").unwrap();
        std::fs::write(root.path().join("libx.so.1"), "").unwrap();
        let folders = [root.path().to_path_buf()];
        let found = |names: &[&str]| among(&folders, names);
        assert_eq!(
            found(&["libx.so.2", "libx.so.1"]),
            Some(own.join("libx.so.2"))
        );
        assert_eq!(found(&["libx.so.3"]), None);
        assert_eq!(found(&["libx.so.1"]), Some(root.path().join("libx.so.1")));
    }
}
