//! A budget against the real cost of a trial, which the pilot has shown.

use crate::budget;
use crate::config::LEAST_AGE;
use crate::error::Stopped;
use crate::procedure::Procedure;
use crate::progress::Event;
use crate::proof;
use run::{Trial, grouped};

/// The plan of a quick run whose trials take longer than was assumed: the shortest that can decide.
pub fn lengthened(
    procedure: &mut Procedure<'_>,
    overhead: budget::Overhead,
    short: budget::TooShort,
    fit: impl Fn(f64) -> Result<budget::Shape, budget::TooShort>,
) -> Result<budget::Shape, Stopped> {
    let least_s = least_after_pilot(procedure, &short);
    let shape = fit(least_s).map_err(|_| too_short_after_pilot(procedure, overhead, short))?;
    procedure.store.document.plan.budget_s = Some(least_s);
    procedure.watcher.on(Event::Note(format!(
        "a quick run takes {} instead of {}: a trial of this application takes {:.1} s in addition to its windows, and fewer than six \
         blocks decide nothing",
        budget::written(least_s),
        budget::QUICK,
        overhead.seconds()
    )));
    Ok(shape)
}

/// Says so where the deciding comparison counts too few requests to prove the latency limit, also with windows that take the time
/// that the plan leaves.
pub fn note_unprovable(procedure: &mut Procedure<'_>, spare_s: f64) {
    let plan = &procedure.store.document.plan;
    let (Some(least), Some(limit), Some(rate_per_s)) = (
        proof::least_requests(plan),
        plan.objective.latency,
        plan.rate_per_s,
    ) else {
        return;
    };
    let counted = f64::from(plan.blocks) * plan.timing.objective_s * rate_per_s;
    let may_vary = procedure.experiment.window.is_none();
    let arms = 1 + plan.finalists.unwrap_or(1);
    let lengthened = proof::proving_s(plan)
        .and_then(|all_s| budget::proving_window_s(all_s, plan.blocks))
        .map(|window_s| f64::from(plan.blocks * 2 * arms) * (window_s - plan.timing.objective_s));
    if counted >= least || (may_vary && lengthened.is_some_and(|more_s| more_s <= spare_s)) {
        return;
    }
    let remedy = match (may_vary, procedure.experiment.quick) {
        (false, _) => "a longer --window",
        (true, true) => "a --budget in place of a quick run",
        (true, false) => "a longer --budget",
    };
    procedure.watcher.on(Event::Note(format!(
        "{limit} is proven by at least {} requests of a configuration, none of them late, and the deciding comparison has about {}: give \
         {remedy}, or a lower percentile, if the answer is to prove it",
        grouped(least as u64),
        grouped(counted as u64)
    )));
}

/// The least budget, seconds, that has room for what the pilot took and for the trials to come.
fn least_after_pilot(procedure: &Procedure<'_>, short: &budget::TooShort) -> f64 {
    (short.least_s + procedure.elapsed_s()).ceil()
}

/// A budget that the real cost of a trial proves too short.
pub fn too_short_after_pilot(
    procedure: &Procedure<'_>,
    overhead: budget::Overhead,
    short: budget::TooShort,
) -> Stopped {
    let least_s = least_after_pilot(procedure, &short);
    let (blocks, _) = budget::blocks_asked(procedure.experiment.calibrate);
    let overhead_s = overhead.seconds();
    if let (Some(age), Some(pace)) = (procedure.store.document.plan.age, procedure.pace())
        // Otherwise the windows do not fit without it either.
        && short.ageing_room_s > 0.0
    {
        return no_room_to_age(procedure, age, pace, overhead, short);
    }
    let least = budget::written(least_s);
    Stopped::Configuration(format!(
        "{}: a trial of this application takes {overhead_s:.1} s in addition to its windows, so {blocks} need {least}; give \
         --budget {least} or more",
        budget::named(procedure.experiment.budget_asked.as_deref())
    ))
}

/// A budget that has no room for the requests of `--age`, which `pace` answers.
fn no_room_to_age(
    procedure: &Procedure<'_>,
    age: run::Age,
    (capacity_per_s, warmed_up): (f64, u64),
    overhead: budget::Overhead,
    short: budget::TooShort,
) -> Stopped {
    let pilot = procedure.pilot();
    let aged = |trial: &&Trial| trial.memory.as_ref()?.aged.as_ref()?.pss_bytes;
    // What the pilot has saved now it takes in the next run; its last trial is not aged.
    let wanted = pilot.len().saturating_sub(1);
    let missing = wanted.saturating_sub(pilot.iter().filter_map(aged).count()) as f64;
    let ageing = overhead.ageing;
    let least_s = short.least_s + procedure.elapsed_s() + missing * ageing.seconds;
    let least = budget::written((least_s / 60.0).ceil() * 60.0);
    let room_s = short.ageing_room_s * short.trials / (short.trials + missing);
    let most = rounded_down(budget::Ageing::requests_in(
        room_s,
        warmed_up,
        capacity_per_s,
    ));
    let fewer = match most >= LEAST_AGE {
        true => format!("an --age of at most {most}"),
        false => "no --age".to_owned(),
    };
    let (blocks, _) = budget::blocks_asked(procedure.experiment.calibrate);
    Stopped::Configuration(format!(
        "{}: with --age a trial answers {} requests, which takes {:.0} s at the {capacity_per_s:.0} a second of the pilot, and may take \
         {:.0} s in a slower configuration; it takes {:.1} s in addition to them, so {blocks} need {least}; give --budget {least} or \
         more, or {fewer}",
        budget::named(procedure.experiment.budget_asked.as_deref()),
        run::grouped(age.requests),
        ageing.of_baseline_s(),
        ageing.seconds,
        overhead.seconds()
    ))
}

/// Two digits of a number, not above it.
fn rounded_down(number: u64) -> u64 {
    let digits = number.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(1));
    number / unit * unit
}

/// How many times as long as the baseline a trial may age where no budget is to be kept.
const SLOWER_WITHOUT_BUDGET: f64 = 10.0;

/// Limits the ageing of the trials to come, now that it is known how long the baseline takes, and how long their windows are.
pub fn limit_ageing(procedure: &mut Procedure<'_>) {
    let ageing = procedure.ageing();
    let plan = &mut procedure.store.document.plan;
    if let (Some(age), Some(ageing)) = (&mut plan.age, ageing) {
        age.most_s = Some(match plan.budget_s {
            Some(_) => ageing.after_windows_s(plan.timing.saturation_s),
            None => SLOWER_WITHOUT_BUDGET * ageing.of_baseline_s(),
        });
    }
}
