//! A server's processes kept on one core each, for as long as a window takes.

use host::Tree;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Threads come and go while they are looked at; so often all are looked at again.
const MOST_WALKS: usize = 20;

/// Why a server's processes are not kept where they were to be.
#[derive(Debug, PartialEq, Eq)]
pub enum NotPinned {
    /// They are where they were.
    Untouched(String),
    /// Some of them are kept somewhere, and could not be let go.
    Stuck(String),
}

/// Keeps a server's processes where they are put until it is dropped.
#[derive(Debug)]
pub struct Pinned {
    tree: Tree,
    all: Vec<usize>,
    free: bool,
}

impl Pinned {
    /// Puts a server of single mode on one of `all` cores, each of a cluster's processes below its master on one of its own.
    ///
    /// # Errors
    /// Some thread could not be kept there, or another program had pinned it elsewhere, which letting go would
    /// undo.
    pub fn each_on_one(server: u32, workers: u16, all: &[usize]) -> Result<Pinned, NotPinned> {
        let whole = Tree::from(server);
        if !everywhere(&whole, all).map_err(NotPinned::Untouched)? {
            let why = "its threads are kept on cores of their own already";
            return Err(NotPinned::Untouched(why.to_owned()));
        }
        let tree = match workers {
            0 => whole.clone(),
            _ => whole.clone().without_root(),
        };
        let pinned = Pinned {
            tree: whole,
            all: all.to_vec(),
            free: false,
        };
        // The last ones: interrupts come to the first.
        let cores: Vec<usize> = all.iter().rev().copied().collect();
        let cores = &cores[..usize::from(workers.max(1)).min(cores.len())];
        match keep(&tree, |nth| vec![cores[nth % cores.len()]]) {
            Ok(()) => Ok(pinned),
            Err(why) => Err(match pinned.release() {
                Ok(()) => NotPinned::Untouched(why),
                Err(stuck) => NotPinned::Stuck(stuck),
            }),
        }
    }

    /// Gives all of them every core again.
    ///
    /// # Errors
    /// Why some thread is still kept where it was.
    pub fn release(mut self) -> Result<(), String> {
        self.free = true;
        self.unpin()
    }

    fn unpin(&self) -> Result<(), String> {
        keep(&self.tree, |_| self.all.clone())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if !self.free {
            // The server is about to end, and the error was reported before.
            let _ = self.unpin();
        }
    }
}

/// Gives every thread of the nth process the cores of `of`, until a walk finds that all have them: a thread that is made
/// meanwhile has those of the one that made it.
fn keep(tree: &Tree, of: impl Fn(usize) -> Vec<usize>) -> Result<(), String> {
    for _ in 0..MOST_WALKS {
        let mut changed = false;
        for (nth, pid) in tree
            .pids()
            .map_err(|e| e.to_string())?
            .into_iter()
            .enumerate()
        {
            let wanted = set_of(&of(nth));
            for thread in threads(pid) {
                changed |= give(thread, &wanted).map_err(|errno| {
                    format!(
                        "thread {} of process {pid}: {errno}",
                        thread.as_raw_nonzero()
                    )
                })?;
            }
        }
        if !changed {
            return Ok(());
        }
    }
    Err(format!(
        "the server made new threads in each of {MOST_WALKS} looks at them"
    ))
}

/// Whether all of its threads may run on all of these.
fn everywhere(tree: &Tree, all: &[usize]) -> Result<bool, String> {
    let wanted = set_of(all);
    let pids = tree.pids().map_err(|e| e.to_string())?;
    let mut has = pids
        .into_iter()
        .flat_map(threads)
        .map(|thread| sched_getaffinity(Some(thread)));
    Ok(has.all(|has| match has {
        Ok(has) => has == wanted,
        // A thread that is gone is kept nowhere.
        Err(errno) => errno == Errno::SRCH,
    }))
}

fn set_of(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    set
}

/// Whether it had other ones. A thread that is gone counts as done.
fn give(thread: Pid, wanted: &CpuSet) -> Result<bool, Errno> {
    let gone = |errno: Errno| match errno {
        Errno::SRCH => Ok(false),
        errno => Err(errno),
    };
    match sched_getaffinity(Some(thread)) {
        Ok(has) if has == *wanted => Ok(false),
        Ok(_) => sched_setaffinity(Some(thread), wanted)
            .map(|()| true)
            .or_else(gone),
        Err(errno) => gone(errno),
    }
}

/// A process that is gone has none.
fn threads(pid: u32) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    tasks.filter_map(number).filter_map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    fn cores_of(pid: u32) -> Vec<usize> {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap());
        let set = sched_getaffinity(pid).unwrap();
        (0..CpuSet::MAX_CPU)
            .filter(|&core| set.is_set(core))
            .collect()
    }

    /// A shell with a child that lives until its standard input ends.
    #[test]
    fn a_tree_is_pinned_and_let_go_again() {
        let all = host::cores::available().unwrap().affinity;
        let mut shell = Command::new("sh")
            .args(["-c", "exec 3<&0; cat <&3 & echo $!; wait"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(shell.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        let last = vec![*all.last().unwrap()];
        let pinned = Pinned::each_on_one(shell.id(), 0, &all).unwrap();
        assert_eq!(
            (cores_of(shell.id()), cores_of(child)),
            (last.clone(), last.clone())
        );
        pinned.release().unwrap();
        assert_eq!(
            (cores_of(shell.id()), cores_of(child)),
            (all.clone(), all.clone())
        );
        // Of a cluster the master stays free, and dropping lets go as well.
        let pinned = Pinned::each_on_one(shell.id(), 1, &all).unwrap();
        assert_eq!((cores_of(shell.id()), cores_of(child)), (all.clone(), last));
        drop(pinned);
        assert_eq!(cores_of(child), all);
        // A thread that another program has pinned stays where it is.
        let child_id = Pid::from_raw(i32::try_from(child).unwrap());
        sched_setaffinity(child_id, &set_of(&[all[0]])).unwrap();
        let refused = Pinned::each_on_one(shell.id(), 0, &all).unwrap_err();
        assert!(matches!(refused, NotPinned::Untouched(_)), "{refused:?}");
        assert_eq!(
            (cores_of(shell.id()), cores_of(child)),
            (all.clone(), vec![all[0]])
        );
        shell.stdin.take().unwrap().flush().unwrap();
        shell.wait().unwrap();
        assert!(Pinned::each_on_one(child, 0, &all).is_err());
    }
}
