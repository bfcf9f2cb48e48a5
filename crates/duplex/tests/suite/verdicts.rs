//! What may be said of whom, and what may not.

use crate::support::{answer, asked, compared, dropped, error, late, of, shadows, spoil, traffic};
use capture::{Outcome as At, Pair};
use duplex::Comparison;
use run::Outcome;
use run::duplex::EndpointTimes;
use run::duplex::Purpose::{Between, Claim, Primary, Setup};

#[test]
fn a_faster_shadow_is_better_and_a_slower_one_worse() {
    for (factor, outcome) in [
        (0.9, Outcome::Better),
        (1.1, Outcome::Worse),
        (1.0, Outcome::Equivalent),
    ] {
        let document = compared(&["a"], &traffic(4_000, &[factor], 1));
        let found = of(&document, "a", Claim);
        assert_eq!(
            (found.outcome, found.why.as_ref()),
            (outcome, None),
            "{}",
            document.sentence
        );
        let mean = found.all.mean;
        assert!(
            mean.low.unwrap() <= factor && factor <= mean.high.unwrap(),
            "{mean:?}"
        );
        for figure in [mean, found.all.p50, found.all.p95, found.all.p99] {
            assert!(
                (figure.ratio.unwrap() / factor - 1.0).abs() < 0.03,
                "{figure:?}"
            );
        }
        assert_eq!((found.requests, document.exit_code), (4_000, 0));
        assert!(
            found
                .endpoints
                .iter()
                .all(|one| one.outcome == Some(outcome)),
            "{:?}",
            found.endpoints
        );
        assert!(
            document.warnings[0].contains("No twin ran (--twin NAME"),
            "{:?}",
            document.warnings
        );
    }
}

#[test]
fn a_short_run_says_what_is_missing() {
    let document = compared(&["a"], &traffic(50, &[0.5], 2));
    let found = of(&document, "a", Claim);
    assert_eq!((found.outcome, document.exit_code), (Outcome::Undecided, 3));
    let said = |requests: &[Pair]| {
        let document = compared(&["a"], requests);
        assert_eq!(document.exit_code, 3);
        document.sentence
    };
    assert_eq!(
        document.sentence,
        "a against the primary is undecided: 5 stretches of time, 12 are needed: run about 4 s longer, for at least 70 more requests that \
         both answer."
    );
    assert_eq!(found.all.mean.low, None);
    assert!(said(&[]).ends_with(
        "0 stretches of time, 12 are needed: at least 120 more requests that both answer."
    ));
    // Requests enough, and too little time: 2 s in which so many as in 20 come.
    let mut dense = traffic(400, &[0.5], 2);
    dense.iter_mut().for_each(|pair| pair.at_ns /= 10);
    assert!(
        said(&dense).ends_with("4 stretches of time, 12 are needed: run about 4 s longer."),
        "{}",
        said(&dense)
    );
}

#[test]
fn near_the_margin_it_is_said_how_much_longer() {
    let document = compared(&["a"], &traffic(150, &[0.98], 103));
    let found = of(&document, "a", Claim);
    assert_eq!(found.outcome, Outcome::Undecided, "{:?}", found.all.mean);
    let more_s = found.decides_in_s.unwrap();
    assert!(more_s > 1.0, "{more_s}");
    let least_s = found.decides_in_least_s.unwrap();
    assert!(
        least_s <= more_s
            && found
                .decides_in_most_s
                .is_none_or(|most_s| more_s <= most_s)
    );
    assert!(
        document
            .sentence
            .contains("more of such traffic would decide, judged from the "),
        "{}",
        document.sentence
    );
}

#[test]
fn the_twin_is_the_fair_reference() {
    let names = ["a", "twin"];
    let document = compared(&names, &traffic(4_000, &[0.9, 1.0], 104));
    let claim = of(&document, "a", Claim);
    assert_eq!(
        (claim.outcome, claim.reference.as_str()),
        (Outcome::Better, "twin")
    );
    assert_eq!(claim.allowance, 0.0);
    assert_eq!(of(&document, "twin", Setup).outcome, Outcome::Equivalent);
    assert_eq!(of(&document, "a", Primary).outcome, Outcome::Better);
    assert!(
        document.sentence.contains("the twin twin"),
        "{}",
        document.sentence
    );
    assert_eq!(document.warnings, Vec::<String>::new());

    // What both shadows gain by being shadows is no merit of the candidate's.
    let document = compared(&names, &traffic(4_000, &[0.9, 0.9], 5));
    let claim = of(&document, "a", Claim);
    assert_ne!(claim.outcome, Outcome::Better);
    assert!(
        (0.05..0.12).contains(&claim.allowance),
        "{}",
        claim.allowance
    );
    assert!(
        document.warnings[0].contains("run the same and yet differ"),
        "{:?}",
        document.warnings
    );

    let document = compared(&names, &traffic(4_000, &[0.3, 0.6], 6));
    assert_eq!(of(&document, "a", Claim).outcome, Outcome::Undecided);
    assert!(
        document.sentence.contains("make the two equal first"),
        "{}",
        document.sentence
    );
}

