//! Judges by the counts of each round whether what requests leave grows, fills a cache or is replaced, and computes rates per thousand
//! requests.

use run::leak::{Course, Rate};
use stats::SignedRank;

/// Rounds of a search: of fewer the rank test gives no interval of 95 %.
pub const ROUNDS: usize = 6;

/// Later rounds that leave three quarters as many as earlier ones go on, as in `powerband memory`.
const GOES_ON: f64 = 0.75;
const ALPHA: f64 = 0.05;
/// The later half's share where it leaves half as many as the earlier one. Both halves must surely have more: two one-sided tests, each
/// at 5 %, as for an equivalence.
const OF_A_HALVING: f64 = 1.0 / 3.0;
/// Something must be left in at least so many rounds for any verdict. For "undecided", one round at most may be without.
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
    let more_than_half = |one: u64| {
        stats::binomial_at_least(chances(one), chances(early + late), OF_A_HALVING) <= ALPHA
    };
    let is_steady = more_than_half(late) && more_than_half(early);
    match (goes_on(late, early), goes_on(early, late)) {
        (true, true) if rounds == leaving.len() && is_steady => Some(Course::Growing),
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
        // The fewest that exclude a halving.
        assert_eq!(course(&[5; 6]), Some(Course::Growing));
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
        for steady in 1..5 {
            assert_eq!(course(&[steady; 6]), Some(Course::Undecided));
        }
        // Fewer by a quarter: of so few that may be a halving.
        assert_eq!(course(&[8, 8, 8, 6, 6, 6]), Some(Course::Undecided));
        assert_eq!(course(&[1, 0, 0, 0, 0, 1]), None);
        assert_eq!(course(&[0; 6]), None);
        assert_eq!(course(&[]), None);
    }

    /// The share of growing courses among many whose rounds leave so many on average.
    fn growing(expected: [f64; 6], seed: u64) -> f64 {
        const COURSES: u32 = 2_000;
        let mut state = seed;
        // Knuth's way to a Poisson variate, on the numbers of a linear congruential generator.
        let mut drawn = |mean: f64| {
            let (mut count, mut product) = (0, 1.0);
            loop {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                product *= (state >> 11) as f64 / (1_u64 << 53) as f64;
                if product <= f64::exp(-mean) {
                    return count;
                }
                count += 1;
            }
        };
        let grows = (0..COURSES).filter(|_| {
            let leaving = expected.map(&mut drawn);
            course(&leaving) == Some(Course::Growing)
        });
        grows.count() as f64 / f64::from(COURSES)
    }

    #[test]
    fn a_cache_whose_filling_halves_is_seldom_called_a_leak() {
        for (seed, early) in (1..).zip([4.0, 8.0, 16.0, 32.0, 64.0]) {
            let late = early / 2.0;
            let share = growing([early, early, early, late, late, late], seed);
            assert!(share <= ALPHA, "{early} a round: {share}");
        }
    }

    #[test]
    fn a_leak_of_fifteen_requests_a_round_is_seldom_missed() {
        let share = growing([15.0; 6], 1);
        assert!((0.75..0.95).contains(&share), "{share}");
        assert!(growing([40.0; 6], 1) > 0.95);
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
