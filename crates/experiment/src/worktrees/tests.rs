use super::*;
use crate::sample_repository::Repository;
use std::fs;

/// A run folder elsewhere.
struct Run(tempfile::TempDir);

impl Run {
    fn new() -> Run {
        Run(tempfile::tempdir().unwrap())
    }

    fn folder(&self) -> PathBuf {
        let folder = self.0.path().canonicalize().unwrap();
        folder.join("20261120-214512-check-1f3a")
    }

    /// One that a process works on while the lock lives.
    fn recorded(&self) -> Folder {
        fs::create_dir_all(self.folder()).unwrap();
        fs::write(self.folder().join("run.json"), "{}").unwrap();
        Folder::open(&self.folder()).unwrap()
    }
}

fn revisions(repository: &Repository, named: &[&str]) -> Revisions {
    let revision = |named: &&str| Revision {
        named: (*named).to_owned(),
        commit: repository.git(&["rev-parse", named]),
    };
    Revisions {
        repository: repository.top(),
        within: PathBuf::from("app"),
        all: named.iter().map(revision).collect(),
    }
}

fn check_out(repository: &Repository, named: &[&str], run: &Run) -> Result<Worktrees, String> {
    Worktrees::check_out(&revisions(repository, named), &run.folder())
}

#[test]
fn each_revision_has_its_own_files_and_nothing_of_it_stays() {
    let (repository, run) = (Repository::with("app/config.ru"), Run::new());
    repository.commit("app/config.ru", "second");
    let worktrees = check_out(&repository, &["HEAD~1", "HEAD"], &run).unwrap();
    let texts = worktrees
        .each()
        .map(|tree| fs::read_to_string(tree.app_dir.join("config.ru")).unwrap());
    assert_eq!(texts.collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(repository.worktrees(), 2);
    drop(worktrees);
    assert_eq!(repository.worktrees(), 0);
    assert!(!run.folder().join(FOLDER).exists());
    let branches = repository.git(&["branch", "--list"]);
    assert_eq!(branches, "* main", "no branch is made for them");
}

#[test]
fn what_is_in_the_repository_is_relocated_and_the_rest_is_shared() {
    let (repository, run) = (Repository::with("app/config.ru"), Run::new());
    let worktrees = check_out(&repository, &["HEAD"], &run).unwrap();
    let only = worktrees.each().next().unwrap();
    assert_eq!(only.relocated(&repository.app()), only.app_dir);
    let hosts = Path::new("/etc/hosts");
    assert_eq!(only.relocated(hosts), hosts);
}

#[test]
fn no_hook_of_the_repository_runs() {
    use std::os::unix::fs::PermissionsExt;
    let (repository, run) = (Repository::with("app/config.ru"), Run::new());
    let hook = repository.top().join(".git/hooks/post-checkout");
    let ran = repository.top().join("ran");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\n: > '{}'\n", ran.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    drop(check_out(&repository, &["HEAD"], &run).unwrap());
    assert!(!ran.exists());
}

/// A killed run leaves its folder, whose lock has no holder.
#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let (repository, killed) = (Repository::with("app/config.ru"), Run::new());
    killed.recorded();
    let left = killed.folder().join(FOLDER).join("1");
    repository.worktree(&left);
    let by_hand = killed.0.path().join("by-hand");
    repository.worktree(&by_hand);
    drop(check_out(&repository, &["HEAD"], &Run::new()).unwrap());
    assert!(!left.exists());
    assert_eq!(repository.worktrees(), 1);
    assert!(by_hand.exists(), "it is somebody's own");
}

#[test]
fn what_a_run_still_works_on_stays() {
    let (repository, other) = (Repository::with("app/config.ru"), Run::new());
    let lock = other.recorded().lock().unwrap();
    let root = other.folder().join(FOLDER).join("1");
    repository.worktree(&root);
    drop(check_out(&repository, &["HEAD"], &Run::new()).unwrap());
    assert!(root.exists());
    drop(lock);
    drop(check_out(&repository, &["HEAD"], &Run::new()).unwrap());
    assert!(!root.exists());
}

#[test]
fn what_was_deleted_with_its_run_folder_is_forgotten() {
    let (repository, deleted) = (Repository::with("app/config.ru"), Run::new());
    repository.worktree(&deleted.folder().join(FOLDER).join("1"));
    fs::remove_dir_all(deleted.folder()).unwrap();
    // Perhaps on a disk that is not mounted.
    let elsewhere = deleted.0.path().join("elsewhere");
    for own in [elsewhere.join("1"), elsewhere.join(FOLDER).join("feature")] {
        repository.worktree(&own);
    }
    fs::remove_dir_all(&elsewhere).unwrap();
    drop(check_out(&repository, &["HEAD"], &Run::new()).unwrap());
    assert_eq!(repository.worktrees(), 2, "somebody's own stay");
}

/// git locks a worktree while it makes it.
#[test]
fn one_that_was_being_made_when_it_was_killed_is_removed_too() {
    let (repository, killed) = (Repository::with("app/config.ru"), Run::new());
    killed.recorded();
    let left = killed.folder().join(FOLDER).join("1");
    repository.worktree(&left);
    repository.git(&[
        "worktree",
        "lock",
        "--reason",
        "initializing",
        left.to_str().unwrap(),
    ]);
    drop(check_out(&repository, &["HEAD"], &Run::new()).unwrap());
    assert_eq!(repository.worktrees(), 0);
}

/// A run that is resumed finds what it left itself, in the same place.
#[test]
fn an_earlier_sitting_of_the_same_run_is_replaced() {
    let (repository, run) = (Repository::with("app/config.ru"), Run::new());
    let _lock = run.recorded().lock().unwrap();
    let root = run.folder().join(FOLDER).join("1");
    repository.worktree(&root);
    fs::write(root.join("app/left"), "").unwrap();
    let worktrees = check_out(&repository, &["HEAD"], &run).unwrap();
    assert!(!root.join("app/left").exists());
    drop(worktrees);
    assert_eq!(repository.worktrees(), 0);
}

#[test]
fn a_revision_without_the_applications_folder_is_refused_and_nothing_stays() {
    let (repository, run) = (Repository::with("README"), Run::new());
    repository.commit("app/config.ru", "second");
    let refused = check_out(&repository, &["HEAD", "HEAD~1"], &run).unwrap_err();
    assert!(
        refused.contains("\"HEAD~1\"") && refused.contains("has no folder app"),
        "{refused}"
    );
    assert_eq!(repository.worktrees(), 0);
    assert!(!run.folder().join(FOLDER).exists());
}

/// git itself refuses to remove a worktree whose submodules are there.
#[test]
fn a_submodule_that_was_prepared_is_removed_too() {
    let (repository, library, run) = (
        Repository::with("app/config.ru"),
        Repository::with("lib.rb"),
        Run::new(),
    );
    let url = library.top();
    repository.git(&[
        "submodule",
        "--quiet",
        "add",
        url.to_str().unwrap(),
        "app/lib",
    ]);
    repository.git(&["commit", "--quiet", "--message", "a library"]);
    let worktrees = check_out(&repository, &["HEAD"], &run).unwrap();
    let only = worktrees.each().next().unwrap();
    let words = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "update",
        "--init",
    ];
    git(&only.app_dir, &words).unwrap();
    assert!(only.app_dir.join("lib/lib.rb").exists());
    drop(worktrees);
    assert_eq!(repository.worktrees(), 0);
    assert!(!run.folder().join(FOLDER).exists());
}
