//! The run folder as the procedure sees it: blocks that an earlier sitting measured are taken from there, and
//! each new trial is on disk before the next begins.
//!
//! A block is the unit of evidence because its trials were near each other in time, so a block that was broken
//! off is measured again whole; its trials stay in the folder, marked abandoned.

use crate::spoiled;
use run::{Document, Folder, FolderError, Lock, Stage, State, Trial, TrialStatus};
use std::collections::HashSet;

/// Abandons blocks in which no trial succeeded: their cause, such as a database that was down, may be removed since.
fn forget_outages(trials: &mut [Trial]) {
    let block = |trial: &Trial| (trial.stage, trial.block);
    let failed = |trial: &Trial| trial.status == TrialStatus::Failed;
    let others = trials.iter().filter(|trial| !failed(trial));
    let others = others.filter(|trial| trial.status != TrialStatus::Abandoned);
    let succeeded: HashSet<(Stage, u32)> = others.map(block).collect();
    for trial in trials.iter_mut() {
        // The pilot measures one arm, again and again.
        if failed(trial) && (trial.stage == Stage::Pilot || !succeeded.contains(&block(trial))) {
            trial.status = TrialStatus::Abandoned;
        }
    }
}

/// The document, its folder, and what an earlier sitting left.
#[derive(Debug)]
pub struct Store {
    /// The document as far as it is known.
    pub document: Document,
    folder: Folder,
    earlier: Vec<Trial>,
    elapsed_before_s: f64,
    _lock: Lock,
}

impl Store {
    /// A new run.
    pub fn create(folder: Folder, document: Document) -> Result<Store, FolderError> {
        let lock = folder.lock()?;
        folder.write(&document)?;
        Ok(Store {
            document,
            folder,
            earlier: Vec::new(),
            elapsed_before_s: 0.0,
            _lock: lock,
        })
    }

    /// A run that was interrupted. Its trials are offered block by block through [`Store::earlier_block`].
    pub fn resume(folder: Folder) -> Result<Store, FolderError> {
        let lock = folder.lock()?;
        let mut document = folder.read_whole()?;
        let elapsed_before_s = document.elapsed_s;
        if document.state == State::Done {
            let earlier = Vec::new();
            return Ok(Store {
                document,
                folder,
                earlier,
                elapsed_before_s,
                _lock: lock,
            });
        }
        let mut earlier = std::mem::take(&mut document.trials);
        forget_outages(&mut earlier);
        document.state = State::Running;
        document.resumed_at_s = Some(elapsed_before_s);
        document.warnings = spoiled::of_earlier_sittings(&document.warnings);
        document.comparisons.clear();
        document.memory.clear();
        document.latency.clear();
        document.calibration = None;
        document.verdict = None;
        Ok(Store {
            document,
            folder,
            earlier,
            elapsed_before_s,
            _lock: lock,
        })
    }

    /// Whether an earlier sitting's trials are still to be gone through.
    pub fn resuming(&self) -> bool {
        !self.earlier.is_empty()
    }

    /// What the earlier sittings left, for a person; `None` where there were none.
    pub fn kept(&self) -> Option<String> {
        let before_s = self.document.resumed_at_s.filter(|_| self.resuming())?;
        let kept = self.earlier.iter().filter(|t| t.counts()).count();
        Some(format!(
            "resumed: {} of earlier sittings ({before_s:.0} s) are kept if their block is complete; elapsed times count from now",
            run::counted(kept, "trial")
        ))
    }

    /// Notes the load before this sitting. The highest of all sittings stays: whether the host was busy is the question.
    pub fn note_load(&mut self, load_average: f64) {
        let host = &mut self.document.host;
        host.load_average = host.load_average.max(load_average);
    }

    /// Whether neither this sitting nor an earlier one has measured anything.
    pub fn is_empty(&self) -> bool {
        let runs = self.document.command.as_ref().map_or(0, |c| c.runs.len());
        self.document.trials.is_empty() && self.earlier.is_empty() && runs == 0
    }

    /// Names of the arms that an earlier sitting measured in a stage.
    pub fn earlier_arms(&self, stage: Stage) -> Vec<&str> {
        let of_stage = self.earlier.iter().filter(|t| t.stage == stage);
        of_stage
            .filter(|t| t.status != TrialStatus::Abandoned)
            .map(|t| t.arm.as_str())
            .collect()
    }

    /// Blocks of a stage, from the first on, that an earlier sitting measured whole with these arms.
    pub fn whole_blocks(&self, stage: Stage, arms: &[&str]) -> u32 {
        let whole = |block: &u32| {
            let of_block = self.earlier.iter().filter(|t| {
                t.stage == stage && t.block == *block && t.status != TrialStatus::Abandoned
            });
            is_whole(of_block, arms)
        };
        (1..).take_while(whole).count() as u32
    }

    /// Whether an earlier sitting began a block.
    pub fn has_earlier(&self, stage: Stage, block: u32) -> bool {
        let mut earlier = self.earlier.iter();
        earlier.any(|t| t.stage == stage && t.block == block)
    }

    /// Seconds after the run's begin at which an earlier sitting began a stage.
    pub fn began_s(&self, stage: Stage) -> Option<f64> {
        let of_stage = self.earlier.iter().filter(|t| t.stage == stage);
        of_stage.map(|t| t.started_s).reduce(f64::min)
    }

