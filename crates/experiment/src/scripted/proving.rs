//! `advise --prove`: suggestions of which the truth is known.

use super::{MIB, Script, asked, conducted, measured, resumed, scratch, typed};
use crate::config::Request;
use crate::error::Failure;
use crate::request::{Arm, Experiment, Goal};
use knobs::Overlay;
use run::{Answer, Conclusion, Document, Kind, Proof, Settings, Stage, Tested};
use std::collections::BTreeMap;

const LESS: (&str, &str) = ("malloc_arena_max", "2");
const MORE: (&str, &str) = ("gc.malloc_limit", "64MiB");
const NOTHING: (&str, &str) = ("gc_profiler", "on");

/// Today's server holds 100 MiB, with two arenas none of it, with larger limits three times as much.
fn keeps(arm: &Arm, _: u64) -> u64 {
    let has = |(knob, value)| arm.overlay.holds(&Overlay::of(&[(knob, value)]).unwrap());
    match (has(LESS), has(MORE)) {
        (true, _) => 0,
        (false, true) => 300 * MIB,
        (false, false) => 100 * MIB,
    }
}

fn script() -> Script {
    Script {
        keeps,
        noise: 0.002,
        ..Script::of(4.0, 12.0)
    }
}

fn suggested(suggestions: &[(&str, &str)]) -> Experiment {
    asked_with(suggestions, |request| request.age = typed("20k-requests"))
}

fn asked_with(suggestions: &[(&str, &str)], set: impl FnOnce(&mut Request)) -> Experiment {
    let arm = |set: &[(&str, &str)]| Arm::with(Settings::PUMA_DEFAULT, Overlay::of(set).unwrap());
    let mut arms = vec![arm(&[])];
    arms.extend(suggestions.iter().map(|one| arm(&[*one])));
    let tested = suggestions.iter().zip(&arms[1..]);
    let proof = Proof {
        today: "threads=5,workers=0".to_owned(),
        environment: BTreeMap::new(),
        suggestions: tested
            .map(|((knob, value), arm)| Tested {
                check: (*knob).to_owned(),
                settings: BTreeMap::from([((*knob).to_owned(), (*value).to_owned())]),
                evidence: String::new(),
                arm: arm.name.clone(),
                judged: None,
            })
            .collect(),
        together: None,
    };
    let kind = Kind::Prove;
    asked(Goal::Arms { kind, arms }, 5, |request| {
        request.proof = Some(proof);
        set(request);
    })
}

fn conclusions(document: &Document) -> Vec<Conclusion> {
    let proof = document.proof.as_ref().unwrap();
    let judged = proof.suggestions.iter().map(|one| one.judged.as_ref());
    judged.map(|judged| judged.unwrap().conclusion).collect()
}

fn confirming(document: &Document) -> usize {
    let trials = document.trials.iter();
    trials.filter(|t| t.stage == Stage::Confirm).count()
}

#[test]
fn what_helps_is_kept_and_what_harms_or_changes_nothing_is_refuted() {
    let document = measured(&script(), &suggested(&[LESS, MORE, NOTHING]));
    assert_eq!(
        conclusions(&document),
        [Conclusion::Kept, Conclusion::Refuted, Conclusion::Refuted],
        "{:?}",
        document.proof
    );
    assert_eq!(confirming(&document), 12);
    let together = document.proof.as_ref().unwrap().together.as_ref().unwrap();
    assert_eq!(together.judged.conclusion, Conclusion::Kept);
    assert_eq!(
        together.settings,
        BTreeMap::from([("malloc_arena_max".to_owned(), "2".to_owned())])
    );
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!((verdict.answer, verdict.exit_code), (Answer::Change, 0));
    assert_eq!(verdict.arm.as_ref(), Some(&together.arm));
    assert_eq!(document.comparisons[0].stage, Stage::Confirm);
    assert!(
        verdict.sentence.starts_with(
            "Kept: malloc_arena_max; refuted: gc.malloc_limit, gc_profiler. On fresh blocks it is better"
        ),
        "{}",
        verdict.sentence
    );
}

#[test]
fn of_two_that_contradict_the_one_with_less_memory_is_confirmed() {
    const OTHER: (&str, &str) = ("malloc_conf", "narenas:2");
    let script = Script {
        keeps: |arm, requests| match arm.overlay.holds(&Overlay::of(&[OTHER]).unwrap()) {
            true => 40 * MIB,
            false => keeps(arm, requests),
        },
        ..script()
    };
    let document = measured(&script, &suggested(&[OTHER, LESS]));
    assert_eq!(conclusions(&document), [Conclusion::Kept; 2]);
    let together = document.proof.as_ref().unwrap().together.as_ref().unwrap();
    assert_eq!(
        together.settings.keys().collect::<Vec<_>>(),
        ["malloc_arena_max"]
    );
    let sentence = document.verdict.unwrap().sentence;
    assert!(
        sentence.contains("without what contradicts them (malloc_conf)"),
        "{sentence}"
    );
}

