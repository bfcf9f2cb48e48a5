//! Assertions on the change between two configurations: each is judged on the blocks of their comparison.

use crate::deciding::{self, Measured};
use crate::judge::{self, Judging};
use crate::request::RatioLimit;
use run::load::{Assertion, AssertionOutcome};
use run::{Answer, Comparison, Document, Metric, Outcome, Settings, Stage, Verdict};

/// Each limit against the second configuration of the comparison: it holds when the whole interval of the change keeps it, fails
/// when none of the interval does.
pub fn asserted(document: &Document, limits: &[RatioLimit]) -> Vec<Assertion> {
    limits.iter().map(|limit| judged(document, limit)).collect()
}

/// Whether more blocks may decide one of them.
pub fn is_open(assertions: &[Assertion]) -> bool {
    let mut outcomes = assertions.iter().map(|a| a.outcome);
    outcomes.any(|outcome| outcome == AssertionOutcome::Unknown)
}

/// What they come to together, in words that have begun: 1 where one fails, else 3 where one is undecided.
pub fn verdict(assertions: &[Assertion], begun: &str, settings: Settings) -> Verdict {
    let of = |wanted: AssertionOutcome| {
        let found = assertions.iter().filter(move |a| a.outcome == wanted);
        found.map(move |a| format!("{} {}", a.assertion, word(wanted)))
    };
    let all = of(AssertionOutcome::Fails)
        .chain(of(AssertionOutcome::Unknown))
        .chain(of(AssertionOutcome::Holds));
    let sentence = format!("{begun}: {}.", all.collect::<Vec<_>>().join("; "));
    let (answer, exit_code) = if of(AssertionOutcome::Fails).next().is_some() {
        (Answer::Table, 1)
    } else if is_open(assertions) {
        (Answer::Undecided, 3)
    } else {
        (Answer::Table, 0)
    };
    Verdict::of(answer, sentence, settings, exit_code)
}

fn word(outcome: AssertionOutcome) -> &'static str {
    match outcome {
        AssertionOutcome::Holds => "holds",
        AssertionOutcome::Fails => "fails",
        AssertionOutcome::Unknown => "is undecided",
    }
}

fn judged(document: &Document, limit: &RatioLimit) -> Assertion {
    let assertion = |outcome, measured, words: String| Assertion {
        assertion: limit.text.clone(),
        endpoint: None,
        limit: limit.change,
        measured,
        outcome,
        sentence: format!("{} {}: {words}", limit.text, word(outcome)),
    };
    let Some(found) = compared(document, limit) else {
        let why = format!("no block measured the {} of both", limit.metric.words());
        return assertion(AssertionOutcome::Unknown, None, why);
    };
    let outcome = match found.outcome {
        Outcome::Better => AssertionOutcome::Holds,
        Outcome::Worse => AssertionOutcome::Fails,
        Outcome::Equivalent | Outcome::Undecided => AssertionOutcome::Unknown,
    };
    let measured = Measured::windows(document);
    let more = match &found.not_comparable {
        Some(why) => format!(", but {why}"),
        None if outcome == AssertionOutcome::Unknown => {
            let more = deciding::words(std::slice::from_ref(&found), measured);
            more.map_or_else(String::new, |more| format!("; {more}"))
        }
        None => String::new(),
    };
    assertion(
        outcome,
        Some(found.ratio - 1.0),
        format!("{}{more}", change(document, &found)),
    )
}

fn compared(document: &Document, limit: &RatioLimit) -> Option<Comparison> {
    let arms = document.comparisons.first()?;
    let judging = Judging {
        metric: limit.metric,
        ..Judging::reached(document, Stage::Compare)
    };
    let found = judge::compare_beyond(
        &document.trials,
        Stage::Compare,
        (&arms.baseline, &arms.candidate),
        judging,
        1.0 + limit.change,
    )?;
    Some(judge::withdrawn(&document.trials, found))
}

