//! `--since`: the answer of an earlier run among the candidates, and whether it is still right. Pure.

use super::candidate::CandidateArm;
use super::model;
use crate::earlier::Earlier;
use crate::request::Arm;
use run::{Answer, Document, Feasibility, Settings, Stage, Standing};

/// The candidates with those of the earlier run, most promising first: its answer where today's settings are others; a prediction
/// beyond today's by more than the margin; what else it measured; the others of the model.
pub fn candidates(
    earlier: &Earlier,
    document: &Document,
    chosen: Vec<CandidateArm>,
    fits: impl Fn(Settings) -> bool,
    most: usize,
) -> Vec<CandidateArm> {
    let today = document.plan.baseline;
    let of = |settings: Settings, because| CandidateArm {
        arm: Arm::of(settings),
        because,
    };
    let promises_more = |candidate: &&CandidateArm| {
        let predicted = |settings| Some(model::foreseen(document, settings)?.capacity_per_s);
        let both = predicted(candidate.arm.settings).zip(predicted(today));
        both.is_some_and(|(of, todays)| of > (1.0 + document.plan.margin) * todays)
    };
    let best = chosen.first().filter(promises_more).cloned();
    let answer = of(earlier.since.settings, "the answer of the earlier run");
    let tried = earlier.tried.iter();
    let tried = tried.map(|settings| of(*settings, "the next best of the earlier run"));
    let known = |one: &CandidateArm| fits(one.arm.settings);
    let ordered = (Some(answer).into_iter().filter(known))
        .chain(best)
        .chain(tried.filter(known))
        .chain(chosen);
    let mut candidates: Vec<CandidateArm> = Vec::new();
    for one in ordered {
        let is_new = candidates.iter().all(|other| other.arm != one.arm);
        if one.arm.settings != today && is_new {
            candidates.push(one);
        }
    }
    candidates.truncate(most);
    candidates
}

/// Records whether the earlier answer is still right. *No longer right* needs evidence: a deciding comparison with this answer, or a
/// limit that it broke.
pub fn judge(document: &mut Document, earlier: &Earlier) {
    let Some(verdict) = &document.verdict else {
        return;
    };
    let (then, now) = (earlier.since.settings, verdict.settings);
    let today = document.plan.baseline;
    let answer = format!("earlier answer ({}: {then})", earlier.since.run);
    let arm = Arm::of(then).name;
    let is_of_then = |name: &String| *name == arm;
    let mut deciding = (document.comparisons.iter()).filter(|c| c.stage == Stage::Confirm);
    let compared = deciding.any(|c| is_of_then(&c.candidate) || is_of_then(&c.baseline));
    let mut rows = document.arms.iter();
    let broke = rows.any(|row| is_of_then(&row.name) && row.feasible == Feasibility::Breaks);
    let here = match verdict.answer {
        Answer::Change | Answer::Smaller => format!("this run recommends {now}"),
        _ => format!("this run keeps today's settings ({today})"),
    };
    let decided = matches!(
        verdict.answer,
        Answer::Change | Answer::Smaller | Answer::Keep
    );
    let (standing, sentence) = if decided && verdict.arm.as_ref().is_some_and(is_of_then) {
        (
            Standing::StillRight,
            format!("The {answer} is still right: this run has the same answer."),
        )
    } else if decided && (compared || broke) {
        (
            Standing::NoLonger,
            format!("The {answer} is no longer right: {here}."),
        )
    } else if decided {
        (
            Standing::Undecided,
            format!(
                "This run does not decide whether the {answer} is still right: {here}, and the earlier answer was not in the deciding comparison."
            ),
        )
    } else {
        (
            Standing::Undecided,
            format!("This run does not decide whether the {answer} is still right."),
        )
    };
    let differences = differences(document, earlier);
    document.warnings.extend(differences);
    if let Some(since) = &mut document.since {
        (since.standing, since.sentence) = (Some(standing), Some(sentence));
    }
}

