//! The main job: baseline, candidates, race, confirmation, path, verdict.

mod answer;
mod budget_after_pilot;
mod candidate;
mod candidates;
mod choose;
mod confirm;
mod contradiction;
mod fleet;
mod isolate;
mod knob_search;
mod known;
mod left_out;
mod model;
mod path;
mod race;
mod rates;
mod reach;
mod since;
mod verdict;
mod warnings;

pub(crate) use budget_after_pilot::{limit_ageing, too_short_after_pilot};
pub(crate) use knob_search::{Part, Searched, conduct};
pub(crate) use model::foreseen;
pub(crate) use warnings::{unproven, warn};

use crate::budget;
use crate::calibrate::calibrate;
use crate::error::Stopped;
use crate::judge;
use crate::layout;
use crate::noise;
use crate::procedure::{Procedure, last_reason};
use crate::progress::Event;
use crate::request::{Arm, Experiment};
use budget_after_pilot::{lengthened, note_unprovable};
use run::{Known, SdSource, Stage, Trial};
use stats::EqualArms;
use std::collections::BTreeMap;

/// What became of each arm, by name.
type Fates = BTreeMap<String, String>;

/// Tunes; the document of the procedure's store holds the verdict afterwards.
pub fn tune(procedure: &mut Procedure<'_>) -> Result<(), Stopped> {
    let baseline = Arm::of(procedure.store.document.plan.baseline);
    let with_search = procedure.experiment.objective.latency.is_some();
    let budget_s = procedure.store.document.plan.budget_s.unwrap_or(0.0);
    procedure.kept_s = budget::kept_for_search(budget_s, with_search);
    if let (Some(known), false) = (&procedure.store.document.known, procedure.store.resuming()) {
        let window_s = procedure.store.document.plan.timing.saturation_s;
        let note = known.sentence(window_s);
        procedure.watcher.on(Event::Note(note));
    }
    let foreseen_arms = procedure.store.document.plan.arms;
    let calibrating = procedure.experiment.calibrating_trials();
    procedure.expect(budget::PILOT_TRIALS + calibrating + raced(procedure, foreseen_arms));
    pilot(procedure, &baseline, budget::PILOT_TRIALS)?;
    let before = procedure.expected;
    let assumed_s = procedure.store.document.plan.timing.saturation_s;
    replan(procedure)?;
    procedure.save()?;
    let foreseen_arms = procedure.store.document.plan.arms;
    procedure.expect(calibrating + raced(procedure, foreseen_arms));
    if let (Some(overhead), false) = (procedure.overhead(), searches(procedure.experiment)) {
        let trials = (before, procedure.expected);
        // Of few configurations any window is long enough.
        let judged =
            procedure.experiment.window.is_none() && foreseen_arms as usize > budget::FEW_ARMS;
        let window_s = judged.then(|| windows(procedure).short_s);
        let known = procedure.store.document.known.as_ref();
        let note = replanned(trials, overhead, window_s, known);
        if let Some(note) = note {
            procedure.watcher.on(Event::Note(note));
        }
    }
    calibrate(procedure, &baseline)?;

    let candidates = candidates::choose(procedure)?;
    if searches(procedure.experiment) {
        let planned_s = procedure.store.document.plan.timing.saturation_s;
        if let Some(note) = windows_of_search(assumed_s, planned_s) {
            procedure.watcher.on(Event::Note(note));
        }
        let winner = knob_search::search(procedure, &baseline, &candidates)?;
        return concluded(procedure, &baseline, Some(&winner));
    }
    let first: Vec<Arm> = std::iter::once(baseline.clone())
        .chain(candidates.iter().map(|e| e.arm.clone()))
        .collect();
    offer(procedure, &first);
    let first_arms = first.len() as u32;
    procedure.expect(raced(procedure, first_arms));
    let names = first
        .iter()
        .map(|a| a.settings.to_string())
        .collect::<Vec<_>>()
        .join("; ");
    let plan = procedure.store.document.plan.clone();
    let most = procedure.experiment.max_arms.unwrap_or(budget::MOST_ARMS);
    let room = room(first.len(), plan.arms as usize, most);
    let races = plan.race_blocks > 0;
    procedure.watcher.on(Event::Planned {
        document: &procedure.store.document,
        because: &format!(
            "{names}{room}{}",
            other_windows(assumed_s, plan.timing.saturation_s)
        ),
    });

    let mut fates = Fates::new();
    let race::Raced {
        survivors,
        arms,
        candidates,
    } = race::race(procedure, first, candidates, &mut fates)?;
    let finalists = match races {
        true => choose::finalists(&procedure.store.document, &survivors, &baseline),
        false => choose::without_race(&survivors, &baseline),
    };
    let Some(finalists) = finalists else {
        verdict::without_challenger(procedure, &baseline, &arms, &candidates, fates);
        return concluded(procedure, &baseline, None);
    };
    fates.insert(
        finalists.challenger.name.clone(),
        match races {
            true => "won the elimination rounds",
            false => "the only candidate",
        }
        .to_owned(),
    );
    for arm in survivors.iter().filter(|arm| **arm != baseline) {
        let fate = race::rounds(&procedure.store.document, arm);
        fates.entry(arm.name.clone()).or_insert(fate);
    }
    let confirmed = confirm::confirm(procedure, &baseline, &finalists)?;
    let raced = verdict::Raced {
        arms: &arms,
        candidates: &candidates,
        fates,
    };
    let winner = verdict::confirmed(procedure, &baseline, raced, confirmed);
    left_out::warn_of_unconfirmed(procedure, &baseline, &finalists);
    let only = candidates
        .iter()
        .find(|candidate| !races && candidate.arm == finalists.challenger);
    if let Some(only) = only {
        left_out::warn_of_one_candidate(procedure, only);
    }
    concluded(procedure, &baseline, Some(&winner))
}