#[test]
fn candidates_are_compared_with_each_other() {
    let document = compared(&["a", "b", "twin"], &traffic(4_000, &[0.9, 0.8, 1.0], 7));
    let between = of(&document, "b", Between);
    assert_eq!(
        (between.reference.as_str(), between.outcome),
        ("a", Outcome::Better)
    );
    let ratio = between.all.mean.ratio.unwrap();
    assert!((ratio - 0.8 / 0.9).abs() < 0.01, "{ratio}");
    let order: Vec<_> = document.comparisons.iter().map(|one| one.purpose).collect();
    assert_eq!(order, [Claim, Claim, Between, Setup, Primary, Primary]);
}

#[test]
fn who_loses_requests_is_never_faster() {
    type Spoilt = fn() -> At;
    for (with, counted) in [
        (late as Spoilt, true),
        (dropped as Spoilt, false),
        (error as Spoilt, true),
    ] {
        let mut pairs = traffic(4_000, &[0.8], 8);
        spoil(&mut pairs, 0, 50, with);
        let document = compared(&["a"], &pairs);
        let found = of(&document, "a", Claim);
        assert_eq!(
            (found.outcome, found.candidate_lost),
            (Outcome::Undecided, 80),
            "{}",
            document.sentence
        );
        assert!(
            document.sentence.contains("a lost 2 % of its requests"),
            "{}",
            document.sentence
        );
        // A failure is infinitely slow, and 2 % of them reach above p98.
        assert_eq!(found.all.p99.candidate_ms.is_none(), counted);
        assert_eq!(found.all.candidate_failed, if counted { 80 } else { 0 });
        assert!(found.all.p95.candidate_ms.is_some());
        assert!(
            found
                .endpoints
                .iter()
                .all(|one| one.outcome != Some(Outcome::Better))
        );
    }
    // It may be called slower: it would be slower still.
    let mut pairs = traffic(4_000, &[1.2], 9);
    spoil(&mut pairs, 0, 50, dropped);
    assert_eq!(
        of(&compared(&["a"], &pairs), "a", Claim).outcome,
        Outcome::Worse
    );
    // A handful decides nothing.
    let mut pairs = traffic(4_000, &[0.8], 10);
    spoil(&mut pairs, 0, 500, late);
    assert_eq!(
        of(&compared(&["a"], &pairs), "a", Claim).outcome,
        Outcome::Better
    );
}

#[test]
fn a_reference_that_loses_requests_makes_nobody_slower() {
    let mut pairs = traffic(4_000, &[1.2, 1.0], 11);
    spoil(&mut pairs, 1, 50, late);
    let document = compared(&["a", "twin"], &pairs);
    let found = of(&document, "a", Claim);
    assert_eq!(
        (found.outcome, found.reference_lost),
        (Outcome::Undecided, 80)
    );
    assert!(
        document.sentence.contains("twin lost 2 %"),
        "{}",
        document.sentence
    );
    assert!(
        document
            .warnings
            .iter()
            .any(|one| one.contains("deadline 80")),
        "{:?}",
        document.warnings
    );
}

#[test]
fn other_statuses_are_other_work() {
    let mut pairs = traffic(4_000, &[0.8], 12);
    spoil(&mut pairs, 0, 20, || At::Answered(answer(0.4, 302)));
    let document = compared(&["a"], &pairs);
    let found = of(&document, "a", Claim);
    assert_eq!(
        (found.outcome, found.other_status, found.requests),
        (Outcome::Undecided, 200, 3_800)
    );
    assert!(
        document.sentence.contains("did not do the same work"),
        "{}",
        document.sentence
    );
}

