//! The mirror's own wait for a core lengthens shadows' times and not the primary's: no difference may be claimed of it.

use crate::support::{asked, compared, of, shadows, traffic};
use capture::{Outcome as At, Pair, ShadowOutcome};
use duplex::Comparison;
use run::Outcome;
use run::duplex::Document;
use run::duplex::Purpose::{Claim, Primary, Setup};

/// Each answer of a shadow comes later by what `wait_ms` says of its request's number and its time, ms.
fn delayed(mut pairs: Vec<Pair>, wait_ms: impl Fn(u64, f64) -> f64) -> Vec<Pair> {
    for pair in &mut pairs {
        for shadow in &mut pair.shadows {
            let At::Answered(answer) = &mut shadow.outcome else {
                continue;
            };
            let waited_ns = (wait_ms(pair.id, answer.took_ns as f64 / 1e6) * 1e6) as u64;
            answer.took_ns += waited_ns;
            shadow.waited_ns = Some(waited_ns);
        }
    }
    pairs
}

fn each(mut pairs: Vec<Pair>, change: impl Fn(&mut ShadowOutcome)) -> Vec<Pair> {
    let shadows = pairs.iter_mut().flat_map(|pair| &mut pair.shadows);
    shadows.for_each(change);
    pairs
}

fn unknown(pairs: Vec<Pair>) -> Vec<Pair> {
    each(pairs, |shadow| shadow.waited_ns = None)
}

fn warns_of_unknown(document: &Document) -> bool {
    let mut warnings = document.warnings.iter();
    warnings.any(|one| one.contains("How long the mirror waited for a CPU core is unknown"))
}

#[test]
fn what_the_mirror_waited_is_taken_off() {
    let pairs = |factor: f64| delayed(traffic(4_000, &[factor], 1), |_, took| 0.1 * took);
    let document = compared(&["a"], &pairs(1.0));
    let found = of(&document, "a", Claim);
    assert_eq!(found.outcome, Outcome::Undecided, "{}", document.sentence);
    assert!((found.allowance - 0.1).abs() < 0.005, "{}", found.allowance);
    for figure in [found.all.mean, found.all.p50, found.all.p95, found.all.p99] {
        let (low, high) = (figure.low.unwrap(), figure.high.unwrap());
        assert!(low <= 1.0 && high >= 1.1, "{figure:?}");
    }
    let rows = &found.endpoints;
    assert!(
        (rows.iter()).all(|row| row.outcome == Some(Outcome::Undecided)),
        "{rows:?}"
    );
    let core_wait_ms = document.shadows[0].core_wait_ms.unwrap();
    let mean_ms = found.all.mean.reference_ms.unwrap();
    assert!((core_wait_ms / mean_ms - 0.1).abs() < 0.005);
    assert!(!warns_of_unknown(&document));
    for (factor, outcome) in [(1.4, Outcome::Worse), (0.7, Outcome::Better)] {
        let document = compared(&["a"], &pairs(factor));
        assert_eq!(
            of(&document, "a", Claim).outcome,
            outcome,
            "{}",
            document.sentence
        );
    }
}

#[test]
fn each_batch_counts_the_same_however_slow_the_primary_was_in_it() {
    // In its first tenth everything takes a hundred times as long: of the sum of all times the wait is then little.
    let mut pairs = traffic(4_000, &[1.0], 1);
    for pair in pairs.iter_mut().take(400) {
        pair.primary.as_mut().unwrap().took_ns *= 100;
        let At::Answered(answer) = &mut pair.shadows[0].outcome else {
            unreachable!()
        };
        answer.took_ns *= 100;
    }
    let pairs = delayed(pairs, |id, took| if id > 400 { 0.1 * took } else { 0.0 });
    let found = compared(&["a"], &pairs);
    let found = of(&found, "a", Claim);
    assert!(found.allowance > 0.08, "{}", found.allowance);
    assert_eq!(found.outcome, Outcome::Undecided);
}

