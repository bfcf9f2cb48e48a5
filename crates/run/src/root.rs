//! The folder that run folders are made in: how they are named there, and what git makes of it.

use crate::folder::{Folder, FolderError, io};
use std::fs;
use std::io::Write;
use std::path::Path;

/// As virtualenv, pytest and ruff write it into folders of theirs.
const IGNORE: &str = "# Made by powerband: runs are of one machine.\n*\n";

impl Folder {
    /// Makes the folder `root/id`; an error if it is there already.
    pub fn create(root: &Path, id: &str) -> Result<Folder, FolderError> {
        make(root)?;
        Folder::make(root.join(id))
    }
}

/// Makes the folder, so that git ignores what is in it. In a folder that holds anything else nothing is written.
fn make(root: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(root).map_err(io("create", root))?;
    let mut others = fs::read_dir(root).map_err(io("read", root))?;
    let of_runs = |name: &str| is_name_of_run(name);
    if others.any(|entry| entry.is_ok_and(|e| !e.file_name().to_str().is_some_and(of_runs))) {
        return Ok(());
    }
    ignore(root)
}

/// Writes `.gitignore` where no other process has done so.
fn ignore(root: &Path) -> Result<(), FolderError> {
    let path = root.join(".gitignore");
    match fs::File::create_new(&path).and_then(|mut file| file.write_all(IGNORE.as_bytes())) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(io("write", &path)),
    }
}

/// Whether a folder has the name of a run, such as `20261120-214512-tune-1f3a`.
pub fn is_name_of_run(name: &str) -> bool {
    let all = |part: &str, length: usize, is: fn(&u8) -> bool| {
        part.len() == length && part.as_bytes().iter().all(is)
    };
    let parts: Vec<&str> = name.split('-').collect();
    let [date, time, verb, mixed] = parts.as_slice() else {
        return false;
    };
    all(date, 8, u8::is_ascii_digit)
        && all(time, 6, u8::is_ascii_digit)
        && !verb.is_empty()
        && all(verb, verb.len(), u8::is_ascii_lowercase)
        && all(mixed, 4, u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_ignores_a_folder_of_runs_and_no_folder_of_anything_else() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("powerband-runs");
        Folder::create(&runs, "20261120-214512-tune-1f3a").unwrap();
        let written = || fs::read_to_string(runs.join(".gitignore"));
        assert!(written().unwrap().ends_with("\n*\n"));
        // What its owner changes or has put there stays.
        fs::write(runs.join(".gitignore"), "mine").unwrap();
        Folder::create(&runs, "20261120-214513-tune-1f3a").unwrap();
        assert_eq!(written().unwrap(), "mine");
        // Runs of an earlier version.
        fs::remove_file(runs.join(".gitignore")).unwrap();
        Folder::create(&runs, "20261120-214514-tune-1f3a").unwrap();
        assert!(written().is_ok());

        fs::write(dir.path().join("Gemfile"), "").unwrap();
        Folder::create(dir.path(), "20261120-214512-tune-1f3a").unwrap();
        assert!(!dir.path().join(".gitignore").exists());
    }

    #[test]
    fn a_gitignore_that_another_run_has_just_made_is_enough() {
        let dir = tempfile::tempdir().unwrap();
        ignore(dir.path()).unwrap();
        ignore(dir.path()).unwrap();
    }
}
