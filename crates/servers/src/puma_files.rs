//! The files of one start that Puma gets, and those among them that must not outlive it.

use std::path::PathBuf;

use crate::control::Control;
use crate::error::StartError;
use crate::files::{absent, nonce, private_dir};
use crate::spec::ServerSpec;

/// A Unix socket's path holds 107 bytes.
const LONGEST_SOCKET: usize = 107;

#[derive(Debug, Clone)]
pub(crate) struct PumaFiles {
    /// The generated configuration.
    pub(crate) config: PathBuf,
    /// Where Puma writes, once booted, which settings it ended up with.
    pub(crate) effective: PathBuf,
    /// Where Puma's master writes each worker that it has ever had.
    pub(crate) workers: PathBuf,
    pub(crate) pid: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) control: Control,
}

/// Names the files of this start, and those among them that must not outlive it.
pub(crate) fn lay_out(spec: &ServerSpec) -> Result<(PumaFiles, Vec<PathBuf>), StartError> {
    let work = &spec.work_dir;
    let token = nonce()?;
    let mut socket = work.join("puma.sock");
    let config = work.join("puma.rb");
    // They hold the token, or are of no use afterwards.
    let mut remove = vec![
        work.join("puma.pid"),
        work.join("puma.state"),
        config.clone(),
    ];
    if socket.as_os_str().len() > LONGEST_SOCKET {
        let folder = std::env::temp_dir().join(format!("powerband-{}", nonce()?));
        private_dir(&folder)?;
        socket = folder.join("s");
        remove.extend([socket.clone(), folder]);
    } else {
        remove.push(socket.clone());
    }
    let effective = work.join("effective.json");
    let workers = work.join("puma-workers");
    for stale in [&effective, &workers, &socket] {
        absent(stale)?;
    }
    let files = PumaFiles {
        config,
        effective,
        workers,
        pid: work.join("puma.pid"),
        state: work.join("puma.state"),
        control: Control { socket, token },
    };
    Ok((files, remove))
}
