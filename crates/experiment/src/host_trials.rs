//! Trials on servers that are started on this host.

use crate::arm_environment::RejectedValue;
use crate::bench::Bench;
use crate::changes;
use crate::error::Stopped;
use crate::progress::Watcher;
use crate::rates::{self, Started};
use crate::request::Arm;
use crate::trial::{self, Assignment, Measured};
use crate::trials::Trials;
use run::{FileChange, RateSearch, Sending, SetVariable};

impl Trials for Bench<'_> {
    fn run(&self, assignment: Assignment<'_>, watcher: &dyn Watcher) -> Result<Measured, Stopped> {
        self.host.look(watcher);
        trial::run(self, assignment, watcher)
    }

    fn highest_rate(
        &self,
        wanted: Started<'_>,
        watcher: &dyn Watcher,
    ) -> Result<RateSearch, Stopped> {
        rates::of_arm(self, wanted, watcher)
    }

    fn sending(&self) -> Sending {
        self.sender.sending()
    }

    fn sending_caveats(&self) -> Vec<String> {
        self.sender.caveats()
    }

    fn environment(&self, arm: &Arm) -> Vec<SetVariable> {
        self.told(arm)
    }

    fn rejected_values(&self) -> &[RejectedValue] {
        &self.arm_environments.apart
    }

    fn changes(&self, arm: &Arm) -> (Vec<FileChange>, Vec<String>) {
        changes::changes(self, arm)
    }

    fn host_warnings(&self, watcher: &dyn Watcher) -> Vec<String> {
        self.host.warnings(watcher)
    }
}
