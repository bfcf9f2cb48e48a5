//! Running processes that could not make their flight files, and what to do about it.

use crate::instant::printable;
use flight::Unrecorded;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One sentence for each folder and error.
pub fn sentences(processes: &[Unrecorded]) -> Vec<String> {
    let mut groups: BTreeMap<(String, &str), BTreeSet<u32>> = BTreeMap::new();
    for process in processes {
        let folder = process.path.parent().unwrap_or(Path::new("."));
        let key = (printable(&folder.display().to_string()), &*process.reason);
        groups.entry(key).or_default().insert(process.pid);
    }
    let each = groups.into_iter();
    each.map(|((folder, reason), pids)| sentence(&folder, reason, &pids))
        .collect()
}

/// The same behind another sentence, or nothing.
pub fn appended(processes: &[Unrecorded]) -> String {
    let each = sentences(processes).into_iter();
    each.map(|sentence| format!(". {}", sentence.trim_end_matches('.')))
        .collect()
}

fn sentence(folder: &str, reason: &str, pids: &BTreeSet<u32>) -> String {
    let list: Vec<String> = pids.iter().map(u32::to_string).collect();
    let (who, verb, their, them) = match pids.len() {
        1 => ("Process", "records", "its flight file", "it"),
        _ => ("Processes", "record", "their flight files", "them"),
    };
    let (why, remedy) = advice(reason);
    format!(
        "{who} {} {verb} nothing, because {their} could not be made in {folder}: {why} ({reason}). {remedy}, then restart {them}.",
        list.join(", ")
    )
}

/// What the error means here, and what helps.
fn advice(reason: &str) -> (&'static str, &'static str) {
    match reason {
        "ENOSPC" => (
            "no space is left on the device",
            "Free space there, lower POWERBAND_RING, or set POWERBAND_DIR to a folder on another device",
        ),
        "EDQUOT" => (
            "the disk quota is used up",
            "Free space within the quota, lower POWERBAND_RING, or set POWERBAND_DIR to a folder outside it",
        ),
        "EFBIG" => (
            "the file is larger than the process may write",
            "Raise the limit of the file size (ulimit -f, LimitFSIZE) or lower POWERBAND_RING",
        ),
        "ENOMEM" => (
            "the process has no address space left for it",
            "Raise its limit of memory (ulimit -v, LimitAS) or lower POWERBAND_RING",
        ),
        _ => (
            "the system refused it",
            "See the server's log for the message, or set POWERBAND_DIR to another folder",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(folder: &str, pid: u32, reason: &str) -> Unrecorded {
        Unrecorded {
            path: Path::new(folder).join(format!("{pid}-1-00000001.unrecorded-{reason}")),
            pid,
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn each_folder_and_error_is_said_once_with_its_remedy() {
        let said = sentences(&[
            of("/srv/a", 12, "ENOSPC"),
            of("/srv/a", 9, "ENOSPC"),
            of("/srv/b", 7, "E95"),
        ]);
        assert_eq!(
            said,
            [
                "Processes 9, 12 record nothing, because their flight files could not be made in /srv/a: no space is left on the device (ENOSPC). Free space there, lower POWERBAND_RING, or set POWERBAND_DIR to a folder on another device, then restart them.",
                "Process 7 records nothing, because its flight file could not be made in /srv/b: the system refused it (E95). See the server's log for the message, or set POWERBAND_DIR to another folder, then restart it.",
            ]
        );
        assert_eq!(appended(&[]), "");
        assert!(appended(&[of("/srv/b", 7, "E95")]).starts_with(". Process 7 records nothing"));
    }
}
