//! The earlier run of `tune --since`: its answer, and what it measured.

use run::{
    Answer, ArmSummary, Document, EarlierRequest, Feasibility, Folder, Kind, Objective, Settings,
    Since, WorkloadEntry,
};
use small_sort::SmallSort;
use std::path::Path;

const OF_TUNE: &str = "name a run of tune";

/// What an earlier run knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// Its answer, as the new document has it.
    pub since: Since,
    /// The configurations that it measured and that broke no limit, without its answer; the most requests a second first.
    pub tried: Vec<Settings>,
    /// Its machine: the processor's model and the cores.
    pub machine: (String, f64),
    /// Its application's folder.
    pub app_dir: String,
    /// Its limits.
    pub objective: Objective,
    /// Its requests.
    pub workload: Vec<WorkloadEntry>,
}

impl Earlier {
    /// Reads it from the run folder.
    ///
    /// # Errors
    /// Why the run has no answer that can be judged again, with the remedy.
    pub fn read(folder: &Path) -> Result<Earlier, (String, String)> {
        let read = Folder::open(folder).and_then(|folder| folder.read());
        let document = read.map_err(|e| (e.to_string(), OF_TUNE.to_owned()))?;
        Earlier::of(&document)
    }

    pub(crate) fn of(document: &Document) -> Result<Earlier, (String, String)> {
        if document.kind != Kind::Tune {
            let why = format!("it is a run of {}", document.kind.verb());
            return Err((why, OF_TUNE.to_owned()));
        }
        if document.command.is_some() {
            let why = "it is a run of a command, which has no workers and threads".to_owned();
            return Err((why, OF_TUNE.to_owned()));
        }
        let answered = |answer| matches!(answer, Answer::Change | Answer::Smaller | Answer::Keep);
        let verdict = document.verdict.as_ref();
        let Some(verdict) = verdict.filter(|verdict| answered(verdict.answer)) else {
            let why = "it ended without a configuration to run or to keep".to_owned();
            return Err((why, "run powerband tune without --since".to_owned()));
        };
        let answers = |arm: &&ArmSummary| Some(&arm.name) == verdict.arm.as_ref();
        let sets = document.arms.iter().find(answers);
        if let Some(set) = sets.and_then(|arm| arm.environment.first()) {
            let why = format!(
                "its answer sets {}, and only workers and threads can be judged again",
                set.knob
            );
            let remedy = "compare today's configuration with the answer: powerband compare";
            return Err((why, remedy.to_owned()));
        }
        let request = document.profile.as_ref().map(|profile| EarlierRequest {
            settings: document.plan.baseline,
            held_ms: profile.held_ms,
            io_ms: profile.io_ms,
            lock_wait_ms: profile.lock_wait_ms,
        });
        Ok(Earlier {
            tried: tried(document, verdict.settings),
            machine: (
                document.host.cpu_model.clone(),
                document.host.effective_cores,
            ),
            app_dir: document.plan.app_dir.clone(),
            objective: document.plan.objective.clone(),
            workload: document.plan.workload.clone(),
            since: Since {
                run: document.id.clone(),
                started_at: document.started_at.clone(),
                settings: verdict.settings,
                request,
                standing: None,
                sentence: None,
            },
        })
    }
}

fn tried(document: &Document, answer: Settings) -> Vec<Settings> {
    let kept = document.arms.iter().filter(|arm| {
        arm.environment.is_empty()
            && arm.settings != answer
            && arm.feasible != Feasibility::Breaks
            && arm.capacity_per_s.is_some()
    });
    let mut kept: Vec<&ArmSummary> = kept.collect();
    let per_s = |arm: &ArmSummary| arm.capacity_per_s.unwrap_or(0.0);
    kept.small_sort_by(|a, b| per_s(b).total_cmp(&per_s(a)));
    kept.into_iter().map(|arm| arm.settings).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_search_with_an_answer_is_read() {
        let document = sample::document("tune");
        let earlier = Earlier::of(&document).unwrap();
        let verdict = document.verdict.as_ref().unwrap();
        assert_eq!(earlier.since.settings, verdict.settings);
        assert_eq!(
            earlier.since.request.unwrap().held_ms,
            document.profile.as_ref().unwrap().held_ms
        );
        let per_s = |settings: &Settings| {
            let arm = document.arms.iter().find(|arm| arm.settings == *settings);
            arm.unwrap().capacity_per_s.unwrap()
        };
        assert!(!earlier.tried.is_empty() && earlier.tried.is_sorted_by_key(|of| -per_s(of)));
        assert!(!earlier.tried.contains(&verdict.settings));
    }

    #[test]
    fn what_cannot_be_judged_again_is_refused() {
        let refused = |document: &Document| Earlier::of(document).unwrap_err().0;
        assert_eq!(
            refused(&sample::document("compare")),
            "it is a run of compare"
        );
        let mut document = sample::document("tune");
        let verdict = document.verdict.as_mut().unwrap();
        verdict.answer = Answer::Undecided;
        assert_eq!(
            refused(&document),
            "it ended without a configuration to run or to keep"
        );
        document.verdict.as_mut().unwrap().answer = Answer::Change;
        let answer = document.verdict.as_ref().unwrap().arm.clone().unwrap();
        let mut arms = document.arms.iter_mut();
        arms.find(|arm| arm.name == answer).unwrap().environment = vec![run::SetVariable {
            knob: "malloc_arena_max".to_owned(),
            value: "2".to_owned(),
            variable: "MALLOC_ARENA_MAX".to_owned(),
            holds: "2".to_owned(),
        }];
        assert!(refused(&document).starts_with("its answer sets malloc_arena_max"));
        let nowhere = Earlier::read(Path::new("/nowhere")).unwrap_err();
        assert!(nowhere.0.contains("/nowhere"), "{nowhere:?}");
    }
}