/// What differs from the earlier run, so that its answer may differ for that reason alone.
fn differences(document: &Document, earlier: &Earlier) -> Vec<String> {
    let (host, plan, run) = (&document.host, &document.plan, &earlier.since.run);
    let mut differences = Vec::new();
    if earlier.machine != (host.cpu_model.clone(), host.effective_cores) {
        let (processor, cores) = &earlier.machine;
        differences.push(format!(
            "{run} was measured on another machine ({processor}, cores: {cores}): its answer may differ for that reason alone"
        ));
    }
    if earlier.app_dir != plan.app_dir {
        differences.push(format!(
            "{run} measured the application in {}",
            earlier.app_dir
        ));
    }
    if earlier.objective != plan.objective {
        differences.push(format!(
            "{run} had other limits: its answer may differ for that reason alone"
        ));
    }
    if earlier.workload != plan.workload {
        differences.push(format!(
            "{run} had other requests: its answer may differ for that reason alone"
        ));
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Since;

    const TODAY: (u16, u16) = (0, 1);

    fn settings((workers, threads): (u16, u16)) -> Settings {
        Settings {
            workers,
            threads,
            preload: workers > 0,
        }
    }

    fn earlier(answer: (u16, u16), tried: &[(u16, u16)]) -> Earlier {
        Earlier {
            since: Since {
                run: "20261120-214512-tune-1f3a".to_owned(),
                started_at: "2026-11-20T21:45:12Z".to_owned(),
                settings: settings(answer),
                request: None,
                standing: None,
                sentence: None,
            },
            tried: tried.iter().map(|of| settings(*of)).collect(),
            machine: ("EPYC".to_owned(), 2.0),
            app_dir: "/srv/shop".to_owned(),
            objective: run::Objective {
                max_memory_bytes: Some(1),
                ..crate::sample::document("tune").plan.objective
            },
            workload: Vec::new(),
        }
    }

    /// A document in which the model foresees so much of configurations.
    fn document(predicted: &[((u16, u16), f64)]) -> Document {
        let mut document = crate::sample::document("tune");
        document.plan.baseline = settings(TODAY);
        let model = document.model.as_mut().unwrap();
        let any = model.predictions[0];
        let foreseen = predicted
            .iter()
            .map(|((workers, threads), per_s)| run::Foreseen {
                workers: *workers,
                threads: *threads,
                capacity_per_s: *per_s,
                ..any
            });
        model.predictions = foreseen.collect();
        document
    }

    fn order(
        earlier: &Earlier,
        document: &Document,
        chosen: &[(u16, u16)],
        most: usize,
    ) -> Vec<(u16, u16)> {
        let chosen = chosen.iter().map(|of| CandidateArm {
            arm: Arm::of(settings(*of)),
            because: "predicted",
        });
        let found = candidates(
            earlier,
            document,
            chosen.collect(),
            |of| of.threads < 16,
            most,
        );
        found
            .iter()
            .map(|one| (one.arm.settings.workers, one.arm.settings.threads))
            .collect()
    }

    #[test]
    fn an_answer_that_does_not_run_today_comes_first() {
        let document = document(&[(TODAY, 100.0), ((2, 3), 200.0)]);
        let earlier = earlier((2, 5), &[TODAY, (2, 3), (1, 5), (2, 16)]);
        assert_eq!(
            order(&earlier, &document, &[(2, 3), (0, 5)], 9),
            [(2, 5), (2, 3), (1, 5), (0, 5)]
        );
        assert_eq!(order(&earlier, &document, &[(2, 3), (0, 5)], 1), [(2, 5)]);
    }

    /// The answer runs today: what could be better is a new prediction, or else the next best of the earlier run.
    #[test]
    fn an_answer_that_runs_today_meets_what_could_be_better() {
        let earlier = earlier(TODAY, &[(1, 5), (2, 3)]);
        let more = document(&[(TODAY, 100.0), ((0, 5), 104.0)]);
        assert_eq!(order(&earlier, &more, &[(0, 5)], 2), [(0, 5), (1, 5)]);
        let as_much = document(&[(TODAY, 100.0), ((0, 5), 102.0)]);
        assert_eq!(order(&earlier, &as_much, &[(0, 5)], 2), [(1, 5), (2, 3)]);
    }

    /// What becomes of an answer where the deciding comparison had today's settings and this configuration.
    fn standing(
        answer: Answer,
        now: (u16, u16),
        then: (u16, u16),
        challenger: (u16, u16),
    ) -> (Standing, String) {
        let mut document = document(&[(TODAY, 100.0)]);
        let earlier = earlier(then, &[]);
        document.since = Some(earlier.since.clone());
        document.arms.clear();
        document.comparisons.retain(|c| c.stage == Stage::Confirm);
        document.comparisons.truncate(1);
        let name = |of| Arm::of(settings(of)).name;
        document.comparisons[0].baseline = name(TODAY);
        document.comparisons[0].candidate = name(challenger);
        let verdict = document.verdict.as_mut().unwrap();
        (verdict.answer, verdict.settings) = (answer, settings(now));
        verdict.arm = Some(name(now));
        judge(&mut document, &earlier);
        let since = document.since.unwrap();
        (since.standing.unwrap(), since.sentence.unwrap())
    }

    #[test]
    fn what_this_run_answers_decides() {
        use Answer::{Change, Keep, NoneMeets, Smaller, Undecided};
        let of = |answer, now, then| standing(answer, now, then, (0, 5)).0;
        assert_eq!(of(Keep, TODAY, TODAY), Standing::StillRight);
        assert_eq!(of(Change, (0, 5), (0, 5)), Standing::StillRight);
        assert_eq!(of(Smaller, (0, 5), TODAY), Standing::NoLonger);
        assert_eq!(of(Undecided, TODAY, TODAY), Standing::Undecided);
        assert_eq!(of(NoneMeets, TODAY, TODAY), Standing::Undecided);
        let (of, sentence) = standing(Keep, TODAY, (2, 5), (2, 5));
        assert_eq!(of, Standing::NoLonger);
        assert_eq!(
            sentence,
            "The earlier answer (20261120-214512-tune-1f3a: 2 workers × 5 threads, preloaded) is no longer right: this run keeps today's \
             settings (single × 1 thread)."
        );
        // Elimination rounds prove nothing.
        let (of, sentence) = standing(Change, (0, 5), (2, 5), (0, 5));
        assert_eq!(of, Standing::Undecided);
        assert!(
            sentence.contains("was not in the deciding comparison"),
            "{sentence}"
        );
    }

    #[test]
    fn what_differs_from_the_earlier_run_is_a_warning() {
        let mut document = document(&[(TODAY, 100.0)]);
        let mut earlier = earlier(TODAY, &[]);
        let all = differences(&document, &earlier);
        for (said, part) in all.iter().zip([
            "another machine (EPYC, cores: 2)",
            "in /srv/shop",
            "other limits",
            "other requests",
        ]) {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(all.len(), 4);
        document.host.cpu_model = "EPYC".to_owned();
        document.host.effective_cores = 2.0;
        earlier.app_dir.clone_from(&document.plan.app_dir);
        earlier.objective.clone_from(&document.plan.objective);
        earlier.workload.clone_from(&document.plan.workload);
        assert!(differences(&document, &earlier).is_empty());
    }
}
