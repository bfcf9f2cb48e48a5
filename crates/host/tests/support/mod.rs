//! Folders of text in place of the kernel's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use host::Roots;
use tempfile::TempDir;

/// A host that is what was written down.
pub struct Host {
    folder: TempDir,
}

impl Host {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The same as a place that can be written to.
    fn made(&self, path: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub fn with(self, path: &str, text: &str) -> Self {
        fs::write(self.made(path), text).unwrap();
        self
    }

    pub fn linked(self, path: &str, to: &str) -> Self {
        symlink(to, self.made(path)).unwrap();
        self
    }

    pub fn roots(&self) -> Roots {
        Roots {
            proc: self.at("proc"),
            sys: self.at("sys"),
            cgroup: self.at("cgroup"),
        }
    }
}
