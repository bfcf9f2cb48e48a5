//! What a search over a command's knobs comes to: the winner against what runs today, and what is as good, in the document's words.

use super::{answer, judged, last_failure, runs};
use crate::deciding::{self, Measured};
use crate::error::Stopped;
use crate::judge::Judging;
use crate::procedure::Procedure;
use crate::request::Arm;
use crate::tune::Searched;
use ::search::{Claim, End, Fate, Outcome};
use run::{Answer, CommandRun, Comparison, Metric, Stage, Verdict, change_with_interval};

/// Fills the document's rows, comparisons and verdict.
pub fn conclude(
    procedure: &mut Procedure<'_>,
    searched: &Searched,
    outcome: &Outcome,
    arms: &[Arm],
) -> Result<(), Stopped> {
    let (baseline, winner) = (&arms[0], searched.arm(&outcome.winner));
    let found = runs(procedure);
    let measure = judged::measure(found);
    let confirming = found.iter().filter(|run| run.stage == Stage::Confirm);
    let done = confirming.clone().map(|run| run.block).max().unwrap_or(0);
    let judging = Judging::after(&procedure.store.document, done);
    let mut comparisons: Vec<Comparison> = judged::METRICS
        .iter()
        .filter_map(|metric| {
            let pair = (baseline.name.as_str(), winner.name.as_str());
            judged::compare(found, (Stage::Confirm, *metric), measure, pair, judging)
        })
        .collect();
    if winner != *baseline && comparisons.is_empty() {
        return Err(Stopped::NoAnswer(format!(
            "no block of the deciding comparison has two runs that succeeded: {}",
            last_failure(found)
        )));
    }
    let in_race = |today: bool| {
        let race = found.iter().filter(|run| run.stage == Stage::Race);
        race.filter(move |run| (run.arm == baseline.name) == today)
    };
    if in_race(true).next().is_some() && !in_race(true).any(CommandRun::counts) {
        return Err(Stopped::NoAnswer(format!(
            "{baseline} failed in every elimination round: {}",
            last_failure(found)
        )));
    }
    let others_failed = !in_race(false).any(CommandRun::counts);
    let failed = confirming.filter(|run| run.arm == winner.name && !run.counts());
    let failed = failed.count();
    if failed > 0 {
        // The runs that are left do not show how it would go on.
        let of_winner = format!("{} of it failed", run::counted(failed, "run"));
        for comparison in &mut comparisons {
            comparison.not_comparable = Some(of_winner.clone());
            comparison.outcome = run::Outcome::Undecided;
        }
    }
    let found = Found {
        baseline: match baseline.overlay.is_empty() {
            true => "today's environment".to_owned(),
            false => baseline.called_among(arms),
        },
        winner: winner.called_among(arms),
        margin: procedure.store.document.plan.margin,
        wall: comparisons.first(),
        failed,
        others_failed: others_failed.then(|| last_failure(found)),
        as_good: as_good(procedure, searched, outcome, arms),
    };
    // The search goes by medians; a claim needs the comparison.
    let memory = comparisons.iter().find(|c| c.metric == Metric::PeakMemory);
    let is_less = memory.is_some_and(|c| c.outcome == run::Outcome::Better);
    let claim = match outcome.claim {
        Claim::Smaller if failed > 0 => Claim::Undecided,
        Claim::Smaller if !is_less => Claim::Equivalent,
        claim => claim,
    };
    let (answer, sentence, exit_code) = found.verdict(claim);
    let chosen = match answer {
        Answer::Change | Answer::Smaller => &winner,
        _ => baseline,
    };
    let verdict = Verdict {
        arm: Some(chosen.name.clone()),
        blocks_to_decide: comparisons
            .first()
            .filter(|_| answer == Answer::Undecided)
            .and_then(|wall| wall.blocks_to_decide),
        ..Verdict::of(answer, sentence, baseline.settings, exit_code)
    };
    let fates = fates(procedure, searched, outcome);
    let mut warnings = Vec::new();
    let untried = searched.without_trial(&outcome.fates);
    if !untried.is_empty() {
        warnings.push(format!(
            "not tried, since the budget or --max-arms leaves no room: {}",
            untried.join(", ")
        ));
    }
    warnings.extend(answer::of_runs(procedure, arms));
    let document = &mut procedure.store.document;
    if let Some(command) = &mut document.command {
        command.comparisons = comparisons;
        for row in &mut command.arms {
            let of_row = fates.iter().find(|(name, _)| *name == row.name);
            row.fate = of_row.map(|(_, fate)| fate.clone());
        }
    }
    document.verdict = Some(verdict);
    document.warnings.extend(warnings);
    Ok(())
}

