//! Two finalists and a baseline in the same blocks, and what is claimed of them.

use crate::experiments;
use crate::machine::Machine;
use crate::windows;
use stats::{Second, Verdict, left_over};

/// What is claimed of two finalists that were confirmed together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Claimed {
    /// The first differs from the baseline.
    pub first: bool,
    /// The second is better than the baseline.
    pub second: bool,
    /// The second is better than the first.
    pub second_over_first: bool,
}

/// Of runs whose finalists differ from the baseline by these effects, those in which `counts` holds of what is claimed. The
/// blocks are fresh ones, so what chose the finalists plays no part; their windows follow the noise. As in `false_positives` the margin is all but closed.
pub fn count_claims(
    machine: Machine,
    blocks: u32,
    effects: [f64; 2],
    runs: u32,
    seed: u64,
    counts: impl Fn(Claimed) -> bool,
) -> u32 {
    let plan = experiments::plan(blocks);
    let last = plan[plan.len() - 1];
    let by_noise = windows::Plan::of(blocks);
    experiments::count(runs, seed, machine, |host, rng| {
        let arms = [0.0, effects[0], effects[1]];
        let (measured, _) = windows::blocks(&by_noise, machine, &arms, host, rng);
        let judged = |base: usize, arm: usize| {
            let pairs = measured.iter().map(|at| (at[base].exp(), at[arm].exp()));
            experiments::judge(&pairs.collect::<Vec<_>>(), &plan, 1e-6, 0.0).verdict
        };
        let first = judged(0, 1);
        let best = |at: &&Vec<f64>| at[2] > at[0] && at[2] > at[1];
        let second = Second {
            first_differs: experiments::different(first),
            better: judged(0, 2) == Verdict::Better,
            best_in: measured.iter().filter(best).count() as u32,
            blocks,
            left: left_over(&last, blocks),
        };
        counts(Claimed {
            first: experiments::different(first),
            second: second.holds(),
            second_over_first: first == Verdict::Better
                && second.holds()
                && judged(1, 2) == Verdict::Better,
        })
    })
}
