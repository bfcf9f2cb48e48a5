//! File descriptors, of one process and of the system.

use super::per_cent;
use crate::check::{Outcome, Severity};
use crate::serving::{Filled, ServingFacts};

/// Fewer do not hold Puma's own backlog of connections.
const FEWEST: u64 = 1024;
/// What is worth a note: a server that keeps a connection a client open gets there.
const FEW: u64 = 4096;
/// Of a limit. As the usual alert on Prometheus' node exporter has it, at its first step.
const FULL: f64 = 0.7;

pub(super) fn open_files(facts: &ServingFacts) -> Outcome {
    Outcome::of(&facts.open_files, |files| {
        let whose = match facts.pid {
            Some(pid) => format!("process {pid}"),
            None => "what is started from here".to_owned(),
        };
        let Some(soft) = files.soft else {
            return Outcome::fine(format!("{whose} may have any number of open files"));
        };
        let used = files.used.as_ref().ok().filter(|_| facts.pid.is_some());
        let mut evidence = format!("{whose} may have {soft} open files");
        if let Some(used) = used {
            evidence.push_str(&format!(" and has {used}"));
        } else if let (Some(_), Err(why)) = (facts.pid, &files.used) {
            evidence.push_str(&format!("; how many it has is not known: {why}"));
        }
        let full = used.is_some_and(|&used| Filled { used, most: soft }.share() > FULL);
        let severity = match soft {
            _ if full => Severity::HarmsServer,
            0..FEWEST => Severity::HarmsServer,
            FEWEST..FEW => Severity::Note,
            _ => return Outcome::Fine(evidence),
        };
        let hard = files
            .hard
            .map_or_else(|| "any number".to_owned(), |hard| hard.to_string());
        Outcome::found(
            severity,
            "few file descriptors",
            evidence,
            "Every connection of a client takes one for as long as it is kept open, every connection to a database \
             another. With none left, accepting fails.",
            format!(
                "set LimitNOFILE in the unit, or ulimit -n before the start (up to {hard} without root)"
            ),
        )
    })
}

pub(super) fn system_files(facts: &ServingFacts) -> Outcome {
    Outcome::of(&facts.system_files, |files| {
        let evidence = format!(
            "{} of {} files that the system may have are open ({})",
            files.used,
            files.most,
            per_cent(files.share())
        );
        if files.share() <= FULL {
            return Outcome::Fine(evidence);
        }
        Outcome::found(
            Severity::HarmsServer,
            "the system's table of open files is nearly full",
            evidence,
            "When it is full, opening a file or accepting a connection fails in every process.",
            "raise fs.file-max, and see who holds so many",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::{found, serving};
    use crate::serving::OpenFiles;

    fn with(soft: Option<u64>, used: u64) -> ServingFacts {
        let files = OpenFiles {
            soft,
            hard: Some(9000),
            used: Ok(used),
        };
        ServingFacts {
            pid: Some(7),
            open_files: Ok(files),
            ..serving()
        }
    }

    #[test]
    fn the_limit_and_what_is_used_of_it_count() {
        assert!(matches!(open_files(&with(None, 5)), Outcome::Fine(_)));
        assert!(matches!(open_files(&with(Some(4096), 5)), Outcome::Fine(_)));
        assert_eq!(
            found(open_files(&with(Some(1024), 5))).severity,
            Severity::Note
        );
        assert_eq!(
            found(open_files(&with(Some(1023), 5))).severity,
            Severity::HarmsServer
        );
        let full = found(open_files(&with(Some(10_000), 7001)));
        assert_eq!(full.severity, Severity::HarmsServer);
        assert!(
            full.evidence.contains("10000 open files and has 7001"),
            "{full:?}"
        );
    }

    #[test]
    fn what_cannot_be_counted_is_said() {
        let mut facts = with(Some(8000), 0);
        facts.open_files.as_mut().unwrap().used = Err("fd may not be read".to_owned());
        let Outcome::Fine(evidence) = open_files(&facts) else {
            panic!("the limit itself is fine");
        };
        assert!(evidence.contains("fd may not be read"), "{evidence}");
    }

    #[test]
    fn the_system_has_a_table_too() {
        let with = |used| ServingFacts {
            system_files: Ok(Filled { used, most: 100 }),
            ..serving()
        };
        assert!(matches!(system_files(&with(70)), Outcome::Fine(_)));
        assert!(
            found(system_files(&with(71)))
                .evidence
                .contains("71 of 100")
        );
    }
}
