//! Where the kernel's files are mounted.

use std::path::PathBuf;

/// Mount points; tests put folders of text in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`
    pub proc: PathBuf,
    /// `/sys`
    pub sys: PathBuf,
    /// `/sys/fs/cgroup`
    pub cgroup: PathBuf,
}

impl Roots {
    /// A process's folder in `/proc`; `None`: this process's own.
    #[must_use]
    pub fn of(&self, pid: Option<u32>) -> PathBuf {
        let name = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        self.proc.join(name)
    }
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            cgroup: "/sys/fs/cgroup".into(),
        }
    }
}
