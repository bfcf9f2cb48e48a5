//! How what requests leave goes on from round to round, and so much of each thousand requests.

use run::leak::{Course, Rate};
use stats::SignedRank;

/// Rounds of a search: of fewer the rank test gives no interval of 95 %.
pub const ROUNDS: usize = 6;

/// Later rounds that leave three quarters as many as earlier ones go on, as in `powerband memory`.
const GOES_ON: f64 = 0.75;
const ALPHA: f64 = 0.05;
/// In so many rounds something must be left for a word about a cache; a leak that is not surely one may miss a single round.
const LEAST_ROUNDS: usize = 3;

/// The course of requests that left something, by round. What one request leaves may be many objects, so that they are no count of
/// chances. `None` where they are too few for any word.
pub fn course(leaving: &[u64]) -> Option<Course> {
    let half = leaving.len() / 2;
    let sum = |rounds: &[u64]| rounds.iter().sum::<u64>();
    let (early, late) = (sum(&leaving[..half]), sum(&leaving[leaving.len() - half..]));
    let rounds = leaving.iter().filter(|count| **count > 0).count();
    if rounds < LEAST_ROUNDS {
        return None;
    }
    let goes_on = |one: u64, other: u64| one as f64 >= GOES_ON * other as f64;
    // Chance alone makes halves of few requests unlike.
    let surely_fewer =
        |one: u64| stats::binomial_at_most(chances(one), chances(early + late), 0.5) <= ALPHA / 2.0;
    match (goes_on(late, early), goes_on(early, late)) {
        (true, true) if rounds == leaving.len() => Some(Course::Growing),
        (false, _) if surely_fewer(late) => Some(Course::Filling),
        (_, false) if surely_fewer(early) => Some(Course::Replaced),
        _ => (rounds + 1 >= leaving.len()).then_some(Course::Undecided),
    }
}

fn chances(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The rate of what each round left; rounds without requests say nothing.
pub fn rate(left: &[u64], requests: &[u64]) -> Rate {
    let rounds = left.iter().zip(requests).filter(|(_, asked)| **asked > 0);
    let rates: Vec<f64> = rounds
        .map(|(left, asked)| *left as f64 * 1e3 / *asked as f64)
        .collect();
    let Ok(ranks) = SignedRank::of(&rates) else {
        return Rate {
            estimate: 0.0,
            between: None,
        };
    };
    Rate {
        estimate: ranks.estimate(),
        between: ranks.interval(ALPHA).map(|found| [found.low, found.high]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_round_leaves_grows() {
        assert_eq!(course(&[90, 101, 98, 103, 97, 95]), Some(Course::Growing));
        assert_eq!(course(&[100, 100, 100, 75, 75, 75]), Some(Course::Growing));
        assert_eq!(course(&[2, 3, 1, 2, 2, 3]), Some(Course::Growing));
    }

    #[test]
    fn caches_fill_or_drop_their_oldest_entries() {
        assert_eq!(course(&[300, 90, 30, 9, 3, 1]), Some(Course::Filling));
        assert_eq!(course(&[100, 100, 100, 70, 60, 50]), Some(Course::Filling));
        assert_eq!(course(&[0, 0, 0, 40, 100, 100]), Some(Course::Replaced));
        assert_eq!(course(&[3, 9, 20, 50, 100, 100]), Some(Course::Replaced));
    }

    #[test]
    fn what_few_requests_left_is_not_decided_or_not_worth_a_word() {
        assert_eq!(course(&[1, 0, 2, 1, 1, 1]), Some(Course::Undecided));
        assert_eq!(course(&[1, 0, 0, 1, 0, 4]), None);
        assert_eq!(course(&[2, 1, 2, 3, 4, 3]), Some(Course::Undecided));
        assert_eq!(course(&[1, 0, 0, 0, 0, 1]), None);
        assert_eq!(course(&[0; 6]), None);
        assert_eq!(course(&[]), None);
    }

    #[test]
    fn the_rate_lies_between_the_rounds() {
        let rate = rate(&[10, 12, 9, 11, 10, 10], &[100; 6]);
        let [low, high] = rate.between.unwrap();
        assert!((90.0..=100.0).contains(&low), "{rate:?}");
        assert!(
            (100.0..=120.0).contains(&high) && rate.estimate >= low,
            "{rate:?}"
        );
        let few = super::rate(&[10, 10], &[100, 0]);
        assert_eq!((few.estimate, few.between), (100.0, None));
    }
}
