//! For tests: a git repository in a temporary folder, with an application below its top.

use crate::git::git;
use std::path::{Path, PathBuf};

pub struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    /// One commit, in which this file is `first`.
    pub fn with(file: &str) -> Repository {
        let folder = tempfile::tempdir().unwrap();
        let made = Repository { folder };
        made.git(&["init", "--quiet", "--initial-branch=main"]);
        made.commit(file, "first");
        std::fs::create_dir_all(made.app()).unwrap();
        made
    }

    pub fn top(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn app(&self) -> PathBuf {
        self.top().join("app")
    }

    pub fn git(&self, words: &[&str]) -> String {
        let settings = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@localhost",
            "-c",
            "protocol.file.allow=always",
        ];
        git(&self.top(), &[&settings[..], words].concat()).unwrap()
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.top().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A commit in which the file holds this text, which is its message too.
    pub fn commit(&self, file: &str, text: &str) {
        self.write(file, text);
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", text]);
    }

    /// A worktree that git knows, of `HEAD`.
    pub fn worktree(&self, root: &Path) {
        std::fs::create_dir_all(root.parent().unwrap()).unwrap();
        self.git(&[
            "worktree",
            "add",
            "--detach",
            root.to_str().unwrap(),
            "HEAD",
        ]);
    }

    /// How many worktrees git lists, without the repository itself.
    pub fn worktrees(&self) -> usize {
        self.git(&["worktree", "list"]).lines().count() - 1
    }
}
