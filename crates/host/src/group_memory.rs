//! The memory of the control group that processes are in: what it holds, its peak, its limit, and how many processes the kernel killed
//! for it.

use crate::cgroup::{Group, groups, parse_counter, parse_memory_limit, read, read_parsed};
use crate::error::HostError;
use crate::roots::Roots;

/// A group's memory; `None` where the kernel does not say it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupMemory {
    /// With the file cache.
    pub current_bytes: u64,
    /// Of that, without the inactive file cache, which the kernel takes back before it kills.
    pub used_bytes: u64,
    /// The most that it ever held.
    pub peak_bytes: Option<u64>,
    pub limit_bytes: Option<u64>,
    /// Times that the limit was hit and nothing could be taken back.
    pub oom_events: Option<u64>,
    /// Processes of the group that were killed for it.
    pub oom_kills: Option<u64>,
}

/// Names of the files, by version of control groups.
const VERSION_2: Files = Files {
    current: "memory.current",
    peak: "memory.peak",
    limit: "memory.max",
    events: "memory.events",
    idle: "inactive_file",
};
const VERSION_1: Files = Files {
    current: "memory.usage_in_bytes",
    peak: "memory.max_usage_in_bytes",
    limit: "memory.limit_in_bytes",
    events: "memory.oom_control",
    idle: "total_inactive_file",
};

struct Files {
    current: &'static str,
    peak: &'static str,
    limit: &'static str,
    events: &'static str,
    /// A counter of `memory.stat`.
    idle: &'static str,
}

/// Of the groups that hold all of these processes the one with the least room below its limit, or without any limit the innermost
/// one; `None` where no group holds them all, as in the root group of version 2. Processes that are gone do not count.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn group_memory(roots: &Roots, pids: &[u32]) -> Result<Option<GroupMemory>, HostError> {
    let mut found: Option<GroupMemory> = None;
    for group in common_groups(roots, pids)? {
        let Some(memory) = of(&group)? else { continue };
        // Innermost last.
        let decides = match (
            found.and_then(|found| found.room_bytes()),
            memory.room_bytes(),
        ) {
            (Some(above), Some(room)) => room <= above,
            (Some(_), None) => false,
            (None, _) => true,
        };
        if decides {
            found = Some(memory);
        }
    }
    Ok(found)
}

impl GroupMemory {
    /// What is left below the limit; `None` without one.
    #[must_use]
    pub fn room_bytes(&self) -> Option<u64> {
        Some(self.limit_bytes?.saturating_sub(self.used_bytes))
    }
}

fn common_groups(roots: &Roots, pids: &[u32]) -> Result<Vec<Group>, HostError> {
    let mut common: Option<Vec<Group>> = None;
    for pid in pids {
        let mine = groups(roots, Some(*pid))?;
        match &mut common {
            _ if mine.is_empty() => {}
            Some(common) => common.retain(|group| mine.contains(group)),
            None => common = Some(mine),
        }
    }
    Ok(common.unwrap_or_default())
}

