//! `runs`: the list of runs, and the end of old ones.

mod files;

use crate::args::RunsArgs;
use crate::{Failure, output};
use experiment::config::{Asked, parse_duration};
use jiff::{SignedDuration, Timestamp};
use run::runs::{Kept, Standing, kept};
use std::path::Path;

const NOT_READABLE: &str = "this user may not read it";

/// The message where no run exists, with the remedy.
pub fn none_under(what: &str, runs: &Path) -> String {
    format!(
        "there is no {what} under {}; make one with powerband tune, or name its folder with --runs",
        runs.display()
    )
}

/// `powerband runs`.
pub fn runs(args: RunsArgs) -> Result<u8, Failure> {
    let before = started_before(&args, Timestamp::now())?;
    let found = kept(&args.kept.runs).map_err(|e| Failure::usage(e.to_string()))?;
    if found.is_empty() {
        output::say(&none_under("run", &args.kept.runs));
    }
    if let (Some(folder), Some(service)) = (&args.parquet, &args.service) {
        return files::written(folder, service, &found);
    }
    for why in found.iter().filter_map(|run| run.unreadable.as_ref()) {
        output::error(why);
    }
    if !args.prune {
        output::print(&report::listing(&found, output::line_width()))?;
        return Ok(0);
    }
    // Its owner keeps a run under another name.
    let named = found.into_iter();
    let named = named.filter(|run| run.standing != Standing::Renamed);
    let old = old(named.collect(), args.keep.unwrap_or(0), before);
    let (going, staying): (Vec<Kept>, Vec<Kept>) =
        old.into_iter().partition(|run| run.may_go(args.unfinished));
    for run in &staying {
        output::say(&format!("{} stays: {}", run.id, why_it_stays(run)));
    }
    if going.is_empty() {
        output::say("nothing to delete");
        return Ok(0);
    }
    if !args.yes {
        output::print(&report::listing(&going, output::line_width()))?;
        output::say("nothing was deleted; add --yes to delete these");
        return Ok(0);
    }
    let mut failed = false;
    let mut deleted = Vec::new();
    for run in going {
        match run.delete() {
            Ok(()) => deleted.push(run),
            Err(why) => {
                failed = true;
                output::error(&why.to_string());
            }
        }
    }
    output::print(&report::listing(&deleted, output::line_width()))?;
    output::say(&format!("deleted: {}", deleted.len()));
    Ok(u8::from(failed))
}

/// The moment before which a run was started that may go; `None` where its age does not matter.
fn started_before(args: &RunsArgs, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
    if args.prune && args.keep.is_none() && args.older_than.is_none() {
        return Err(Failure::usage(
            "--prune alone says of no run that it is old; add --keep N or --older-than 30d",
        ));
    }
    let Some(text) = &args.older_than else {
        return Ok(None);
    };
    let asked = Asked::new(text, "--older-than");
    let age = parse_duration(&asked).map_err(|problem| Failure::usage(problem.to_string()))?;
    let before = SignedDuration::try_from(age)
        .ok()
        .and_then(|age| now.checked_sub(age).ok());
    // Longer ago than there are dates: nothing is as old.
    Ok(Some(before.unwrap_or(Timestamp::MIN)))
}

/// All but the newest so many, and of those what was started before.
fn old(mut found: Vec<Kept>, keep: usize, before: Option<Timestamp>) -> Vec<Kept> {
    found.truncate(found.len().saturating_sub(keep));
    let is_old = |run: &Kept| match (before, run.started_at.parse::<Timestamp>()) {
        (None, _) => true,
        (Some(before), Ok(started)) => started < before,
        (Some(_), Err(_)) => false,
    };
    found.retain(is_old);
    found
}

