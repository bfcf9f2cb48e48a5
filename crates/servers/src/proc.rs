//! The few facts about processes read from `/proc`: who descends from whom, and CPU time used.
//!
//! Memory and CPU as measurements are `host`'s; this is only what ending and settling need.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Linux reports CPU time to user space in hundredths of a second on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// What `/proc/<pid>/stat` says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stat {
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// User and system time of all threads, in seconds.
    pub(crate) cpu_s: f64,
}

impl Stat {
    /// Ended, and only waiting for its parent to ask how.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// `None` when there is no such process.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The command's name may hold spaces and parentheses: fields count from the last one.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        cpu_s: (ticks(11)? + ticks(12)?) as f64 / TICKS_PER_SECOND,
    })
}

/// The name of the program's file; `None` when there is no such process, or it may not be looked at.
pub(crate) fn program(pid: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    // What the kernel adds once the file was replaced.
    Some(name.trim_end_matches(" (deleted)").to_string())
}

/// The words that the process shows, by spaces; empty when there is no such process.
pub(crate) fn command_line(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Every descendant of `root`, ended ones that were not waited for included. A process that forks
/// meanwhile may hide its newest child: a caller that needs all of them stops them and asks
/// again.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let mut found = BTreeSet::new();
    let mut pending = vec![root];
    while let Some(pid) = pending.pop() {
        let Some(children) = children(pid) else {
            return descendants_by_parent(root);
        };
        for child in children {
            if found.insert(child) {
                pending.push(child);
            }
        }
    }
    found.into_iter().collect()
}

/// `None` where the kernel was built without the `children` files.
fn children(pid: u32) -> Option<Vec<u32>> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Some(Vec::new());
    };
    let mut children = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(text) => children.extend(text.split_ascii_whitespace().flat_map(str::parse::<u32>)),
            // The thread may just have ended; only a live one without the file shows that the kernel
            // has none.
            Err(_) if task.path().join("stat").exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

/// Every process of this machine, or of this container.
pub(crate) fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The same from the parent that each process names, for kernels without `children` files.
fn descendants_by_parent(root: u32) -> Vec<u32> {
    let mut by_parent: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all() {
        if let Some(stat) = stat(pid) {
            by_parent.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(pid) = pending.pop() {
        for child in by_parent.remove(&pid).unwrap_or_default() {
            found.push(child);
            pending.push(child);
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "7 (a ) S 9 (x)) S 42 7 7 0 -1 0 1 2 3 4 150 50 0 0 20 0 1 0 99";
        let stat = parse_stat(text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.session), ('S', 42, 7));
        assert_eq!(stat.cpu_s, 2.0);
    }

    #[test]
    fn both_ways_find_the_same_descendants() {
        let me = std::process::id();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let by_children = descendants(me);
        let by_parent = descendants_by_parent(me);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(by_children.contains(&child.id()));
        assert!(by_parent.contains(&child.id()));
    }
}
