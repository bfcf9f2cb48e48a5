//! Worker processes against the CPU time that there is for them.

use host::{Outcome, Severity};

use crate::application::ApplicationFacts;

pub(super) fn workers(facts: &ApplicationFacts) -> Outcome {
    Outcome::of(&facts.workers, |workers| {
        let processes = workers.count.max(1);
        let (limit, severity, of) =
            match facts.cpu_quota.filter(|quota| *quota < facts.cores as f64) {
                Some(quota) => (
                    quota.ceil(),
                    Severity::HarmsServer,
                    format!("a quota of {quota:.2} cores"),
                ),
                None => (
                    facts.cores as f64,
                    Severity::Note,
                    format!("{} cores", facts.cores),
                ),
            };
        let plural = if processes == 1 { "" } else { "es" };
        let evidence = format!("{processes} process{plural} ({}), {of}", workers.from);
        if f64::from(processes) <= limit {
            return Outcome::Fine(evidence);
        }
        Outcome::found(
            severity,
            "there are more worker processes than CPU time for them",
            evidence,
            "Each process can use one core. More processes than cores take turns; with a quota all of them stop, in the middle \
             of requests, when it is used up.",
            "lower the workers to the cores or the quota, unless powerband tune shows that more serve more; for requests that \
             wait for I/O add threads",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::{application, counted, found};

    fn with(workers: u32, cpu_quota: Option<f64>) -> ApplicationFacts {
        ApplicationFacts {
            workers: Ok(counted(workers)),
            cpu_quota,
            ..application()
        }
    }

    #[test]
    fn a_quota_counts_in_whole_cores_and_harms() {
        assert!(matches!(workers(&with(2, Some(1.5))), Outcome::Fine(_)));
        assert_eq!(
            found(workers(&with(3, Some(1.5)))).severity,
            Severity::HarmsServer
        );
        // A quota above the cores limits nothing.
        assert_eq!(found(workers(&with(5, Some(8.0)))).severity, Severity::Note);
    }

    #[test]
    fn more_than_the_cores_is_a_note() {
        assert!(matches!(workers(&with(4, None)), Outcome::Fine(_)));
        let finding = found(workers(&with(5, None)));
        assert_eq!(
            (finding.severity, finding.evidence.as_str()),
            (Severity::Note, "5 processes (the test), 4 cores")
        );
        assert!(matches!(workers(&with(0, Some(0.5))), Outcome::Fine(_)));
    }
}
