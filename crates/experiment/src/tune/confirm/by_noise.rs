//! Blocks and windows of the deciding comparison by the noise seen. A length depends only on blocks before its own, so that under no
//! difference the signs of the blocks stay coin tosses; `docs/method.md` has the simulated error rates.

use super::confirmation;
use crate::budget::{self, Confirmation};
use crate::noise;
use crate::procedure::Procedure;
use crate::progress::Event;
use crate::proof::looks_once;
use crate::request::Arm;
use crate::tune::path;
use run::Metric;

/// Blocks after which the length is set again.
pub const FIRST_BLOCKS: u32 = 3;
/// A length that differs by less, as a share, stays as it is.
const LEAST_CHANGE: f64 = 0.1;

/// The length of windows that find the margin in so many blocks, seconds; `None` where noise sets none.
pub fn needed_s(procedure: &Procedure<'_>, blocks: u32) -> Option<f64> {
    let (experiment, document) = (procedure.experiment, &procedure.store.document);
    // Noise is that of the capacity, and an age asks for its own requests.
    let follows = experiment.window.is_none()
        && document.plan.age.is_none()
        && document.plan.objective.metric() == Metric::Capacity;
    follows.then(|| noise::window_s(document, blocks)).flatten()
}

/// The shortest windows without any noise, seconds.
pub fn shortest_s(procedure: &Procedure<'_>) -> f64 {
    let document = &procedure.store.document;
    let plan = &document.plan;
    if plan.objective.latency.is_some() && !looks_once(plan.blocks, plan.alpha, document.seed) {
        // A comparison that may end early proves a limit only by windows of full length.
        return plan.timing.saturation_s;
    }
    let capacity_per_s = procedure.pace().map_or(f64::INFINITY, |(per_s, _)| per_s);
    budget::least_window_s(capacity_per_s, plan.margin)
}

/// Says which blocks and windows the noise asks for, where the plan had others. Windows of `needed_s` find the margin in that many blocks.
pub fn note(
    procedure: &Procedure<'_>,
    planned: &Confirmation,
    fitted: &Confirmation,
    needed_s: f64,
) {
    let differ = |seconds: f64| format!("{seconds:.1}");
    let is_new =
        fitted.blocks != planned.blocks || differ(fitted.window_s) != differ(planned.window_s);
    if !is_new || fitted.done > 0 {
        return;
    }
    procedure.watcher.on(Event::Note(format!(
        "deciding comparison: {} with windows of {:.1} s instead of {} with {:.1} s; {}",
        run::counted(fitted.blocks, "block"),
        fitted.window_s,
        planned.blocks,
        planned.window_s,
        why(procedure, fitted.window_s, needed_s)
    )));
}

/// Sets the length of the windows to come by the noise of the blocks so far.
pub fn retime(procedure: &mut Procedure<'_>, arms: &[Arm]) {
    let plan = &procedure.store.document.plan;
    let Some((needed_s, left_s)) = needed_s(procedure, plan.blocks).zip(path::left_s(procedure))
    else {
        return;
    };
    let others = confirmation(procedure, arms, arms.len(), FIRST_BLOCKS);
    let window_s = others.window_by_noise(needed_s, left_s);
    if (window_s / others.window_s - 1.0).abs() < LEAST_CHANGE {
        return;
    }
    procedure.watcher.on(Event::Note(format!(
        "windows of the other blocks: {window_s:.1} s instead of {:.1} s; {}",
        others.window_s,
        why(procedure, window_s, needed_s)
    )));
    procedure.store.document.plan.timing = budget::timing(window_s);
}

/// The noise in windows of this length, and whether they are as long as it asks for.
fn why(procedure: &Procedure<'_>, window_s: f64, needed_s: f64) -> String {
    let document = &procedure.store.document;
    let noise = noise::seen(document).noise_in(window_s);
    let sd = 100.0 * noise.map_or(0.0, |noise| noise.sd);
    let margin = 100.0 * document.plan.margin;
    let finds = match window_s + 0.05 >= needed_s {
        true => format!("these find a difference of {margin:.0} %"),
        false => format!(
            "the time does not suffice for the {needed_s:.1} s that find a difference of {margin:.0} %"
        ),
    };
    format!("equal trials differ by {sd:.1} % in such windows, and {finds}")
}
