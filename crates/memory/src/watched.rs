//! Which processes are read: trees below processes that were named, or below the servers whose flight files are there.

use flight::{FlightFile, Life};
use host::{HostError, Tree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Process trees, and the flight files that say what is in them.
#[derive(Debug, Clone)]
pub struct Watched {
    pub(crate) trees: Vec<Tree>,
    /// Where flight files of processes of these trees may be.
    pub(crate) folders: Vec<PathBuf>,
    /// What was asked for and is not read, with the reason.
    pub(crate) left_out: Vec<String>,
}

/// Why there is nothing to read.
#[derive(Debug, thiserror::Error)]
pub enum NothingWatched {
    #[error("--pid = {pid}: {reason}; name a running process")]
    Process { pid: u32, reason: HostError },

    #[error("no server runs that writes to these flight files{0}")]
    NoServer(String),
}

impl Watched {
    /// The trees below these processes. Flight files of theirs are looked for below `folders`.
    ///
    /// # Errors
    /// One of them does not run.
    pub fn pids(pids: &[u32], folders: Vec<PathBuf>) -> Result<Self, NothingWatched> {
        let tree = |pid: &u32| {
            let tree = Tree::from(*pid);
            match tree.root_stat() {
                Ok(stat) if stat.ended => Err(HostError::Gone { pid: *pid }),
                other => other.map(|_| tree),
            }
            .map_err(|reason| NothingWatched::Process { pid: *pid, reason })
        };
        let roots: BTreeSet<u32> = pids.iter().copied().collect();
        Ok(Self {
            trees: roots.iter().map(tree).collect::<Result<_, _>>()?,
            folders,
            left_out: Vec::new(),
        })
    }

    /// All that descends from a guard.
    #[must_use]
    pub fn command(guard: u32, folders: Vec<PathBuf>) -> Self {
        Self {
            trees: vec![Tree::from(guard).without_root()],
            folders,
            left_out: Vec::new(),
        }
    }

    /// The servers of these flight files that run here, each with its master.
    ///
    /// # Errors
    /// None of them runs, or all run in other containers.
    pub fn servers(files: &[PathBuf], application: Option<&str>) -> Result<Self, NothingWatched> {
        let mut roots = BTreeSet::new();
        let mut left_out = Vec::new();
        let of = application.map(flight::application_of);
        for path in files {
            // One that is being made is found when its process has served.
            let Ok((header, _)) = FlightFile::open(path).and_then(|file| file.totals()) else {
                continue;
            };
            let other = of.is_some_and(|of| of != flight::application_of(&header.app_root));
            if other || flight::life(path, &header) == Life::Ended {
                continue;
            }
            let pid = header.pid;
            if !flight::runs_here(&header) {
                left_out.push(format!(
                    "process {pid} of {} may run in another container or on another machine: run powerband memory there",
                    path.display()
                ));
                continue;
            }
            let parent = Tree::from(pid).root_stat().map(|stat| stat.parent_pid);
            let master = parent.ok().and_then(|parent| inspect::master(pid, parent));
            let root = master.filter(|_| header.server.worker_index.is_some());
            roots.insert(root.unwrap_or(pid));
        }
        if roots.is_empty() {
            let why: Vec<String> = left_out.iter().map(|why| format!("\n{why}")).collect();
            return Err(NothingWatched::NoServer(why.concat()));
        }
        Ok(Self {
            trees: roots.into_iter().map(Tree::from).collect(),
            folders: folders_of(files),
            left_out,
        })
    }
}

fn folders_of(files: &[PathBuf]) -> Vec<PathBuf> {
    let folders = files.iter().filter_map(|file| file.parent());
    let folders: BTreeSet<&Path> = folders.collect();
    folders.into_iter().map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_is_named() {
        let gone = u32::MAX >> 1;
        let refused = Watched::pids(&[std::process::id(), gone], Vec::new()).unwrap_err();
        let expected =
            format!("--pid = {gone}: process {gone} does not run; name a running process");
        assert_eq!(refused.to_string(), expected);
    }

    #[test]
    fn files_of_ended_processes_are_no_servers() {
        let sample = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../contract/samples/flight/wrapped.flight"
        );
        let refused = Watched::servers(&[PathBuf::from(sample)], None).unwrap_err();
        assert!(matches!(refused, NothingWatched::NoServer(_)), "{refused}");
    }
}
