//! Room for the connections of a run: the limit on open files, raised as far
//! as the process may.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::plan::LoadError;

/// Beyond those open now and the connections: epoll, timer, and what the
/// caller's other threads may open meanwhile.
const SPARE: u64 = 32;

/// Raises the soft limit when it is too low for so many connections more.
/// Returns how many of `welcome` further ones there is room for.
pub(crate) fn make_room(connections: usize, welcome: usize) -> Result<usize, LoadError> {
    let open = std::fs::read_dir("/proc/self/fd").map_or(64, Iterator::count) as u64;
    let needed = open + connections as u64 + SPARE;
    let limit = getrlimit(Resource::Nofile);
    if let Some(hard) = limit.maximum.filter(|hard| *hard < needed) {
        return Err(LoadError::FileLimit {
            needed,
            limit: hard,
        });
    }
    let welcome = limit
        .maximum
        .map_or(welcome, |hard| welcome.min((hard - needed) as usize));
    let wanted = needed + welcome as u64;
    if limit.current.is_none_or(|soft| soft >= wanted) {
        return Ok(welcome);
    }
    // Not to the hard limit itself: children inherit it, and some programs
    // close every descriptor up to it.
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        },
    )
    .map_err(|source| LoadError::System {
        call: "setrlimit",
        source,
    })?;
    Ok(welcome)
}
