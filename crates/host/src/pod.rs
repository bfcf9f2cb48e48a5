//! The control group of a server that is limited as a pod is: where one can be made, its limits, what they came to, its end.
//!
//! Version 2 has one group for all controllers, below a group of this process that hands them down; version 1 has one for each
//! controller. The caller puts processes in: each writes its number into [`PodGroup::joined_by`].

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::cgroup::{Group, Limits, groups, limits_in, read};
use crate::error::HostError;
use crate::group_memory::{self, GroupMemory};
use crate::group_use::{self, Throttling};
use crate::roots::Roots;

/// Length of a quota's period, as Kubernetes and Docker set it.
pub const PERIOD_US: u64 = 100_000;

const PROCESSES: &str = "cgroup.procs";

/// A group with limits, without processes at first. Dropping it removes it, which the kernel allows once it is empty again.
#[derive(Debug)]
pub struct PodGroup {
    groups: Vec<Group>,
}

impl PodGroup {
    /// Makes a group of this name with these limits.
    ///
    /// # Errors
    /// When the kernel, or this process's rights, allow none; nothing is left of it then.
    pub fn make(roots: &Roots, name: &str, limits: Limits) -> Result<PodGroup, HostError> {
        let mut made = PodGroup { groups: Vec::new() };
        for needed in needed(roots, limits)? {
            made.groups.push(needed.make(name)?);
        }
        for group in &made.groups {
            limit(group, limits)?;
        }
        Ok(made)
    }

    /// The files into which a process writes its number to be in the group.
    pub fn joined_by(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.folders().map(|folder| folder.join(PROCESSES))
    }

    /// The folders that are the group.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.groups.iter().map(|group| group.folder.as_path())
    }

    /// The limits as the kernel has them.
    ///
    /// # Errors
    /// When a file that is there cannot be read.
    pub fn limits(&self) -> Result<Limits, HostError> {
        limits_in(&self.groups)
    }

    /// The processes that are in it, under every controller.
    ///
    /// # Errors
    /// As for [`PodGroup::limits`].
    pub fn pids(&self) -> Result<BTreeSet<u32>, HostError> {
        let mut everywhere: Option<BTreeSet<u32>> = None;
        for file in self.joined_by() {
            let text = read(&file)?.unwrap_or_default();
            let pids = text.lines().filter_map(|line| line.trim().parse().ok());
            let pids: BTreeSet<u32> = pids.collect();
            everywhere = Some(match everywhere {
                Some(others) => &others & &pids,
                None => pids,
            });
        }
        Ok(everywhere.unwrap_or_default())
    }

    /// How often the CPU quota stopped it so far; `None` without a quota.
    ///
    /// # Errors
    /// As for [`PodGroup::limits`].
    pub fn throttling(&self) -> Result<Option<Throttling>, HostError> {
        group_use::throttling(&self.groups)
    }

    /// Its memory; `None` where it has no limit of memory and the kernel counts none.
    ///
    /// # Errors
    /// As for [`PodGroup::limits`].
    pub fn memory(&self) -> Result<Option<GroupMemory>, HostError> {
        for group in &self.groups {
            if let Some(memory) = group_memory::of(group)? {
                return Ok(Some(memory));
            }
        }
        Ok(None)
    }
}

