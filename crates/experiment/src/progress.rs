//! Events of the procedure for its watcher: the terminal, a test, or none.

use run::{CommandRun, Document, RatePurpose, RateTrial, Stage, Trial, validation};
use std::time::Duration;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A one-time step that has no length known beforehand.
    Preparing(&'a str),
    /// The plan, when it is first made and each time that a measurement settles more of it.
    Planned {
        /// The document that has it.
        document: &'a Document,
        /// What settled.
        because: &'a str,
    },
    /// The next trial, and how many the whole run will have at most.
    Trial {
        /// Part of the procedure.
        stage: Stage,
        /// Block, from 1.
        block: u32,
        /// Blocks of this stage.
        blocks: u32,
        /// What its arm is called.
        called: &'a str,
        /// Trials finished in this run.
        finished: u32,
        /// Trials that the run will have at most, as far as is known.
        expected: u32,
        /// Seconds until the run ends, this trial included, by what trials took so far; `None` before one has ended.
        left_s: Option<f64>,
    },
    /// What the trial is doing now.
    Phase(&'a str),
    /// A trial ended, well or not; `reused` when an earlier sitting had measured it.
    Ended {
        /// The trial.
        trial: &'a Trial,
        /// What its arm is called.
        called: &'a str,
        /// Measured by an earlier sitting.
        reused: bool,
    },
    /// A run of a command ended, well or not.
    Ran {
        /// The run.
        run: &'a CommandRun,
        /// What its arm is called.
        called: &'a str,
    },
    /// A search offers a rate.
    Offering {
        /// Requests per second.
        per_s: f64,
        /// Window, seconds.
        seconds: f64,
        /// What for.
        purpose: RatePurpose,
        /// Seconds left of the search's budget.
        left_s: f64,
        /// That budget.
        budget_s: f64,
    },
    /// What became of it.
    Offered {
        /// The trial.
        trial: &'a RateTrial,
    },
    /// The next part of something whose length is known.
    Step {
        /// What begins.
        what: &'a str,
        /// Its number among the parts, from 1.
        number: u32,
        /// Parts in all.
        of: u32,
        /// Seconds until the end, as far as is known.
        left_s: Option<f64>,
    },
    /// A prediction met what came.
    Scored {
        /// The window.
        trial: &'a validation::Trial,
    },
    /// Something that a person would want to know while it runs.
    Note(String),
}

/// Who watches, and may stop it.
pub trait Watcher: Sync {
    /// Takes an event.
    fn on(&self, event: Event<'_>);
    /// True once the user wants it to stop.
    fn cancelled(&self) -> bool;
    /// Time since the run began, this sitting alone; a trait's method so that the procedure reads no clock of its own.
    fn elapsed(&self) -> Duration;
}
