//! Whatever comes, in whatever order: the figures are those that all pairs together have, and nothing breaks.

use crate::support::{asked, compared, differing, of, outcome, pair, shadows};
use capture::{Answer, Drop, Failure, Outcome, Pair};
use duplex::Comparison;
use proptest::prelude::*;
use run::duplex::{Document, Purpose};

fn answers() -> impl Strategy<Value = Answer> {
    let status = prop_oneof![6 => Just(200_u16), 1 => Just(302), 1 => Just(500)];
    (
        1_000..20_000_000_000_u64,
        status,
        prop::bool::weighted(0.97),
    )
        .prop_map(|(took_ns, status, complete)| Answer {
            took_ns,
            complete,
            ..crate::support::answer(1.0, status)
        })
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        8 => answers().prop_map(Outcome::Answered),
        1 => prop_oneof![Just(Failure::Deadline), Just(Failure::Ended), Just(Failure::Cut)].prop_map(Outcome::Failed),
        1 => prop_oneof![Just(Drop::QueueFull), Just(Drop::BodyTooLarge), Just(Drop::Late)].prop_map(Outcome::Dropped),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<Pair>> {
    let one = (
        0..1_000_000_000_000_u64,
        0..4_usize,
        prop::option::weighted(0.95, answers()),
        prop::collection::vec(prop::option::weighted(0.9, (outcomes(), 0..4_usize)), 3),
    );
    prop::collection::vec(one, 0..120).prop_map(|all| {
        let made = all
            .into_iter()
            .zip(1..)
            .map(|((at_ns, endpoint, primary, of_shadows), id)| {
                let mut made = pair(
                    id,
                    at_ns,
                    ["GET /", "GET /a", "POST /b", "(other)"][endpoint],
                );
                made.primary = primary;
                for (index, (at, kind)) in of_shadows
                    .into_iter()
                    .enumerate()
                    .filter_map(|(i, one)| Some((i, one?)))
                {
                    let mut one = outcome(index, at);
                    one.differences = (0..kind)
                        .map(|kind| differing(&format!("line {kind}")))
                        .collect();
                    made.shadows.push(one);
                }
                made
            });
        made.collect()
    })
}

/// The outcome at one server, in the plainest form: `None` not asked, `Some(None)` never answered.
fn took(pair: &Pair, shadow: Option<usize>) -> Option<Option<(u64, u16)>> {
    let Some(shadow) = shadow else {
        let primary = pair.primary.as_ref().filter(|one| one.complete)?;
        return Some(Some((primary.took_ns, primary.status)));
    };
    let one = pair
        .shadows
        .iter()
        .find(|one| usize::from(one.shadow) == shadow)?;
    match &one.outcome {
        Outcome::Answered(answer) if answer.complete => Some(Some((answer.took_ns, answer.status))),
        Outcome::Answered(_) => Some(None),
        Outcome::Failed(Failure::Ended) | Outcome::Dropped(_) => None,
        Outcome::Failed(_) => Some(None),
    }
}

/// Times of both of every request that counts, failures without one.
fn both(
    pairs: &[Pair],
    candidate: usize,
    reference: Option<usize>,
) -> Vec<(Option<u64>, Option<u64>)> {
    let good = |one: Option<(u64, u16)>, other: Option<(u64, u16)>| {
        one.filter(|(_, status)| {
            *status < 500 || other.is_some_and(|(_, theirs)| theirs >= 500) || other.is_none()
        })
    };
    let counts = |pair: &Pair| {
        let (ours, theirs) = (took(pair, Some(candidate))?, took(pair, reference)?);
        if let (Some((_, ours)), Some((_, theirs))) = (ours, theirs)
            && ours != theirs
            && (ours < 500) == (theirs < 500)
        {
            return None;
        }
        let time = |one: Option<(u64, u16)>| one.map(|(ns, _)| ns);
        Some((time(good(ours, theirs)), time(good(theirs, ours))))
    };
    pairs.iter().filter_map(counts).collect()
}

fn check(
    document: &Document,
    pairs: &[Pair],
    (name, candidate): (&str, usize),
    purpose: Purpose,
    reference: Option<usize>,
) {
    let found = of(document, name, purpose);
    let all = both(pairs, candidate, reference);
    let whole: Vec<(u64, u64)> = all
        .iter()
        .filter_map(|(ours, theirs)| Some(((*ours)?, (*theirs)?)))
        .collect();
    assert_eq!(found.requests, whole.len() as u64);
    let failed = all.iter().filter(|(ours, _)| ours.is_none()).count() as u64;
    assert_eq!(found.all.candidate_failed, failed);
    assert!(found.candidate_lost >= failed);
    let mean_ms = |of: fn(&(u64, u64)) -> u64| {
        (!whole.is_empty())
            .then(|| whole.iter().map(of).sum::<u64>() as f64 / whole.len() as f64 / 1e6)
    };
    assert_eq!(found.all.mean.candidate_ms, mean_ms(|one| one.0));
    assert_eq!(found.all.mean.reference_ms, mean_ms(|one| one.1));
    let mut times: Vec<Option<u64>> = all.iter().map(|(ours, _)| *ours).collect();
    times.sort_by_key(|time| time.unwrap_or(u64::MAX));
    if let Some(index) = (times.len() * 95).div_ceil(100).checked_sub(1) {
        match (times[index], found.all.p95.candidate_ms) {
            (Some(exact), Some(ms)) => {
                assert!((ms * 1e6 / exact as f64).ln().abs() < 0.05, "{ms} {exact}")
            }
            (exact, ms) => assert_eq!(exact.is_none(), ms.is_none()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn figures_are_those_of_all_pairs_together(pairs in pairs()) {
        let document = compared(&["a", "b", "twin"], &pairs);
        check(&document, &pairs, ("a", 0), Purpose::Claim, Some(2));
        check(&document, &pairs, ("b", 1), Purpose::Between, Some(0));
        check(&document, &pairs, ("twin", 2), Purpose::Setup, None);
        check(&document, &pairs, ("b", 1), Purpose::Primary, None);
        for (index, shadow) in document.shadows.iter().enumerate() {
            let sampled = pairs.iter().flat_map(|pair| &pair.shadows).filter(|one| usize::from(one.shadow) == index).count();
            let ended: u64 = shadow.answered + shadow.failed.values().sum::<u64>() + shadow.dropped.values().sum::<u64>();
            prop_assert_eq!((shadow.sampled, ended), (sampled as u64, sampled as u64));
            prop_assert!((0.0..=1.0).contains(&shadow.coverage) && (0.0..=1.0).contains(&shadow.lost));
        }
    }

    /// The log holds pairs as they were finished, not as they came.
    #[test]
    fn the_order_of_pairs_does_not_matter(pairs in pairs()) {
        let mut backwards = pairs.clone();
        backwards.reverse();
        let all = |pairs: &[Pair]| {
            let found = compared(&["a", "b", "twin"], pairs).comparisons;
            found.into_iter().map(|one| (one.outcome, one.all)).collect::<Vec<_>>()
        };
        prop_assert_eq!(all(&pairs), all(&backwards));
    }

    #[test]
    fn every_document_keeps_the_schema_and_comes_back(pairs in pairs()) {
        let mut comparison = Comparison::new(shadows(&["a", "twin"]), duplex::MARGIN).unwrap();
        for (pair, at_ns) in pairs.iter().zip([0, u64::MAX, 7].into_iter().cycle()) {
            comparison.push_at(at_ns, pair);
        }
        let document = comparison.document(&asked());
        let value = serde_json::to_value(&document).unwrap();
        let contracts = run::contracts();
        let contract = contracts.iter().find(|one| one.name == "duplex-v1").unwrap();
        let broken = testkit::violations(&contract.schema, &value).unwrap();
        prop_assert!(broken.is_empty(), "{:#?}", broken);
        prop_assert_eq!(serde_json::from_value::<Document>(value).unwrap(), document);
    }
}

#[test]
fn none_and_too_many_shadows_are_refused() {
    let names = ["s"; duplex::MOST_SHADOWS + 1];
    assert!(Comparison::new(shadows(&names[1..]), 0.03).is_ok());
    let refused = Comparison::new(shadows(&names), 0.03).unwrap_err();
    assert!(
        refused.to_string().contains("9 shadows: at most 8"),
        "{refused}"
    );
    assert!(Comparison::new(Vec::new(), 0.03).is_err());
}

#[test]
fn promtool_finds_nothing_wrong() {
    let document = compared(
        &["a", "b", "twin"],
        &crate::support::traffic(800, &[0.9, 1.0, 1.0], 1),
    );
    let text = duplex::exposition(&document);
    assert!(
        text.contains(
            "powerband_mirror_verdict{shadow=\"a\",reference=\"twin\",verdict=\"better\"} 1\n"
        ),
        "{text}"
    );
    for bound in ["", "_lower", "_upper"] {
        for series in [
            "response_time_ratio{B}{shadow=\"a\",reference=\"twin\",figure=\"mean\"} ",
            "differing_answers_ratio{B}{shadow=\"a\"} ",
            "differing_answers_excess_ratio{B}{shadow=\"a\",twin=\"twin\"} ",
        ] {
            let series = format!("\npowerband_mirror_{}", series.replace("{B}", bound));
            assert!(text.contains(&series), "{series}\n{text}");
        }
    }
    let found = testkit::promtool(&text);
    assert_eq!(found.unwrap_or_default(), "");
}

#[test]
fn nothing_is_estimated_from_a_few_requests() {
    for requests in [1, 20] {
        let traffic = crate::support::traffic(requests, &[0.9, 1.0], 1);
        let text = duplex::exposition(&compared(&["a", "twin"], &traffic));
        assert!(
            !text.contains("verdict{") && !text.contains("_lower"),
            "{text}"
        );
        let ratio = |line: &&str| line.contains("_ratio{") && !line.contains("coverage_ratio");
        assert_eq!(text.lines().find(ratio), None);
        let counted = format!("powerband_mirror_compared_answers{{shadow=\"a\"}} {requests}\n");
        assert!(text.contains(&counted), "{text}");
    }
}
