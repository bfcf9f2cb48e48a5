//! What each verb does.

mod advise;
mod calc;
mod capacity;
mod capture;
mod check;
mod desktop;
mod doctor;
mod draw;
mod drift;
mod duplex;
mod experiment_file;
mod experiments;
mod export;
mod flight_counters;
mod flight_root;
mod image;
mod init;
mod inject;
mod inspect;
mod junit;
mod leak;
mod load;
mod markdown;
mod memory;
mod mirror;
mod parquet;
mod predict;
mod prometheus;
mod run_folder;
mod runs;
mod shown;
mod topic;
mod trace;
mod untouched_file;
mod verdict;
mod watch;
mod within;

pub use advise::advise;
pub use calc::calc;
pub use capacity::capacity;
pub use capture::capture;
pub use check::check;
pub use doctor::doctor;
pub use drift::drift;
pub use experiments::{compare, sweep, tune};
pub use export::export;
pub use init::{init, welcome};
pub use inject::run;
pub use inspect::inspect;
pub use leak::leak;
pub use load::load;
pub use memory::memory;
pub use mirror::mirror;
pub use predict::predict;
pub use runs::runs;
pub use shown::{completions, man, report};
pub use trace::trace;
pub use verdict::verdict;
pub use watch::watch;

use experiment::Installation;
use rustix::process::geteuid;
use servers::guard::{self, GuardProgram};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Becomes the guard when asked to.
pub fn guard_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    (args.next()? == guard::ARGUMENT).then(|| guard::main(args))
}

/// How this binary is started as a guard.
fn guard_program() -> GuardProgram {
    // The link survives a binary that is replaced while it runs, as package managers do.
    GuardProgram {
        exe: PathBuf::from("/proc/self/exe"),
        arg: OsString::from(guard::ARGUMENT),
    }
}

/// What servers are started with. `gem` is the folder that the user named.
fn installation(gem: Option<&PathBuf>) -> Installation {
    Installation {
        guard: guard_program(),
        gem: gem.cloned(),
        cache: cache_dir(),
    }
}

/// Where the program's copy of the gem is written, and the agent's extension built when the gem's folder has none for this Ruby.
fn cache_dir() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let root = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute())
        .or_else(home);
    match root {
        Some(root) => root.join("powerband"),
        // The folder of all users: another user must find no name there that is worth taking first.
        None => std::env::temp_dir().join(format!("powerband-{}", geteuid().as_raw())),
    }
}

/// The folder of a file.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The name of this machine.
fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}