#[test]
fn where_it_waited_long_nothing_is_claimed() {
    let pairs = delayed(traffic(4_000, &[1.0], 1), |_, took| 20.0 * took);
    let document = compared(&["a"], &pairs);
    let found = of(&document, "a", Claim);
    assert_eq!(found.outcome, Outcome::Undecided);
    let why = found.why.as_deref().unwrap();
    for words in [
        "the mirror itself waited for a CPU core for ",
        " % of the primary's response time",
        "give the mirror a core that nothing else uses, or compare with a twin (--twin NAME)",
    ] {
        assert!(document.sentence.contains(words), "{why}");
    }
    let reasons = found.endpoints.iter().map(|row| row.why.as_deref());
    assert!(
        reasons
            .clone()
            .all(|why| why.is_some_and(|why| why.contains("waited for a CPU core"))),
        "{:?}",
        reasons.collect::<Vec<_>>()
    );
    assert_eq!(document.exit_code, 3);
}

#[test]
fn a_wait_in_few_answers_lengthens_no_percentile() {
    // One answer in 40 waits: little of the mean, and all of the p99.
    let pairs = delayed(traffic(40_000, &[0.8], 1), |id, _| {
        if id % 40 == 0 { 60.0 } else { 0.0 }
    });
    let document = compared(&["a"], &pairs);
    let found = of(&document, "a", Claim);
    assert_eq!(found.outcome, Outcome::Better, "{}", document.sentence);
    assert!(found.all.p99.ratio.unwrap() > 1.1, "{:?}", found.all.p99);
    assert!(found.all.p99.low.unwrap() < 1.0, "{:?}", found.all.p99);
    let of_tails = |one: &String| one.contains("its p99 is longer");
    assert!(
        !document.warnings.iter().any(of_tails),
        "{:?}",
        document.warnings
    );
}

#[test]
fn where_the_wait_is_unknown_it_is_said_and_nothing_changes() {
    let pairs = unknown(traffic(4_000, &[1.1], 1));
    let document = compared(&["a"], &pairs);
    let found = of(&document, "a", Claim);
    assert_eq!((found.outcome, found.allowance), (Outcome::Worse, 0.0));
    assert_eq!(document.shadows[0].core_wait_ms, None);
    assert!(warns_of_unknown(&document), "{:?}", document.warnings);
    // One answer is enough.
    let mut known = traffic(4_000, &[1.1], 1);
    known[7].shadows[0].waited_ns = None;
    assert!(warns_of_unknown(&compared(&["a"], &known)));
}

#[test]
fn beside_a_twin_the_wait_is_in_both() {
    let waiting = delayed(traffic(4_000, &[1.3, 1.0], 1), |_, took| 0.1 * took);
    let document = compared(&["a", "twin"], &waiting);
    let without = compared(&["a", "twin"], &unknown(waiting));
    assert_eq!(document.comparisons[0], without.comparisons[0]);
    assert_eq!(of(&document, "a", Claim).outcome, Outcome::Worse);
    // What the setup does to times stays what was measured.
    let setup = of(&document, "twin", Setup);
    assert_eq!((setup.outcome, setup.allowance), (Outcome::Worse, 0.0));
    assert!(!warns_of_unknown(&without), "{:?}", without.warnings);
}

#[test]
fn amplified_copies_wait_as_long_as_their_mean() {
    let mut pairs = traffic(4_000, &[1.0, 1.0], 1);
    for pair in &mut pairs {
        let copy = &mut pair.shadows[1];
        (copy.shadow, copy.copy) = (0, 1);
        // Only the second of the copies waits: a fifth of its time, so a tenth of both.
        let At::Answered(answer) = &mut copy.outcome else {
            unreachable!()
        };
        copy.waited_ns = Some(answer.took_ns / 5);
        answer.took_ns += answer.took_ns / 5;
    }
    let mut comparison = Comparison::new(shadows(&["a"]), duplex::MARGIN).unwrap();
    pairs.iter().for_each(|pair| comparison.push(pair));
    let document = comparison.document(&asked());
    let allowance = of(&document, "a", Claim).allowance;
    assert!((allowance - 0.1).abs() < 0.005, "{allowance}");
}

#[test]
fn where_a_twin_runs_none_is_advised() {
    let pairs = delayed(traffic(4_000, &[1.0, 1.0], 1), |_, took| 20.0 * took);
    let document = compared(&["a", "twin"], &pairs);
    let why = of(&document, "a", Primary).why.as_deref().unwrap();
    assert!(
        why.ends_with("the comparison with the twin has this wait on both sides"),
        "{why}"
    );
    assert!(!why.contains("--twin"), "{why}");
}
