//! `tune --quick`: the model's best candidate against the baseline, without elimination rounds.

use super::{Script, conducted, measured, scratch, tuned, typed};
use crate::error::{Failure, Stopped};
use crate::request::Experiment;
use run::{Answer, Stage};

/// Of its trials no elimination rounds fit into three minutes.
fn usual() -> Script {
    Script {
        around_trial_s: 6.0,
        ..Script::of(4.0, 12.0)
    }
}

fn quick(seed: u64) -> Experiment {
    tuned(seed, |request| {
        request.baseline = typed("threads=1,workers=0");
        request.quick = typed("true");
    })
}

#[test]
fn three_minutes_give_a_verdict_and_say_what_they_leave_open() {
    let script = usual();
    let document = measured(&script, &quick(1));
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!(verdict.answer, Answer::Change, "{}", verdict.sentence);
    assert!(document.trials.iter().all(|t| t.stage != Stage::Race));
    assert!(script.clock_s() <= 180.0, "{}", script.clock_s());
    let open = document
        .warnings
        .iter()
        .find(|w| w.contains("only candidate"));
    let open = open.unwrap_or_else(|| panic!("{:?}", document.warnings));
    assert!(
        open.contains("(the smallest within 3 % of the highest throughput that the model predicts): the prediction may be wrong, and others better; --budget ")
            && open.ends_with("m tries several"),
        "{open}"
    );
}

/// Trials that take longer than was assumed lengthen a quick run, and no other.
#[test]
fn an_application_that_starts_slowly_takes_as_long_as_a_verdict_needs() {
    let slow = || Script {
        around_trial_s: 20.0,
        ..Script::of(4.0, 12.0)
    };
    let script = slow();
    let document = measured(&script, &quick(1));
    let budget_s = document.plan.budget_s.unwrap();
    assert!((300.0..420.0).contains(&budget_s), "{budget_s}");
    assert!(
        script.clock_s() <= budget_s,
        "{} of {budget_s}",
        script.clock_s()
    );
    let notes = script.notes();
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("a quick run takes ")),
        "{notes:?}"
    );

    let runs = scratch();
    let budgeted = tuned(1, |request| request.budget = typed("3m"));
    let (_, result) = conducted(&slow(), &budgeted, runs.path());
    assert!(
        matches!(result, Err(Stopped::Configuration(_))),
        "{result:?}"
    );
}

#[test]
fn a_candidate_that_dies_ends_the_comparison_after_two_trials() {
    let script = Script {
        fails: |arm, _| (arm.name != "w0t1").then(|| Failure::Trial("the server died".to_owned())),
        ..usual()
    };
    let runs = scratch();
    let (document, result) = conducted(&script, &quick(1), runs.path());
    let Err(Stopped::NoAnswer(why)) = result else {
        panic!("{result:?}");
    };
    assert!(why.contains("cannot be measured: the server died"), "{why}");
    let failed = document.trials.iter().filter(|t| t.arm != "w0t1");
    assert_eq!(failed.count(), 2);
}

/// Fixed windows need more than three minutes before anything is measured.
#[test]
fn what_the_user_fixes_lengthens_a_quick_run() {
    let experiment = tuned(1, |request| {
        request.baseline = typed("threads=1,workers=0");
        request.quick = typed("true");
        request.window = typed("6s");
    });
    let document = measured(&usual(), &experiment);
    assert_eq!(document.plan.timing.saturation_s, 6.0);
    assert!(document.plan.budget_s.unwrap() > 180.0);
}
