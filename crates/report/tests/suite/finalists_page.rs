//! The page of a run in which another row looks better than the answer's.

use crate::run_page::{holds, page, sample};
use crate::support::flat;
use run::{
    Answer, ArmSummary, Comparison, Document, Feasibility, LatencyObjective, Outcome, Settings,
    Stage,
};

/// `tune` with its baseline, the winner of its race, which fell from +86 to +38 % in the confirmation, and another that the race
/// showed at +58 %.
fn tuned() -> Document {
    let mut document = sample("tune");
    let settings = |threads| Settings {
        threads,
        ..document.plan.baseline
    };
    let arm = |index: usize, threads: u16, per_s: f64, fate: &str| ArmSummary {
        name: format!("t{threads}"),
        settings: settings(threads),
        capacity_per_s: Some(per_s),
        fate: format!("more threads; {fate}"),
        failed: 0,
        feasible: Feasibility::Meets,
        ..document.arms[index].clone()
    };
    let arms = vec![
        arm(0, 1, 91.0, "what runs today"),
        arm(1, 4, 126.0, "won the elimination rounds"),
        arm(1, 6, 142.0, "in all elimination rounds"),
    ];
    let comparison = |stage: Stage, candidate: &str, ratio: f64| Comparison {
        stage,
        baseline: "t1".to_owned(),
        candidate: candidate.to_owned(),
        ratio,
        low: Some(ratio - 0.04),
        high: Some(ratio + 0.03),
        blocks: if stage == Stage::Race { 2 } else { 6 },
        ..document.comparisons.last().unwrap().clone()
    };
    let comparisons = vec![
        comparison(Stage::Race, "t4", 1.86),
        comparison(Stage::Race, "t6", 1.58),
        comparison(Stage::Confirm, "t4", 1.38),
    ];
    let verdict = document.verdict.as_mut().unwrap();
    (verdict.answer, verdict.settings) = (Answer::Change, arms[1].settings);
    verdict.arm = Some("t4".to_owned());
    (document.arms, document.comparisons) = (arms, comparisons);
    document
}

/// The second finalist against the first, and against the baseline.
fn met(document: &mut Document, outcome: Outcome, ratio: f64) {
    let deciding = document.comparisons.last().unwrap().clone();
    let beside = |baseline: &str, outcome: Outcome, ratio: f64| Comparison {
        baseline: baseline.to_owned(),
        candidate: "t6".to_owned(),
        outcome,
        ratio,
        low: Some(ratio - 0.04),
        high: Some(ratio + 0.03),
        ..deciding.clone()
    };
    let against_baseline = beside("t1", Outcome::Better, 1.5);
    let against_first = beside("t4", outcome, ratio);
    document
        .comparisons
        .extend([against_baseline, against_first]);
}

fn reasons(document: &Document) -> String {
    let page = page(document);
    let after = page.split("Better figures than the answer's").nth(1);
    let section = after.map(|after| after.split("\n\n").next().unwrap());
    flat(section.unwrap_or_default())
}

#[test]
fn a_better_figure_of_the_race_is_said_to_prove_nothing() {
    let document = tuned();
    let said = reasons(&document);
    let expected = "- single × 6 threads (142/s): a figure of 2 elimination rounds, which proves nothing (single × 4 threads \
                    showed +86.0 % in its own rounds, and +38.0 % when it was confirmed); it was not confirmed";
    assert!(said.ends_with(expected), "{said}");
    holds(&page(&document), &["(2 rounds) confirmed"]);
}

