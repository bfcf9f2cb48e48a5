//! Runs blocks: each holds one trial of every arm in random order, and is the unit of evidence.

use crate::budget::{Ageing, Overhead};
use crate::discard;
use crate::error::Stopped;
use crate::layout;
use crate::progress::{Event, Watcher};
use crate::request::{Arm, Experiment};
use crate::store::Store;
use crate::trial::{Assignment, Serving, WarmupLength};
use crate::trials::Trials;
use capture::mix64;
use run::{Aged, Stage, State, Trial, TrialStatus};
use stats::summary;
use std::collections::BTreeSet;

/// A run under way.
pub struct Procedure<'a> {
    /// What was asked.
    pub experiment: &'a Experiment,
    /// What measures.
    pub trials: &'a dyn Trials,
    /// The document and its folder.
    pub store: Store,
    /// Who watches.
    pub watcher: &'a dyn Watcher,
    /// Trials that the run will have at most, as far as is known.
    pub expected: u32,
    /// Seconds that are kept for what follows the trials.
    pub kept_s: f64,
    /// Trials finished, an earlier sitting's included.
    finished: u32,
}

impl<'a> Procedure<'a> {
    /// Nothing measured yet in this sitting.
    pub fn new(
        experiment: &'a Experiment,
        trials: &'a dyn Trials,
        store: Store,
        watcher: &'a dyn Watcher,
    ) -> Procedure<'a> {
        Procedure {
            experiment,
            trials,
            store,
            watcher,
            expected: 0,
            kept_s: 0.0,
            finished: 0,
        }
    }

    /// Seconds since the run began, earlier sittings included.
    pub fn elapsed_s(&self) -> f64 {
        self.store.elapsed_before_s() + self.watcher.elapsed().as_secs_f64()
    }

    /// Settles the connections of the closed loop, for arms of which the largest has so many threads in all.
    pub fn offer(&mut self, most: u32) {
        self.store.document.plan.connections = self.experiment.clients(most);
    }

    /// What a trial costs in addition to its windows, as measured so far.
    pub fn overhead(&self) -> Option<Overhead> {
        let ageing = self.ageing().unwrap_or(Ageing::NONE);
        Some(Overhead::measured(self.overhead_s()?, ageing))
    }

    /// How long the baseline takes to age, by the pilot; `None` where no age was asked for.
    pub fn ageing(&self) -> Option<Ageing> {
        let plan = &self.store.document.plan;
        let (age, rate_per_s) = (plan.age?, plan.rate_per_s?);
        let (capacity_per_s, warmed_up) = self.pace()?;
        let requests = age.requests;
        Some(Ageing::of(requests, warmed_up, capacity_per_s, rate_per_s))
    }

    /// The baseline's answers a second at full load and requests of its warm-up, as the slowest trial of the pilot had them.
    pub fn pace(&self) -> Option<(f64, u64)> {
        let pilot = self.pilot();
        let paces = pilot.iter().filter_map(|trial| {
            let capacity_per_s = trial.capacity_per_s().filter(|per_s| *per_s > 0.0)?;
            Some((capacity_per_s, trial.warmup?.requests))
        });
        paces.min_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// Seconds that a trial of the baseline takes by the plan.
    pub fn planned_trial_s(&self) -> Option<f64> {
        let window_s = self.store.document.plan.timing.saturation_s;
        Some(self.overhead()?.trial_s(window_s))
    }

    /// Seconds that a trial takes in addition to its windows and its ageing, as measured so far.
    fn overhead_s(&self) -> Option<f64> {
        let trials = self.store.document.trials.iter();
        let overheads: Vec<f64> = trials.filter_map(Trial::around_windows_s).collect();
        summary::median(&overheads)
    }

    /// Seconds that trials after the pilot took, which has fewer connections and so less to wait for.
    fn taken_s(&self, of: impl Fn(&Trial) -> bool) -> Vec<f64> {
        let trials = self.store.document.trials.iter();
        let after_pilot = trials.filter(|t| t.counts() && t.stage != Stage::Pilot && of(t));
        after_pilot.map(|t| t.took_s).collect()
    }

    /// Seconds that a trial of this arm takes.
    pub fn trial_of_s(&self, arm: &Arm) -> Option<f64> {
        let own = self.taken_s(|trial| trial.arm == arm.name);
        summary::median(&own).or_else(|| self.planned_trial_s())
    }

    /// So many trials come yet, at most.
    pub fn expect(&mut self, more: u32) {
        self.expected = self.finished + more;
    }

    /// Seconds until the run ends when so many trials come yet, this one included.
    fn left_s(&self, trials: u32) -> Option<f64> {
        let plan = &self.store.document.plan;
        // Where no latency counts, what trials took says it.
        let whole_s = || {
            let trials = self.store.document.trials.iter().filter(|t| t.counts());
            summary::median(&trials.map(|t| t.took_s).collect::<Vec<_>>())
        };
        // Not the median: a slow arm is in every block.
        let taken_s = summary::mean(&self.taken_s(|_| true));
        let of_pilot = || self.planned_trial_s();
        let trial_s = taken_s.or_else(of_pilot).or_else(whole_s)?;
        let trials_s = f64::from(trials) * trial_s;
        // What follows takes no more than the trials leave of the budget.
        let budget_s = plan.budget_s.unwrap_or(f64::INFINITY);
        let rest_s = (budget_s - self.elapsed_s() - trials_s).max(0.0);
        Some(trials_s + self.kept_s.min(rest_s))
    }

    /// One trial of every arm, in random order; an earlier sitting's are taken as they are.
    pub fn block(
        &mut self,
        stage: Stage,
        block: u32,
        blocks: u32,
        arms: &[Arm],
    ) -> Result<Vec<Trial>, Stopped> {
        let names: Vec<&str> = arms.iter().map(|a| a.name.as_str()).collect();
        if let Some(trials) = self.store.earlier_block(stage, block, &names)? {
            self.finished += trials.len() as u32;
            for trial in &trials {
                let arm = arms.iter().find(|arm| arm.name == trial.arm);
                self.watcher.on(Event::Ended {
                    trial,
                    called: &arm.map_or_else(|| trial.arm.clone(), |arm| arm.called_among(arms)),
                    reused: true,
                });
            }
            return Ok(trials);
        }
        let seed = self.block_seed(stage, block);
        let order = stats::block_orders(arms.len(), 1, seed).swap_remove(0);
        let mut trials = Vec::new();
        for (place, index) in order.into_iter().enumerate() {
            if self.watcher.cancelled() {
                return Err(Stopped::Interrupted);
            }
            let arm = &arms[index];
            let called = arm.called_among(arms);
            let (finished, expected) = (self.finished, self.expected.max(self.finished + 1));
            self.watcher.on(Event::Trial {
                stage,
                block,
                blocks,
                called: &called,
                finished,
                expected,
                left_s: self.left_s(expected - finished),
            });
            // The simulator reads what the pilot's last trial recorded: no request may follow its windows.
            let ages = stage != Stage::Pilot || block < blocks;
            let trial = self.trial(stage, block, place as u32 + 1, arm, seed, ages)?;
            self.finished += 1;
            self.watcher.on(Event::Ended {
                trial: &trial,
                called: &called,
                reused: false,
            });
            self.store
                .keep(trial.clone(), self.watcher.elapsed().as_secs_f64())?;
            // A resumed run simulates what the pilot recorded.
            if stage != Stage::Pilot {
                self.discard_flights(&trial.id)?;
            }
            trials.push(trial);
        }
        Ok(trials)
    }

    fn trial(
        &mut self,
        stage: Stage,
        block: u32,
        place: u32,
        arm: &Arm,
        seed: u64,
        ages: bool,
    ) -> Result<Trial, Stopped> {
        let id = self.store.trial_id(stage, block, &arm.name);
        let plan = &self.store.document.plan;
        let timing = plan.timing;
        let folder = self.store.folder().trial_dir(&id)?;
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let limit = self.experiment.objective.latency;
        let assignment = Assignment {
            id,
            stage,
            block,
            place,
            serving: Serving {
                arm,
                warmup: WarmupLength::before(timing.saturation_s, timing.warmup_max_s),
                connections: plan.connections,
                limit: limit.map(|objective| objective.limit()),
                seed,
                pinning: plan.pinning.clone(),
                folder,
                bursts: stage == Stage::Pilot,
            },
            timing,
            age: plan.age.filter(|_| ages),
            rate_per_s: plan.rate_per_s,
            started_s: self.elapsed_s(),
        };
        let mut measured = self.trials.run(assignment, self.watcher)?;
        let document = &mut self.store.document;
        if let Some(memory) = &mut measured.trial.memory
            && document.plan.age.is_some()
            && !ages
        {
            memory.aged = Some(Aged::none("the last trial of the pilot is not aged"));
        }
        document.plan.sending = Some(self.trials.sending());
        let goal = &self.experiment.goal;
        let of_first = goal
            .first_arm()
            .is_none_or(|first| first.revision == arm.revision);
        let model = document.model.as_ref();
        // The model knows what the pilot ran with.
        measured.trial.predicted = model
            .filter(|_| arm.overlay.is_empty() && of_first)
            .and_then(|model| model.foreseen(arm.settings));
        for (name, version) in measured.versions {
            let all = document.versions.entry(name).or_default();
            *all = with_version(all, version);
        }
        // Not by what the document shows of it, where secrets look alike.
        let overlay = goal.baseline_overlay();
        let baseline = of_first
            && arm.settings == document.plan.baseline
            && overlay.map_or(arm.overlay.is_empty(), |overlay| *overlay == arm.overlay);
        if baseline && document.profile.is_none() {
            document.profile = measured.profile;
        }
        Ok(measured.trial)
    }

    /// Gives the generator a core of its own when it took more than its share in the trials so far. True when
    /// that changes the layout.
    pub fn settle_pinning(&mut self) -> bool {
        let trials = &self.store.document.trials;
        let shares: Vec<f64> = trials
            .iter()
            .filter(|t| t.counts())
            .filter_map(|t| t.saturation.as_ref())
            .map(|w| w.generator_cpu)
            .collect();
        let share = summary::median(&shares).unwrap_or(0.0);
        let pinned = !self.store.document.plan.pinning.generator_cores.is_empty();
        let asked = self.experiment.generator_core;
        let takes = format!("the generator takes {:.1} % of a core", share * 100.0);
        let cores = host::cores::available().map_or(1, |cores| cores.affinity.len());
        let much = share > layout::GENERATOR_SHARE;
        let so = match asked {
            None => "so",
            Some(_) => "and as was asked",
        };
        let wanted = asked.unwrap_or(much && layout::can_spare_one(cores));
        let apart = wanted.then(|| layout::apart(format!("{takes}, {so} it has one of its own")));
        let pinning = match (apart.flatten(), asked) {
            (Some(apart), _) => apart,
            (None, _) if pinned => return false,
            (None, Some(true)) => layout::shared(format!(
                "{takes}, and there is no core that it could have to itself"
            )),
            (None, None) if much => layout::shared(format!(
                "{takes}, and one of {} is too much to take from the server for that",
                run::counted(cores, "core")
            )),
            (None, _) => layout::shared(format!("{takes}, {so} the server has them all")),
        };
        let changes = pinning.generator_cores != self.store.document.plan.pinning.generator_cores;
        self.store.document.plan.pinning = pinning;
        changes
    }

    /// Valid trials of the baseline in the pilot.
    pub fn pilot(&self) -> Vec<&Trial> {
        self.store
            .document
            .trials
            .iter()
            .filter(|t| t.stage == Stage::Pilot && t.counts())
            .collect()
    }

    /// The same for every arm of a block and different for every block.
    pub fn block_seed(&self, stage: Stage, block: u32) -> u64 {
        mix64(self.store.document.seed ^ (stage as u64) << 32 ^ u64::from(block))
    }

    /// What on the host spoiled what was measured so far.
    pub fn host_warnings(&self) -> Vec<String> {
        self.trials.host_warnings(self.watcher)
    }

    /// Writes the document as it is.
    pub fn save(&mut self) -> Result<(), Stopped> {
        Ok(self.store.save(self.watcher.elapsed().as_secs_f64())?)
    }

    /// Says that an arm is no longer measured, because it is [`hopeless`].
    pub fn note_given_up(&self, arm: &Arm) {
        let note = format!("{arm}: given up after two failures");
        self.watcher.on(Event::Note(note));
    }

    fn discard_flights(&self, trial: &str) -> Result<(), Stopped> {
        let folder = self.store.folder().trial_dir(trial)?;
        discard::discard(&folder, self.experiment);
        Ok(())
    }

    /// Ends the run with its verdict and writes the document.
    pub fn end(&mut self) -> Result<(), Stopped> {
        self.store.document.state = State::Done;
        self.save()?;
        for folder in self.store.folder().trial_dirs()? {
            discard::discard(&folder, self.experiment);
        }
        Ok(())
    }
}

