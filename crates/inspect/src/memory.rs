//! The memory of the processes that run here, and of the masters that forked them.

use host::memory::{Resident, resident};
use run::inspect::{Memory, MemoryMeasure, Process, ProcessMemory};
use small_sort::SmallSort;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Of the processes in `here` (by their ids); `None` where nothing could be read.
pub fn memory(processes: &[Process], here: &BTreeSet<u32>) -> Option<Memory> {
    let servers: BTreeMap<u32, &Process> = processes
        .iter()
        .filter(|process| here.contains(&process.pid))
        .map(|process| (process.pid, process))
        .collect();
    let read = |pid: &u32| Some((*pid, resident(*pid)?));
    let of_servers: Vec<(u32, Resident)> = servers.keys().filter_map(read).collect();
    let workers = of_servers
        .iter()
        .filter(|(pid, _)| servers[pid].worker.is_some());
    let masters: BTreeSet<u32> = workers
        .filter_map(|(pid, resident)| master(*pid, resident.parent_pid))
        .filter(|master| !servers.contains_key(master))
        .collect();
    let of_masters: Vec<(u32, Resident)> = masters.iter().filter_map(read).collect();
    summed(&of_servers, &of_masters, |pid| servers[&pid].worker)
}

/// The process that forked a worker. One that lost its master is init's child; in a container the master itself may be process 1.
#[must_use]
pub fn master(worker: u32, parent: u32) -> Option<u32> {
    master_by(worker, parent, program)
}

fn master_by(worker: u32, parent: u32, program: impl Fn(u32) -> Option<PathBuf>) -> Option<u32> {
    match parent {
        0 => None,
        1 => {
            let (own, init) = (program(worker)?, program(1)?);
            (own == init).then_some(1)
        }
        _ => Some(parent),
    }
}

/// What a process runs; `None` of another user's.
fn program(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

fn summed(
    servers: &[(u32, Resident)],
    masters: &[(u32, Resident)],
    worker: impl Fn(u32) -> Option<u32>,
) -> Option<Memory> {
    if servers.is_empty() {
        return None;
    }
    let all = || servers.iter().chain(masters);
    // One name for all of them, so that they may be added up.
    let measure = match all().all(|(_, resident)| resident.pss_bytes.is_some()) {
        true => MemoryMeasure::Pss,
        false => MemoryMeasure::Rss,
    };
    let bytes = |resident: &Resident| match measure {
        MemoryMeasure::Pss => resident.pss_bytes.unwrap_or(0),
        MemoryMeasure::Rss => resident.rss_bytes,
    };
    let of = |(pid, resident): &(u32, Resident), is_master| ProcessMemory {
        pid: *pid,
        worker: if is_master { None } else { worker(*pid) },
        is_master,
        bytes: bytes(resident),
    };
    let mut processes: Vec<ProcessMemory> = masters.iter().map(|one| of(one, true)).collect();
    processes.extend(servers.iter().map(|one| of(one, false)));
    processes.small_sort_by_key(|process| (!process.is_master, process.worker, process.pid));
    Some(Memory {
        measure,
        total_bytes: processes.iter().map(|process| process.bytes).sum(),
        processes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pid: u32, pss_bytes: Option<u64>) -> (u32, Resident) {
        let resident = Resident {
            parent_pid: 1,
            pss_bytes,
            rss_bytes: 100,
        };
        (pid, resident)
    }

    #[test]
    fn process_1_is_a_master_where_it_runs_what_the_worker_runs() {
        let ruby_is = |which: [u32; 2]| {
            move |pid: u32| {
                let name = if which.contains(&pid) { "ruby" } else { "init" };
                Some(PathBuf::from(format!("/usr/bin/{name}")))
            }
        };
        assert_eq!(master_by(7, 1, ruby_is([1, 7])), Some(1));
        // Its master is gone.
        assert_eq!(master_by(7, 1, ruby_is([7, 8])), None);
        assert_eq!(master_by(7, 1, |pid| (pid == 7).then(PathBuf::new)), None);
        assert_eq!(master_by(7, 5, |_| None), Some(5));
        // A parent in another namespace of processes.
        assert_eq!(master_by(7, 0, ruby_is([1, 7])), None);
    }

    #[test]
    fn one_measure_is_added_up_master_first() {
        let pss = summed(
            &[of(8, Some(30)), of(7, Some(40))],
            &[of(9, Some(5))],
            |pid| Some(8 - pid),
        );
        let pss = pss.unwrap();
        assert_eq!((pss.measure, pss.total_bytes), (MemoryMeasure::Pss, 75));
        let pids: Vec<u32> = pss.processes.iter().map(|one| one.pid).collect();
        assert_eq!((pids, pss.processes[0].is_master), (vec![9, 8, 7], true));
        // One that keeps its PSS to itself: the others' is no longer comparable.
        let rss = summed(&[of(7, Some(40)), of(8, None)], &[], |_| None).unwrap();
        assert_eq!((rss.measure, rss.total_bytes), (MemoryMeasure::Rss, 200));
        assert!(summed(&[], &[of(1, None)], |_| None).is_none());
    }
}
