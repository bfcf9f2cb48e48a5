//! The end of a whole process tree: stop, kill and reap until there is none.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::proc;

/// A killed process goes at once unless it hangs in the kernel; then it is named, not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

pub(super) struct Swept {
    pub(super) killed: Vec<u32>,
    pub(super) left: Vec<u32>,
}

/// Ends every descendant of this process. `reap` collects whoever has ended so far, and must not
/// block. Whoever escapes one round by forking is a child of a stopped or killed process, hence
/// ours in the next.
pub(super) fn end_all(mut reap: impl FnMut()) -> Swept {
    let me = std::process::id();
    let give_up = Instant::now() + LONGEST_WAIT;
    let mut killed = BTreeSet::new();
    loop {
        stop_until_none_is_new(me);
        for pid in living(me) {
            if signal(pid, Signal::KILL) {
                killed.insert(pid);
            }
        }
        reap();
        let left = proc::descendants(me);
        if left.is_empty() || Instant::now() > give_up {
            return Swept {
                killed: killed.into_iter().collect(),
                left,
            };
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// A stopped process cannot fork, so that the tree holds still before it is killed.
fn stop_until_none_is_new(root: u32) {
    let mut stopped = BTreeSet::new();
    loop {
        let new: Vec<u32> = living(root)
            .into_iter()
            .filter(|pid| !stopped.contains(pid))
            .collect();
        if new.is_empty() {
            return;
        }
        for pid in new {
            signal(pid, Signal::STOP);
            stopped.insert(pid);
        }
    }
}

fn living(root: u32) -> Vec<u32> {
    let mut pids = proc::descendants(root);
    pids.retain(|&pid| proc::stat(pid).is_some_and(|stat| !stat.is_dead()));
    pids
}

/// False when there is no such process any more, or it may not be signalled.
pub(super) fn signal(pid: u32, signal: Signal) -> bool {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .is_some_and(|pid| kill_process(pid, signal).is_ok())
}
