//! Runs of Powerband that are under way on this host.

use std::path::PathBuf;

use host::{Checked, Outcome, Severity};

/// `runs` are the processes that work on a run, each with its folder.
pub(crate) fn other_runs(runs: &[(u32, PathBuf)]) -> Checked {
    Checked::new("other-runs", outcome(runs))
}

fn outcome(runs: &[(u32, PathBuf)]) -> Outcome {
    let Some((first, _)) = runs.first() else {
        return Outcome::fine("no process that can be looked into holds the lock of a run folder");
    };
    let each = runs
        .iter()
        .map(|(pid, folder)| format!("process {pid} works on {}", folder.display()));
    let what = match runs.len() {
        1 => "a run of powerband is under way on this host".to_owned(),
        count => format!("{count} runs of powerband are under way on this host"),
    };
    Outcome::found(
        Severity::SpoilsMeasurements,
        what,
        each.collect::<Vec<_>>().join(", "),
        "Runs at the same time take each other's cores: none of them measures what its servers can do.",
        format!("wait for its end, or stop it (kill {first}), before you measure"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_under_way_is_a_finding_with_its_process_and_folder() {
        assert!(matches!(outcome(&[]), Outcome::Fine(_)));
        let run = |pid| {
            (
                pid,
                PathBuf::from(format!("/app/powerband-runs/{pid}-tune")),
            )
        };
        let found = |runs: &[_]| outcome(runs).into_finding().unwrap();
        let one = found(&[run(7)]);
        assert_eq!(one.severity, Severity::SpoilsMeasurements);
        assert_eq!(
            one.evidence,
            "process 7 works on /app/powerband-runs/7-tune"
        );
        assert!(one.remedy.contains("kill 7"), "{}", one.remedy);
        let two = found(&[run(7), run(8)]);
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
    }
}