/// Why no more configurations are tried: the budget, where neither the models nor `--max-arms` nor the most of a run is the reason.
fn room(arms: usize, planned: usize, most: usize) -> &'static str {
    match arms >= planned && arms < most {
        true => "; no more fit the budget",
        false => "",
    }
}

/// Why windows have another length than the plan before the pilot had.
fn other_windows(assumed_s: f64, planned_s: f64) -> String {
    let changed = changed(assumed_s, planned_s);
    changed.map_or_else(String::new, |changed| {
        format!("; {changed} by what the pilot showed")
    })
}

/// The same of a search, which fits its windows to the budget and to the trials that it has use for.
fn windows_of_search(assumed_s: f64, planned_s: f64) -> Option<String> {
    let changed = changed(assumed_s, planned_s)?;
    Some(format!(
        "{changed}, so that the budget holds the trials of a search; --window gives another length"
    ))
}

/// `None` where both lengths are printed alike.
fn changed(assumed_s: f64, planned_s: f64) -> Option<String> {
    let said = |seconds: f64| format!("{seconds:.1} s");
    let (before, after) = (said(assumed_s), said(planned_s));
    (before != after).then(|| format!("windows changed from {before} to {after}"))
}

/// Settles the connections of the closed loop for these arms.
fn offer(procedure: &mut Procedure<'_>, arms: &[Arm]) {
    let most = arms.iter().map(|arm| arm.settings.concurrency()).max();
    procedure.offer(most.unwrap_or(1));
}

/// What is measured and calculated once there is an answer.
fn concluded(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    winner: Option<&Arm>,
) -> Result<(), Stopped> {
    if let Some(winner) = winner {
        isolate::isolate(procedure, baseline, winner)?;
    }
    rates::measure(procedure, baseline, winner)?;
    if let Some(earlier) = &procedure.experiment.since {
        since::judge(&mut procedure.store.document, earlier);
    }
    if let Some(total) = procedure.experiment.total {
        let document = &mut procedure.store.document;
        document.fleet = fleet::needed(document, baseline, total);
    }
    Ok(())
}

