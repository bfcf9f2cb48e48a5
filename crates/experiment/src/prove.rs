//! `advise --prove`: what each suggestion came to, and all that were kept together on fresh blocks.

use crate::budget::{self, Ageing, Overhead};
use crate::compared;
use crate::config::LEAST_AGE;
use crate::error::Stopped;
use crate::judge::{self, Judging};
use crate::procedure::{Procedure, all_failed, drop_hopeless, hopeless};
use crate::progress::Event;
use crate::request::Arm;
use crate::tune;
use knobs::Overlay;
use run::{
    Age, Answer, ArmSummary, Comparison, Conclusion, Document, Judged, Metric, Proof, Stage,
    Tested, Together, Verdict,
};
use small_sort::SmallSort;
use std::collections::BTreeMap;

/// Requests of the age over those of the pilot's trial, where no age was asked for.
const AGE_OVER_PILOT: u64 = 3;

/// Trials of the comparison that follows, at most: of today's settings and of all suggestions that were kept.
pub fn trials(arms: &[Arm], blocks: u32) -> u32 {
    match confirms(arms) {
        true => 2 * blocks,
        false => 0,
    }
}

/// Whether the kept suggestions are compared once more, all together. A single suggestion was compared already.
fn confirms(arms: &[Arm]) -> bool {
    arms.len() > 2
}

/// Without `--age`: sets the age at which memory is compared to three times the requests that the pilot answered, or to what the budget has
/// room for in each of these trials.
pub fn settle_age(procedure: &mut Procedure<'_>, trials: u32) {
    let plan = &procedure.store.document.plan;
    // Trials of an earlier sitting stay as they were planned.
    let is_planned = !procedure.store.earlier_arms(Stage::Compare).is_empty();
    if procedure.experiment.rehearse || plan.age.is_some() || is_planned {
        return;
    }
    let Some(answered) = procedure.pilot().iter().map(|t| t.answered()).max() else {
        return;
    };
    let wanted = (AGE_OVER_PILOT * answered).div_ceil(LEAST_AGE).max(1) * LEAST_AGE;
    let most = most_requests(procedure, trials).unwrap_or(u64::MAX);
    let requests = wanted.min(most / LEAST_AGE * LEAST_AGE);
    if requests < LEAST_AGE {
        procedure.watcher.on(Event::Note(
            "the budget has no room to age the servers: their memory is compared at the end of the windows; give a longer --budget, or \
             --age, for aged memory"
                .to_owned(),
        ));
        return;
    }
    procedure.store.document.plan.age = Some(Age {
        requests,
        most_s: None,
    });
}

/// The requests that each of so many trials can answer within the budget; `None` without one. 0 where it has room for no age.
fn most_requests(procedure: &Procedure<'_>, trials: u32) -> Option<u64> {
    let plan = &procedure.store.document.plan;
    let (budget_s, rate_per_s) = (plan.budget_s?, plan.rate_per_s?);
    let (capacity_per_s, warmed_up) = procedure.pace()?;
    let unaged = Ageing::of(0, warmed_up, capacity_per_s, rate_per_s);
    let room_s = budget::unasked_ageing_s(
        budget_s - procedure.elapsed_s(),
        Overhead::measured(procedure.overhead()?.seconds(), unaged),
        trials,
        procedure.experiment.window.map(|w| w.as_secs_f64()),
        procedure.experiment.longest_window_s(),
    );
    let most = Ageing::requests_in(room_s, warmed_up, capacity_per_s);
    // An age must exceed the warm-up by at least LEAST_AGE requests.
    Some(most)
        .filter(|most| most - warmed_up >= LEAST_AGE)
        .or(Some(0))
}

