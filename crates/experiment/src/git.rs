//! Runs git, with no hook and nothing of a hook's environment.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a hook of git tells the commands that it runs: they would work on its repository instead of the folder's.
const OF_A_HOOK: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
];

/// What git prints when it runs in this folder, or why it fails, in one line.
pub fn git(folder: &Path, words: &[impl AsRef<OsStr>]) -> Result<String, String> {
    let mut command = Command::new("git");
    // A hook of the repository is for people who switch branches.
    command.args(["-c", "core.hooksPath=/dev/null", "-C"]);
    command.arg(folder).args(words).stdin(Stdio::null());
    for variable in OF_A_HOOK {
        command.env_remove(variable);
    }
    let output = command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => "git is not installed; install Debian's package git".to_owned(),
        _ => format!("git: {e}"),
    })?;
    match output.status.success() {
        true => {
            let printed = String::from_utf8_lossy(&output.stdout);
            Ok(printed.trim_end_matches('\n').to_owned())
        }
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.split_whitespace().collect::<Vec<_>>().join(" "))
        }
    }
}