/// What became of each configuration, by its name.
fn fates(
    procedure: &Procedure<'_>,
    searched: &Searched,
    outcome: &Outcome,
) -> Vec<(String, String)> {
    let document = &procedure.store.document;
    let of_arm = |fate: &Fate| {
        let arm = searched.arm(&fate.point);
        (arm.name, searched.fate(fate, document))
    };
    outcome.fates.iter().map(of_arm).collect()
}

/// The other configurations that the elimination rounds did not drop and in which the command took as long as in the best one, but
/// for what runs today.
fn as_good(
    procedure: &Procedure<'_>,
    searched: &Searched,
    outcome: &Outcome,
    arms: &[Arm],
) -> Vec<String> {
    let best = searched.arm(&outcome.winner);
    let margin = procedure.store.document.plan.margin;
    let is_as_good = |arm: &Arm| {
        let pair = (best.name.as_str(), arm.name.as_str());
        let ratio = judged::wall_ratio(runs(procedure), Stage::Race, pair);
        *arm != arms[0] && *arm != best && ratio.is_some_and(|ratio| ratio <= 1.0 + margin)
    };
    let stayed = outcome.fates.iter().filter(|f| f.end == End::RacedToTheEnd);
    let others = stayed
        .map(|fate| searched.arm(&fate.point))
        .filter(is_as_good);
    others.map(|arm| arm.called_among(arms)).collect()
}

/// What the sentence of the verdict is made of.
struct Found<'a> {
    baseline: String,
    winner: String,
    margin: f64,
    wall: Option<&'a Comparison>,
    failed: usize,
    /// Why the last of the other configurations' runs failed, where all did.
    others_failed: Option<&'a str>,
    as_good: Vec<String>,
}

impl Found<'_> {
    fn verdict(&self, claim: Claim) -> (Answer, String, u8) {
        let Found {
            baseline, winner, ..
        } = self;
        let takes = self.wall.map_or_else(String::new, |wall| {
            let change = change_with_interval(wall.ratio, wall.low, wall.high);
            format!("wall time {change}, {}", run::counted(wall.blocks, "block"))
        });
        let within = format!(
            "takes the same time within {:.0} % ({takes})",
            self.margin * 100.0
        );
        let as_good = self.as_good();
        match claim {
            Claim::Better | Claim::KeepsTheLimits => (
                Answer::Change,
                format!(
                    "Run with {winner}: the command takes less time than with {baseline} ({takes}).{as_good}"
                ),
                0,
            ),
            Claim::Smaller => (
                Answer::Smaller,
                format!(
                    "Run with {winner}: the command needs less memory than with {baseline} and {within}.{as_good}"
                ),
                0,
            ),
            Claim::Equivalent => (
                Answer::Keep,
                format!("Keep {baseline}: {winner}, the best of the elimination rounds, {within}."),
                0,
            ),
            Claim::Worse => (
                Answer::Keep,
                format!(
                    "Keep {baseline}: {winner}, the best of the elimination rounds, takes longer ({takes})."
                ),
                0,
            ),
            Claim::BaselineBest | Claim::NoneMeets if self.others_failed.is_some() => (
                Answer::Keep,
                format!(
                    "Keep {baseline}: all runs of the other configurations failed, the last: {}",
                    self.others_failed.unwrap_or_default()
                ),
                0,
            ),
            Claim::BaselineBest | Claim::NoneMeets => (
                Answer::Keep,
                format!(
                    "Keep {baseline}: no other configuration was faster in the elimination rounds, so there was no deciding comparison.{as_good}"
                ),
                0,
            ),
            Claim::Undecided | Claim::Infeasible => {
                let why = match (self.failed, self.wall) {
                    (0, Some(wall)) => {
                        deciding::words(std::slice::from_ref(wall), Measured::Commands)
                    }
                    (0, None) => None,
                    (failed, _) => Some(format!(
                        "{} of {winner} failed",
                        run::counted(failed, "run")
                    )),
                };
                let why = why.map_or_else(String::new, |why| format!("; {why}"));
                let sentence = format!(
                    "Undecided, so keep {baseline} for now: the blocks do not show whether {winner} takes less time ({takes}){why}."
                );
                (Answer::Undecided, sentence, 3)
            }
        }
    }

    fn as_good(&self) -> String {
        match self.as_good.as_slice() {
            [] => String::new(),
            others => format!(
                " As good in the elimination rounds, within {:.0} %: {}.",
                self.margin * 100.0,
                others.join("; ")
            ),
        }
    }
}