/// A group's memory; `None` for the groups of other controllers, and where the kernel counts none.
pub(crate) fn of(group: &Group) -> Result<Option<GroupMemory>, HostError> {
    let files = match group.controller.as_deref() {
        None => VERSION_2,
        Some("memory") => VERSION_1,
        Some(_) => return Ok(None),
    };
    let at = |name| group.folder.join(name);
    let number = |name| read_parsed(&at(name), |text| text.trim().parse::<u64>().ok());
    let Some(current_bytes) = number(files.current)? else {
        return Ok(None);
    };
    let stat = read(&at("memory.stat"))?;
    let idle = stat.and_then(|stat| parse_counter(&stat, files.idle));
    let events = read(&at(files.events))?;
    let counter = |name| parse_counter(events.as_deref()?, name);
    Ok(Some(GroupMemory {
        current_bytes,
        used_bytes: current_bytes.saturating_sub(idle.unwrap_or(0)),
        peak_bytes: number(files.peak)?,
        limit_bytes: read_parsed(&at(files.limit), parse_memory_limit)?,
        oom_events: counter("oom"),
        oom_kills: counter("oom_kill"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn written(folder: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    fn roots(root: &Path, membership: &str) -> Roots {
        written(&root.join("proc/7"), &[("cgroup", membership)]);
        Roots {
            proc: root.join("proc"),
            cgroup: root.join("cgroup"),
            ..Roots::default()
        }
    }

    #[test]
    fn the_group_with_the_least_room_counts() {
        let root = tempfile::tempdir().unwrap();
        let roots = roots(root.path(), "0::/pod/app\n");
        written(&roots.cgroup, &[("cgroup.controllers", "memory\n")]);
        written(
            &roots.cgroup.join("pod"),
            &[
                ("memory.current", "900\n"),
                ("memory.peak", "950\n"),
                ("memory.max", "1000\n"),
                ("memory.stat", "anon 500\ninactive_file 100\n"),
                ("memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\n"),
            ],
        );
        let app = roots.cgroup.join("pod/app");
        written(
            &app,
            &[("memory.current", "700\n"), ("memory.max", "max\n")],
        );
        let expected = GroupMemory {
            current_bytes: 900,
            used_bytes: 800,
            peak_bytes: Some(950),
            limit_bytes: Some(1000),
            oom_events: Some(2),
            oom_kills: Some(1),
        };
        assert_eq!(group_memory(&roots, &[7]).unwrap(), Some(expected));
        fs::write(app.join("memory.max"), "800\n").unwrap();
        let inner = group_memory(&roots, &[7]).unwrap().unwrap();
        assert_eq!((inner.limit_bytes, inner.current_bytes), (Some(800), 700));
        assert_eq!((inner.peak_bytes, inner.oom_kills), (None, None));
        // 400 bytes are left below the tighter limit, and 200 below that of the pod.
        fs::write(app.join("memory.current"), "400\n").unwrap();
        assert_eq!(group_memory(&roots, &[7]).unwrap(), Some(expected));
    }

    #[test]
    fn a_group_that_holds_some_of_the_processes_does_not_count() {
        let root = tempfile::tempdir().unwrap();
        let roots = roots(root.path(), "0::/pod/a\n");
        written(&roots.proc.join("9"), &[("cgroup", "0::/pod/b\n")]);
        written(&roots.cgroup, &[("cgroup.controllers", "memory\n")]);
        for (group, limit) in [("pod", "1000"), ("pod/a", "200"), ("pod/b", "100")] {
            let files = [("memory.current", "50\n"), ("memory.max", limit)];
            written(&roots.cgroup.join(group), &files);
        }
        let limit = |pids: &[u32]| group_memory(&roots, pids).unwrap().unwrap().limit_bytes;
        assert_eq!(limit(&[7]), Some(200));
        assert_eq!(limit(&[7, 9]), Some(1000));
        // 8 is gone.
        assert_eq!(limit(&[8, 9]), Some(100));
    }

    #[test]
    fn version_1_has_other_names_and_no_group_is_none() {
        let root = tempfile::tempdir().unwrap();
        let roots = roots(root.path(), "4:memory:/app\n");
        written(
            &roots.cgroup.join("memory/app"),
            &[
                ("memory.usage_in_bytes", "5\n"),
                ("memory.max_usage_in_bytes", "6\n"),
                ("memory.limit_in_bytes", "9223372036854771712\n"),
                (
                    "memory.oom_control",
                    "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
                ),
            ],
        );
        let found = group_memory(&roots, &[7]).unwrap().unwrap();
        assert_eq!((found.current_bytes, found.peak_bytes), (5, Some(6)));
        assert_eq!(
            (found.limit_bytes, found.oom_events, found.oom_kills),
            (None, None, Some(3))
        );
        assert_eq!(group_memory(&roots, &[8]).unwrap(), None);
    }
}