/// Leaves out the arms that have nothing to say, for the reason that `why` gives; without the first, to which the others are
/// compared, there is no answer.
pub fn drop_hopeless(
    procedure: &Procedure<'_>,
    live: &mut Vec<Arm>,
    why: impl Fn(&str) -> Option<String>,
) -> Result<(), Stopped> {
    for (index, arm) in live.clone().iter().enumerate() {
        let Some(reason) = why(&arm.name) else {
            continue;
        };
        if index == 0 {
            return Err(Stopped::NoAnswer(format!(
                "{arm} cannot be measured: {reason}"
            )));
        }
        procedure.note_given_up(arm);
        live.retain(|a| a != arm);
    }
    Ok(())
}

/// Why an arm has nothing more to say in a stage: two trials of it failed there and none succeeded, or one where no trial of any
/// arm succeeded.
pub fn hopeless(trials: &[Trial], stage: Stage, arm: &str) -> Option<String> {
    let (failed, reason) = all_failed(trials, stage, arm)?;
    (failed >= 2 || every_arm_failed(trials, stage)).then_some(reason)
}

/// Whether several arms were measured in a stage and every trial failed: something that they share does not work, such as a
/// database.
fn every_arm_failed(trials: &[Trial], stage: Stage) -> bool {
    let of_stage = trials.iter();
    let of_stage = of_stage.filter(|t| t.stage == stage && t.status != TrialStatus::Abandoned);
    let arms: BTreeSet<&str> = of_stage.clone().map(|t| t.arm.as_str()).collect();
    arms.len() > 1
        && of_stage
            .into_iter()
            .all(|t| t.status == TrialStatus::Failed)
}