fn why_it_stays(run: &Kept) -> String {
    if let Some(worker) = run.worker {
        return format!("it is {worker}");
    }
    let why = match run.standing {
        Standing::Unknown => {
            "it has no document, so it may be under way; delete the folder by hand if it is not"
        }
        Standing::NotReadable => NOT_READABLE,
        Standing::Unreadable => "its document cannot be read; --unfinished deletes it, too",
        _ if run.resumable => "--resume can go on with it; --unfinished deletes it, too",
        _ => "it has no answer; --unfinished deletes it, too",
    };
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use run::runs::kept;
    use run::{Document, Folder, State};

    const SAMPLE: &str = include_str!("../../../../contract/samples/run/tune.json");

    /// Columns that hold a whole answer.
    const WIDE: u16 = 1_000;

    /// Ids, lengths and sizes differ in length, and a folder without a document has no length.
    #[test]
    fn columns_stay_aligned() {
        let runs = tempfile::tempdir().unwrap();
        let mut document: Document = serde_json::from_str(SAMPLE).unwrap();
        document.id = "20261120-214512-tune-1f3a".to_owned();
        document.state = State::Done;
        document.elapsed_s = 1e7;
        let folder = Folder::create(runs.path(), &document.id).unwrap();
        folder.write(&document).unwrap();
        Folder::create(runs.path(), "20261120-214513-compare-1f3a").unwrap();
        let said = report::listing(&kept(runs.path()).unwrap(), WIDE);
        let line = |state: &str| said.lines().find(|line| line.contains(state)).unwrap();
        let (done, unknown) = (line("  done "), line("  unknown "));
        assert_eq!(done.find("  done "), unknown.find("  unknown "), "{said}");
        let answer = done.find(&document.verdict.unwrap().sentence);
        assert_eq!(answer, Some(unknown.len() + 2), "{said}");
    }

    #[test]
    fn what_this_user_may_not_read_is_not_counted() {
        use std::fs::{Permissions, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        let runs = tempfile::tempdir().unwrap();
        let mode = |path: &std::path::Path, mode| {
            set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        for (id, may_be_read) in [
            ("20261120-214512-tune-1f3a", 0o755),
            ("20261120-214513-tune-1f3a", 0),
        ] {
            let folder = Folder::create(runs.path(), id).unwrap();
            mode(folder.path(), may_be_read);
        }
        mode(runs.path(), 0o755);
        let said = testkit::as_nobody(|| report::listing(&kept(runs.path()).unwrap(), WIDE));
        assert!(
            said.contains("\n20261120-214513-tune-1f3a  not readable\n"),
            "{said}"
        );
        assert!(said.contains("\n1 folder occupies "), "{said}");
        assert!(
            said.ends_with("; 1 folder that this user may not read is not counted\n"),
            "{said}"
        );
        mode(&runs.path().join("20261120-214513-tune-1f3a"), 0o700);
    }

    fn one_run() -> (tempfile::TempDir, Document, Folder) {
        let runs = tempfile::tempdir().unwrap();
        let mut document: Document = serde_json::from_str(SAMPLE).unwrap();
        document.id = "20261120-214512-tune-1f3a".to_owned();
        let folder = Folder::create(runs.path(), &document.id).unwrap();
        (runs, document, folder)
    }

    fn listed(
        runs: &tempfile::TempDir,
        folder: &Folder,
        document: &Document,
        width: u16,
    ) -> String {
        folder.write(document).unwrap();
        report::listing(&kept(runs.path()).unwrap(), width)
    }

    /// Answers of runs that are done and reasons of those that failed alike.
    #[test]
    fn answers_end_with_the_line_of_the_terminal() {
        let (runs, mut document, folder) = one_run();
        let listed = |document: &Document| listed(&runs, &folder, document, 90);
        let is_cut = |said: &str| said.ends_with("…\n") && said.chars().count() == 91;
        document.state = State::Done;
        let verdict = document.verdict.as_mut().unwrap();
        (verdict.sentence, verdict.exit_code) = ("long ".repeat(100), 0);
        let done = listed(&document);
        assert!(is_cut(&done), "{done}");
        document.verdict.as_mut().unwrap().exit_code = 3;
        let undecided = listed(&document);
        assert!(undecided.contains("  undecided  "), "{undecided}");
        (document.state, document.verdict) = (State::Failed, None);
        document.warnings.push("long ".repeat(100));
        let failed = listed(&document);
        assert!(is_cut(&failed), "{failed}");
    }

    #[test]
    fn a_failed_run_has_its_reason_in_one_line() {
        let (runs, mut document, folder) = one_run();
        let listed = |document: &Document| listed(&runs, &folder, document, WIDE);
        (document.state, document.verdict) = (State::Failed, None);
        document
            .warnings
            .push("puma does not start\n  its log".to_owned());
        let said = listed(&document);
        assert!(said.ends_with("  puma does not start\n"), "{said}");
        document.state = State::Interrupted;
        assert!(listed(&document).ends_with("  no answer yet\n"));
        let _held = folder.lock().unwrap();
        let said = listed(&document);
        assert!(said.contains("  running  "), "{said}");
        let running = format!("  is running (PID {})\n", std::process::id());
        assert!(said.ends_with(&running), "{said}");
    }
}