/// Judges each suggestion on the blocks that were measured, measures those that are kept together, and concludes.
pub fn conclude(procedure: &mut Procedure<'_>, arms: &[Arm], proof: &Proof) -> Result<(), Stopped> {
    let document = &mut procedure.store.document;
    if document.comparisons.is_empty() {
        return compared::conclude(procedure, arms);
    }
    let found = compared::rows(document, arms);
    let mut proof = proof.clone();
    for (tested, arm) in proof.suggestions.iter_mut().zip(&arms[1..]) {
        tested.judged = Some(judged(document, &found, arm, Stage::Compare));
    }
    document.proof = Some(proof.clone());
    let by_memory = with(&proof, Conclusion::Kept).into_iter();
    let mut by_memory: Vec<(usize, f64)> = by_memory
        .map(|place| (place, memory_ratio(document, &arms[1 + place])))
        .collect();
    by_memory.small_sort_by(|one, other| one.1.total_cmp(&other.1));
    let kept: Vec<usize> = by_memory.into_iter().map(|(place, _)| place).collect();
    let together = (confirms(arms) && !kept.is_empty()).then(|| all_of(arms, &kept));
    let mut all = arms.to_vec();
    if let Some((arm, taken)) = &together {
        measure(procedure, &arms[0], arm, taken.len())?;
        all.push(arm.clone());
    }
    compared::conclude(procedure, &all)?;
    let document = &mut procedure.store.document;
    if let Some((arm, taken)) = &together {
        proof.together = Some(Together {
            settings: of_kept(&proof, taken),
            arm: arm.name.clone(),
            judged: judged(document, &document.arms, arm, Stage::Confirm),
        });
    }
    let advised = match &together {
        Some((arm, _)) => Some(arm),
        None => kept.first().map(|place| &arms[1 + place]),
    };
    let taken = together.as_ref().map(|(_, taken)| taken.as_slice());
    let verdict = verdict(document, &proof, arms, taken.unwrap_or_default(), advised);
    document.proof = Some(proof);
    if verdict.answer == Answer::Change
        && let Some(arm) = advised
    {
        let (changes, by_hand) = procedure.trials.changes(arm);
        let document = &mut procedure.store.document;
        document.verdict = Some(Verdict {
            changes,
            by_hand,
            ..verdict
        });
    } else {
        document.verdict = Some(verdict);
    }
    Ok(())
}

/// The arm's memory over that of today's settings. Of two suggestions that contradict each other, the one with less memory is taken.
fn memory_ratio(document: &Document, arm: &Arm) -> f64 {
    let memory = judge::compare(
        &document.trials,
        Stage::Compare,
        &document.comparisons[0].baseline,
        &arm.name,
        Judging {
            metric: Metric::Memory,
            ..Judging::reached(document, Stage::Compare)
        },
    );
    memory.map_or(1.0, |memory| memory.ratio)
}

/// Fresh blocks of today's settings and of all that were kept; their comparison stands before the others, since the answer rests on it.
fn measure(
    procedure: &mut Procedure<'_>,
    today: &Arm,
    together: &Arm,
    kept: usize,
) -> Result<(), Stopped> {
    procedure.watcher.on(Event::Note(format!(
        "{} kept: compared together with today's settings, on fresh blocks",
        run::counted(kept, "suggestion")
    )));
    let blocks = procedure.store.document.plan.blocks;
    let mut live = vec![today.clone(), together.clone()];
    procedure.expect(2 * blocks);
    for block in 1..=blocks {
        procedure.block(Stage::Confirm, block, blocks, &live)?;
        let trials = &procedure.store.document.trials;
        let why = |arm: &str| hopeless(trials, Stage::Confirm, arm);
        match drop_hopeless(procedure, &mut live, why) {
            Ok(()) if live.len() > 1 => (),
            // What the suggestions came to stays; this comparison is undecided.
            Ok(()) | Err(Stopped::NoAnswer(_)) => break,
            Err(stopped) => return Err(stopped),
        }
    }
    let document = &mut procedure.store.document;
    let judging = Judging::reached(document, Stage::Confirm);
    let found = judge::compare(
        &document.trials,
        Stage::Confirm,
        &today.name,
        &together.name,
        judging,
    );
    document.comparisons.splice(0..0, found);
    Ok(())
}

/// The figures of an arm against the first, on the blocks of a stage.
fn judged(document: &Document, rows: &[ArmSummary], arm: &Arm, stage: Stage) -> Judged {
    let mine = |c: &&Comparison| c.candidate == arm.name && c.stage == stage;
    let mut figures: Vec<Comparison> = (document.comparisons.iter().filter(mine).cloned())
        .map(|c| judge::withdrawn(&document.trials, c))
        .collect();
    for metric in [Metric::Memory, Metric::ResponseTime] {
        figures.extend(judge::in_addition(
            document,
            &figures[..figures.len().min(1)],
            metric,
        ));
    }
    let row = rows.iter().find(|row| row.name == arm.name);
    let Some(row) = row.filter(|_| !figures.is_empty()) else {
        let failed = |name: &str, called: &str| {
            let (_, reason) = all_failed(&document.trials, stage, name)?;
            Some(format!("{called}failed: {}", tune::first_line(&reason)))
        };
        let why = failed(&arm.name, "").or_else(|| failed(&rows[0].name, "today's settings "));
        return undecided(why.unwrap_or_else(|| "no block was measured whole".to_owned()));
    };
    Judged::of(
        &figures.iter().collect::<Vec<_>>(),
        document.plan.margin,
        row.feasible,
        document.plan.objective.latency.is_some(),
    )
}

fn undecided(why: String) -> Judged {
    Judged {
        conclusion: Conclusion::Undecided,
        why,
    }
}