/// How many trials of an arm failed in a stage, and the reason of the last; `None` where one succeeded.
pub fn all_failed(trials: &[Trial], stage: Stage, arm: &str) -> Option<(usize, String)> {
    let mine: Vec<&Trial> = trials
        .iter()
        .filter(|t| t.stage == stage && t.arm == arm && t.status != TrialStatus::Abandoned)
        .collect();
    let failed = mine
        .iter()
        .filter(|t| t.status == TrialStatus::Failed)
        .count();
    let reason = mine
        .iter()
        .rev()
        .find_map(|t| t.reason.clone())
        .unwrap_or_default();
    (failed >= 1 && failed == mine.len()).then_some((failed, reason))
}

/// The last reason that a trial gave for not counting, or what to know about it.
pub fn last_reason(trials: &[Trial]) -> String {
    let mut reasons = trials.iter().rev();
    reasons.find_map(|t| t.reason.clone()).unwrap_or_default()
}

/// Versions of all configurations, with one more: `3.3.11, 3.4.9`.
fn with_version(all: &str, version: String) -> String {
    let mut versions: Vec<&str> = all.split(", ").filter(|one| !one.is_empty()).collect();
    if !versions.contains(&version.as_str()) {
        versions.push(&version);
    }
    versions.sort_unstable();
    versions.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_configurations_are_listed_once_each() {
        let mut all = String::new();
        for version in ["3.4.9", "3.3.11", "3.4.9"] {
            all = with_version(&all, version.to_owned());
        }
        assert_eq!(all, "3.3.11, 3.4.9");
    }
}
