//! A configuration compared with itself, on hosts that favour a place in the block.

use super::{Script, compared, conducted, measured, scratch, threads, typed};
use run::{Document, Outcome};

fn calibrated(script: &Script) -> Document {
    let experiment = compared(3, &[threads(2), threads(3)], |request| {
        request.calibrate = typed("12");
    });
    let runs = scratch();
    conducted(script, &experiment, runs.path()).0
}

#[test]
fn a_calm_host_is_sound() {
    let document = calibrated(&Script::of(4.0, 12.0));
    let calibration = document.calibration.as_ref().unwrap();
    assert_eq!(calibration.allowance, 0.0, "{calibration:?}");
    assert_eq!(document.comparisons[0].outcome, Outcome::Better);
}

#[test]
fn one_arm_alone_is_compared_with_itself() {
    let experiment = compared(3, &[threads(2)], |request| request.calibrate = typed("6"));
    let document = measured(&Script::of(4.0, 12.0), &experiment);
    assert!(document.calibration.is_some() && document.comparisons.is_empty());
    assert_eq!(document.trials.len(), 1 + 12);
}
