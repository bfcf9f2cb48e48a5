//! `tune` after earlier runs of the same application: they set its plan and its candidates, and not its answer.

use super::promise::wrong_at_most;
use super::{Script, conducted, measured, scratch, tuned, typed};
use crate::request::Experiment;
use crate::session::known;
use run::{Answer, Document, Known, Settings, Stage};

const TODAY: &str = "threads=1,workers=0";

fn asked(seed: u64, budget: &str, known: Option<Known>) -> Experiment {
    let experiment = tuned(seed, |request| {
        request.baseline = typed(TODAY);
        request.budget = typed(budget);
    });
    Experiment {
        known,
        ..experiment
    }
}

fn known_of(document: &Document) -> Known {
    known::of(std::slice::from_ref(document), &asked(1, "20m", None)).unwrap()
}

fn first_of(document: &Document, stage: Stage) -> Vec<Settings> {
    let trials = document.trials.iter().filter(|t| t.stage == stage);
    trials
        .filter(|t| t.block == 1)
        .map(|t| t.settings)
        .collect()
}

/// A short run begins with the answer of a long one, and says what its plan rests on.
#[test]
fn the_next_run_begins_with_what_is_known() {
    let script = || Script {
        around_trial_s: 8.0,
        noise: 0.005,
        ..Script::of(4.0, 12.0)
    };
    let long = measured(&script(), &asked(1, "45m", None));
    let answer = long.verdict.as_ref().unwrap().settings;
    let script = script();
    let short = measured(&script, &asked(2, "7m", Some(known_of(&long))));
    assert!(first_of(&short, Stage::Race).contains(&answer));
    let known = short.known.as_ref().unwrap();
    assert_eq!(known.runs, std::slice::from_ref(&long.id));
    let notes = script.notes();
    let said = |words: &str| notes.iter().any(|note| note.contains(words));
    assert!(
        said("known from earlier runs of this application (run): equal trials differ by"),
        "{notes:?}"
    );
    assert!(
        said("a trial takes 8.0 s in addition to its windows"),
        "{notes:?}"
    );
    // More pairs than the pilot's show what the run finds.
    assert!(short.plan.detectable.effect.is_some());
    let alone = measured(&Script::of(4.0, 12.0), &asked(2, "7m", None));
    assert!(alone.known.is_none());
}

/// Whatever earlier runs are said to have measured, a claim rests on the blocks of this one.
#[test]
fn false_knowledge_makes_no_false_claim() {
    const RUNS: u32 = 24;
    let known = || {
        let mut known = known_of(&crate::sample::document("tune"));
        let today = Settings {
            workers: 0,
            threads: 1,
            preload: false,
        };
        let model = known.arms[0].clone();
        known.arms = [(1, 100.0), (3, 300.0), (5, 200.0)]
            .map(|(threads, capacity_per_s)| run::KnownArm {
                settings: Settings { threads, ..today },
                capacity_per_s,
                breaks: false,
                ..model.clone()
            })
            .to_vec();
        if let Some(noise) = &mut known.noise {
            noise.sd_log_ratio = 1e-3;
        }
        known
    };
    let wrong = (700..700 + u64::from(RUNS)).filter(|seed| {
        let script = Script {
            alike: true,
            noise: 0.03,
            ..Script::of(4.0, 12.0)
        };
        let document = measured(&script, &asked(*seed, "8m", Some(known())));
        assert!(
            first_of(&document, Stage::Race)
                .iter()
                .any(|s| s.threads == 3)
        );
        document.verdict.unwrap().answer == Answer::Change
    });
    let wrong = wrong.count();
    assert!(wrong as f64 <= wrong_at_most(RUNS), "{wrong} of {RUNS}");
}

/// A run of another application, machine or load is not taken, and none where that is not wanted.
#[test]
fn only_runs_that_are_alike_are_taken() {
    let runs = scratch();
    let experiment = Experiment {
        runs_dir: runs.path().to_owned(),
        ..asked(1, "8m", None)
    };
    let (document, result) = conducted(&Script::of(4.0, 12.0), &experiment, runs.path());
    assert!(result.is_ok());
    let id = "20261120-214512-tune-1f3a";
    std::os::unix::fs::symlink("run", runs.path().join("20261120-214513-tune-1f3b")).unwrap();
    assert_eq!(known::read(&experiment), None, "no name of a run");
    std::fs::rename(runs.path().join("run"), runs.path().join(id)).unwrap();
    let folder = run::Folder::open(&runs.path().join(id)).unwrap();
    let on_this_host = |change: fn(&mut Document)| {
        let mut document = Document {
            host: crate::described::host_of_run(),
            id: id.to_owned(),
            ..document.clone()
        };
        change(&mut document);
        folder.write(&document).unwrap();
    };
    on_this_host(|_| ());
    assert_eq!(known::read(&experiment).unwrap().runs, [id]);
    let unlike: [fn(&mut Document); 5] = [
        |document| document.host.cpu_model = "another".to_owned(),
        |document| document.plan.app_dir = "/srv/another".to_owned(),
        |document| document.state = run::State::Interrupted,
        |document| {
            let rehearsed = ("--rehearse".to_owned(), "true".to_owned());
            document.asked.extend([rehearsed]);
        },
        |document| {
            document
                .asked
                .insert("the workload".to_owned(), "another".to_owned());
        },
    ];
    for change in unlike {
        on_this_host(change);
        assert_eq!(known::read(&experiment), None);
    }
    on_this_host(|_| ());
    let without = Experiment {
        earlier_runs: false,
        ..experiment
    };
    assert_eq!(known::read(&without), None);
}
