//! Who meets the baseline: among survivors equivalent to the best within the margin, the smallest; and the best of the others.

use super::race;
use crate::judge::{self, Judging};
use crate::request::Arm;
use run::{Document, Feasibility, Stage, Trial};
use stats::{Range, Size};

/// The arms that are to be confirmed.
#[derive(Debug, Clone, PartialEq)]
pub struct Finalists {
    pub challenger: Arm,
    /// The best of the others that seemed to be better than the baseline: the best of a race may have been lucky.
    pub second: Option<Arm>,
}

/// The finalists, or `None` when only the baseline is left.
pub fn finalists(document: &Document, survivors: &[Arm], baseline: &Arm) -> Option<Finalists> {
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
    let margin = 1.0 + document.plan.margin;
    let chain = overtaken(document, &rated, margin);
    let best = *chain.last()?;
    let near: Vec<&Arm> = rated
        .iter()
        .filter(|(arm, ratio)| {
            let accepted = margin * noise(document, arm);
            let behind = in_shared_rounds(document, arm, best.0).is_some_and(|of| of > accepted);
            let lost = behind || chain.iter().any(|(other, _)| other == arm);
            *arm == best.0 || (*ratio * accepted >= best.1 && !lost)
        })
        .map(|(arm, _)| *arm)
        .collect();
    let sizes: Vec<Size> = near.iter().map(|arm| size(document, arm)).collect();
    let challenger = near[stats::smallest(&sizes)?].clone();
    let others: Vec<(&Arm, f64)> = rated
        .into_iter()
        .filter(|(arm, ratio)| **arm != challenger && *ratio > 1.0)
        .collect();
    let second = overtaken(document, &others, margin).pop();
    Some(Finalists {
        second: second.map(|(arm, _)| arm.clone()),
        challenger,
    })
}

/// The best against the baseline, the arm that was ahead of it in the rounds that had both, the one ahead of that, and so on: arms that
/// ran in different rounds met the machine at different times. The last is the best.
fn overtaken<'a>(
    document: &Document,
    rated: &[(&'a Arm, f64)],
    margin: f64,
) -> Vec<(&'a Arm, f64)> {
    let first = rated.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let mut chain: Vec<(&Arm, f64)> = first.copied().into_iter().collect();
    while let Some((last, _)) = chain.last().copied() {
        let new = rated
            .iter()
            .filter(|(arm, _)| chain.iter().all(|(one, _)| one != arm));
        let ahead = new.filter_map(|one| {
            let of = in_shared_rounds(document, last, one.0)?;
            (of > margin).then_some((*one, of))
        });
        match ahead.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((next, _)) => chain.push(next),
            None => break,
        }
    }
    chain
}

/// One standard error of the ratio of two equal arms in as many rounds as this arm was in, as a factor. A smaller arm that is within
/// it goes first, because the best by estimate is the second finalist and replaces it if it is shown to be better. 1 where the
/// deciding comparison has no room for a second one.
fn noise(document: &Document, arm: &Arm) -> f64 {
    if document.plan.finalists.unwrap_or(1) < 2 {
        return 1.0;
    }
    let rounds = race::rounds_of(document, |trial| trial.arm == arm.name).max(1);
    (document.plan.detectable.sd_log_ratio / (rounds as f64).sqrt()).exp()
}

/// How many times as much `arm` served as `other` in the rounds that had both; `None` without such a round.
fn in_shared_rounds(document: &Document, other: &Arm, arm: &Arm) -> Option<f64> {
    (other != arm).then(|| ratio(document, other, arm))?
}

/// The one candidate of a run whose time allows no race.
pub fn without_race(arms: &[Arm], baseline: &Arm) -> Option<Finalists> {
    let challenger = arms.iter().find(|arm| *arm != baseline)?.clone();
    Some(Finalists {
        challenger,
        second: None,
    })
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
    let found = judge::feasibility(&mine, document);
    match found.seems_to_meet(&document.plan.objective) {
        true => Feasibility::Meets,
        false => found.standing,
    }
}

