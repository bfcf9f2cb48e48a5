//! The memory of the control group that a process is in: what it holds, its peak, its limit, and whom the kernel killed for it.

use crate::cgroup::{Group, groups, parse_memory_limit, read_parsed};
use crate::error::HostError;
use crate::group_use::parse_counter;
use crate::roots::Roots;

/// A group's memory; `None` where the kernel does not say it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupMemory {
    /// With the file cache.
    pub current_bytes: Option<u64>,
    /// Of that, without the file cache that nobody has used lately, which the kernel takes back before it kills.
    pub used_bytes: Option<u64>,
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

/// Of the process's group with the tightest limit, or without any limit of its innermost group; `None` where there is none, as for
/// processes in the root group of version 2.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn group_memory(roots: &Roots, pid: u32) -> Result<Option<GroupMemory>, HostError> {
    let mut found: Option<GroupMemory> = None;
    for group in groups(roots, Some(pid))? {
        let Some(memory) = of(&group)? else { continue };
        // Innermost last; a limit above that is tighter is the one that counts.
        let tighter = match (
            found.and_then(|found| found.limit_bytes),
            memory.limit_bytes,
        ) {
            (Some(above), Some(limit)) => limit <= above,
            (Some(_), None) => false,
            (None, _) => true,
        };
        if tighter {
            found = Some(memory);
        }
    }
    Ok(found)
}

fn of(group: &Group) -> Result<Option<GroupMemory>, HostError> {
    let files = match group.controller.as_deref() {
        None => VERSION_2,
        Some("memory") => VERSION_1,
        Some(_) => return Ok(None),
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let read = |name| read_parsed(&group.folder.join(name), number);
    let events = read_parsed(&group.folder.join(files.events), |text| {
        Some(text.to_owned())
    })?;
    let counter = |name| parse_counter(events.as_deref()?, name);
    let current_bytes = read(files.current)?;
    let stat = read_parsed(&group.folder.join("memory.stat"), |text| {
        Some(text.to_owned())
    })?;
    let idle = stat.and_then(|stat| parse_counter(&stat, files.idle));
    Ok(current_bytes.is_some().then_some(GroupMemory {
        current_bytes,
        used_bytes: current_bytes.map(|bytes| bytes.saturating_sub(idle.unwrap_or(0))),
        peak_bytes: read(files.peak)?,
        limit_bytes: read_parsed(&group.folder.join(files.limit), parse_memory_limit)?,
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
    fn the_tightest_limit_of_version_2_counts() {
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
            current_bytes: Some(900),
            used_bytes: Some(800),
            peak_bytes: Some(950),
            limit_bytes: Some(1000),
            oom_events: Some(2),
            oom_kills: Some(1),
        };
        assert_eq!(group_memory(&roots, 7).unwrap(), Some(expected));
        fs::write(app.join("memory.max"), "800\n").unwrap();
        let inner = group_memory(&roots, 7).unwrap().unwrap();
        assert_eq!(
            (inner.limit_bytes, inner.current_bytes),
            (Some(800), Some(700))
        );
        assert_eq!((inner.peak_bytes, inner.oom_kills), (None, None));
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
        let found = group_memory(&roots, 7).unwrap().unwrap();
        assert_eq!((found.current_bytes, found.peak_bytes), (Some(5), Some(6)));
        assert_eq!(
            (found.limit_bytes, found.oom_events, found.oom_kills),
            (None, None, Some(3))
        );
        assert_eq!(group_memory(&roots, 8).unwrap(), None);
    }
}
