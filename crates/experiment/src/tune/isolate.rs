//! What each change of the advised configuration brings by itself, where nothing has shown it yet: measured in the time that is
//! left once there is an answer, and said where there is none. It explains and claims nothing.

use super::{first_line, path, rates};
use crate::arm_environment::RejectedValue;
use crate::budget;
use crate::error::Stopped;
use crate::judge::{self, Judging};
use crate::procedure::{Procedure, hopeless};
use crate::progress::Event;
use crate::request::Arm;
use knobs::Overlay;
use run::{Answer, Document, Settings, Stage, Step, Trial};

/// Fewer blocks of a pair would show nothing but scatter.
const LEAST_BLOCKS: u32 = 2;

/// One change: the configuration without it and with it.
#[derive(Debug, Clone, PartialEq)]
struct Single {
    knob: String,
    without: Arm,
    with: Arm,
    /// Its value in both, where it is no setting.
    values: Option<(String, String)>,
}

impl Single {
    fn pair(&self) -> [&Arm; 2] {
        [&self.without, &self.with]
    }
}

/// Completes the path of the verdict where it advises this winner.
pub fn isolate(procedure: &mut Procedure<'_>, baseline: &Arm, winner: &Arm) -> Result<(), Stopped> {
    let advised = procedure.store.document.verdict.as_ref().is_some_and(|v| {
        matches!(v.answer, Answer::Change | Answer::Smaller)
            && v.arm.as_deref() == Some(&winner.name)
    });
    if !advised {
        not_advised(&mut procedure.store.document, baseline, winner);
        return Ok(());
    }
    let open = unmeasured(&procedure.store.document, baseline, winner);
    let (open, refused) = split(open, procedure.trials.rejected_values());
    let room = Room::of(procedure);
    let earlier = procedure.store.earlier_arms(Stage::Path);
    let (open, left_out) = fit(open, &earlier, room);
    measure(procedure, &open)?;
    procedure.store.abandon_rest(Stage::Path)?;
    let document = &mut procedure.store.document;
    let path = completed(document, baseline, winner);
    let left_out = left_out.iter().map(|single| (single, room.why_not(single)));
    let failed = open
        .iter()
        .filter(|single| measured(document, single).is_none())
        .map(|single| (single, why_failed(&document.trials, single)));
    let refused = refused.iter().map(|(single, why)| (single, why.clone()));
    let not_measured = not_measured(refused.chain(left_out).chain(failed));
    if let Some(verdict) = &mut document.verdict {
        verdict.path = path;
        verdict.not_isolated = not_measured;
    }
    procedure.save()
}

/// Completes the path to a winner that is not advised from the trials that exist, without new ones, and lists the changes that
/// have no figure.
fn not_advised(document: &mut Document, baseline: &Arm, winner: &Arm) {
    let path = completed(document, baseline, winner);
    let open = unmeasured(document, baseline, winner);
    let absent = open
        .iter()
        .filter(|single| path.iter().all(|step| step.knob != single.knob));
    let why = "that is done for a configuration that is advised";
    let lacks = not_measured(absent.map(|single| (single, why.to_owned())));
    if let Some(verdict) = document.verdict.as_mut().filter(|_| winner != baseline) {
        verdict.path = path;
        verdict.not_isolated = lacks;
    }
}

/// The changes that can be taken out, and those without which the Ruby that is left refuses the rest of the winner, with the
/// reason.
fn split(singles: Vec<Single>, apart: &[RejectedValue]) -> (Vec<Single>, Vec<(Single, String)>) {
    let mut open = Vec::new();
    let mut refused = Vec::new();
    for single in singles {
        match apart.iter().find(|a| a.is_in(&single.without.overlay)) {
            Some(apart) => {
                let (ruby, what) = (apart.its_ruby(), &apart.what);
                let why = format!("{ruby} does not take the rest of the answer: {what}");
                refused.push((single, why));
            }
            None => open.push(single),
        }
    }
    (open, refused)
}

/// The changes that an earlier sitting has begun with or that there is room for, and the others.
fn fit(mut open: Vec<Single>, earlier: &[&str], room: Room) -> (Vec<Single>, Vec<Single>) {
    let begun = |arms: &[Arm]| arms.iter().all(|arm| earlier.contains(&arm.name.as_str()));
    let mut left_out = Vec::new();
    while !open.is_empty() {
        let arms = arms(&open);
        if begun(&arms) || room.holds(LEAST_BLOCKS * arms.len() as u32) {
            break;
        }
        left_out.extend(open.pop());
    }
    left_out.reverse();
    (open, left_out)
}