/// Whether there is more to find than the threads and workers that serve the most.
fn searches(experiment: &Experiment) -> bool {
    !experiment.knobs.is_empty() || experiment.objective.least.is_some()
}

/// The baseline against itself: its rate, where its time goes, what a trial costs, and the noise.
pub(crate) fn pilot(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    trials: u32,
) -> Result<(), Stopped> {
    procedure.offer(baseline.settings.concurrency());
    let mut block = 0;
    let mut wanted = trials;
    while block < wanted {
        block += 1;
        let first = procedure.pilot().is_empty();
        let ran = procedure.block(Stage::Pilot, block, wanted, std::slice::from_ref(baseline))?;
        if let Some(failed) = ran.iter().find(|t| !t.counts()) {
            let why = failed.reason.clone().unwrap_or_default();
            return Err(Stopped::NoAnswer(format!(
                "the baseline ({baseline}) cannot be measured: {why}"
            )));
        }
        if first {
            let changed = procedure.settle_pinning();
            let document = &mut procedure.store.document;
            let pinning = &document.plan.pinning;
            let repeats = changed && !pinning.generator_cores.is_empty();
            if repeats {
                // Its figures belong to another layout, so the pair of equal runs begins with the next.
                wanted += 1;
                procedure.expected += 1;
                document.profile = None;
                let note = layout::said(pinning);
                procedure.watcher.on(Event::Note(format!(
                    "{note}; the pilot begins again with these cores"
                )));
            }
        }
        let of_another_layout = wanted - trials;
        settle_rate(procedure, block.saturating_sub(of_another_layout).max(1));
        if procedure.store.document.plan.rate_per_s.is_none() {
            return Err(Stopped::NoAnswer(format!(
                "the baseline answered nothing within a window of {:.1} s; give longer windows with --window or --budget",
                procedure.store.document.plan.timing.saturation_s
            )));
        }
    }
    Ok(())
}

/// Of the lowest capacity in the last so many trials of the pilot, those with the layout that stays: at a rate near its capacity today's
/// configuration would break any limit.
fn settle_rate(procedure: &mut Procedure<'_>, trials: u32) {
    let pilot = procedure.pilot();
    let last = pilot.iter().rev().take(trials as usize);
    let lowest = last.filter_map(|t| t.capacity_per_s()).reduce(f64::min);
    let resuming = procedure.store.resuming();
    let plan = &mut procedure.store.document.plan;
    // Trials of an earlier sitting were measured at the rate that stands in the plan.
    let stands = procedure
        .experiment
        .rate
        .or(plan.rate_per_s.filter(|_| resuming));
    if let (None, Some(lowest)) = (stands, lowest.filter(|per_s| *per_s > 0.0)) {
        plan.rate_from_per_s = Some(lowest);
        plan.rate_per_s = Some(budget::OBJECTIVE_LOAD * lowest);
    }
}

