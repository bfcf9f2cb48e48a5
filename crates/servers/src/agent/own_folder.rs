//! Folders of this user that servers load code from.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use super::error::{AgentError, cache_error, file_error};

/// Objects, library and logs of a build.
const ROOM_BYTES: usize = 2 << 20;

/// Makes the folder and those above it. Others may read them: Passenger runs applications as another user.
pub fn make_own(folder: &Path) -> Result<(), AgentError> {
    create_own(folder).map_err(cache_error(folder))
}

/// The same, with the plain error.
pub fn create_own(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o755).create(folder)
}

/// Whether there is room for what a build writes. A compiler's words on it would look like those on missing headers.
pub fn try_to_write(folder: &Path) -> Result<(), AgentError> {
    let path = folder.join(format!(".room-{}", std::process::id()));
    let tried = fs::write(&path, vec![1; ROOM_BYTES]);
    let _ = fs::remove_file(&path);
    tried.map_err(cache_error(folder))
}

/// Servers load code from here, so only root and this user may have written it. A link is judged as what it is, not by its
/// target.
pub fn trusted(path: &Path) -> Result<(), AgentError> {
    let found = fs::symlink_metadata(path).map_err(file_error(path))?;
    let ours = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
    if !ours || found.mode() & 0o022 != 0 || found.is_symlink() {
        let path = path.to_path_buf();
        return Err(AgentError::Untrusted { path });
    }
    Ok(())
}
