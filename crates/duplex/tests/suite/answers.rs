//! In what answers differ, and what of it is noise.

use crate::support::{answer, compared, differing, traffic};
use capture::{Outcome, Pair};
use run::duplex::{Answers, Standing};

fn of(pairs: &[Pair], names: &[&str]) -> Answers {
    compared(names, pairs).answers.swap_remove(0)
}

/// Every `nth` request of a shadow differs so.
fn differs(pairs: &mut [Pair], shadow: usize, nth: usize, kind: &str) {
    for pair in pairs.iter_mut().step_by(nth) {
        pair.shadows[shadow].differences.push(differing(kind));
    }
}

#[test]
fn what_the_twin_shows_as_often_is_noise() {
    let mut pairs = traffic(1_200, &[1.0, 1.0], 1);
    differs(&mut pairs, 0, 1, "line <time>");
    differs(&mut pairs, 1, 1, "line <time>");
    differs(&mut pairs, 0, 10, "json /price");
    let found = of(&pairs, &["a", "twin"]);
    assert_eq!(
        (found.compared, found.differ, found.paired),
        (1_200, 1_200, 1_200)
    );
    let kinds: Vec<_> = found
        .differences
        .iter()
        .map(|one| one.kind.as_str())
        .collect();
    assert_eq!(kinds, ["json /price"; 3], "one an endpoint");
    assert_eq!(found.noise, 3);
    for one in &found.differences {
        assert_eq!(
            (one.standing, one.differ, one.compared, one.twin_share),
            (Standing::Real, 40, 400, Some(0.0))
        );
        assert!((one.excess.unwrap() - 0.1).abs() < 1e-12 && one.excess_low.unwrap() > 0.04);
        assert_eq!(
            (one.example.primary.as_str(), one.example.shadow.as_str()),
            ("one", "other")
        );
        assert!(one.example.request.starts_with("GET /orders/"));
    }
}

/// On different requests and as often: no excess, although the two never differ together.
#[test]
fn who_differs_as_often_on_other_requests_has_no_excess() {
    let mut pairs = traffic(1_200, &[1.0, 1.0], 2);
    differs(&mut pairs, 0, 4, "line <ad>");
    differs(&mut pairs[1..], 1, 4, "line <ad>");
    let found = of(&pairs, &["a", "twin"]);
    assert_eq!((found.differences.len(), found.noise), (0, 3));
    assert_eq!((found.only_shadow, found.only_twin), (300, 300));
}

#[test]
fn server_errors_come_first_and_other_statuses_next() {
    let mut pairs = traffic(1_200, &[1.0, 1.0], 3);
    differs(&mut pairs, 0, 2, "json /price");
    for (nth, status) in [(100, 500), (60, 302)] {
        for pair in pairs.iter_mut().step_by(nth) {
            pair.shadows[0].outcome = Outcome::Answered(answer(5.0, status));
        }
    }
    let found = of(&pairs, &["a", "twin"]);
    let kinds: Vec<_> = found
        .differences
        .iter()
        .map(|one| one.kind.as_str())
        .collect();
    assert!(kinds[0].ends_with(" to 500"), "{kinds:?}");
    let last_error = kinds
        .iter()
        .rposition(|kind| kind.ends_with(" to 500"))
        .unwrap();
    let first_other = kinds
        .iter()
        .position(|kind| kind.starts_with("json"))
        .unwrap();
    assert!(
        kinds[last_error + 1..first_other]
            .iter()
            .all(|kind| kind.ends_with(" to 302")),
        "{kinds:?}"
    );
    assert_eq!(compared(&["a", "twin"], &pairs).shadows[0].server_errors, 8);
}

/// A status is listed even where chance may explain it, and then it is said so.
#[test]
fn a_single_error_is_reported_and_not_claimed() {
    let mut pairs = traffic(600, &[1.0, 1.0], 4);
    pairs[7].shadows[0].outcome = Outcome::Answered(answer(5.0, 503));
    let found = of(&pairs, &["a", "twin"]);
    assert_eq!(found.differences.len(), 1);
    let one = &found.differences[0];
    assert_eq!(
        (one.kind.as_str(), one.standing, one.differ),
        ("status 200 to 503", Standing::Noise, 1)
    );
}

#[test]
fn without_a_twin_everything_is_listed() {
    let mut pairs = traffic(600, &[1.0], 5);
    differs(&mut pairs, 0, 1, "line <time>");
    let found = of(&pairs, &["a"]);
    assert_eq!(
        (found.twin.as_ref(), found.noise, found.differences.len()),
        (None, 0, 3)
    );
    assert!(
        found
            .differences
            .iter()
            .all(|one| one.standing == Standing::Unknown)
    );
}

#[test]
fn kinds_and_endpoints_without_end_keep_their_bounds() {
    let mut pairs = traffic(6_000, &[1.0, 1.0], 6);
    for pair in &mut pairs {
        pair.endpoint = format!("GET /{}", pair.id);
        pair.shadows[0]
            .differences
            .push(differing(&format!("line {}", pair.id)));
    }
    let document = compared(&["a", "twin"], &pairs);
    let found = &document.answers[0];
    assert_eq!(found.compared, 6_000);
    assert!(
        found.differences.len() as u64 + found.not_listed + found.noise <= 1_100,
        "{found:?}"
    );
    let counted: u64 = found.differences.iter().map(|one| one.differ).sum();
    assert!(
        counted > 4_000,
        "those beyond stand under (other): {counted}"
    );
    assert!(
        document
            .comparisons
            .iter()
            .all(|one| one.endpoints.len() <= 65)
    );
    assert!(document.comparisons[0].endpoints.last().unwrap().endpoint == "(other)");
}
