//! Limits that control groups put on a process, version 2 and version 1, the tightest on the way up.
//!
//! Inside a container the path in `/proc/self/cgroup` may name folders that are not mounted; the limit
//! then stands at the root of the mount, where the walk ends in any case.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::HostError;
use crate::roots::Roots;

/// Version 1 writes "no limit" as the largest page-aligned number.
const NO_LIMIT: u64 = 1 << 62;

/// Limits as they are in force.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// CPU time per time, in cores; `None` without a quota.
    pub cpu_quota: Option<f64>,
    /// `None` without a limit.
    pub memory_bytes: Option<u64>,
}

/// A line of `/proc/self/cgroup`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Empty for version 2.
    pub controllers: Vec<String>,
    pub path: String,
}

/// `/proc/<pid>/cgroup`; lines of another shape are left out.
#[must_use]
pub fn parse_memberships(text: &str) -> Vec<Membership> {
    let lines = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let controllers = controllers.split(',').filter(|c| !c.is_empty());
        Some(Membership {
            controllers: controllers.map(str::to_owned).collect(),
            path: path.to_owned(),
        })
    });
    lines.collect()
}

/// Cores from version 2's `cpu.max`, such as `150000 100000` for 1.5; `None` for `max` and for what is
/// no quota.
#[must_use]
pub fn parse_cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let quota: u64 = words.next()?.parse().ok()?;
    let period: u64 = words.next()?.parse().ok()?;
    cores(quota, period)
}

/// Cores from version 1's `cpu.cfs_quota_us` and `cpu.cfs_period_us`; `None` for −1 and for what is no
/// quota.
#[must_use]
pub fn parse_cfs(quota: &str, period: &str) -> Option<f64> {
    cores(quota.trim().parse().ok()?, period.trim().parse().ok()?)
}

/// Bytes from `memory.max` or `memory.limit_in_bytes`; `None` without a limit.
#[must_use]
pub fn parse_memory_limit(text: &str) -> Option<u64> {
    let bytes: u64 = text.trim().parse().ok()?;
    (bytes < NO_LIMIT).then_some(bytes)
}

fn cores(quota: u64, period: u64) -> Option<f64> {
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// A group that a process is in, or one above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) folder: PathBuf,
    /// The version 1 controller whose files are there; `None` for version 2.
    pub(crate) controller: Option<String>,
}

/// The limits of this process.
///
/// # Errors
/// When a file that is there cannot be read. No cgroups at all are no limits.
pub fn limits(roots: &Roots) -> Result<Limits, HostError> {
    limits_of(roots, None)
}

/// The limits of a process; `None`: this one.
///
/// # Errors
/// As for [`limits`].
pub fn limits_of(roots: &Roots, pid: Option<u32>) -> Result<Limits, HostError> {
    limits_in(&groups(roots, pid)?)
}

/// The tightest limits of these groups.
pub(crate) fn limits_in(groups: &[Group]) -> Result<Limits, HostError> {
    let mut limits = Limits::default();
    for Group { folder, controller } in groups {
        match controller.as_deref() {
            None => {
                limits.tighten_cpu(read_parsed(&folder.join("cpu.max"), parse_cpu_max)?);
                limits.tighten_memory(read_parsed(&folder.join("memory.max"), parse_memory_limit)?);
            }
            Some("cpu") => limits.tighten_cpu(version_1_quota(folder)?),
            Some("memory") => limits.tighten_memory(read_parsed(
                &folder.join("memory.limit_in_bytes"),
                parse_memory_limit,
            )?),
            Some(_) => {}
        }
    }
    Ok(limits)
}

/// The groups of a process and all above them that can be seen from here.
pub(crate) fn groups(roots: &Roots, pid: Option<u32>) -> Result<Vec<Group>, HostError> {
    let text = read(&roots.of(pid).join("cgroup"))?.unwrap_or_default();
    let mut groups = Vec::new();
    let mut add = |mount: &Path, path: &str, controller: Option<&String>| {
        let folders = upwards(mount, path).into_iter();
        groups.extend(folders.map(|folder| Group {
            folder,
            controller: controller.cloned(),
        }));
    };
    for membership in parse_memberships(&text) {
        if membership.controllers.is_empty()
            && let Some(mount) = version_2_mount(&roots.cgroup)
        {
            add(&mount, &membership.path, None);
        }
        for controller in &membership.controllers {
            let all = membership.controllers.join(",");
            let mounts = [controller, &all].map(|name| roots.cgroup.join(name));
            if let Some(mount) = mounts.into_iter().find(|m| m.is_dir()) {
                add(&mount, &membership.path, Some(controller));
            }
        }
    }
    Ok(groups)
}

impl Limits {
    fn tighten_cpu(&mut self, quota: Option<f64>) {
        self.cpu_quota = [self.cpu_quota, quota]
            .into_iter()
            .flatten()
            .reduce(f64::min);
    }

    fn tighten_memory(&mut self, bytes: Option<u64>) {
        self.memory_bytes = [self.memory_bytes, bytes].into_iter().flatten().min();
    }
}

/// Alone, version 2 is mounted at the root; along with version 1 in the folder `unified`.
fn version_2_mount(root: &Path) -> Option<PathBuf> {
    let mounts = [root.to_owned(), root.join("unified")];
    mounts
        .into_iter()
        .find(|m| m.join("cgroup.controllers").exists())
}

pub(crate) fn version_1_quota(folder: &Path) -> Result<Option<f64>, HostError> {
    let quota = read(&folder.join("cpu.cfs_quota_us"))?;
    let period = read(&folder.join("cpu.cfs_period_us"))?;
    Ok(quota
        .zip(period)
        .and_then(|(quota, period)| parse_cfs(&quota, &period)))
}

/// The group's folder and all above it, down to the mount itself. `..`, which stands for groups outside
/// this process's namespace, leads nowhere.
fn upwards(mount: &Path, path: &str) -> Vec<PathBuf> {
    let mut folders = vec![mount.to_owned()];
    let mut folder = mount.to_owned();
    for part in Path::new(path).components() {
        if let Component::Normal(name) = part {
            folder.push(name);
            folders.push(folder.clone());
        }
    }
    folders
}

pub(crate) fn read_parsed<T>(
    path: &Path,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, HostError> {
    Ok(read(path)?.and_then(|text| parse(&text)))
}

/// The number in the line `NAME 123`.
pub(crate) fn parse_counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

/// `None` when there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, HostError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if missing(&e) => Ok(None),
        Err(e) => Err(HostError::io(path, e)),
    }
}

/// A group may be removed between opening and reading.
fn missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}
