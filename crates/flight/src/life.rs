//! Whether the process that wrote a file still runs.

use std::fs::{self, File};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::file::open_regular;
use crate::header::Header;
use crate::origin::Origin;

/// What can be seen of a process from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Runs,
    Ended,
    /// It is on another machine, was there before this one restarted, or is or may be in another container and holds no lock.
    Unknown,
}

/// The inode of the machine's first PID namespace, which the kernel fixes (`PROC_PID_INIT_INO`): in it every process of
/// every container has a number.
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Whether the process of a flight file runs: from the lock that it holds on the file where it has one, which processes in
/// other containers see too, else from its number. Where an agent recorded neither, a process that is not found has ended
/// only if every process can be seen from here: it may be in another container.
#[must_use]
pub fn life(path: &Path, header: &Header) -> Life {
    let here = Origin::here();
    let same_boot = |origin: &Origin| here.is_some_and(|here| here.boot_id == origin.boot_id);
    if header.locked {
        return match open_regular(path).map(|file| is_locked(&file)) {
            Ok(true) => Life::Runs,
            // The kernel releases the lock when the process ends.
            Ok(false) if header.origin.is_some_and(|origin| same_boot(&origin)) => Life::Ended,
            _ => Life::Unknown,
        };
    }
    if header.origin.is_some() && (header.origin != here || !proc_is_of_this_namespace()) {
        return Life::Unknown;
    }
    let runs_here = runs(header.pid, header.start_ticks);
    if header.origin.is_some() || runs_here {
        return if runs_here { Life::Runs } else { Life::Ended };
    }
    let all_seen = here.is_some_and(|here| here.pid_namespace == FIRST_PID_NAMESPACE)
        && proc_is_of_this_namespace();
    match all_seen {
        true if runs_in_a_container(header.pid, header.start_ticks) => Life::Runs,
        true => Life::Ended,
        false => Life::Unknown,
    }
}

/// Whether a process with this start has this number in a container that can be seen from here.
fn runs_in_a_container(pid: u32, start_ticks: u64) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.into_iter().any(|number| {
        let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
        number_in_container(&status) == Some(pid) && runs(number, start_ticks)
    })
}

/// The last of its numbers, of which it has one in each namespace.
fn number_in_container(status: &str) -> Option<u32> {
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().skip(1).last()?.parse().ok()
}

/// Whether the process of a flight file runs and has in this process's `/proc` the number that the file says.
#[must_use]
pub fn runs_here(header: &Header) -> bool {
    is_numbered_here(header) && runs(header.pid, header.start_ticks)
}

/// Whether the number that a flight file says means something in this process's `/proc`; another process may have it by now.
#[must_use]
pub fn is_numbered_here(header: &Header) -> bool {
    let elsewhere = header
        .origin
        .is_some_and(|origin| Some(origin) != Origin::here());
    !elsewhere && proc_is_of_this_namespace()
}

