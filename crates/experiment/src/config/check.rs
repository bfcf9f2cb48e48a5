//! What `check` asks: which commits its revisions are, and the limits on the change from one to the other.

use super::{Asked, Problem, Request, parse_ratio_limit};
use crate::git::git;
use crate::request::{Goal, RatioLimit};
use crate::revisions::{HEAD, Revision, Revisions};
use run::Kind;
use std::path::{Path, PathBuf};

/// What is asserted where nothing is.
const USUAL: &str = "throughput >= -3%";

/// Files that are named where more have changed.
const NAMED: usize = 3;

/// The limits and the revisions of a check; nothing of another run.
pub fn resolve(
    request: &Request,
    goal: &Goal,
    app: &Path,
    problems: &mut Vec<Problem>,
) -> (Vec<RatioLimit>, Revisions) {
    if goal.kind() != Kind::Check {
        return Default::default();
    }
    let limits = limits(&request.assertions, problems);
    if let Some(command) = &request.workload_command {
        problems.push(Problem::of(
            command,
            "check compares servers, and runs no command",
            "leave it out, or give the requests with --path or --workload",
        ));
    }
    if !app.is_dir() {
        // That is a problem already.
        return (limits, Revisions::default());
    }
    let Some(against) = &request.against else {
        problems.push(Problem::with(
            "no revision to compare with",
            "name one with --against, such as --against main, or as check.against in powerband.toml",
        ));
        return (limits, Revisions::default());
    };
    let found = find(app, against, request.revision.as_ref());
    let found = found.map_err(|all| problems.extend(all)).ok();
    (limits, found.unwrap_or_default())
}

fn limits(asked: &[Asked], problems: &mut Vec<Problem>) -> Vec<RatioLimit> {
    let usual = [Asked::new(USUAL, "the default")];
    let asked = if asked.is_empty() { &usual } else { asked };
    let each = asked.iter().flat_map(|asked| {
        let texts = asked.text.split(',');
        texts.map(|text| Asked::new(text.trim(), &*asked.origin))
    });
    let read = each.map(|limit| parse_ratio_limit(&limit));
    read.filter_map(|read| read.map_err(|problem| problems.push(problem)).ok())
        .collect()
}

/// Looks up what was named in the repository of the application. `checked`: the revision to check, else [`HEAD`], of which
/// nothing may be changed.
fn find(app: &Path, against: &Asked, checked: Option<&Asked>) -> Result<Revisions, Vec<Problem>> {
    let asked = |words: [&str; 2]| {
        git(app, &words).map(PathBuf::from).map_err(|why| {
            vec![Problem::with(
                format!(
                    "{} is in no git repository that can be read: {why}",
                    app.display()
                ),
                "give the application's folder in its clone with --app DIR",
            )]
        })
    };
    let repository = asked(["rev-parse", "--show-toplevel"])?;
    let within = asked(["rev-parse", "--show-prefix"])?;
    let head = Asked::new(HEAD, "the revision to check");
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for asked in [against, checked.unwrap_or(&head)] {
        match revision(&repository, asked) {
            Ok(revision) if all.contains(&revision) => {}
            Ok(revision) => all.push(revision),
            Err(problem) => problems.push(problem),
        }
    }
    if checked.is_none() {
        problems.extend(changes(&repository));
    }
    match problems.is_empty() {
        true => Ok(Revisions {
            repository,
            within,
            all,
        }),
        false => Err(problems),
    }
}

fn revision(repository: &Path, asked: &Asked) -> Result<Revision, Problem> {
    let named = &asked.text;
    if let Some(commit) = commit(repository, named) {
        let named = named.clone();
        return Ok(Revision { named, commit });
    }
    let remote = format!("origin/{named}");
    let remedy = match commit(repository, &remote) {
        Some(_) => format!("it has {remote}: name that"),
        None => format!(
            "name a branch, tag or commit that it has, or fetch it: git fetch origin {named} (in CI, clone with the history: \
             fetch-depth: 0)"
        ),
    };
    Err(Problem::of(
        asked,
        "this clone has no such revision",
        remedy,
    ))
}

fn commit(repository: &Path, named: &str) -> Option<String> {
    let commit = format!("{named}^{{commit}}");
    // No name is an option of git's.
    let options = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
    git(repository, &[&options[..], &[&commit]].concat()).ok()
}

/// What is changed and not committed is in no revision, and would not be measured.
fn changes(repository: &Path) -> Option<Problem> {
    let words = [
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--untracked-files=no",
    ];
    let remedy = format!("commit or stash them, or pass --revision {HEAD} to leave them out");
    let changed = match git(repository, &words) {
        Ok(changed) => changed,
        Err(why) => {
            let what = format!(
                "{}: its changes cannot be read: {why}",
                repository.display()
            );
            return Some(Problem::with(what, remedy));
        }
    };
    let files: Vec<&str> = changed.lines().filter_map(|line| line.get(3..)).collect();
    let what = format!(
        "{} has changes that are not committed ({}), and {HEAD} is measured without them",
        repository.display(),
        run::first_of(&files, NAMED)
    );
    (!files.is_empty()).then(|| Problem::with(what, remedy))
}

#[cfg(test)]
mod tests;
