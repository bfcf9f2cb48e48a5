use super::*;
use run::{Trial, TrialStatus};

fn settings(workers: u16, threads: u16, preload: bool) -> Settings {
    Settings {
        workers,
        threads,
        preload,
    }
}

fn with(settings: Settings, knobs: &[(&str, &str)]) -> Arm {
    Arm::with(settings, Overlay::of(knobs).unwrap())
}

fn shown(singles: &[Single]) -> Vec<(String, String)> {
    let shown = |single: &Single| (single.label(), single.without.to_string());
    singles.iter().map(shown).collect()
}

#[test]
fn every_change_of_a_winner_is_taken_out_by_itself() {
    let today = Arm::of(settings(0, 3, false));
    let winner = with(
        settings(2, 5, true),
        &[
            ("allocator", "jemalloc"),
            ("malloc_conf", "narenas:2"),
            ("warmup", "on"),
        ],
    );
    let all = "allocator=jemalloc, malloc_conf=narenas:2, warmup=on";
    let found = singles(&today, &winner);
    let expected = [
        ("workers=2", format!("single × 5 threads, {all}")),
        (
            "threads=5",
            format!("2 workers × 3 threads, preloaded, {all}"),
        ),
        ("preload=true", format!("2 workers × 5 threads, {all}")),
        // An option of jemalloc means nothing without it.
        (
            "allocator=jemalloc",
            "2 workers × 5 threads, preloaded, warmup=on".to_owned(),
        ),
        (
            "malloc_conf=narenas:2",
            "2 workers × 5 threads, preloaded, allocator=jemalloc, warmup=on".to_owned(),
        ),
        (
            "warmup=on",
            "2 workers × 5 threads, preloaded, allocator=jemalloc, malloc_conf=narenas:2"
                .to_owned(),
        ),
    ];
    let expected = expected.map(|(knob, without)| (knob.to_owned(), without));
    assert_eq!(shown(&found), expected);
    assert!(found.iter().all(|single| single.with == winner));
    assert_eq!(arms(&found).len(), 7);
}

#[test]
fn without_knobs_the_steps_lead_from_today_to_the_winner() {
    let today = Arm::of(settings(0, 3, false));
    let winner = Arm::of(settings(2, 5, true));
    let found = singles(&today, &winner);
    let first = found.first().unwrap();
    let last = found.last().unwrap();
    assert_eq!((&first.without, &last.with), (&today, &winner));
    assert!(found.windows(2).all(|pair| pair[0].with == pair[1].without));
}

/// A winner of two changes that was confirmed, with trials of one of them by itself.
fn confirmed() -> (Document, Arm, Arm) {
    let mut document = crate::sample::document("tune");
    let today = Arm::of(settings(0, 3, false));
    let winner = with(
        today.settings,
        &[("allocator", "jemalloc"), ("warmup", "on")],
    );
    let model = document.trials.iter().find(|t| t.counts()).unwrap().clone();
    let trial = |arm: &Arm, stage: Stage, block: u32, per_s: f64| {
        let mut trial = Trial {
            arm: arm.name.clone(),
            stage,
            block,
            settings: arm.settings,
            ..model.clone()
        };
        trial.saturation.as_mut().unwrap().good_per_s = per_s;
        trial
    };
    document.trials = (1..=2)
        .flat_map(|block| {
            let without = with(today.settings, &[("allocator", "jemalloc")]);
            [
                trial(&winner, Stage::Race, block, 120.0),
                trial(&without, Stage::Race, block, 100.0),
                trial(&today, Stage::Confirm, block, 90.0),
                trial(&winner, Stage::Confirm, block, 120.0),
            ]
        })
        .collect();
    if let Some(verdict) = &mut document.verdict {
        verdict.path.clear();
    }
    (document, today, winner)
}

#[test]
fn what_a_race_has_shown_is_not_measured_again_and_the_rest_is() {
    let (mut document, today, winner) = confirmed();
    let open = unmeasured(&document, &today, &winner);
    let names: Vec<&str> = open.iter().map(|single| single.knob.as_str()).collect();
    assert_eq!(names, ["allocator"]);
    // Once it is measured the path has both.
    let mut trials: Vec<Trial> = Vec::new();
    for block in 1..=2 {
        for (arm, per_s) in [(&open[0].without, 110.0), (&winner, 121.0)] {
            let model = document.trials.iter().find(|t| t.arm == winner.name);
            let mut trial = model.unwrap().clone();
            (trial.stage, trial.block) = (Stage::Path, block);
            trial.arm.clone_from(&arm.name);
            trial.saturation.as_mut().unwrap().good_per_s = per_s;
            trials.push(trial);
        }
    }
    document.trials.extend(trials);
    let path = completed(&document, &today, &winner);
    let ratios: Vec<(&str, f64)> = path
        .iter()
        .map(|step| (step.knob.as_str(), (step.ratio * 100.0).round()))
        .collect();
    assert_eq!(ratios, [("allocator", 110.0), ("warmup", 120.0)]);
    assert!(path.iter().all(|step| step.measured));
}

#[test]
fn what_does_not_fit_is_said_with_figures() {
    let (_, today, winner) = confirmed();
    let single = &singles(&today, &winner)[0];
    let room = Room::new(21.6, 0.0, 6.2);
    assert!(room.holds(3) && !room.holds(4));
    let said = room.why_not(single);
    assert!(
        said.ends_with("at least 4 trials of 6 s each, but only 22 s of the budget were left"),
        "{said}"
    );
    let said = Room::new(-2.0, 100.0, 6.2).why_not(single);
    assert!(said.ends_with("but the budget was used up"), "{said}");
}

