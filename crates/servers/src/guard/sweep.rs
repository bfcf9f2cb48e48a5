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

/// Ends what a guard that was killed left: its session, and what descends from that. A session's number is not given
/// away while a process belongs to it, so that no other session can be meant. Daemons in sessions of their own whose
/// parents are gone cannot be distinguished from others any more; a living guard has them.
pub(super) fn end_session(session: u32) -> Swept {
    let give_up = Instant::now() + LONGEST_WAIT;
    let mut killed = BTreeSet::new();
    loop {
        // Stopped first, so that none forks between being seen and being killed.
        let found = members(session);
        for pid in &found {
            signal(*pid, Signal::STOP);
        }
        for pid in members(session).union(&found) {
            if signal(*pid, Signal::KILL) {
                killed.insert(*pid);
            }
        }
        let left = members(session);
        if left.is_empty() || Instant::now() > give_up {
            return Swept {
                killed: killed.into_iter().collect(),
                left: left.into_iter().collect(),
            };
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The living processes of a session and below, its leader left out.
fn members(session: u32) -> BTreeSet<u32> {
    let within = proc::all()
        .into_iter()
        .filter(|&pid| proc::stat(pid).is_some_and(|stat| stat.session == session));
    let mut found: BTreeSet<u32> = within
        .flat_map(|pid| proc::descendants(pid).into_iter().chain([pid]))
        .collect();
    found.retain(|&pid| pid != session && proc::stat(pid).is_some_and(|stat| !stat.is_dead()));
    found
}

/// Ends every descendant of this process. `reap` collects the processes that have ended so far,
/// and must not block. A process that escapes one round by forking is a child of a stopped or
/// killed process, hence ours in the next.
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