fn measure(procedure: &mut Procedure<'_>, singles: &[Single]) -> Result<(), Stopped> {
    let mut live = singles.to_vec();
    let mut arms = arms(&live);
    if arms.is_empty() {
        return Ok(());
    }
    procedure.watcher.on(Event::Note(
        "measuring each change of the answer by itself".to_owned(),
    ));
    let most = procedure.store.document.plan.blocks;
    procedure.expect(LEAST_BLOCKS * arms.len() as u32);
    for block in 1..=most {
        let earlier = procedure.store.has_earlier(Stage::Path, block);
        let room = path::has_room(procedure, arms.len() as u32);
        if block > LEAST_BLOCKS && !earlier && !room {
            break;
        }
        procedure.block(Stage::Path, block, most, &arms)?;
        let trials = &procedure.store.document.trials;
        live.retain(|single| hopeless_arm(trials, single).is_none());
        for arm in &arms {
            if hopeless(trials, Stage::Path, &arm.name).is_some() {
                procedure.note_given_up(arm);
            }
        }
        arms = self::arms(&live);
        if arms.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Why one of the two arms of a change has nothing more to say.
fn hopeless_arm(trials: &[Trial], single: &Single) -> Option<String> {
    let mut arms = single.pair().into_iter();
    arms.find_map(|arm| hopeless(trials, Stage::Path, &arm.name))
}

fn why_failed(trials: &[Trial], single: &Single) -> String {
    match hopeless_arm(trials, single) {
        Some(reason) => format!("its trials failed: {}", first_line(&reason)),
        None => "its trials failed".to_owned(),
    }
}

/// Each arm once.
fn arms(singles: &[Single]) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    for arm in singles.iter().flat_map(Single::pair) {
        if !arms.contains(arm) {
            arms.push(arm.clone());
        }
    }
    arms
}

/// The time that is left when the first of these trials begins, and what a trial takes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Room {
    /// Without a budget there is no end of it.
    left_s: f64,
    /// Seconds of it that are reserved for the searches at the end.
    kept_s: f64,
    trial_s: f64,
}

impl Room {
    /// A resumed run decides as the sitting that began these trials did: it measures the same changes.
    fn of(procedure: &Procedure<'_>) -> Room {
        let began_s = procedure.store.began_s(Stage::Path);
        let at_s = began_s.unwrap_or_else(|| procedure.elapsed_s());
        let plan = &procedure.store.document.plan;
        let budget_s = plan.budget_s.unwrap_or(f64::INFINITY);
        let kept_s = budget::kept_for_search(budget_s, plan.objective.latency.is_some());
        let trial_s = procedure.planned_trial_s().unwrap_or(0.0);
        Room::new(budget_s - at_s, kept_s, trial_s)
    }

    /// Nothing is reserved when no search fits into the time left.
    fn new(left_s: f64, kept_s: f64, trial_s: f64) -> Room {
        let kept_s = match left_s < rates::least_s() {
            true => 0.0,
            false => kept_s,
        };
        Room {
            left_s,
            kept_s,
            trial_s,
        }
    }

    fn holds(self, trials: u32) -> bool {
        f64::from(trials) * self.trial_s <= self.left_s - self.kept_s
    }

    fn why_not(self, single: &Single) -> String {
        let trials = LEAST_BLOCKS * single.pair().len() as u32;
        let left = match self.kept_s {
            0.0 => budget::left(self.left_s),
            kept_s if kept_s >= self.left_s => format!(
                "the {:.0} s of the budget that were left are kept for the search for the highest rate",
                self.left_s
            ),
            kept_s => format!(
                "of the {:.0} s of the budget that were left, {:.0} s are kept for the search for the highest rate",
                self.left_s, kept_s
            ),
        };
        format!(
            "that takes at least {} of {:.0} s each, but {left}",
            run::counted(trials, "trial"),
            self.trial_s,
        )
    }
}

/// The path with all that is known of it.
fn completed(document: &Document, baseline: &Arm, winner: &Arm) -> Vec<Step> {
    let before = document.verdict.as_ref().map(|v| v.path.clone());
    let mut path = before.unwrap_or_default();
    for single in singles(baseline, winner) {
        let there = path.iter().position(|step| step.knob == single.knob);
        if there.is_some_and(|at| path[at].measured) {
            continue;
        }
        let Some(step) = measured(document, &single) else {
            continue;
        };
        match there {
            Some(at) => path[at] = step,
            None => path.push(step),
        }
    }
    path
}