#[test]
fn what_the_search_keeps_is_no_budget_that_was_used_up() {
    let (_, today, winner) = confirmed();
    let single = &singles(&today, &winner)[0];
    for (left_s, left) in [
        (
            130.0,
            "of the 130 s of the budget that were left, 100 s are",
        ),
        (90.0, "the 90 s of the budget that were left are"),
    ] {
        let room = Room::new(left_s, 100.0, 11.0);
        assert!(!room.holds(4));
        let said = room.why_not(single);
        let whole =
            format!("trials of 11 s each, but {left} kept for the search for the highest rate");
        assert!(said.ends_with(&whole), "{said}");
    }
    // In 33 s there is no search.
    let room = Room::new(33.0, 100.0, 11.0);
    assert!(room.holds(3) && !room.holds(4));
    let said = room.why_not(single);
    assert!(
        said.ends_with("but only 33 s of the budget were left"),
        "{said}"
    );
}

#[test]
fn a_change_that_does_not_start_without_it_is_given_up_with_the_reason() {
    let (mut document, today, winner) = confirmed();
    let open = unmeasured(&document, &today, &winner);
    let without = open[0].without.name.clone();
    let model = document.trials.iter().find(|t| t.counts()).unwrap().clone();
    let failing = |block: u32| Trial {
        arm: without.clone(),
        stage: Stage::Path,
        block,
        status: TrialStatus::Failed,
        reason: Some("puma ended with code 1\nits log".to_owned()),
        ..model.clone()
    };
    document.trials.push(failing(1));
    assert_eq!(hopeless_arm(&document.trials, &open[0]), None);
    document.trials.push(failing(2));
    assert!(hopeless_arm(&document.trials, &open[0]).is_some());
    let why = why_failed(&document.trials, &open[0]);
    let other = singles(&today, &with(settings(2, 5, true), &[]));
    let all = open[..1].iter().map(|single| (single, why.clone()));
    let others = other.iter().map(|single| (single, "no time".to_owned()));
    assert_eq!(
        not_measured(all.chain(others)),
        [
            "allocator=jemalloc was not measured by itself: its trials failed: puma ended with code 1",
            "workers, threads and preload were not measured one by one: no time"
        ]
    );
}

#[test]
fn a_ruby_without_which_the_rest_is_refused_is_not_taken_out() {
    let today = Arm::of(settings(0, 3, false));
    let winner = with(today.settings, &[("ruby", "3.4"), ("yjit", "on")]);
    let apart = |ruby: Option<&str>| RejectedValue {
        ruby: ruby.map(str::to_owned),
        knob: "yjit".to_owned(),
        value: "on".to_owned(),
        what: "yjit: this Ruby was built without it".to_owned(),
    };
    let labels = |singles: &[Single]| singles.iter().map(Single::label).collect::<Vec<_>>();
    let (open, refused) = split(singles(&today, &winner), &[apart(Some("3.3")), apart(None)]);
    assert_eq!(labels(&open), ["yjit=on"]);
    let [(single, why)] = &refused[..] else {
        panic!("{refused:?}");
    };
    assert_eq!(
        not_measured([(single, why.clone())].into_iter())[0],
        "ruby=3.4 was not measured by itself: today's Ruby does not take the rest of the answer: yjit: this Ruby was built without it"
    );
    // Another Ruby's refusal concerns no arm here.
    let (open, _) = split(singles(&today, &winner), &[apart(Some("3.3"))]);
    assert_eq!(labels(&open), ["ruby=3.4", "yjit=on"]);
}

#[test]
fn a_resume_goes_on_with_the_changes_that_were_begun() {
    let (_, today, winner) = confirmed();
    let all = singles(&today, &winner);
    let arms = arms(&all);
    let room = |trials: f64| Room::new(trials * 10.0, 0.0, 10.0);
    let kept = |earlier: &[&str], room| fit(all.clone(), earlier, room).0.len();
    // One arm of the first block was measured, and there was room for all.
    let one = [arms[0].name.as_str()];
    assert_eq!(kept(&one, room(6.0)), 2);
    // What was measured whole needs no room, and what was never begun does.
    let whole: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(kept(&whole, room(0.0)), 2);
    assert_eq!(kept(&whole[..2], room(0.0)), 1);
    assert_eq!(kept(&[], room(4.0)), 1);
    assert_eq!(kept(&[], room(3.0)), 0);
}

/// An interruption after the first of two trials of a block.
#[test]
fn a_block_of_the_path_that_was_broken_off_is_marked_abandoned() {
    let root = tempfile::tempdir().unwrap();
    let (mut document, ..) = confirmed();
    document.state = run::State::Interrupted;
    let last = document.trials.last_mut().unwrap();
    (last.stage, last.block, last.started_s) = (Stage::Path, 1, 321.0);
    let folder = run::Folder::create(root.path(), "a").unwrap();
    for (trial, nth) in document.trials.iter_mut().zip(0..) {
        trial.id = format!("trial-{nth}");
        folder.write_trial(trial).unwrap();
    }
    folder.write(&document).unwrap();
    let mut store = crate::store::Store::resume(folder).unwrap();
    assert_eq!(store.began_s(Stage::Path), Some(321.0));
    assert_eq!(store.began_s(Stage::Screen), None);
    store.abandon_rest(Stage::Path).unwrap();
    let trials = store.document.trials.iter();
    let statuses: Vec<TrialStatus> = trials.map(|t| t.status).collect();
    assert_eq!(statuses, [TrialStatus::Abandoned]);
    assert!(store.earlier_arms(Stage::Path).is_empty() && store.resuming());
}
