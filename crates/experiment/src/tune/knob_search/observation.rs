//! The observation that the search gets from a block's trial of an arm.

use crate::judge;
use crate::request::Arm;
use run::{Document, Feasibility, Stage, Trial};
use search::{Observation, Standing};

/// Of the block's trial of the arm; `None` where it failed, or answered nothing.
pub fn of_arm(document: &Document, block: &[Trial], arm: &Arm) -> Option<Observation> {
    let trial = block.iter().find(|t| t.arm == arm.name && t.counts())?;
    let throughput = trial.capacity_per_s().filter(|per_s| *per_s > 0.0)?;
    let mine = mine(document, arm);
    let memory = judge::memory_bytes(
        trial,
        judge::growth(&mine).is_some(),
        judge::equal_requests(&document.trials),
    );
    let logarithm = |value: Option<f64>| value.filter(|v| *v > 0.0).map(f64::ln);
    Some(Observation {
        log_throughput: throughput.ln(),
        log_latency: logarithm(judge::p95_ms(trial)),
        log_memory: logarithm(memory),
        processes: arm.settings.processes(),
        threads: u32::from(arm.settings.threads),
        standing: standing(document, &mine),
    })
}

/// All trials of the arm so far that count, but the pilot's.
fn mine<'d>(document: &'d Document, arm: &Arm) -> Vec<&'d Trial> {
    let trials = document.trials.iter();
    trials
        .filter(|t| t.arm == arm.name && t.counts() && t.stage != Stage::Pilot)
        .collect()
}

fn standing(document: &Document, mine: &[&Trial]) -> Standing {
    let found = judge::feasibility(mine, document);
    match found.standing {
        Feasibility::Meets => Standing::Meets,
        Feasibility::Breaks => Standing::Breaks,
        Feasibility::Unclear if found.seems_to_meet(&document.plan.objective) => {
            Standing::SeemsToMeet
        }
        Feasibility::Unclear => Standing::SeemsToBreak,
    }
}