fn size(document: &Document, arm: &Arm) -> Size {
    let mine = document.trials.iter();
    let mine: Vec<&Trial> = mine.filter(|t| t.arm == arm.name && t.counts()).collect();
    let grows = judge::growth(&mine).is_some();
    let after = judge::equal_requests(&document.trials);
    let pss: Vec<f64> = mine
        .iter()
        .filter_map(|trial| judge::memory_bytes(trial, grows, after))
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

#[cfg(test)]
mod tests {
    use super::*;
    use run::Settings;
    use std::collections::BTreeSet;

    /// `(round, threads, requests a second, MiB)`; one thread is the baseline.
    type Raced = (u32, u16, f64, u64);

    /// The threads of the finalists of a race of these trials.
    fn of_rounds(trials: &[Raced]) -> (u16, Option<u16>) {
        of_noisy_rounds(trials, 0.0, 2)
    }

    /// The same where equal arms differ by so much in a round, with room for so many finalists.
    fn of_noisy_rounds(trials: &[Raced], sd: f64, room: u32) -> (u16, Option<u16>) {
        let mut document = crate::sample::document("tune");
        document.plan.objective.latency = None;
        document.plan.detectable.sd_log_ratio = sd;
        document.plan.finalists = Some(room);
        let model = document
            .trials
            .iter()
            .find(|t| t.memory.is_some() && t.counts());
        let model = model.unwrap().clone();
        let arm = |threads| {
            Arm::of(Settings {
                threads,
                ..model.settings
            })
        };
        document.trials.clear();
        for (block, threads, per_s, mib) in trials {
            let mut trial = model.clone();
            (trial.stage, trial.block) = (Stage::Race, *block);
            (trial.arm, trial.settings) = (arm(*threads).name, arm(*threads).settings);
            trial.saturation.as_mut().unwrap().good_per_s = *per_s;
            trial.memory.as_mut().unwrap().pss_bytes = mib << 20;
            document.trials.push(trial);
        }
        let threads: BTreeSet<u16> = trials.iter().map(|t| t.1).collect();
        let survivors: Vec<Arm> = threads.into_iter().map(arm).collect();
        let found = finalists(&document, &survivors, &survivors[0]).unwrap();
        let second = found.second.map(|arm| arm.settings.threads);
        (found.challenger.settings.threads, second)
    }

    /// The same of two rounds that all arms were in: `(threads, requests a second, MiB)`.
    fn raced(arms: &[(u16, f64, u64)]) -> (u16, Option<u16>) {
        let round = |block| {
            arms.iter()
                .map(move |&(threads, per_s, mib)| (block, threads, per_s, mib))
        };
        let trials: Vec<Raced> = round(1).chain(round(2)).collect();
        of_rounds(&trials)
    }

    /// 4 threads are 7 % behind 8 in two rounds.
    #[test]
    fn the_smaller_goes_first_where_noise_explains_the_difference_and_a_second_is_confirmed() {
        let rounds: Vec<Raced> = [(1, 100.0, 40), (4, 280.0, 40), (8, 300.0, 90)]
            .into_iter()
            .flat_map(|(threads, per_s, mib)| [1, 2].map(|round| (round, threads, per_s, mib)))
            .collect();
        assert_eq!(of_noisy_rounds(&rounds, 0.01, 2), (8, Some(4)));
        assert_eq!(of_noisy_rounds(&rounds, 0.08, 2), (4, Some(8)));
        assert_eq!(of_noisy_rounds(&rounds, 0.08, 1), (8, Some(4)));
    }

    /// As a run on a busy host had it: the arm of the first round alone looks better against a slow baseline.
    #[test]
    fn an_arm_that_lost_the_round_that_had_both_is_not_the_winner() {
        let rounds = [
            (1, 1, 152.0, 40),
            (1, 4, 380.0, 40),
            (1, 5, 338.0, 40),
            (2, 1, 170.0, 40),
            (2, 4, 298.0, 40),
        ];
        assert_eq!(of_rounds(&rounds), (4, Some(5)));
        // 6 was in the first round alone, and behind 4; 4 was behind 8 in the second.
        let chain = [
            (1, 1, 100.0, 40),
            (1, 6, 220.0, 40),
            (1, 4, 250.0, 40),
            (2, 1, 160.0, 40),
            (2, 4, 240.0, 40),
            (2, 8, 275.0, 40),
            (3, 1, 100.0, 40),
            (3, 8, 230.0, 40),
        ];
        assert_eq!(of_rounds(&chain), (8, Some(4)));
    }

    #[test]
    fn the_best_of_the_others_is_the_second_finalist() {
        let three = [
            (1, 90.0, 30),
            (4, 170.0, 40),
            (6, 142.0, 50),
            (8, 120.0, 60),
        ];
        assert_eq!(raced(&three), (4, Some(6)));
        // The smaller of equals goes first, the better of them second.
        assert_eq!(
            raced(&[(1, 90.0, 30), (4, 140.0, 40), (6, 142.0, 90)]),
            (4, Some(6))
        );
        // What seems no better than the baseline is not worth the time.
        assert_eq!(
            raced(&[(1, 90.0, 30), (4, 170.0, 40), (6, 89.0, 50)]),
            (4, None)
        );
        assert_eq!(raced(&three[..2]), (4, None));
    }
}
