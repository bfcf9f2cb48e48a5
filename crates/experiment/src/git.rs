//! Runs git, with no hook and nothing of a hook's environment.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// Variables that a hook of git passes to the commands that it runs: they would work on its repository instead of the folder's.
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
    // No user is there to answer a prompt.
    command.env("GIT_TERMINAL_PROMPT", "0");
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

/// Those of a hook's variables that this process has, with their values in this folder: what it starts there inherits the others.
pub fn variables_in(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let ours = |variable: &&str| std::env::var_os(variable).is_some();
    let inherited: Vec<&str> = OF_A_HOOK.into_iter().filter(ours).collect();
    if inherited.is_empty() {
        return Ok(BTreeMap::new());
    }
    values_in(folder, &inherited)
}

fn values_in(folder: &Path, variables: &[&str]) -> Result<BTreeMap<String, String>, String> {
    let value = |variable: &str| {
        let asked: &[&str] = match variable {
            "GIT_DIR" => &["--git-dir"],
            "GIT_WORK_TREE" => &["--show-toplevel"],
            "GIT_INDEX_FILE" => &["--git-path", "index"],
            "GIT_COMMON_DIR" => &["--git-common-dir"],
            "GIT_OBJECT_DIRECTORY" => &["--git-path", "objects"],
            // The folder below the work tree in which the user typed.
            _ => return Ok(String::new()),
        };
        git(
            folder,
            &[&["rev-parse", "--path-format=absolute"], asked].concat(),
        )
    };
    let values = variables
        .iter()
        .map(|variable| Ok(((*variable).to_owned(), value(variable)?)));
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_s_variables_are_those_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        git(&root, &["init", "--quiet"]).unwrap();
        let values = values_in(&root, &OF_A_HOOK).unwrap();
        let expected = |name: &str| root.join(name).display().to_string();
        assert_eq!(values["GIT_DIR"], expected(".git"));
        assert_eq!(values["GIT_WORK_TREE"], root.display().to_string());
        assert_eq!(values["GIT_INDEX_FILE"], expected(".git/index"));
        assert_eq!(values["GIT_OBJECT_DIRECTORY"], expected(".git/objects"));
        assert_eq!(values["GIT_PREFIX"], "");
        assert_eq!(values.len(), OF_A_HOOK.len());
    }
}
