//! Room for the connections of a run: the limit on open files, raised as far as
//! the process may, for as long as the run lasts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::plan::LoadError;

/// Beyond those open now and the connections: epoll, timer, and what the
/// caller's other threads may open meanwhile.
const SPARE: u64 = 32;

/// Runs under way, and the soft limit before the first of them.
struct Runs {
    under_way: usize,
    before: Option<u64>,
}

static RUNS: Mutex<Runs> = Mutex::new(Runs {
    under_way: 0,
    before: None,
});

/// A run's room. The last one to be dropped restores the soft limit: servers
/// that are started later inherit what powerband was started with, as the
/// first one did.
#[derive(Debug)]
pub(crate) struct Room {
    /// Further connections that there is room for.
    pub(crate) welcome: usize,
}

impl Room {
    fn new() -> Self {
        let mut runs = locked();
        if runs.under_way == 0 {
            runs.before = soft_limit();
        }
        runs.under_way += 1;
        Self { welcome: 0 }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut runs = locked();
        runs.under_way -= 1;
        if runs.under_way == 0 && soft_limit() != runs.before {
            // Lowering it is always allowed.
            let _ = set_soft_limit(runs.before);
        }
    }
}

/// Raises the soft limit when it is too low for so many connections more, and
/// for as many of the `welcome` further ones as it can.
pub(crate) fn make_room(connections: usize, welcome: usize) -> Result<Room, LoadError> {
    let mut room = Room::new();
    let open = std::fs::read_dir("/proc/self/fd").map_or(64, Iterator::count) as u64;
    let needed = open + connections as u64 + SPARE;
    let limit = getrlimit(Resource::Nofile);
    if let Some(hard) = limit.maximum.filter(|hard| *hard < needed) {
        return Err(LoadError::FileLimit {
            needed,
            limit: hard,
        });
    }
    room.welcome = limit
        .maximum
        .map_or(welcome, |hard| welcome.min((hard - needed) as usize));
    let wanted = needed + room.welcome as u64;
    if limit.current.is_none_or(|soft| soft >= wanted) {
        return Ok(room);
    }
    // Not to the hard limit itself: a child that is started meanwhile inherits
    // it, and some programs close every descriptor up to it.
    set_soft_limit(Some(wanted)).map_err(|source| LoadError::System {
        call: "setrlimit",
        source,
    })?;
    Ok(room)
}

/// `None`: any number.
pub(crate) fn soft_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

fn set_soft_limit(current: Option<u64>) -> rustix::io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum })
}

fn locked() -> MutexGuard<'static, Runs> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}