/// Fits the rest into the budget, now that a trial's cost and the noise are known.
fn replan(procedure: &mut Procedure<'_>) -> Result<(), Stopped> {
    let experiment = procedure.experiment;
    let seed = procedure.store.document.seed;
    let (capacities, ratio) = of_pilot(procedure);
    let budget_s = procedure.store.document.plan.budget_s;
    let resumed = procedure.store.resuming();
    let mut spare_s = 0.0;
    if let (Some(budget_s), Some(overhead), false) = (budget_s, procedure.overhead(), resumed) {
        let wishes = wishes(experiment);
        let with_search = experiment.objective.latency.is_some();
        let spent_s = procedure.elapsed_s();
        let windows = windows(procedure);
        let fit = |budget_s: f64| {
            budget::fit_with_search(budget_s, spent_s, with_search, overhead, windows, wishes)
        };
        let shape = match fit(budget_s) {
            Err(short) if experiment.quick => lengthened(procedure, overhead, short, fit)?,
            fitted => fitted.map_err(|short| too_short_after_pilot(procedure, overhead, short))?,
        };
        let plan = &mut procedure.store.document.plan;
        plan.timing = shape.timing;
        plan.race_blocks = shape.race_blocks;
        plan.blocks = shape.blocks;
        plan.finalists = Some(shape.finalists);
        plan.arms = shape.arms as u32;
        let left_s = plan.budget_s.unwrap_or(budget_s) - spent_s;
        spare_s = budget::spare_s(left_s, &shape, overhead, wishes);
    }
    if searches(experiment) {
        knob_search::retime(procedure);
        // The deciding comparison of a search keeps its windows.
        spare_s = 0.0;
    }
    if !resumed {
        limit_ageing(procedure);
        if budget_s.is_some() {
            note_unprovable(procedure, spare_s);
        }
    }
    // A calibration comes after the pilot, and says again what can be found.
    let document = &mut procedure.store.document;
    let window_s = document.plan.timing.saturation_s;
    let seen = noise::seen(document).noise_in(window_s);
    let seen = seen.filter(|_| {
        document
            .known
            .as_ref()
            .is_some_and(|known| known.noise.is_some())
    });
    let plan = &mut document.plan;
    let answers = judge::answers_a_window(&capacities, &plan.timing);
    let equal_arms = EqualArms {
        log_ratios: &ratio,
        answers,
    };
    let (blocks, alpha) = (plan.blocks, plan.alpha);
    plan.detectable = match seen {
        Some(noise) => judge::foreseen_by(blocks, alpha, noise.counted(answers), seed),
        None => judge::foreseen(blocks, alpha, equal_arms, 0.0, SdSource::Pilot, seed),
    };
    Ok(())
}

/// Why there are more or fewer trials than were planned before the pilot; `None` where there are as many. `overhead` is what a
/// trial costs; `window_s` is the length that windows need, `None` where the user gave one.
fn replanned(
    trials: (u32, u32),
    overhead: budget::Overhead,
    window_s: Option<f64>,
    known: Option<&Known>,
) -> Option<String> {
    let (before, after) = trials;
    let word = |by_earlier: bool| {
        if by_earlier {
            "by earlier runs"
        } else {
            "assumed"
        }
    };
    let scatter = noise::of_earlier(known);
    let assumed_s = budget::Windows::by_earlier(scatter).short_s;
    let assumed = word(scatter.freedom > 0);
    let windows = window_s.map_or_else(String::new, |window_s| {
        format!(", and needs windows of {window_s:.1} s ({assumed_s:.1} s {assumed})")
    });
    let around_s = known.and_then(|known| known.around_windows_s);
    let assumed = word(around_s.is_some());
    let fixed_s = overhead.seconds();
    let ageing = match overhead.ageing.seconds {
        seconds if seconds > 0.0 => format!(", and {seconds:.0} s for the requests of --age"),
        _ => String::new(),
    };
    (before != after).then(|| {
        format!(
            "after the pilot up to {after} trials fit into the budget, {before} were planned: a trial takes {fixed_s:.1} s in addition to its \
             windows ({:.1} s {assumed}){ageing}{windows}",
            budget::Overhead::by_earlier(around_s).seconds()
        )
    })
}

/// The capacities of the last two pilot trials, requests per second, and the logarithm of their ratio where there are two.
fn of_pilot(procedure: &Procedure<'_>) -> (Vec<f64>, Vec<f64>) {
    let pilot = procedure.pilot();
    let last = pilot.iter().rev().take(2);
    let capacities: Vec<f64> = last.filter_map(|t| t.capacity_per_s()).collect();
    let ratio = capacities.windows(2).map(|pair| (pair[1] / pair[0]).ln());
    let ratio = ratio.collect();
    (capacities, ratio)
}