/// A shared lock disturbs no process: the process takes its own once, before its file says so.
pub(crate) fn is_locked(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

/// A container may have the `/proc` of the machine.
fn proc_is_of_this_namespace() -> bool {
    static IS_OF_THIS: OnceLock<bool> = OnceLock::new();
    *IS_OF_THIS.get_or_init(|| {
        let own = fs::read_link("/proc/self");
        own.is_ok_and(|pid| pid.as_os_str() == std::process::id().to_string().as_str())
    })
}

/// Whether the very process runs that had this pid and this start (field 22 of `/proc/<pid>/stat`): a pid is used again.
/// A zombie serves no requests and does not run.
fn runs(pid: u32, start_ticks: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    running_since(&stat) == Some(start_ticks)
}

/// The command, field 2, may hold spaces and brackets.
fn running_since(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_counters;

    #[test]
    fn the_start_is_found_behind_any_command() {
        let rest = "1 7 7 0 -1 4194560 1 0 0 0 1 0 0 0 20 0 1 0 4711 9 0";
        assert_eq!(running_since(&format!("7 (a) b) S {rest}")), Some(4711));
        assert_eq!(running_since(&format!("7 (ruby) Z {rest}")), None);
        assert_eq!(running_since("7 (ruby) S 1"), None);
        assert_eq!(running_since(""), None);
    }

    #[test]
    fn a_process_has_a_number_in_each_namespace() {
        let status = |line: &str| format!("Name:\truby\n{line}\nThreads:\t1\n");
        assert_eq!(number_in_container(&status("NSpid:\t4711\t12\t7")), Some(7));
        assert_eq!(number_in_container(&status("NSpid:\t4711")), None);
        assert_eq!(number_in_container(""), None);
    }

    #[test]
    fn another_start_is_another_process() {
        let pid = std::process::id();
        let start = own_start();
        assert!(runs(pid, start) && !runs(pid, start + 1));
    }

    fn own_start() -> u64 {
        running_since(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap()
    }

    fn sample() -> Header {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight/wide.flight");
        parse_counters(&fs::read(path).unwrap()).unwrap().header
    }

    /// What is said of a process with this process's number and start, and of one with another start.
    fn said(header: &Header, path: &Path) -> (Life, Life) {
        let own = Header {
            pid: std::process::id(),
            start_ticks: own_start(),
            ..header.clone()
        };
        let other = Header {
            start_ticks: own.start_ticks + 1,
            ..own.clone()
        };
        (life(path, &own), life(path, &other))
    }

    #[test]
    fn a_number_says_something_in_its_own_namespace_and_boot_alone() {
        let here = Origin::here().unwrap();
        let nowhere = Path::new("/nowhere");
        let by = |origin| {
            let header = Header { origin, ..sample() };
            said(&header, nowhere)
        };
        let not_found = match here.pid_namespace {
            FIRST_PID_NAMESPACE => Life::Ended,
            _ => Life::Unknown,
        };
        assert_eq!(by(None), (Life::Runs, not_found), "an older agent's");
        assert_eq!(by(Some(here)), (Life::Runs, Life::Ended));
        let container = Origin {
            pid_namespace: here.pid_namespace + 1,
            ..here
        };
        let before = Origin {
            boot_id: [1; 16],
            ..here
        };
        for elsewhere in [container, before] {
            assert_eq!(by(Some(elsewhere)), (Life::Unknown, Life::Unknown));
        }
    }

    #[test]
    fn a_lock_says_it_everywhere_on_one_machine() {
        let here = Origin::here().unwrap();
        let container = Origin {
            pid_namespace: here.pid_namespace + 1,
            ..here
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let by = |origin| {
            let header = Header {
                origin: Some(origin),
                locked: true,
                ..sample()
            };
            said(&header, file.path()).0
        };
        let before = Origin {
            boot_id: [1; 16],
            ..here
        };
        rustix::fs::flock(file.as_file(), FlockOperation::LockExclusive).unwrap();
        assert_eq!([here, container, before].map(by), [Life::Runs; 3]);
        rustix::fs::flock(file.as_file(), FlockOperation::Unlock).unwrap();
        assert_eq!(
            [here, container, before].map(by),
            [Life::Ended, Life::Ended, Life::Unknown]
        );
    }

    #[test]
    fn a_process_elsewhere_has_no_number_here() {
        let here = Origin::here().unwrap();
        let of = |origin, start_ticks| Header {
            pid: std::process::id(),
            start_ticks,
            origin,
            ..sample()
        };
        let elsewhere = Origin {
            pid_namespace: 1,
            ..here
        };
        assert!(runs_here(&of(Some(here), own_start())));
        assert!(runs_here(&of(None, own_start())));
        assert!(!runs_here(&of(Some(elsewhere), own_start())));
        assert!(!runs_here(&of(Some(here), own_start() + 1)));
    }
}
