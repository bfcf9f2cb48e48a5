//! `tune --since`: the answer of an earlier run on an application that did or did not change.

use super::{Script, measured, tuned, typed};
use crate::earlier::Earlier;
use crate::request::Experiment;
use run::{Document, Settings, Standing};

fn quick(baseline: Settings, earlier: Option<&Document>) -> Experiment {
    let mut experiment = tuned(1, |request| {
        request.baseline = typed(&baseline.typed());
        request.quick = typed("true");
    });
    experiment.since = earlier.map(|document| Earlier::of(document).unwrap());
    experiment
}

fn script(held_ms: f64, io_ms: f64) -> Script {
    Script {
        around_trial_s: 6.0,
        ..Script::of(held_ms, io_ms)
    }
}

#[test]
fn an_answer_is_right_until_the_application_changes() {
    let today = Settings {
        threads: 1,
        ..Settings::PUMA_DEFAULT
    };
    let first = measured(&script(4.0, 12.0), &quick(today, None));
    let answer = first.verdict.as_ref().unwrap().settings;
    assert_ne!(answer, today);

    // Nothing changed: applied or not, it is the answer again.
    for baseline in [answer, today] {
        let again = measured(&script(4.0, 12.0), &quick(baseline, Some(&first)));
        let since = again.since.as_ref().unwrap();
        assert_eq!(since.standing, Some(Standing::StillRight), "{since:?}");
        assert_eq!(since.run, first.id);
    }

    // Requests wait ten times as long.
    let changed = measured(&script(4.0, 120.0), &quick(answer, Some(&first)));
    let since = changed.since.as_ref().unwrap();
    assert_eq!(since.standing, Some(Standing::NoLonger), "{since:?}");
    assert!(changed.verdict.as_ref().unwrap().settings.threads > answer.threads);
    let then = since.request.as_ref().unwrap().io_ms;
    assert!(changed.profile.as_ref().unwrap().io_ms > 5.0 * then);
}
