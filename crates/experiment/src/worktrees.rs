//! A git worktree for each revision, below the run folder. They are removed when the run ends; after `kill -9` by the next run in
//! the same repository.

use crate::git::git;
use crate::revisions::{Revision, Revisions};
use run::Folder;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Below the run folder.
const FOLDER: &str = "revisions";

/// A revision that is checked out.
#[derive(Debug)]
pub struct Worktree {
    pub revision: Revision,
    /// The folder, and the repository that it is a checkout of.
    root: PathBuf,
    repository: PathBuf,
    /// The application in it.
    pub app_dir: PathBuf,
}

impl Worktree {
    /// The same file or folder of this revision; paths outside the repository are shared by all.
    pub fn relocated(&self, path: &Path) -> PathBuf {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match whole.strip_prefix(&self.repository) {
            Ok(within) => self.root.join(within),
            Err(_) => path.to_owned(),
        }
    }

    fn add(&self) -> Result<(), String> {
        if let Some(folder) = self.root.parent() {
            std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        // Of an earlier sitting of this run that was killed.
        self.remove();
        let words = ["worktree", "add", "--quiet", "--detach"].map(OsStr::new);
        let (root, commit) = (self.root.as_os_str(), OsStr::new(&self.revision.commit));
        git(&self.repository, &[&words[..], &[root, commit]].concat()).map(|_| ())
    }

    fn remove(&self) {
        remove(&self.repository, &self.root);
    }
}

/// All of a run, in the order of their arms; they are removed when this is dropped.
#[derive(Debug, Default)]
pub struct Worktrees(Vec<Worktree>);

impl Worktrees {
    /// Checks the revisions out below the run folder.
    ///
    /// # Errors
    /// One that cannot be, or that does not have the application.
    pub fn check_out(revisions: &Revisions, run: &Path) -> Result<Worktrees, String> {
        let mut worktrees = Worktrees::default();
        if revisions.all.is_empty() {
            return Ok(worktrees);
        }
        remove_abandoned(&revisions.repository);
        for (number, revision) in revisions.all.iter().enumerate() {
            let root = run.join(FOLDER).join((number + 1).to_string());
            let worktree = Worktree {
                revision: revision.clone(),
                app_dir: root.join(&revisions.within),
                root,
                repository: revisions.repository.clone(),
            };
            let added = worktree.add();
            // Before anything is refused, so that what there is of it is removed.
            worktrees.0.push(worktree);
            let worktree = worktrees.0.last().expect("one was added");
            added.map_err(|why| {
                format!(
                    "revision {:?} cannot be checked out in {}: {why}",
                    revision.named,
                    worktree.root.display()
                )
            })?;
            if !worktree.app_dir.is_dir() {
                return Err(format!(
                    "revision {:?} ({}) has no folder {}; name a revision that has the application there",
                    revision.named,
                    revision.short_commit(),
                    revisions.within.display()
                ));
            }
        }
        Ok(worktrees)
    }

    pub fn each(&self) -> impl Iterator<Item = &Worktree> {
        self.0.iter()
    }
}

impl Drop for Worktrees {
    fn drop(&mut self) {
        self.each().for_each(Worktree::remove);
        if let Some(folder) = self.0.first().and_then(|worktree| worktree.root.parent()) {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Removes the folder and what git knows of it, as far as either is there. The next run removes the rest.
fn remove(repository: &Path, root: &Path) {
    // Forced twice, git removes one too that was being made when it was killed.
    let words = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
    let words = [&words[..], &[root.as_os_str()]].concat();
    if git(repository, &words).is_err() {
        // git removes none that has submodules, but forgets one whose folder is gone.
        let _ = std::fs::remove_dir_all(root);
        let _ = git(repository, &words);
    }
}

/// Removes the worktrees of runs that no process works on any more.
fn remove_abandoned(repository: &Path) {
    let listed = git(repository, &["worktree", "list", "--porcelain"]).unwrap_or_default();
    let roots = listed
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "));
    for root in roots.map(Path::new) {
        let Some(run) = run_of(root) else { continue };
        let abandoned = match Folder::open(run) {
            Ok(folder) => folder.worker().is_none(),
            // Deleted by hand: git still lists what was in it.
            Err(_) => !run.exists(),
        };
        if abandoned {
            remove(repository, root);
        }
    }
}

/// The run folder that such a worktree is in.
fn run_of(root: &Path) -> Option<&Path> {
    let folder = root.parent()?;
    (folder.file_name()? == FOLDER).then_some(())?;
    let run = folder.parent()?;
    // Another user may have a folder of this name, on a disk that is not mounted now.
    let is_run = run::runs::is_name_of_run(run.file_name()?.to_str()?);
    is_run.then_some(run)
}

#[cfg(test)]
mod tests;