#[test]
fn one_suggestion_alone_needs_no_second_comparison() {
    let document = measured(&script(), &suggested(&[LESS]));
    let proof = document.proof.as_ref().unwrap();
    assert_eq!((proof.together.as_ref(), confirming(&document)), (None, 0));
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!(verdict.answer, Answer::Change);
    assert_eq!(verdict.arm.as_ref(), Some(&proof.suggestions[0].arm));
    let keep = measured(&script(), &suggested(&[MORE]));
    assert_eq!(keep.verdict.unwrap().answer, Answer::Keep);
}

#[test]
fn servers_age_by_three_times_the_pilot_unless_an_age_is_asked_for() {
    let document = measured(&script(), &asked_with(&[LESS], |_| ()));
    let answered = document.trials[0].answered();
    let age = document.plan.age.unwrap().requests;
    assert_eq!(age, (3 * answered).div_ceil(1_000) * 1_000);
    let memory = document.trials[1].memory.as_ref().unwrap();
    assert_eq!(memory.aged.as_ref().unwrap().requests, age);
    let asked = measured(&script(), &suggested(&[LESS]));
    assert_eq!(asked.plan.age.unwrap().requests, 20_000);
}

/// `init` writes a budget, and nobody asks for the age.
#[test]
fn a_budget_shortens_the_age_or_leaves_it_out() {
    let with = |held_ms, budget: &'static str| {
        let script = Script {
            keeps,
            noise: 0.002,
            ..Script::of(held_ms, 3.0 * held_ms)
        };
        let experiment = asked_with(&[LESS, MORE], |request| request.budget = typed(budget));
        let document = measured(&script, &experiment);
        let most_s = document.plan.budget_s.unwrap();
        assert!(script.clock_s() <= most_s, "{} s", script.clock_s());
        assert!(document.verdict.is_some());
        let said = script
            .notes()
            .iter()
            .any(|note| note.contains("no room to age"));
        (document.plan.age.map(|age| age.requests), said)
    };
    let (long, short, slow) = (with(4.0, "90m"), with(4.0, "8m"), with(40.0, "8m"));
    assert!(long.0 > short.0 && short.0.is_some(), "{long:?} {short:?}");
    assert!(!long.1 && !short.1);
    assert_eq!(slow, (None, true));
}

#[test]
fn without_a_response_time_nothing_is_kept() {
    let late = Script {
        late: true,
        ..script()
    };
    let document = measured(&late, &suggested(&[LESS, MORE]));
    assert_eq!(
        conclusions(&document),
        [Conclusion::Undecided, Conclusion::Refuted]
    );
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!((verdict.answer, verdict.exit_code), (Answer::Undecided, 3));
    let judged = document.proof.unwrap().suggestions[0].judged.clone();
    let why = judged.unwrap().why;
    assert!(why.ends_with("; no p95 response time"), "{why}");
}

#[test]
fn where_the_last_comparison_fails_what_was_found_before_stays() {
    let fails = Script {
        fails: |arm, before| {
            let is_today = arm.overlay.chosen().is_empty();
            // The pilot and six blocks.
            (is_today && before >= 7).then(|| Failure::Trial("no memory is left".to_owned()))
        },
        ..script()
    };
    let document = measured(&fails, &suggested(&[LESS, MORE]));
    assert_eq!(
        conclusions(&document),
        [Conclusion::Kept, Conclusion::Refuted]
    );
    let together = document.proof.unwrap().together.unwrap().judged;
    assert_eq!(together.conclusion, Conclusion::Undecided);
    assert_eq!(together.why, "today's settings failed: no memory is left");
    let verdict = document.verdict.unwrap();
    assert_eq!((verdict.answer, verdict.exit_code), (Answer::Undecided, 3));
}

#[test]
fn a_run_that_stops_in_the_last_comparison_comes_to_the_same() {
    let (experiment, runs) = (suggested(&[LESS, MORE]), scratch());
    let whole = measured(&script(), &experiment);
    let stops = Script {
        stopped_after: Some(1 + 3 * 6 + 4),
        ..script()
    };
    let (stopped, result) = conducted(&stops, &experiment, runs.path());
    assert!(result.is_err() && stopped.verdict.is_none());
    let later = script();
    let (document, result) = resumed(&later, &experiment, runs.path());
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(later.trials(), 8);
    assert_eq!(conclusions(&document), conclusions(&whole));
    assert_eq!(document.verdict.unwrap().answer, Answer::Change);
}
