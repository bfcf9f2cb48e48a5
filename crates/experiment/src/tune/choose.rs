//! Who meets the baseline: among survivors equivalent to the best within the margin, the smallest.

use crate::judge::{self, Judging};
use crate::procedure::Procedure;
use crate::request::Arm;
use run::{Document, Feasibility, Stage, Trial};
use stats::{Range, Size};

/// The challenger, or `None` when nobody but the baseline is left.
pub fn challenger(procedure: &Procedure<'_>, survivors: &[Arm], baseline: &Arm) -> Option<Arm> {
    let document = &procedure.store.document;
    let standing: Vec<(&Arm, Feasibility)> = survivors
        .iter()
        .filter(|arm| *arm != baseline)
        .map(|arm| (arm, likely(document, arm)))
        .collect();
    // An arm that seems to keep the limits is preferred to one that does not, whatever either carries.
    let seems_to_keep = standing.iter().any(|(_, s)| *s == Feasibility::Meets);
    let wanted = if seems_to_keep {
        Feasibility::Meets
    } else {
        Feasibility::Unclear
    };
    let rated: Vec<(&Arm, f64)> = standing
        .into_iter()
        .filter(|(_, standing)| *standing == wanted)
        .filter_map(|(arm, _)| Some((arm, ratio(document, baseline, arm)?)))
        .collect();
    let best = rated
        .iter()
        .map(|(_, ratio)| *ratio)
        .fold(f64::NEG_INFINITY, f64::max);
    let near: Vec<&Arm> = rated
        .iter()
        .filter(|(_, ratio)| *ratio * (1.0 + document.plan.margin) >= best)
        .map(|(arm, _)| *arm)
        .collect();
    let sizes: Vec<Size> = near.iter().map(|arm| size(document, arm)).collect();
    stats::smallest(&sizes).map(|index| near[index].clone())
}

/// Whether `candidate` is smaller than `baseline` in memory, processes or threads, in that order.
pub fn smaller(document: &Document, candidate: &Arm, baseline: &Arm) -> bool {
    stats::smallest(&[size(document, baseline), size(document, candidate)]) == Some(1)
}

fn ratio(document: &Document, baseline: &Arm, arm: &Arm) -> Option<f64> {
    let judging = Judging::once(document);
    judge::compare(
        &document.trials,
        Stage::Race,
        &baseline.name,
        &arm.name,
        judging,
    )
    .map(|c| c.ratio)
}

/// How the race leaves an arm to its limits: proof is for the confirmation, here the estimate counts.
fn likely(document: &Document, arm: &Arm) -> Feasibility {
    let mine: Vec<&Trial> = document
        .trials
        .iter()
        .filter(|t| t.arm == arm.name && t.counts())
        .collect();
    let objective = &document.plan.objective;
    let found = judge::feasibility(&mine, objective, document.seed);
    match found.seems_to_meet(objective) {
        true => Feasibility::Meets,
        false => found.standing,
    }
}

fn size(document: &Document, arm: &Arm) -> Size {
    let pss: Vec<f64> = document
        .trials
        .iter()
        .filter(|t| t.arm == arm.name && t.counts())
        .filter_map(|t| t.memory.as_ref())
        .map(|m| m.pss_bytes as f64)
        .collect();
    let estimate = stats::summary::median(&pss).unwrap_or(f64::MAX);
    let low = pss.iter().copied().fold(estimate, f64::min);
    let high = pss.iter().copied().fold(estimate, f64::max);
    Size {
        pss: Range {
            low,
            estimate,
            high,
        },
        processes: arm.settings.processes(),
        threads: u32::from(arm.settings.threads),
    }
}
