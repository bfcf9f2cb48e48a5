//! The run folder as the procedure sees it: blocks that an earlier sitting measured are taken from there, and
//! each new trial is on disk before the next begins.
//!
//! A block is the unit of evidence because its trials were near each other in time, so a block that was broken
//! off is measured again whole; its trials stay in the folder, marked abandoned.

use run::{Document, Folder, FolderError, Lock, Stage, State, Trial, TrialStatus};

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
        // What kept the baseline from being measured may have been mended since.
        for trial in earlier.iter_mut().filter(|t| t.stage == Stage::Pilot) {
            if trial.status == TrialStatus::Failed {
                trial.status = TrialStatus::Abandoned;
            }
        }
        document.state = State::Running;
        document.warnings.clear();
        document.comparisons.clear();
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
        let complete =
            arms.iter().all(|arm| ours.iter().any(|t| t.arm == *arm)) && ours.len() == arms.len();
        if complete {
            self.document.trials.append(&mut old);
            self.document.trials.extend(ours.iter().cloned());
            return Ok(Some(ours));
        }
        for mut trial in ours {
            trial.status = TrialStatus::Abandoned;
            trial
                .reason
                .get_or_insert_with(|| "its block was broken off by an interruption".to_owned());
            self.folder.write_trial(&trial)?;
            old.push(trial);
        }
        self.document.trials.append(&mut old);
        Ok(None)
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