/// `throughput -3.1 % (-4.0 to -2.2), 6 blocks`; p95, which no table has, also in milliseconds.
fn change(document: &Document, found: &Comparison) -> String {
    let p95 = match found.metric {
        Metric::ResponseTime => judge::p95_medians(&document.trials, found),
        _ => None,
    };
    format!(
        "{} {}, {}{}",
        found.metric.words(),
        run::change_with_interval(found.ratio, found.low, found.high),
        run::counted(found.blocks, "block"),
        p95.map_or_else(String::new, |both| {
            let [from, to] =
                both.map(|ms| ms.map_or_else(|| "∞".to_owned(), |ms| format!("{ms:.1} ms")));
            format!(", from {from} to {to}")
        })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six blocks in which the second configuration gives this share of the first's throughput, with this scatter.
    fn asserting(share: f64, scatter: f64, change: f64) -> Assertion {
        asserting_of(Metric::Capacity, share, scatter, change)
    }

    /// The same of any figure.
    fn asserting_of(metric: Metric, share: f64, scatter: f64, change: f64) -> Assertion {
        let mut document = crate::sample::document("compare");
        let comparison = document.comparisons[0].clone();
        let trial = |t: &&run::Trial| t.memory.is_some() && t.objective.is_some() && t.counts();
        let model = document.trials.iter().find(trial).unwrap().clone();
        let at = |block: u32, arm: &str, figure: f64| {
            let mut trial = model.clone();
            (trial.stage, trial.block, trial.arm) = (Stage::Compare, block, arm.to_owned());
            match metric {
                Metric::Memory => {
                    trial.memory.as_mut().unwrap().pss_bytes = (figure * 1e6) as u64;
                }
                Metric::ResponseTime => {
                    trial.objective.as_mut().unwrap().response.p95_ms = Some(figure);
                }
                _ => trial.saturation.as_mut().unwrap().good_per_s = figure,
            }
            trial
        };
        let noise = |block: u32| 1.0 + scatter * (f64::from(block % 3) - 1.0);
        document.trials = (1..=6)
            .flat_map(|b| {
                [
                    at(b, &comparison.baseline, 100.0),
                    at(b, &comparison.candidate, 100.0 * share * noise(b)),
                ]
            })
            .collect();
        document.plan.blocks = 6;
        document.calibration = None;
        let limit = RatioLimit {
            text: "throughput >= -3%".to_owned(),
            metric,
            change,
        };
        asserted(&document, &[limit]).remove(0)
    }

    #[test]
    fn the_whole_interval_decides() {
        for (share, scatter, outcome) in [
            (0.99, 0.005, AssertionOutcome::Holds),
            (0.80, 0.005, AssertionOutcome::Fails),
            (0.95, 0.005, AssertionOutcome::Fails),
            (0.97, 0.05, AssertionOutcome::Unknown),
        ] {
            let found = asserting(share, scatter, -0.03);
            assert_eq!(found.outcome, outcome, "{share} ± {scatter}: {found:?}");
        }
    }

    /// Of memory and response times less is better.
    #[test]
    fn more_than_allowed_fails() {
        for metric in [Metric::Memory, Metric::ResponseTime] {
            for (share, outcome) in [
                (1.0, AssertionOutcome::Holds),
                (0.5, AssertionOutcome::Holds),
                (1.3, AssertionOutcome::Fails),
            ] {
                let found = asserting_of(metric, share, 0.005, 0.1);
                assert_eq!(found.outcome, outcome, "{metric:?} {share}: {found:?}");
                assert!((found.measured.unwrap() - (share - 1.0)).abs() < 0.01);
            }
        }
    }

    #[test]
    fn a_response_time_is_there_as_a_change_and_in_milliseconds() {
        let sentence = asserting_of(Metric::ResponseTime, 1.3, 0.0, 0.1).sentence;
        assert!(
            sentence.ends_with("6 blocks, from 100.0 ms to 130.0 ms"),
            "{sentence}"
        );
        let sentence = asserting_of(Metric::ResponseTime, 1e9, 0.0, 0.1).sentence;
        assert!(sentence.ends_with("from 100.0 ms to ∞"), "{sentence}");
    }

    #[test]
    fn the_sentence_has_the_change_and_what_would_decide() {
        let fails = asserting(0.8, 0.01, -0.03);
        assert!(
            fails
                .sentence
                .starts_with("throughput >= -3% fails: throughput -20.0 % (-2"),
            "{fails:?}"
        );
        assert!((fails.measured.unwrap() + 0.2).abs() < 0.01);
        let open = asserting(0.97, 0.05, -0.03);
        assert!(open.sentence.contains("enough to tell"), "{open:?}");
    }
}
