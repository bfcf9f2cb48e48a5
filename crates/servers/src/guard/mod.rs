//! The guard: a process between powerband and what it starts, so that nothing is left running.
//!
//! powerband executes its own binary again with a hidden subcommand that calls [`main`]. The guard
//! opens a session of its own, becomes the reaper of every descendant (daemons and `setsid`
//! children come back to it), starts what its standard input asks for, and reports starts and
//! exits on its standard output. When powerband says `stop`, or its end of the pipe closes because
//! powerband died of whatever cause, the guard ends the tree. A parent-death signal would miss
//! grandchildren and fires when a mere thread ends, so none is used.
//!
//! [`Guard`] is powerband's side of the pipe. Deciding when a server is ready is left to `start`.

mod client;
mod exit;
mod keeper;
mod protocol;
mod sweep;

pub(crate) use client::ProcessSpec;
pub use client::{Ended, Guard, GuardError, GuardProgram};
pub use exit::Exit;
pub use protocol::Remove;

use std::ffi::OsString;
use std::process::ExitCode;

/// The first argument that makes powerband's binary a guard.
pub const ARGUMENT: &str = "__guard";

/// The guard's whole life; the caller returns the code from its own `main`. Takes no arguments:
/// what to do comes over standard input.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    if args.next().is_some() {
        return ExitCode::from(2);
    }
    match keeper::Keeper::new().and_then(keeper::Keeper::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
