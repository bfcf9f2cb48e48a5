//! What the memory of a process is made up of: exact from `smaps`, at the cost of `smaps_rollup` and half again, or cheap from
//! `status`, which needs no permission.

use std::io::ErrorKind;

use crate::error::HostError;
use crate::procfs::{Resident, parse_stat, parse_status_resident};
use crate::smaps::{Maps, parse_smaps};
use crate::tree::{Tree, read_of_process};

/// A process as `/proc` shows it to anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Cut at 15 bytes by the kernel.
    pub name: String,
    pub parent_pid: u32,
    /// With the pid it tells processes apart.
    pub start_ticks: u64,
    pub resident: Resident,
}

/// What a process holds; `None` where it is gone, has ended, or is a thread of the kernel.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn seen(pid: u32) -> Result<Option<Seen>, HostError> {
    let tree = Tree::from(pid);
    let stat = read_of_process(&tree.path(pid, "stat"))?;
    let status = read_of_process(&tree.path(pid, "status"))?;
    let (Some(stat), Some(status)) = (stat.as_deref().and_then(parse_stat), status) else {
        return Ok(None);
    };
    Ok(parse_status_resident(&status).map(|resident| Seen {
        name: stat.name,
        parent_pid: stat.parent_pid,
        start_ticks: stat.start_ticks,
        resident,
    }))
}

/// The mappings of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MadeUp {
    Known(Box<Maps>),
    /// It ended meanwhile.
    Gone,
    /// Another user's, or one that keeps its memory to itself.
    NotAllowed,
}

/// Reads `smaps`.
///
/// # Errors
/// When `/proc` cannot be read or holds something else.
pub fn made_up(pid: u32) -> Result<MadeUp, HostError> {
    let path = Tree::from(pid).path(pid, "smaps");
    match read_of_process(&path) {
        // A process that has let go of its memory and not yet ended reads as empty.
        Ok(None) => Ok(MadeUp::Gone),
        Ok(Some(text)) if text.trim().is_empty() => Ok(MadeUp::Gone),
        Ok(Some(text)) => match parse_smaps(&text) {
            Some(maps) => Ok(MadeUp::Known(Box::new(maps))),
            None => Err(HostError::unexpected(
                &path,
                "mappings with their Pss",
                &text,
            )),
        },
        Err(HostError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            Ok(MadeUp::NotAllowed)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_both_ways() {
        let pid = std::process::id();
        let seen = seen(pid).unwrap().unwrap();
        assert!(seen.parent_pid > 0 && seen.start_ticks > 0);
        let resident = seen.resident;
        let parts = [
            resident.anonymous_bytes,
            resident.file_bytes,
            resident.shared_bytes,
        ];
        let sum: u64 = parts.into_iter().flatten().sum();
        assert_eq!(sum, resident.rss_bytes);
        let MadeUp::Known(maps) = made_up(pid).unwrap() else {
            panic!("a process may look at itself");
        };
        let total = maps.total();
        assert!(total.private_bytes > 0 && total.private_bytes <= total.pss_bytes);
        assert!(total.pss_bytes <= total.rss_bytes);
    }

    #[test]
    fn one_that_is_gone_is_neither() {
        let gone = u32::MAX >> 1;
        assert_eq!(super::seen(gone).unwrap(), None);
        assert_eq!(made_up(gone).unwrap(), MadeUp::Gone);
    }
}