/// The changes of the winner of which nothing was measured.
fn unmeasured(document: &Document, baseline: &Arm, winner: &Arm) -> Vec<Single> {
    let path = completed(document, baseline, winner);
    let known = |knob: &str| path.iter().any(|step| step.knob == knob && step.measured);
    let mut singles = singles(baseline, winner);
    singles.retain(|single| !known(&single.knob));
    singles
}

/// What trials of one stage show of a change.
fn measured(document: &Document, single: &Single) -> Option<Step> {
    let [before, after] = single.pair().map(|arm| arm.name.as_str());
    let stages = [Stage::Confirm, Stage::Path, Stage::Race];
    let found = stages.into_iter().find_map(|stage| {
        let judging = Judging::reached(document, stage);
        judge::compare(&document.trials, stage, before, after, judging)
    })?;
    Some(Step {
        knob: single.knob.clone(),
        from: single.without.settings,
        to: single.with.settings,
        values: single.values.clone(),
        ratio: found.ratio,
        low: found.low,
        high: found.high,
        measured: true,
        refuted: false,
    })
}

/// From the baseline to the winner: processes, threads and preloading one after the other where they are all there is, else each
/// change taken out of the winner.
fn singles(baseline: &Arm, winner: &Arm) -> Vec<Single> {
    if winner.overlay == baseline.overlay {
        let steps = path::between(baseline.settings, winner.settings).into_iter();
        let single = |(knob, from, to): (String, Settings, Settings)| {
            let arm = |settings| match (settings == baseline.settings, settings == winner.settings)
            {
                (true, _) => baseline.clone(),
                (_, true) => winner.clone(),
                _ => Arm::with(settings, winner.overlay.clone()),
            };
            Single {
                knob,
                without: arm(from),
                with: arm(to),
                values: None,
            }
        };
        return steps.map(single).collect();
    }
    let mut singles: Vec<Single> = settings_taken_out(baseline.settings, winner)
        .into_iter()
        .collect();
    for chosen in winner.overlay.chosen() {
        let overlay = winner.overlay.without(&chosen.knob);
        let settings = winner.settings;
        singles.push(Single {
            without: taken_out(baseline, settings, overlay),
            with: winner.clone(),
            values: Some(("as today".to_owned(), chosen.value)),
            knob: chosen.knob,
        });
    }
    singles
}

/// The baseline where that is what is left.
fn taken_out(baseline: &Arm, settings: Settings, overlay: Overlay) -> Arm {
    match settings == baseline.settings && overlay == baseline.overlay {
        true => baseline.clone(),
        false => Arm::with(settings, overlay),
    }
}

/// The winner with its processes, its threads or its preloading as they are today.
fn settings_taken_out(today: Settings, winner: &Arm) -> Vec<Single> {
    let then = winner.settings;
    let of = |knob: &str, from: u16, to: u16, without: Settings| Single {
        knob: knob.to_owned(),
        without: Arm::with(without, winner.overlay.clone()),
        with: winner.clone(),
        values: Some((from.to_string(), to.to_string())),
    };
    let mut singles = Vec::new();
    if today.workers != then.workers {
        let without = Settings {
            workers: today.workers,
            // Single mode preloads nothing.
            preload: then.preload && today.workers > 0,
            ..then
        };
        singles.push(of("workers", today.workers, then.workers, without));
    }
    if today.threads != then.threads {
        let without = Settings {
            threads: today.threads,
            ..then
        };
        singles.push(of("threads", today.threads, then.threads, without));
    }
    // Where today's is single mode, whether to preload came with the processes.
    if today.preload != then.preload && then.workers > 0 {
        let without = Settings {
            preload: today.preload,
            ..then
        };
        let values = Some((today.preload.to_string(), then.preload.to_string()));
        singles.push(Single {
            values,
            ..of("preload", 0, 0, without)
        });
    }
    singles
}

impl Single {
    fn label(&self) -> String {
        match &self.values {
            Some((_, value)) => format!("{}={value}", self.knob),
            None => self.knob.clone(),
        }
    }
}

/// A sentence for each reason, with the changes that it is the reason for.
fn not_measured<'a>(singles: impl Iterator<Item = (&'a Single, String)>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (single, why) in singles {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, labels)) => labels.push(single.label()),
            None => reasons.push((why, vec![single.label()])),
        }
    }
    let sentence = |(why, mut labels): (String, Vec<String>)| {
        let last = labels.pop().unwrap_or_default();
        match labels.is_empty() {
            true => format!("{last} was not measured by itself: {why}"),
            false => format!(
                "{} and {last} were not measured one by one: {why}",
                labels.join(", ")
            ),
        }
    };
    reasons.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests;
