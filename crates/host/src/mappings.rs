//! The memory of one process: cheap from `status`, which needs no permission, or exact from `smaps`, which costs about 1.4 times as much
//! as `smaps_rollup`.

use std::io::ErrorKind;

use crate::error::HostError;
use crate::memory::read_maps;
use crate::procfs::{StatusMemory, parse_status_memory};
use crate::smaps::{Maps, parse_smaps};
use crate::tree::{Tree, read_of_process};

/// A process as `/proc` shows it to any user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStatus {
    /// Cut at 15 bytes by the kernel.
    pub name: String,
    pub parent_pid: u32,
    /// With the pid it identifies the process.
    pub start_ticks: u64,
    pub memory: StatusMemory,
}

/// Reads `stat` and `status`; `None` where the process is gone, has ended, or is a thread of the kernel.
///
/// # Errors
/// When `/proc` cannot be read or holds something else.
pub fn process_status(pid: u32) -> Result<Option<ProcessStatus>, HostError> {
    let tree = Tree::from(pid);
    let stat = tree.stat(pid)?;
    let status = read_of_process(&tree.path(pid, "status"))?;
    let memory = status.as_deref().and_then(parse_status_memory);
    Ok(stat.zip(memory).map(|(stat, memory)| ProcessStatus {
        name: stat.name,
        parent_pid: stat.parent_pid,
        start_ticks: stat.start_ticks,
        memory,
    }))
}

/// The mappings of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mappings {
    Known(Box<Maps>),
    /// The process has ended.
    Gone,
    /// The process is another user's, or protects its memory.
    NotAllowed,
}

/// Reads `smaps`.
///
/// # Errors
/// When `/proc` cannot be read or holds something else.
pub fn mappings(pid: u32) -> Result<Mappings, HostError> {
    let path = Tree::from(pid).path(pid, "smaps");
    match read_maps(&path) {
        Ok(None) => Ok(Mappings::Gone),
        Ok(Some(text)) => match parse_smaps(&text) {
            Some(maps) => Ok(Mappings::Known(Box::new(maps))),
            None => Err(HostError::unexpected(
                &path,
                "mappings with their Pss",
                &text,
            )),
        },
        Err(HostError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            Ok(Mappings::NotAllowed)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_status_and_mappings() {
        let pid = std::process::id();
        let status = process_status(pid).unwrap().unwrap();
        assert!(status.parent_pid > 0 && status.start_ticks > 0);
        let memory = status.memory;
        let parts = [
            memory.anonymous_bytes,
            memory.file_bytes,
            memory.shared_bytes,
        ];
        let sum: u64 = parts.into_iter().flatten().sum();
        assert_eq!(sum, memory.rss_bytes);
        let Mappings::Known(maps) = mappings(pid).unwrap() else {
            panic!("a process may look at itself");
        };
        let total = maps.total();
        assert!(total.private_bytes > 0 && total.private_bytes <= total.pss_bytes);
        assert!(total.pss_bytes <= total.rss_bytes);
    }

    #[test]
    fn a_process_that_is_gone_has_no_status_and_no_mappings() {
        let gone = u32::MAX >> 1;
        assert_eq!(process_status(gone).unwrap(), None);
        assert_eq!(mappings(gone).unwrap(), Mappings::Gone);
    }
}