#[test]
fn every_reason_has_its_words() {
    let with = |change: &dyn Fn(&mut Document)| {
        let mut document = tuned();
        change(&mut document);
        reasons(&document)
    };
    let left = with(&|document| {
        document.arms[2].fate =
            "more threads; eliminated after round 2: behind single × 4 threads".to_owned();
    });
    assert!(
        left.ends_with("; it was eliminated after round 2: behind single × 4 threads"),
        "{left}"
    );
    let broken = with(&|document| {
        document.arms[2].feasible = Feasibility::Breaks;
        document.arms[2].violation_interval = Some((0.02, 0.04));
        document.plan.objective.latency = Some(LatencyObjective {
            percentile: 99.0,
            limit_ms: 250.0,
        });
    });
    let limit = "(142/s): it breaks a limit: p99 ≤ 250 ms";
    assert!(broken.ends_with(limit), "{broken}");
    let eliminated = with(&|document| {
        let why = "more threads; breaks a limit: 1,100 MiB of memory, 1,024 MiB are allowed";
        document.arms[2].fate = why.to_owned();
    });
    let limit = "it breaks a limit: 1,100 MiB of memory, 1,024 MiB are allowed";
    assert!(eliminated.ends_with(limit), "{eliminated}");
    let failing = with(&|document| {
        let why = "more threads; failed: 12.0 % of its requests failed at full load";
        document.arms[2].fate = why.to_owned();
        document.arms[2].feasible = Feasibility::Breaks;
    });
    assert!(
        failing.ends_with("(142/s): it fails: 12.0 % of its requests failed at full load"),
        "{failing}"
    );
    let both = with(&|document| {
        for arm in &mut document.arms {
            arm.feasible = Feasibility::Breaks;
        }
    });
    assert!(
        both.ends_with(" breaks one, too, and this one was not confirmed"),
        "{both}"
    );
    let failed = with(&|document| (document.arms[2].trials, document.arms[2].failed) = (1, 1));
    assert!(failed.ends_with("1 of its 2 trials failed"), "{failed}");
    let step = with(&|document| document.arms[2].fate = "a step of the path".to_owned());
    assert!(step.contains("`powerband compare` would tell"), "{step}");
    let level = with(&|document| met(document, Outcome::Equivalent, 1.02));
    let beside = "in the same 6 blocks +2.0 % (-2.0 to +5.0) next to single × 4 threads, within the margin of 3 %";
    assert!(level.ends_with(beside), "{level}");
    let open = with(&|document| met(document, Outcome::Undecided, 1.02));
    assert!(
        open.ends_with("next to single × 4 threads, which shows neither to be better"),
        "{open}"
    );
    let worse = with(&|document| met(document, Outcome::Worse, 0.9));
    assert!(
        worse.ends_with("compared block by block it is worse"),
        "{worse}"
    );
    let by_chance = with(&|document| {
        met(document, Outcome::Better, 1.1);
        let verdict = document.verdict.as_mut().unwrap();
        (verdict.answer, verdict.arm) = (Answer::Keep, None);
    });
    assert!(
        by_chance.contains("second of two configurations"),
        "{by_chance}"
    );
}

#[test]
fn a_second_finalist_that_may_not_be_claimed_is_not_called_better() {
    let verdicts = |not_claimed| {
        let mut document = tuned();
        met(&mut document, Outcome::Undecided, 1.02);
        let beside = document.comparisons.iter_mut().rev().nth(1).unwrap();
        beside.not_claimed = not_claimed;
        let text = page(&document);
        let mut rows = text.lines();
        let row =
            rows.find(|line| line.starts_with("single × 6 threads against single × 1 thread"));
        row.unwrap().to_owned()
    };
    assert!(
        verdicts(false).contains("  better  "),
        "{}",
        verdicts(false)
    );
    assert!(
        verdicts(true).contains("  not claimed  "),
        "{}",
        verdicts(true)
    );
}

#[test]
fn no_row_looks_better_and_nothing_is_said() {
    let mut document = tuned();
    document.arms[2].capacity_per_s = Some(120.0);
    document.comparisons[1].ratio = 1.3;
    assert_eq!(reasons(&document), "");
}

/// The machine was slower in the elimination rounds than in the deciding comparison, from which the baseline's row is.
#[test]
fn the_change_of_a_round_stands_beside_what_it_was_compared_with() {
    let mut document = tuned();
    let model = document.trials.iter().find(|t| t.counts()).unwrap().clone();
    let trial = |arm: &str, block: u32, per_s: f64| {
        let mut trial = model.clone();
        (trial.arm, trial.block, trial.stage) = (arm.to_owned(), block, Stage::Race);
        trial.saturation.as_mut().unwrap().good_per_s = per_s;
        trial
    };
    document.trials = vec![
        trial("t1", 1, 60.0),
        trial("t6", 1, 90.0),
        trial("t1", 2, 62.0),
        trial("t6", 2, 98.0),
        // Without the other arm it is compared with nothing.
        trial("t1", 3, 10.0),
    ];
    document.arms[2].capacity_per_s = Some(94.0);
    holds(&page(&document), &["(from 61.0/s)", "(2 rounds)"]);
    // 94.0 is 54 % more than 61.0, and 126 is 38 % more than 91.0.
    let of_blocks = "A change compares trials of the same block, or of the same elimination rounds";
    assert!(flat(&page(&document)).contains(of_blocks));
    document.comparisons[1].ratio = 1.541;
    document.comparisons[2].ratio = 1.385;
    document.memory.clear();
    let text = flat(&page(&document));
    assert!(!text.contains(of_blocks), "{text}");
}

