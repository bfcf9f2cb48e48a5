//! What a process was started with and has loaded, from `/proc`, for checks of settings.

use crate::running::Running;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The environment that the process was started with. Its later changes are not seen there, and a child of a
/// fork shows its parent's.
///
/// # Errors
/// It has ended, or is another user's.
pub fn environment_of(pid: u32) -> io::Result<BTreeMap<String, String>> {
    Ok(variables(&std::fs::read(format!("/proc/{pid}/environ"))?))
}

/// The files that are mapped into the process, libraries among them.
///
/// # Errors
/// It has ended, or is another user's.
pub fn mapped_files(pid: u32) -> io::Result<BTreeSet<String>> {
    let maps = std::fs::read(format!("/proc/{pid}/maps"))?;
    Ok(files(&String::from_utf8_lossy(&maps)))
}

impl Running {
    /// The processes that are known to be the server's own: its main process, and its workers as far as their status
    /// names them.
    pub fn own_pids(&self) -> BTreeSet<u32> {
        let mut pids = self.handle().workers(self.server_pid());
        pids.insert(self.server_pid());
        pids
    }
}

fn variables(environ: &[u8]) -> BTreeMap<String, String> {
    environ
        .split(|byte| *byte == 0)
        .filter_map(|pair| {
            let pair = String::from_utf8_lossy(pair);
            let (name, value) = pair.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}

fn files(maps: &str) -> BTreeSet<String> {
    // Address, rights, offset, device, inode; then the path, which may hold spaces.
    let path = |line: &str| {
        let start = line.find('/')?;
        let before = line[..start].split_ascii_whitespace().count();
        (before == 5).then(|| line[start..].to_owned())
    };
    maps.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_tells_what_it_was_started_with_and_has_loaded() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .env("POWERBAND_TEST_VALUE", "a=b")
            .spawn()
            .unwrap();
        // It is spawned once its program is there; where its environment lies the kernel writes down a moment later.
        let environment = loop {
            let environment = environment_of(child.id()).unwrap();
            if !environment.is_empty() {
                break environment;
            }
            std::thread::yield_now();
        };
        let files = mapped_files(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(environment["POWERBAND_TEST_VALUE"], "a=b");
        assert!(
            !files.is_empty() && files.iter().all(|f| f.starts_with('/')),
            "{files:?}"
        );
        assert!(environment_of(child.id()).is_err());
    }

    #[test]
    fn paths_may_hold_spaces_and_what_is_no_file_is_none() {
        let maps = "55a0-55a1 r-xp 00000000 fe:00 12   /usr/lib/lib x.so (deleted)\n\
                    7ffd-7ffe rw-p 00000000 00:00 0    [stack]\n7f00-7f01 rw-p 00000000 00:00 0 \n";
        assert_eq!(
            files(maps).into_iter().collect::<Vec<_>>(),
            ["/usr/lib/lib x.so (deleted)"]
        );
    }
}
