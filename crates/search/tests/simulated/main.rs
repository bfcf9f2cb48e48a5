//! The search on made-up servers whose truth is known; the long form is `make bench-search`.

mod machine;
mod play;
mod problem;

use play::{Played, play};
use problem::{FAMILIES, Family};
use search::Claim;

const PROBLEMS: u64 = 200;

fn all(family: Family) -> Vec<Played> {
    (0..PROBLEMS)
        .map(|nth| play(family, nth, 11, None))
        .collect()
}

/// Whether so many of so many are significantly more than this share.
fn too_many(count: usize, of: usize, share: f64) -> bool {
    stats::binomial_at_least(count as u32, of as u32, share) < 0.01
}

/// One-sided, a claim of "better" may be wrong in 2.5 % of the confirmations of what is not.
#[test]
fn what_is_no_better_is_seldom_claimed_to_be() {
    let mut confirmed = 0;
    let mut wrong = 0;
    for played in all(Family::Null).into_iter().chain(all(Family::Sham)) {
        let no_better = played.outcome.comparison.is_some() && played.gain() <= 1e-12;
        confirmed += usize::from(no_better);
        wrong += usize::from(no_better && played.claimed_better());
    }
    assert!(confirmed > 50, "{confirmed}");
    assert!(!too_many(wrong, confirmed, 0.025), "{wrong} of {confirmed}");
}

#[test]
fn what_is_found_is_close_to_the_best_of_the_grid_for_a_fraction_of_its_trials() {
    for (family, expected) in [
        (Family::Plain, 0.95),
        (Family::Misled, 0.9),
        (Family::Corners, 0.92),
        (Family::Interactions, 0.96),
        (Family::Mixed, 0.88),
        (Family::Exclusive, 0.97),
    ] {
        let all = all(family);
        let far = |played: &&Played| played.regret(&played.outcome.winner) > 0.05;
        let far = all.iter().filter(far).count();
        assert!(
            !too_many(far, all.len(), 1.0 - expected),
            "{family:?}: {far}"
        );
        let quarter = |played: &Played| 4 * played.outcome.trials as usize <= played.grid_trials();
        assert!(all.iter().all(quarter), "{family:?}");
    }
}

#[test]
fn what_is_better_beyond_the_margin_is_mostly_claimed() {
    let better = all(Family::Plain)
        .into_iter()
        .filter(|p| p.gain() > 0.03_f64.ln_1p());
    let claims: Vec<Claim> = better.map(|played| played.outcome.claim).collect();
    let missed = claims
        .iter()
        .filter(|claim| **claim != Claim::Better)
        .count();
    assert!(
        claims.len() > 150 && !too_many(missed, claims.len(), 0.1),
        "{missed} of {}",
        claims.len()
    );
}

/// A point beyond a limit is never recommended, whatever it carries.
#[test]
fn nothing_beyond_a_limit_is_claimed() {
    for played in all(Family::Mixed) {
        let claims = played.claimed_better() || played.outcome.claim == Claim::KeepsTheLimits;
        assert!(!claims || played.problem.feasible(&played.outcome.winner.0));
    }
}

/// Fewer trials find less, and are never exceeded.
#[test]
fn a_search_of_few_trials_keeps_to_them() {
    for family in FAMILIES {
        for trials in [40, 60, 90] {
            for nth in 0..10 {
                let played = play(family, nth, 5, Some(trials));
                assert!(played.outcome.trials <= trials, "{family:?} {nth}");
            }
        }
    }
}