fn stepped(ratios: [f64; 2]) -> String {
    let mut document = tuned();
    let between = Settings {
        threads: 2,
        ..document.plan.baseline
    };
    let (from, to) = (document.arms[0].settings, document.arms[1].settings);
    let model = document.verdict.as_ref().unwrap().path[0].clone();
    let step = |from: Settings, to: Settings, ratio: f64, measured: bool| run::Step {
        from,
        to,
        ratio,
        measured,
        values: None,
        refuted: false,
        ..model.clone()
    };
    document.verdict.as_mut().unwrap().path = vec![
        step(from, between, ratios[0], true),
        step(between, to, ratios[1], false),
    ];
    flat(&page(&document))
}

#[test]
fn predicted_steps_are_held_against_the_measured_total() {
    let fits = stepped([1.2, 1.15]);
    for phrase in [
        "about +15.0 % predicted, not measured",
        "All steps together come to +38.0 %, and all changes at once were measured at +38.0 % (+34.0 to +41.0): the predictions fit \
         the measurement.",
    ] {
        assert!(fits.contains(phrase), "{phrase}: {fits}");
    }
    let off = stepped([1.2, 2.0]);
    assert!(
        off.contains("come to +140 %") && off.contains("do not fit the measurement"),
        "{off}"
    );
}

#[test]
fn more_threads_than_the_rule_names_are_explained_by_what_was_measured() {
    let mut document = tuned();
    let profile = document.profile.as_mut().unwrap();
    profile.useful_threads = 2.4;
    let mut slow = profile.endpoints[0].clone();
    (slow.name, slow.held_ms, slow.io_ms) = ("GET /report".to_owned(), 10.0, 65.0);
    profile.endpoints.push(slow);
    holds(
        &page(&document),
        &[
            "about 3 threads keep one process busy",
            "single × 4 threads has more threads than that: the number is a mean over all requests, at full load.",
            "The measurement decides, not this number: throughput +38.0 % (+34.0 to +41.0) in 6 blocks.",
        ],
    );
    document.profile.as_mut().unwrap().useful_threads = 3.6;
    assert!(!page(&document).contains("has more threads than that"));
}

#[test]
fn what_a_run_can_miss_is_not_guessed_from_few_blocks() {
    let mut document = tuned();
    let open = document.comparisons.last_mut().unwrap();
    (open.outcome, open.blocks) = (Outcome::Undecided, 2);
    document.verdict.as_mut().unwrap().answer = Answer::Undecided;
    document.plan.detectable.effect = None;
    holds(
        &page(&document),
        &["How large a difference this run can miss is not known: 2 blocks are too few"],
    );
}

/// As a user's run had it: the winner was in one round alone, and ahead there of an arm with the same gain over two.
#[test]
fn the_round_that_had_both_says_why_the_other_was_not_confirmed() {
    let mut document = tuned();
    let model = document.trials.iter();
    let model = model.clone().find(|t| t.counts() && t.saturation.is_some());
    let model = model.unwrap().clone();
    let mut raced = |block: u32, arm: &str, per_s: f64| {
        let mut trial = model.clone();
        (trial.stage, trial.block, trial.arm) = (Stage::Race, block, arm.to_owned());
        trial.saturation.as_mut().unwrap().good_per_s = per_s;
        document.trials.push(trial);
    };
    raced(101, "t6", 164.2);
    raced(102, "t6", 158.3);
    raced(102, "t4", 163.5);
    let why = "it was not confirmed; single × 4 threads served 3.3 % more than it in the one elimination round that had both";
    holds(&page(&document), &[why]);
    document.plan.margin = 0.05;
    assert!(!flat(&page(&document)).contains("ahead of it"));
}