/// The suggestions with this conclusion, by their place.
fn with(proof: &Proof, conclusion: Conclusion) -> Vec<usize> {
    let suggestions = proof.suggestions.iter().enumerate();
    let these = suggestions.filter(|(_, one)| {
        let judged = one.judged.as_ref();
        judged.is_some_and(|judged| judged.conclusion == conclusion)
    });
    these.map(|(place, _)| place).collect()
}

/// The settings of all these.
fn of_kept(proof: &Proof, kept: &[usize]) -> BTreeMap<String, String> {
    let kept = kept.iter().map(|place| &proof.suggestions[*place]);
    kept.flat_map(|one: &Tested| one.settings.clone()).collect()
}

/// One arm with what these set, and those of them that it has: what contradicts one before it is left out.
fn all_of(arms: &[Arm], kept: &[usize]) -> (Arm, Vec<usize>) {
    let mut settings = arms[0].settings;
    let mut overlay = arms[0].overlay.clone();
    let mut taken = Vec::new();
    for place in kept {
        let arm = &arms[1 + place];
        let Some(with) = merged(&overlay, &arm.overlay) else {
            continue;
        };
        settings.preload |= arm.settings.preload;
        overlay = with;
        taken.push(*place);
    }
    let arm = Arm::with(settings, overlay);
    // If one suggestion was kept, its arm has the name without the suffix.
    let name = format!("{}-together", arm.name);
    (Arm { name, ..arm }, taken)
}

/// Both overlays merged; `None` where they contradict each other.
fn merged(one: &Overlay, other: &Overlay) -> Option<Overlay> {
    let mut merged = one.clone();
    for chosen in other.chosen() {
        merged.set(&chosen.knob, &chosen.value).ok()?;
    }
    merged.contradictions().is_empty().then_some(merged)
}

/// `taken`: what of the kept was set together; `advised`: the arm that was measured last of all that was kept.
fn verdict(
    document: &Document,
    proof: &Proof,
    arms: &[Arm],
    taken: &[usize],
    advised: Option<&Arm>,
) -> Verdict {
    let checks = |conclusion| {
        let these = with(proof, conclusion).into_iter();
        let names: Vec<&str> = these
            .map(|place| proof.suggestions[place].check.as_str())
            .collect();
        (!names.is_empty()).then(|| format!("{}: {}", conclusion.word(), names.join(", ")))
    };
    let all = [Conclusion::Kept, Conclusion::Refuted, Conclusion::Undecided];
    let mut sentence: String = all
        .into_iter()
        .filter_map(checks)
        .collect::<Vec<_>>()
        .join("; ");
    let of_all = proof.together.as_ref().map(|of| &of.judged);
    if let Some(judged) = of_all {
        let kept = with(proof, Conclusion::Kept);
        let left_out: Vec<&str> = (kept.iter().filter(|place| !taken.contains(place)))
            .map(|place| proof.suggestions[*place].check.as_str())
            .collect();
        let these = match (kept.len(), left_out.as_slice()) {
            (1, _) => "it is".to_owned(),
            (_, []) => "all kept together are".to_owned(),
            (_, left_out) => format!(
                "all kept together, without what contradicts them ({}), are",
                left_out.join(", ")
            ),
        };
        sentence = format!(
            "{sentence}. On fresh blocks {these} {}: {}",
            match judged.conclusion {
                Conclusion::Kept => "better than today's settings",
                Conclusion::Refuted => "no better than today's settings",
                Conclusion::Undecided => "undecided",
            },
            judged.why
        );
    }
    let kept = !with(proof, Conclusion::Kept).is_empty();
    let open = !with(proof, Conclusion::Undecided).is_empty();
    let answer = match of_all.map(|judged| judged.conclusion) {
        Some(Conclusion::Kept) => Answer::Change,
        None if kept => Answer::Change,
        Some(Conclusion::Undecided) => Answer::Undecided,
        None if open => Answer::Undecided,
        Some(Conclusion::Refuted) | None => Answer::Keep,
    };
    let exit_code = match answer {
        Answer::Undecided => 3,
        _ => 0,
    };
    let settings = match (answer, advised) {
        (Answer::Change, Some(arm)) => arm.settings,
        _ => arms[0].settings,
    };
    let more = document.comparisons.iter();
    let more = more.filter_map(|c| c.blocks_to_decide).max();
    Verdict {
        arm: advised
            .filter(|_| answer == Answer::Change)
            .map(|arm| arm.name.clone()),
        blocks_to_decide: more.filter(|_| answer == Answer::Undecided),
        ..Verdict::of(
            answer,
            run::sentence_case(&format!("{sentence}.")),
            settings,
            exit_code,
        )
    }
}
