//! What became of the requests at one shadow, in numbers.

use std::collections::BTreeMap;

use capture::{Failure, Outcome, Pair};
use run::duplex;

use crate::seen::tells;

/// Of one shadow.
#[derive(Debug, Default)]
pub struct Tally {
    sampled: u64,
    answered: u64,
    failed: BTreeMap<String, u64>,
    dropped: BTreeMap<String, u64>,
    server_errors: u64,
    compared: u64,
    lost: u64,
    delays_ns: u64,
    sent: u64,
    waited_ns: u64,
    waits_unknown: u64,
}

impl Tally {
    /// All outcomes of one request at this shadow.
    pub fn add(&mut self, pair: &Pair, shadow: usize) {
        let primary = pair.primary.as_ref().filter(|answer| answer.complete);
        let copies = pair.shadows.iter();
        for copy in copies.filter(|copy| usize::from(copy.shadow) == shadow) {
            self.sampled += 1;
            let mut sent = true;
            match &copy.outcome {
                Outcome::Answered(answer) if answer.complete => {
                    self.answered += 1;
                    self.waited_ns = self.waited_ns.saturating_add(copy.waited_ns.unwrap_or(0));
                    self.waits_unknown += u64::from(copy.waited_ns.is_none());
                    self.compared += u64::from(primary.is_some());
                    let fails = answer.status >= 500;
                    let errs = fails && primary.is_some_and(|primary| primary.status < 500);
                    self.server_errors += u64::from(errs);
                }
                Outcome::Answered(_) => self.fail(Failure::Cut),
                Outcome::Failed(failure) => self.fail(*failure),
                Outcome::Dropped(cause) => {
                    sent = false;
                    *self.dropped.entry(cause.word().to_owned()).or_default() += 1;
                    self.lost += u64::from(tells(*cause));
                }
            }
            if sent {
                self.sent += 1;
                self.delays_ns = self.delays_ns.saturating_add(copy.delay_ns);
            }
        }
    }

    fn fail(&mut self, failure: Failure) {
        *self.failed.entry(failure.word().to_owned()).or_default() += 1;
        self.lost += u64::from(failure != Failure::Ended);
    }

    /// As the document has it.
    pub fn document(&self, name: &str, twin: bool) -> duplex::Shadow {
        let share = |count: u64| match self.sampled {
            0 => 0.0,
            sampled => count as f64 / sampled as f64,
        };
        duplex::Shadow {
            name: name.to_owned(),
            twin,
            sampled: self.sampled,
            answered: self.answered,
            failed: self.failed.clone(),
            dropped: self.dropped.clone(),
            server_errors: self.server_errors,
            compared: self.compared,
            coverage: share(self.compared),
            lost: share(self.lost),
            delay_ms: (self.sent > 0).then(|| self.delays_ns as f64 / self.sent as f64 / 1e6),
            core_wait_ms: (self.answered > 0 && self.waits_unknown == 0)
                .then(|| self.waited_ns as f64 / self.answered as f64 / 1e6),
            inside: None,
        }
    }
}
