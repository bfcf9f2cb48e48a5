//! CPU time of a process tree, that of its dead included.

use std::time::Duration;

use crate::error::HostError;
use crate::procfs::CpuTimes;
use crate::tree::Tree;

/// CPU time since the processes began, to the clock tick (10 ms on nearly every kernel).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeCpu {
    pub user: Duration,
    pub system: Duration,
}

impl TreeCpu {
    /// User and system time together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.user.saturating_add(self.system)
    }

    /// What was used since `before`; never below zero.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }
}

/// CPU time of a process and its descendants: of the living, and of the dead that a living one of them
/// has waited for. Lost are only those whose parent died or ignores `SIGCHLD` and that fell to a process
/// outside the tree. [`Tree::without_root`] leaves out the root's own time but not that of its dead
/// children, and [`Tree::without`] not the time of a left-out process once the root has waited for it.
/// A process that ends between the walk and its turn is missing from this reading, and back in the next,
/// in its parent's share.
///
/// # Errors
/// [`HostError::Gone`] when the root does not exist; when `/proc` cannot be read.
pub fn tree_cpu(tree: impl Into<Tree>) -> Result<TreeCpu, HostError> {
    let tree = tree.into();
    cpu_in(&tree, &tree.pids()?)
}

/// The same of processes that are known.
pub(crate) fn cpu_in(tree: &Tree, pids: &[u32]) -> Result<TreeCpu, HostError> {
    let root = tree.root_stat()?;
    let (mut user, mut system) = (root.reaped_user_ticks, root.reaped_system_ticks);
    if tree.has_root() {
        user = user.saturating_add(root.user_ticks);
        system = system.saturating_add(root.system_ticks);
    }
    for &pid in pids {
        if pid == tree.root() {
            continue;
        }
        if let Some(stat) = tree.stat(pid)? {
            user = user
                .saturating_add(stat.user_ticks)
                .saturating_add(stat.reaped_user_ticks);
            system = system
                .saturating_add(stat.system_ticks)
                .saturating_add(stat.reaped_system_ticks);
        }
    }
    let per_second = rustix::param::clock_ticks_per_second();
    Ok(TreeCpu {
        user: from_ticks(user, per_second),
        system: from_ticks(system, per_second),
    })
}

/// CPU time of one process without what descends from it; `None` where it is gone, also where another has its number now.
#[must_use]
pub fn process_cpu(pid: u32, start_ticks: u64) -> Option<TreeCpu> {
    let stat = Tree::from(pid).stat(pid).ok()??;
    if stat.ended || stat.start_ticks != start_ticks {
        return None;
    }
    let per_second = rustix::param::clock_ticks_per_second();
    Some(TreeCpu {
        user: from_ticks(stat.user_ticks, per_second),
        system: from_ticks(stat.system_ticks, per_second),
    })
}

/// CPU time of all processes since `before`. Less the time of a tree ([`tree_cpu`]) it is the time of the others.
#[must_use]
pub fn computed_since(before: &CpuTimes, now: &CpuTimes) -> Duration {
    let ticks = now.process_ticks.saturating_sub(before.process_ticks);
    from_ticks(ticks, rustix::param::clock_ticks_per_second())
}

pub(crate) fn from_ticks(ticks: u64, per_second: u64) -> Duration {
    let per_second = per_second.max(1);
    let rest = (ticks % per_second).saturating_mul(1_000_000_000) / per_second;
    Duration::from_secs(ticks / per_second) + Duration::from_nanos(rest)
}
