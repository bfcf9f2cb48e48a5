//! Memory of processes: exact and dear (`smaps_rollup`, about 9 ms per resident GB, during which the
//! kernel holds the process's memory map), or cheap and counting shared pages once per process (`statm`).

use std::path::Path;

use crate::error::HostError;
use crate::procfs::{parse_smaps_rollup, parse_stat, parse_statm, parse_status_memory};
use crate::tree::{Tree, read_of_process};

/// Memory of one process, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessMemory {
    pub pid: u32,
    /// Cut at 15 bytes by the kernel.
    pub name: String,
    /// A page shared by n processes counts 1/n.
    pub pss_bytes: u64,
    /// What would be free if it ended.
    pub uss_bytes: u64,
    pub rss_bytes: u64,
}

/// Memory of several processes together, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeMemory {
    /// The processes' fair share: pages that they share among themselves count once.
    pub pss_bytes: u64,
    pub uss_bytes: u64,
    /// Counts every shared page once per process, so that it means little.
    pub rss_bytes: u64,
    pub processes: Vec<ProcessMemory>,
    /// Processes that may not be looked at (another user's): the sums lack them.
    pub unreadable: Vec<u32>,
}

/// What one process holds, without what descends from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    pub parent_pid: u32,
    /// `None` where it may not be read: another user's process.
    pub pss_bytes: Option<u64>,
    pub rss_bytes: u64,
}

/// What a process holds; `None` where it is gone, or nothing of it can be read.
#[must_use]
pub fn resident(pid: u32) -> Option<Resident> {
    let tree = Tree::from(pid);
    let stat = read_of_process(&tree.path(pid, "stat")).ok()??;
    let exact = sample_one(&tree, pid).ok().flatten();
    let rss_bytes = match &exact {
        Some(memory) => memory.rss_bytes,
        None => rss_in(&tree, &[pid]).ok()?,
    };
    Some(Resident {
        parent_pid: parse_stat(&stat)?.parent_pid,
        pss_bytes: exact.map(|memory| memory.pss_bytes),
        rss_bytes,
    })
}

/// Resident bytes of one process from `/proc/PID/status`, which costs the same for any size and does not hold the
/// memory map; `None` where the process is gone.
#[must_use]
pub fn rss(pid: u32) -> Option<u64> {
    rss_at(&Tree::from(pid), pid)
}

fn rss_at(tree: &Tree, pid: u32) -> Option<u64> {
    let text = read_of_process(&tree.path(pid, "status")).ok()??;
    parse_status_memory(&text).map(|memory| memory.rss_bytes)
}

/// Looks at the given processes. Those that are gone, and zombies, are left out.
///
/// # Errors
/// When `/proc` cannot be read or holds something else.
pub fn sample(pids: &[u32]) -> Result<TreeMemory, HostError> {
    sample_in(&Tree::from(0), pids)
}

/// Looks at a process and its descendants: `sample_tree(pid)` or `sample_tree(Tree::from(pid)…)`.
///
/// # Errors
/// [`HostError::Gone`] when the root does not exist; when `/proc` cannot be read.
pub fn sample_tree(tree: impl Into<Tree>) -> Result<TreeMemory, HostError> {
    let tree = tree.into();
    sample_in(&tree, &tree.pids()?)
}

/// Resident bytes of a process and its descendants, shared pages counted once per process. Takes
/// microseconds a process, whatever its size.
///
/// # Errors
/// [`HostError::Gone`] when the root does not exist; when `/proc` cannot be read.
pub fn rss_tree(tree: impl Into<Tree>) -> Result<u64, HostError> {
    let tree = tree.into();
    rss_in(&tree, &tree.pids()?)
}

/// The same of processes that are known.
pub(crate) fn rss_in(tree: &Tree, pids: &[u32]) -> Result<u64, HostError> {
    let page_bytes = rustix::param::page_size() as u64;
    let mut sum = 0_u64;
    for &pid in pids {
        let path = tree.path(pid, "statm");
        if let Some(text) = read_of_process(&path)? {
            let rss = parse_statm(&text, page_bytes)
                .ok_or_else(|| HostError::unexpected(&path, "seven page counts", &text))?;
            sum = sum.saturating_add(rss);
        }
    }
    Ok(sum)
}

/// Likewise.
pub(crate) fn sample_in(tree: &Tree, pids: &[u32]) -> Result<TreeMemory, HostError> {
    let mut sum = TreeMemory::default();
    for &pid in pids {
        match sample_one(tree, pid) {
            Ok(Some(process)) => {
                sum.pss_bytes = sum.pss_bytes.saturating_add(process.pss_bytes);
                sum.uss_bytes = sum.uss_bytes.saturating_add(process.uss_bytes);
                sum.rss_bytes = sum.rss_bytes.saturating_add(process.rss_bytes);
                sum.processes.push(process);
            }
            Ok(None) => {}
            Err(HostError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                sum.unreadable.push(pid);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(sum)
}

/// Reads `smaps` or `smaps_rollup` of a process; `None` where it has ended, or has released its memory and is about to.
pub(crate) fn read_maps(path: &Path) -> Result<Option<String>, HostError> {
    let text = read_of_process(path)?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}

fn sample_one(tree: &Tree, pid: u32) -> Result<Option<ProcessMemory>, HostError> {
    let path = tree.path(pid, "smaps_rollup");
    let Some(text) = read_maps(&path)? else {
        return Ok(None);
    };
    let memory = parse_smaps_rollup(&text)
        .ok_or_else(|| HostError::unexpected(&path, "lines for Rss and Pss", &text))?;
    let Some(name) = read_of_process(&tree.path(pid, "comm"))? else {
        return Ok(None);
    };
    Ok(Some(ProcessMemory {
        pid,
        name: name.trim_end().to_owned(),
        pss_bytes: memory.pss_bytes,
        uss_bytes: memory.uss_bytes,
        rss_bytes: memory.rss_bytes,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There is no other file to read.
    #[test]
    fn rss_is_read_from_the_status_alone() {
        let proc = tempfile::tempdir().unwrap();
        std::fs::create_dir(proc.path().join("42")).unwrap();
        let status = "Name:\tpuma\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\nThreads:\t5\n";
        std::fs::write(proc.path().join("42/status"), status).unwrap();
        let tree = Tree::from(42).at(proc.path());
        assert_eq!(rss_at(&tree, 42), Some(200 << 10));
        assert_eq!(rss_at(&tree, 43), None);
    }
}