impl Drop for PodGroup {
    fn drop(&mut self) {
        for folder in self.folders() {
            // What hangs in the kernel keeps its group; its name has the number of this process.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Whether the kernel holds the limits that were asked for, at its own resolution: microseconds, and pages.
#[must_use]
pub fn alike(asked: Limits, found: Limits) -> bool {
    let pages = |bytes: Option<u64>| bytes.map(|bytes| bytes / rustix::param::page_size() as u64);
    asked.cpu_quota.map(quota_us) == found.cpu_quota.map(quota_us)
        && pages(asked.memory_bytes) == pages(found.memory_bytes)
}

fn quota_us(cores: f64) -> u64 {
    (cores * PERIOD_US as f64).round() as u64
}

/// A group that is to be made.
struct Needed {
    /// Below one of these, the best first.
    parents: Vec<Group>,
    controllers: Vec<&'static str>,
}

fn needed(roots: &Roots, limits: Limits) -> Result<Vec<Needed>, HostError> {
    let limited = [
        ("cpu", limits.cpu_quota.is_some()),
        ("memory", limits.memory_bytes.is_some()),
    ];
    let mut mine = groups(roots, None)?;
    // A group that is not mounted here has no files; the mount's own folder has.
    mine.retain(|group| group.folder.join(PROCESSES).exists());
    mine.reverse();
    let (mut needed, mut unified) = (Vec::new(), Vec::new());
    for (controller, _) in limited.into_iter().filter(|(_, is_limited)| *is_limited) {
        let of = |group: &&Group| group.controller.as_deref() == Some(controller);
        match mine.iter().find(of) {
            Some(group) => needed.push(Needed {
                parents: vec![group.clone()],
                controllers: vec![controller],
            }),
            None => unified.push(controller),
        }
    }
    if !unified.is_empty() {
        let of_version_2 = mine.into_iter().filter(|group| group.controller.is_none());
        needed.push(Needed {
            parents: of_version_2.collect(),
            controllers: unified,
        });
    }
    Ok(needed)
}

impl Needed {
    /// Makes the group below the first that allows it.
    fn make(&self, name: &str) -> Result<Group, HostError> {
        let mut refused = None;
        for parent in &self.parents {
            if !hands_down(parent, &self.controllers)? {
                continue;
            }
            match make_in(parent, name) {
                Ok(group) => return Ok(group),
                Err(error) => _ = refused.get_or_insert(error),
            }
        }
        Err(refused.unwrap_or_else(|| HostError::NoController {
            controllers: self.controllers.join(" and "),
        }))
    }
}

/// Whether groups below have these controllers: those of version 1 always.
fn hands_down(parent: &Group, controllers: &[&str]) -> Result<bool, HostError> {
    if parent.controller.is_some() {
        return Ok(true);
    }
    let handed = read(&parent.folder.join("cgroup.subtree_control"))?.unwrap_or_default();
    let handed: Vec<&str> = handed.split_ascii_whitespace().collect();
    Ok(controllers.iter().all(|needed| handed.contains(needed)))
}

fn make_in(parent: &Group, name: &str) -> Result<Group, HostError> {
    let folder = parent.folder.join(name);
    // A process moves to another group of version 2 only with the right to write where both are below.
    let procs = parent.folder.join(PROCESSES);
    OpenOptions::new()
        .write(true)
        .open(&procs)
        .map_err(|error| HostError::group("write to", &procs, error))?;
    // One of an earlier process with this number.
    let _ = fs::remove_dir(&folder);
    fs::create_dir(&folder).map_err(|error| HostError::group("make", &folder, error))?;
    Ok(Group {
        folder,
        controller: parent.controller.clone(),
    })
}

fn limit(group: &Group, limits: Limits) -> Result<(), HostError> {
    let (cpus, memory) = (limits.cpu_quota.map(quota_us), limits.memory_bytes);
    match group.controller.as_deref() {
        None => {
            set(group, "cpu.max", cpus.map(|us| format!("{us} {PERIOD_US}")))?;
            set(group, "memory.max", memory)?;
            set_if_there(group, "memory.swap.max", memory.map(|_| 0))
        }
        Some("cpu") => {
            set(group, "cpu.cfs_period_us", cpus.map(|_| PERIOD_US))?;
            set(group, "cpu.cfs_quota_us", cpus)
        }
        Some(_) => {
            set(group, "memory.limit_in_bytes", memory)?;
            set_if_there(group, "memory.memsw.limit_in_bytes", memory)
        }
    }
}

/// The kernel lacks the file where it counts no swap.
fn set_if_there(group: &Group, file: &str, value: Option<u64>) -> Result<(), HostError> {
    match group.folder.join(file).exists() {
        true => set(group, file, value),
        false => Ok(()),
    }
}

fn set(group: &Group, file: &str, value: Option<impl ToString>) -> Result<(), HostError> {
    let Some(value) = value else { return Ok(()) };
    let path = group.folder.join(file);
    let written = fs::write(&path, value.to_string());
    written.map_err(|error: io::Error| HostError::group("set", &path, error))
}

#[cfg(test)]
mod tests;
