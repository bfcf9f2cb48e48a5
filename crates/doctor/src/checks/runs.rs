//! Runs of Powerband that are under way on this host.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use host::{Checked, Outcome, Roots, Severity};

/// A process that works on a run.
pub(crate) struct Run {
    pid: u32,
    folder: PathBuf,
    /// The user that it belongs to; `None` where it has ended since.
    user: Option<u32>,
}

/// Processes that work on a run.
pub(crate) fn runs_under_way(roots: &Roots) -> Vec<Run> {
    let locks = host::process::holders(roots, run::LOCK).into_iter();
    let runs = locks.filter_map(|(pid, lock)| {
        Some(Run {
            pid,
            folder: run::Folder::of_lock(&lock, pid)?,
            user: fs::metadata(roots.of(Some(pid))).ok().map(|of| of.uid()),
        })
    });
    runs.collect()
}

/// `runs` are the processes that work on a run, `own` is the user who asks.
pub(crate) fn other_runs(runs: &[Run], own: u32) -> Checked {
    Checked::new("other-runs", outcome(runs, own))
}

fn outcome(runs: &[Run], own: u32) -> Outcome {
    if runs.is_empty() {
        return Outcome::fine("no process that can be looked into holds the lock of a run folder");
    }
    let each = runs.iter().map(|run| {
        let of_another = match run.user {
            Some(user) if user != own => format!(" (of user {user})"),
            _ => String::new(),
        };
        format!(
            "process {}{of_another} works on {}",
            run.pid,
            run.folder.display()
        )
    });
    let what = match runs.len() {
        1 => "a run of powerband is under way on this host".to_owned(),
        count => format!("{count} runs of powerband are under way on this host"),
    };
    let own: Vec<String> = runs
        .iter()
        .filter(|run| run.user == Some(own))
        .map(|run| run.pid.to_string())
        .collect();
    Outcome::found(
        Severity::SpoilsMeasurements,
        what,
        each.collect::<Vec<_>>().join(", "),
        "Runs at the same time take each other's cores: none of them measures what its servers can do.",
        remedy(runs.len(), &own),
    )
}

/// Another user's run is that user's to stop. `own` are the processes of one's own.
fn remedy(runs: usize, own: &[String]) -> String {
    let pids = own.join(" ");
    match (runs, own.len()) {
        (1, 0) => "wait for its end, or ask its user to stop it, before you measure".to_owned(),
        (1, _) => format!("wait for its end, or stop it (kill {pids}), before you measure"),
        (_, 0) => {
            "wait for their ends, or ask their users to stop them, before you measure".to_owned()
        }
        (all, own) if all == own => {
            format!("wait for their ends, or stop them (kill {pids}), before you measure")
        }
        _ => format!(
            "wait for their ends, or stop your own (kill {pids}) and ask the other users, before you measure"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 1000;

    fn run(pid: u32, user: u32) -> Run {
        Run {
            pid,
            folder: PathBuf::from(format!("/app/powerband-runs/{pid}-tune")),
            user: Some(user),
        }
    }

    fn found(runs: &[Run]) -> host::Finding {
        outcome(runs, OWN).into_finding().unwrap()
    }

    #[test]
    fn a_run_that_is_under_way_is_a_finding_with_its_process_and_folder() {
        assert!(matches!(outcome(&[], OWN), Outcome::Fine(_)));
        let one = found(&[run(7, OWN)]);
        assert_eq!(one.severity, Severity::SpoilsMeasurements);
        assert_eq!(
            one.evidence,
            "process 7 works on /app/powerband-runs/7-tune"
        );
        assert!(one.remedy.contains("kill 7"), "{}", one.remedy);
        let two = found(&[run(7, OWN), run(8, OWN)]);
        assert!(
            two.what.starts_with("2 runs of powerband are"),
            "{}",
            two.what
        );
        assert!(
            two.evidence.contains("process 8 works on"),
            "{}",
            two.evidence
        );
        assert!(two.remedy.contains("kill 7 8"), "{}", two.remedy);
    }

    #[test]
    fn only_ones_own_runs_are_to_be_killed() {
        let both = found(&[run(7, 33), run(8, OWN)]);
        assert_eq!(
            both.evidence,
            "process 7 (of user 33) works on /app/powerband-runs/7-tune, process 8 works on /app/powerband-runs/8-tune"
        );
        assert_eq!(
            both.remedy,
            "wait for their ends, or stop your own (kill 8) and ask the other users, before you measure"
        );
        for others in [found(&[run(7, 33)]), found(&[run(7, 33), run(9, 34)])] {
            assert!(!others.remedy.contains("kill"), "{}", others.remedy);
        }
    }
}