#[test]
fn a_few_endless_requests_outweigh_many_quick_ones() {
    let mut pairs = traffic(4_000, &[0.9], 13);
    spoil(&mut pairs[1_000..1_010], 0, 1, || {
        At::Answered(answer(9_000.0, 200))
    });
    let document = compared(&["a"], &pairs);
    let found = of(&document, "a", Claim);
    assert!(found.all.mean.high.unwrap() < 1.0, "{:?}", found.all.mean);
    assert_eq!(found.outcome, Outcome::Undecided);
    assert!(
        document.sentence.contains("a few very slow requests"),
        "{}",
        document.sentence
    );
}

#[test]
fn one_endpoint_may_be_slower_where_the_others_are_faster() {
    let mut pairs = traffic(6_000, &[0.9], 14);
    for pair in pairs.iter_mut().filter(|pair| pair.endpoint == "GET /") {
        let took_ms = pair.primary.as_ref().unwrap().took_ns as f64 / 1e6;
        pair.shadows[0].outcome = At::Answered(answer(took_ms * 1.3, 200));
    }
    let document = compared(&["a"], &pairs);
    let found = of(&document, "a", Claim);
    assert_eq!(found.outcome, Outcome::Better);
    let of_root = found
        .endpoints
        .iter()
        .find(|one| one.endpoint == "GET /")
        .unwrap();
    assert_eq!(of_root.outcome, Some(Outcome::Worse));
}

/// A reader sees an interval on one side of 1 next to "undecided".
#[test]
fn an_endpoint_that_only_the_number_of_endpoints_leaves_undecided_says_so() {
    let of_many = |one: &&EndpointTimes| {
        let why = one.why.as_deref().unwrap_or_default();
        why.contains("with 3 endpoints each verdict is judged at 0.05 / 3 = 0.0167")
    };
    let mut found = 0;
    for seed in 0..40 {
        let document = compared(&["a"], &traffic(1_500, &[0.975], seed));
        for one in &of(&document, "a", Claim).endpoints {
            let mean = one.times.mean;
            let excludes = mean.high.unwrap() < 1.0 || mean.low.unwrap() > 1.0;
            let undecided = one.outcome == Some(Outcome::Undecided);
            assert!(!(excludes && undecided) || of_many(&one), "{one:?}");
            assert!(undecided || one.why.is_none(), "{one:?}");
            found += usize::from(excludes && undecided);
        }
    }
    assert!(found > 0, "no seed shows such a row");
}

#[test]
fn an_endpoint_that_fails_is_undecided_for_a_reason() {
    let mut pairs = traffic(6_000, &[0.9], 14);
    let mut of_root: Vec<_> = pairs
        .iter_mut()
        .filter(|pair| pair.endpoint == "GET /")
        .collect();
    for pair in of_root.iter_mut().step_by(50) {
        pair.shadows[0].outcome = At::Answered(answer(1.0, 500));
    }
    let document = compared(&["a"], &pairs);
    let endpoints = &of(&document, "a", Claim).endpoints;
    let of_root = endpoints.iter().find(|one| one.endpoint == "GET /");
    let of_root = of_root.unwrap();
    assert_eq!(
        (of_root.outcome, of_root.why.as_deref()),
        (
            Some(Outcome::Undecided),
            Some("a gave no answer, or a server error, to 2 % of its requests")
        )
    );
}

#[test]
fn amplified_copies_count_as_their_mean() {
    let mut pairs = traffic(2_000, &[0.5], 15);
    for pair in &mut pairs {
        let mut second = pair.shadows[0].clone();
        second.copy = 1;
        let At::Answered(answer) = &mut second.outcome else {
            unreachable!()
        };
        answer.took_ns *= 3;
        pair.shadows.push(second);
    }
    let document = compared(&["a"], &pairs);
    let found = of(&document, "a", Claim);
    assert_eq!(
        (found.outcome, found.requests, document.shadows[0].sampled),
        (Outcome::Equivalent, 2_000, 4_000)
    );
}

#[test]
fn a_mirror_without_a_chosen_length_warns_of_stopping_at_will() {
    let pairs = traffic(200, &[1.0], 3);
    let warned = |length_was_chosen| {
        let mut comparison = Comparison::new(shadows(&["a"]), duplex::MARGIN).unwrap();
        pairs.iter().for_each(|pair| comparison.push(pair));
        let document = comparison.document(&duplex::Asked {
            length_was_chosen,
            sources: Vec::new(),
            ..asked()
        });
        let warnings = document.warnings.iter();
        warnings.filter(|one| one.contains("--for")).count()
    };
    assert_eq!([false, true].map(warned), [1, 0]);
}
