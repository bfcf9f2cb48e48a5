//! Blocks and windows of the deciding comparison that follow the noise.

use super::{Script, measured, tuned, typed};
use crate::request::Experiment;
use run::{Document, Stage, Trial};

fn script(noise: f64) -> Script {
    Script {
        noise,
        // The pilot's trials are blocks of their own.
        noise_of_blocks: 0.0,
        ..Script::of(4.0, 12.0)
    }
}

fn asked(set: impl FnOnce(&mut crate::config::Request)) -> Experiment {
    tuned(31, |request| {
        request.baseline = typed("threads=1,workers=0");
        request.budget = typed("30m");
        set(request);
    })
}

/// The windows of a stage by block, seconds.
fn windows_s(document: &Document, stage: Stage) -> Vec<f64> {
    let trials = document.trials.iter().filter(|t| t.stage == stage);
    let mut of_blocks: Vec<(u32, f64)> = trials
        .filter_map(|t: &Trial| Some((t.block, t.saturation.as_ref()?.seconds)))
        .collect();
    of_blocks.sort_by_key(|(block, _)| *block);
    of_blocks.dedup_by_key(|(block, _)| *block);
    of_blocks.into_iter().map(|(_, seconds)| seconds).collect()
}

#[test]
fn little_noise_ends_a_run_before_its_budget() {
    let quiet = script(0.001);
    let document = measured(&quiet, &asked(|_| ()));
    let (race, confirm) = (
        windows_s(&document, Stage::Race),
        windows_s(&document, Stage::Confirm),
    );
    assert!(
        confirm.len() == 6 && confirm.iter().all(|s| *s < race[0] / 2.0),
        "{race:?} {confirm:?}"
    );
    let notes = quiet.notes();
    let said = notes
        .iter()
        .find(|note| note.starts_with("deciding comparison: 6 blocks"));
    assert!(
        said.is_some_and(|note| note.ends_with("find a difference of 3 %")),
        "{notes:?}"
    );
    let usual = script(0.03);
    measured(&usual, &asked(|_| ()));
    assert!(
        quiet.clock_s() < usual.clock_s(),
        "{} {}",
        quiet.clock_s(),
        usual.clock_s()
    );
    assert!(usual.clock_s() <= 1800.0);
}

/// What the user fixed stays, and an age asks for its own requests.
#[test]
fn windows_that_were_asked_for_stay() {
    let fixed = measured(
        &script(0.001),
        &asked(|request| request.window = typed("5s")),
    );
    assert!(windows_s(&fixed, Stage::Confirm).iter().all(|s| *s == 5.0));
    let script = script(0.001);
    let aged = measured(
        &script,
        &asked(|request| request.age = typed("5k-requests")),
    );
    let windows = windows_s(&aged, Stage::Confirm);
    assert!(windows.len() >= 6 && windows.iter().all(|s| *s == windows[0]));
    let by_noise = |note: &String| note.contains("equal trials differ");
    assert!(!script.notes().iter().any(by_noise), "{:?}", script.notes());
}
