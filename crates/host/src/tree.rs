//! A process and everything that descends from it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::HostError;
use crate::procfs::{Stat, parse_children, parse_stat};

/// Which processes to look at: a root with its descendants, or the descendants alone, less the trees of some.
///
/// `Tree::from(pid)` is the whole tree. Descendants are found through the children of every thread, so
/// that a daemon that left its session still counts while an ancestor of its lives (or while the root is
/// the subreaper that it falls to).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    root: u32,
    with_root: bool,
    except: BTreeSet<u32>,
    proc: PathBuf,
}

impl From<u32> for Tree {
    fn from(root: u32) -> Self {
        Self {
            root,
            with_root: true,
            except: BTreeSet::new(),
            proc: "/proc".into(),
        }
    }
}

impl Tree {
    /// Leaves out the root itself, as when it is only the guard of what is measured.
    #[must_use]
    pub fn without_root(self) -> Self {
        let with_root = false;
        Self { with_root, ..self }
    }

    /// Leaves out these processes and all that descends from them, as services that are guarded together with what is
    /// measured. A daemon of such a tree that has lost its parent is not recognised any more.
    #[must_use]
    pub fn without(mut self, pids: impl IntoIterator<Item = u32>) -> Self {
        self.except.extend(pids);
        self
    }

    /// Reads another `/proc`.
    #[must_use]
    pub fn at(self, proc: impl Into<PathBuf>) -> Self {
        let proc = proc.into();
        Self { proc, ..self }
    }

    /// The root's pid.
    #[must_use]
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Whether the root itself counts.
    #[must_use]
    pub fn has_root(&self) -> bool {
        self.with_root
    }

    /// The pids of the tree as they are now, parents before their children. Processes that end during
    /// the walk may or may not be among them; children that these leave behind are then found at their
    /// new parent, or at the next walk.
    ///
    /// # Errors
    /// [`HostError::Gone`] when the root does not exist; when `/proc` cannot be read.
    pub fn pids(&self) -> Result<Vec<u32>, HostError> {
        let mut seen = BTreeSet::from([self.root]);
        let mut pids = vec![self.root];
        let mut next = 0;
        while let Some(&pid) = pids.get(next) {
            for child in self.children(pid)? {
                if !self.except.contains(&child) && seen.insert(child) {
                    pids.push(child);
                }
            }
            next += 1;
        }
        if !self.with_root {
            pids.remove(0);
        }
        Ok(pids)
    }

    /// The root's entry in `/proc`.
    ///
    /// # Errors
    /// [`HostError::Gone`] when the root does not exist; when `/proc` cannot be read.
    pub fn root_stat(&self) -> Result<Stat, HostError> {
        self.stat(self.root)?
            .ok_or(HostError::Gone { pid: self.root })
    }

    /// A process's entry; `None` when it is gone.
    pub(crate) fn stat(&self, pid: u32) -> Result<Option<Stat>, HostError> {
        let path = self.path(pid, "stat");
        let Some(text) = read_of_process(&path)? else {
            return Ok(None);
        };
        let stat = parse_stat(&text);
        stat.map(Some)
            .ok_or_else(|| HostError::unexpected(&path, "a process's statistics", &text))
    }

    /// `/proc/<pid>/<file>`
    pub(crate) fn path(&self, pid: u32, file: &str) -> PathBuf {
        self.proc.join(pid.to_string()).join(file)
    }

    fn children(&self, pid: u32) -> Result<Vec<u32>, HostError> {
        let tasks = self.path(pid, "task");
        let entries = match fs::read_dir(&tasks) {
            Ok(entries) => entries,
            Err(e) if vanished(&e) && pid == self.root => return Err(HostError::Gone { pid }),
            Err(e) if vanished(&e) => return Ok(Vec::new()),
            Err(e) => return Err(HostError::io(&tasks, e)),
        };
        let mut children = Vec::new();
        for entry in entries {
            let task = match entry {
                Ok(entry) => entry.path(),
                Err(e) if vanished(&e) => break,
                Err(e) => return Err(HostError::io(&tasks, e)),
            };
            let path = task.join("children");
            match read_of_process(&path)? {
                Some(text) => children.extend(parse_children(&text)),
                // The thread lives, only the file is not there: this kernel has none.
                None if task.exists() && !path.exists() && task.exists() => {
                    return Err(HostError::NoChildren { path });
                }
                None => {}
            }
        }
        children.sort_unstable();
        Ok(children)
    }
}

/// A file of a process; `None` when the process is gone. A name that is not UTF-8 becomes U+FFFD.
pub(crate) fn read_of_process(path: &Path) -> Result<Option<String>, HostError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(e) if vanished(&e) => Ok(None),
        Err(e) => Err(HostError::io(path, e)),
    }
}

/// The process ended before it was opened (ENOENT) or before it was read (ESRCH).
pub(crate) fn vanished(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}
