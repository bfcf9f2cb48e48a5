//! How long a closed loop's users think between an answer and the next
//! request: a pure function of the seed, user by user, so that every arm of a
//! block meets the same users.

use std::time::Duration;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

/// How long a closed loop's user thinks between an answer and the next request.
/// A user who thinks also does so before the first request, so that the users
/// do not come all at once; the connection idles meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Think {
    /// Not at all: `ab`, `wrk`, the measurement of capacity.
    None,
    /// Always as long. The first requests are spread evenly over one such time.
    Constant(Duration),
    /// Exponentially distributed, from the plan's seed, each user with times of
    /// its own.
    Exponential {
        /// On average.
        mean: Duration,
    },
}

/// The users' think times.
#[derive(Debug)]
pub(crate) struct Thinking {
    think: Think,
    /// Of each user; empty when nothing is random.
    random: Vec<Pcg64>,
    users: usize,
}

impl Thinking {
    pub(crate) fn new(think: Think, users: usize, seed: u64) -> Self {
        let generator = |user: usize| {
            // Far from the seeds of neighbouring runs, which differ by little.
            let own = (user as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Pcg64::seed_from_u64(seed ^ own)
        };
        Self {
            think,
            random: match think {
                Think::Exponential { .. } => (0..users).map(generator).collect(),
                Think::None | Think::Constant(_) => Vec::new(),
            },
            users,
        }
    }

    /// Before the user's first request. Exponential times have no memory, so
    /// that a full one is as good as what would be left of one.
    pub(crate) fn first_ns(&mut self, user: usize) -> u64 {
        match self.think {
            Think::Constant(time) => share(time, user as f64 / self.users as f64),
            Think::None | Think::Exponential { .. } => self.next_ns(user),
        }
    }

    /// Before the user's next request.
    pub(crate) fn next_ns(&mut self, user: usize) -> u64 {
        match self.think {
            Think::None => 0,
            Think::Constant(time) => share(time, 1.0),
            Think::Exponential { mean } => {
                let times: f64 = Exp1.sample(&mut self.random[user]);
                share(mean, times)
            }
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.think == Think::None
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn share(time: Duration, times: f64) -> u64 {
    (time.as_nanos() as f64 * times) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_thinkers_start_spread_over_one_think_time() {
        let mut thinking = Thinking::new(Think::Constant(Duration::from_nanos(100)), 4, 1);
        let first: Vec<u64> = (0..4).map(|user| thinking.first_ns(user)).collect();
        assert_eq!(first, [0, 25, 50, 75]);
        assert_eq!(thinking.next_ns(3), 100);
    }

    #[test]
    fn a_users_times_depend_on_the_seed_and_the_user_only() {
        let mean = Duration::from_millis(10);
        let of = |seed, user, others_first: bool| {
            let mut thinking = Thinking::new(Think::Exponential { mean }, 3, seed);
            if others_first {
                (0..50).for_each(|n| _ = thinking.next_ns((user + 1 + n % 2) % 3));
            }
            (0..5).map(|_| thinking.next_ns(user)).collect::<Vec<_>>()
        };
        assert_eq!(of(1, 0, false), of(1, 0, true));
        assert_ne!(of(1, 0, false), of(1, 1, false));
        assert_ne!(of(1, 0, false), of(2, 0, false));
    }

    #[test]
    fn exponential_times_have_their_mean() {
        let mean = Duration::from_millis(10);
        let mut thinking = Thinking::new(Think::Exponential { mean }, 100, 7);
        let count = 40_000;
        let sum: u64 = (0..count).map(|n| thinking.next_ns(n % 100)).sum();
        let relative = sum as f64 / count as f64 / mean.as_nanos() as f64;
        // Five standard errors.
        assert!(
            (relative - 1.0).abs() < 5.0 / (count as f64).sqrt(),
            "{relative}"
        );
    }
}