/// Windows that are long enough, by what the pilot showed.
fn windows(procedure: &Procedure<'_>) -> budget::Windows {
    let (capacities, ratio) = of_pilot(procedure);
    let plan = &procedure.store.document.plan;
    let pilot = procedure.pilot();
    let window = pilot.last().and_then(|trial| trial.saturation.as_ref());
    let seen = budget::Seen {
        window_s: window.map_or(plan.timing.saturation_s, |window| window.seconds),
        log_ratio: ratio.first().copied(),
        earlier: noise::of_earlier(procedure.store.document.known.as_ref()),
        capacity_per_s: capacities.iter().copied().fold(f64::INFINITY, f64::min),
        rate_per_s: plan.rate_per_s.unwrap_or(f64::INFINITY),
    };
    let allowed = procedure.experiment.objective.latency;
    let allowed = allowed.map(|latency| latency.allowed_violation_rate());
    budget::Windows::of(&seen, plan.margin, allowed)
}

/// What the user fixed of the trials after the pilot.
pub(crate) fn wishes(experiment: &Experiment) -> budget::Wishes {
    budget::Wishes {
        most_arms: experiment.max_arms,
        blocks: experiment.blocks,
        window_s: experiment.window.map(|w| w.as_secs_f64()),
        pilot_trials: experiment.calibrating_trials(),
    }
}

/// Trials of a race of so many arms, and of the confirmation.
fn raced(procedure: &Procedure<'_>, arms: u32) -> u32 {
    procedure.store.document.plan.race_blocks * arms + confirming(procedure)
}

/// Trials of the confirmation.
fn confirming(procedure: &Procedure<'_>) -> u32 {
    let plan = &procedure.store.document.plan;
    plan.blocks * (1 + plan.finalists.unwrap_or(1))
}

/// A confirmation of which no block counts.
fn unconfirmed(trials: &[Trial]) -> Stopped {
    Stopped::NoAnswer(format!(
        "not one block of the confirmation could be measured whole: {}",
        last_reason(trials)
    ))
}

/// What a log's dozen lines begin with.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_number_of_trials_than_was_planned_has_its_reason() {
        let of = |seconds| budget::Overhead::measured(seconds, budget::Ageing::NONE);
        assert_eq!(
            replanned((22, 36), of(5.2), Some(2.4), None).unwrap(),
            "after the pilot up to 36 trials fit into the budget, 22 were planned: a trial takes 5.2 s in addition to its windows (8.0 s \
             assumed), and needs windows of 2.4 s (5.0 s assumed)"
        );
        assert!(
            replanned((36, 22), of(12.0), None, None)
                .unwrap()
                .ends_with("12.0 s in addition to its windows (8.0 s assumed)")
        );
        assert_eq!(replanned((22, 22), of(5.2), None, None), None);
        let known = Known {
            runs: vec!["a".to_owned()],
            noise: None,
            around_windows_s: Some(6.0),
            arms: Vec::new(),
        };
        let by_earlier = replanned((36, 22), of(12.0), Some(2.4), Some(&known)).unwrap();
        assert!(
            by_earlier.ends_with(
                "windows (6.0 s by earlier runs), and needs windows of 2.4 s (5.0 s assumed)"
            ),
            "{by_earlier}"
        );
    }

    #[test]
    fn the_budget_is_named_only_where_it_is_the_limit() {
        assert_eq!(room(3, 3, 8), "; no more fit the budget");
        assert_eq!(room(2, 3, 8), "", "no further candidates");
        assert_eq!(room(3, 3, 3), "", "--max-arms");
    }

    #[test]
    fn other_windows_than_were_planned_have_their_reason() {
        assert!(
            other_windows(4.3, 6.0).starts_with("; windows changed from 4.3 s to 6.0 s by what")
        );
        assert_eq!(other_windows(4.31, 4.29), "", "printed alike");
        assert_eq!(
            windows_of_search(4.3, 2.0).unwrap(),
            "windows changed from 4.3 s to 2.0 s, so that the budget holds the trials of a search; --window gives another length"
        );
        assert_eq!(windows_of_search(4.31, 4.29), None);
    }
}
