//! The seam between the procedure and what it measures on: servers on this host, or in unit tests a script.

use crate::arm_environment::RejectedValue;
use crate::error::Stopped;
use crate::progress::Watcher;
use crate::rates::Started;
use crate::request::Arm;
use crate::trial::{Assignment, Measured};
use run::{FileChange, RateSearch, Sending, SetVariable};

/// Measures arms.
pub trait Trials {
    /// Runs one trial. A server that fails is the trial's result, not an error.
    fn run(&self, assignment: Assignment<'_>, watcher: &dyn Watcher) -> Result<Measured, Stopped>;

    /// Searches the highest rate at which one arm meets the objective.
    fn highest_rate(
        &self,
        wanted: Started<'_>,
        watcher: &dyn Watcher,
    ) -> Result<RateSearch, Stopped>;

    /// How requests are sent, as far as the first server has settled it.
    fn sending(&self) -> Sending;

    /// What a reader must know of how requests were sent.
    fn sending_caveats(&self) -> Vec<String>;

    /// The variables that an arm sets in the server's environment, as the document has them.
    fn environment(&self, arm: &Arm) -> Vec<SetVariable>;

    /// Values of searched knobs that some Rubies do not take.
    fn rejected_values(&self) -> &[RejectedValue];

    /// The files that start the server with an arm's settings, and what is left to do by hand.
    fn changes(&self, arm: &Arm) -> (Vec<FileChange>, Vec<String>);

    /// What on the host spoiled what was measured so far.
    fn host_warnings(&self, watcher: &dyn Watcher) -> Vec<String>;
}
