//! The revisions of the application that are compared: which commits they are. `config` looks them up, `worktrees` checks them out.

use std::path::PathBuf;

/// What is checked where no revision is named.
pub const HEAD: &str = "HEAD";

/// Characters of a commit as people write them.
const SHORT: usize = 10;

/// A revision as it was named, and the commit that it was then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Such as `main`.
    pub named: String,
    /// All of its digits.
    pub commit: String,
}

impl Revision {
    /// The commit as people write it.
    pub fn short_commit(&self) -> &str {
        self.commit.get(..SHORT).unwrap_or(&self.commit)
    }
}

/// The revisions of a run, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revisions {
    /// The top folder of the repository.
    pub repository: PathBuf,
    /// The application's folder below that; empty where it is the same.
    pub within: PathBuf,
    /// In the order of their arms; empty where no arm names one.
    pub all: Vec<Revision>,
}

impl Revisions {
    /// Whether all of them are one commit.
    pub fn are_one(&self) -> bool {
        let commits = || self.all.iter().map(|revision| &revision.commit);
        let mut others = commits().skip(1);
        commits()
            .next()
            .is_some_and(|first| others.all(|other| other == first))
    }
}
