//! Whether the process that wrote a file still runs.

use std::fs;

/// Whether the very process runs that had this pid and this start (field 22 of `/proc/<pid>/stat`): a pid is used again.
/// A zombie serves nobody and does not run.
#[must_use]
pub fn alive(pid: u32, start_ticks: u64) -> bool {
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

    #[test]
    fn the_start_is_found_behind_any_command() {
        let rest = "1 7 7 0 -1 4194560 1 0 0 0 1 0 0 0 20 0 1 0 4711 9 0";
        assert_eq!(running_since(&format!("7 (a) b) S {rest}")), Some(4711));
        assert_eq!(running_since(&format!("7 (ruby) Z {rest}")), None);
        assert_eq!(running_since("7 (ruby) S 1"), None);
        assert_eq!(running_since(""), None);
    }

    #[test]
    fn another_start_is_another_process() {
        let pid = std::process::id();
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let start = running_since(&stat).unwrap();
        assert!(alive(pid, start) && !alive(pid, start + 1));
    }
}
