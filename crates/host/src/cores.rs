//! How many cores and how much memory there really are for this process.

use std::io;

use crate::cgroup;
use crate::error::HostError;
use crate::procfs::{MemInfo, parse_meminfo};
use crate::roots::Roots;
use crate::text::read;

/// Cores that this process and its children can use.
#[derive(Debug, Clone, PartialEq)]
pub struct Cores {
    /// Numbers of the CPUs that the calling thread may run on, ascending.
    pub affinity: Vec<usize>,
    /// The tightest CPU quota of its cgroups, in cores.
    pub quota: Option<f64>,
    /// The smaller of the two.
    pub effective: f64,
}

/// Cores as they really are: affinity and cgroup quota.
///
/// # Errors
/// When either cannot be read.
pub fn available() -> Result<Cores, HostError> {
    available_in(&Roots::default())
}

/// Like [`available`], with other mount points for the cgroups.
///
/// # Errors
/// As for [`available`].
pub fn available_in(roots: &Roots) -> Result<Cores, HostError> {
    available_of(roots, None)
}

/// Cores that another process can use; `None`: this one.
///
/// # Errors
/// As for [`available`].
pub fn available_of(roots: &Roots, pid: Option<u32>) -> Result<Cores, HostError> {
    let affinity = affinity_of(pid)?;
    let quota = cgroup::limits_of(roots, pid)?.cpu_quota;
    Ok(Cores::new(affinity, quota))
}

/// The CPUs that a process may run on; `None`: this one.
pub(crate) fn affinity_of(pid: Option<u32>) -> Result<Vec<usize>, HostError> {
    let thread = pid
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(rustix::thread::Pid::from_raw);
    let set = rustix::thread::sched_getaffinity(thread).map_err(|errno| HostError::Affinity {
        source: io::Error::from(errno),
    })?;
    let cpus = 0..rustix::thread::CpuSet::MAX_CPU;
    Ok(cpus.filter(|&cpu| set.is_set(cpu)).collect())
}

impl Cores {
    pub(crate) fn new(affinity: Vec<usize>, quota: Option<f64>) -> Self {
        let count = affinity.len() as f64;
        Self {
            affinity,
            quota,
            effective: quota.map_or(count, |quota| quota.min(count)),
        }
    }
}

/// The tightest memory limit of this process's cgroups in bytes; `None` without one. It may exceed what
/// the machine has.
///
/// # Errors
/// When a cgroup file cannot be read.
pub fn memory_limit() -> Result<Option<u64>, HostError> {
    Ok(cgroup::limits(&Roots::default())?.memory_bytes)
}

/// The machine's memory.
///
/// # Errors
/// When `/proc/meminfo` cannot be read.
pub fn memory() -> Result<MemInfo, HostError> {
    memory_in(&Roots::default())
}

/// Like [`memory`], with other mount points.
///
/// # Errors
/// As for [`memory`].
pub fn memory_in(roots: &Roots) -> Result<MemInfo, HostError> {
    let path = roots.proc.join("meminfo");
    let text = read(&path)?;
    parse_meminfo(&text)
        .ok_or_else(|| HostError::unexpected(&path, "MemTotal and MemAvailable", &text))
}