    /// Takes the block's trials if an earlier sitting measured all of these arms; otherwise marks what it left
    /// of the block as abandoned.
    pub fn earlier_block(
        &mut self,
        stage: Stage,
        block: u32,
        arms: &[&str],
    ) -> Result<Option<Vec<Trial>>, FolderError> {
        let (ours, others): (Vec<Trial>, Vec<Trial>) = std::mem::take(&mut self.earlier)
            .into_iter()
            .partition(|t| t.stage == stage && t.block == block);
        self.earlier = others;
        let (mut old, ours): (Vec<Trial>, Vec<Trial>) = ours
            .into_iter()
            .partition(|t| t.status == TrialStatus::Abandoned);
        if is_whole(ours.iter(), arms) {
            self.document.trials.append(&mut old);
            self.document.trials.extend(ours.iter().cloned());
            return Ok(Some(ours));
        }
        self.document.trials.append(&mut old);
        self.abandon(ours)?;
        Ok(None)
    }

    /// Marks as abandoned what an earlier sitting left of a stage that is over.
    pub fn abandon_rest(&mut self, stage: Stage) -> Result<(), FolderError> {
        let (rest, others): (Vec<Trial>, Vec<Trial>) = std::mem::take(&mut self.earlier)
            .into_iter()
            .partition(|t| t.stage == stage);
        self.earlier = others;
        self.abandon(rest)
    }

    fn abandon(&mut self, trials: Vec<Trial>) -> Result<(), FolderError> {
        for mut trial in trials {
            trial.status = TrialStatus::Abandoned;
            trial
                .reason
                .get_or_insert_with(|| "its block was broken off by an interruption".to_owned());
            self.folder.write_trial(&trial)?;
            self.document.trials.push(trial);
        }
        Ok(())
    }

    /// An id that no trial of the run has yet, an abandoned one among them.
    pub fn trial_id(&self, stage: Stage, block: u32, arm: &str) -> String {
        let first = format!("{}-b{block:02}-{arm}", stage.word());
        let taken = |id: &str| {
            self.document
                .trials
                .iter()
                .chain(&self.earlier)
                .any(|t| t.id == id)
        };
        let mut id = first.clone();
        let mut attempt = 2;
        while taken(&id) {
            id = format!("{first}-again{attempt}");
            attempt += 1;
        }
        id
    }

    /// Keeps a finished trial.
    pub fn keep(&mut self, trial: Trial, elapsed_s: f64) -> Result<(), FolderError> {
        self.folder.write_trial(&trial)?;
        self.document.trials.push(trial);
        self.save(elapsed_s)
    }

    /// Writes the document.
    pub fn save(&mut self, elapsed_s: f64) -> Result<(), FolderError> {
        self.document.elapsed_s = self.elapsed_before_s + elapsed_s;
        // Until they are gone through, an earlier sitting's trials belong to the document on disk too.
        let mut whole = self.document.clone();
        whole.trials.extend(self.earlier.iter().cloned());
        self.folder.write(&whole)
    }

    /// Seconds measured by earlier sittings.
    pub fn elapsed_before_s(&self) -> f64 {
        self.elapsed_before_s
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }
}

/// Whether these trials of a block, without abandoned ones, are one of each arm.
fn is_whole<'t>(trials: impl Iterator<Item = &'t Trial> + Clone, arms: &[&str]) -> bool {
    let has = |arm: &&str| trials.clone().any(|t| t.arm == **arm);
    !arms.is_empty() && arms.iter().all(has) && trials.clone().count() == arms.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../../contract/samples/run/tune.json");

    #[test]
    fn no_conclusion_of_an_earlier_sitting_stays() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "20261120-214512-tune-1f3a").unwrap();
        let mut document: Document = serde_json::from_str(SAMPLE).unwrap();
        document.state = State::Interrupted;
        document.trials.clear();
        document.memory = document.comparisons.clone();
        document.latency = document.comparisons.clone();
        assert!(!document.memory.is_empty());
        drop(Store::create(folder.clone(), document).unwrap());
        let mut resumed = Store::resume(folder).unwrap();
        let document = &resumed.document;
        assert!(document.memory.is_empty() && document.latency.is_empty());
        assert!(document.comparisons.is_empty());
        let before = document.host.load_average;
        resumed.note_load(before / 2.0);
        assert_eq!(resumed.document.host.load_average, before);
        resumed.note_load(before + 3.0);
        assert_eq!(resumed.document.host.load_average, before + 3.0);
    }

    #[test]
    fn a_block_that_was_broken_off_is_not_whole() {
        let runs = tempfile::tempdir().unwrap();
        let whole = |measured: &[(u32, &str)]| {
            let folder = Folder::create(runs.path(), &format!("run-{}", measured.len())).unwrap();
            let mut document: Document = serde_json::from_str(SAMPLE).unwrap();
            document.state = State::Interrupted;
            let trial = document.trials.iter().find(|t| t.stage == Stage::Confirm);
            let trial = trial.unwrap().clone();
            let of = |(block, arm): &(u32, &str)| Trial {
                id: format!("{block}-{arm}"),
                block: *block,
                arm: (*arm).to_owned(),
                ..trial.clone()
            };
            document.trials = measured.iter().map(of).collect();
            for trial in &document.trials {
                folder.write_trial(trial).unwrap();
            }
            folder.write(&document).unwrap();
            let store = Store::resume(folder).unwrap();
            store.whole_blocks(Stage::Confirm, &["a", "b"])
        };
        assert_eq!(whole(&[(1, "a")]), 0);
        assert_eq!(whole(&[(1, "a"), (2, "b")]), 0);
        assert_eq!(whole(&[(1, "a"), (1, "b"), (2, "b")]), 1);
    }
}
