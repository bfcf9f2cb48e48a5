//! Who goes on from a race: of those near the best, the smallest.

use crate::race::Race;
use crate::{Observation, Point, Standing};
use stats::{Range, Size};

/// An arm, and how far it is behind the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    pub arm: usize,
    pub behind: f64,
}

/// The arms still in the race that seem to keep the limits, with how far each is ahead of the first of them; where none
/// does, all. `limit`: of the memory, as a logarithm.
pub fn rated(race: &Race, limit: Option<f64>) -> Vec<(usize, f64)> {
    let live: Vec<usize> = race.live();
    let likely = |arm: &usize| race.standing(*arm).is_some_and(Standing::likely);
    let shown = |arm: &usize| race.standing(*arm) == Some(Standing::Meets);
    let wanted: Vec<usize> = if race.wants_proof() && live.iter().any(shown) {
        live.into_iter().filter(shown).collect()
    } else if live.iter().any(likely) {
        live.into_iter().filter(likely).collect()
    } else {
        live
    };
    // Arms that are still in it have run in the same blocks, but for failures.
    let Some(reference) = wanted.iter().copied().min_by_key(|&arm| race.failures(arm)) else {
        return Vec::new();
    };
    wanted
        .into_iter()
        .filter_map(|arm| {
            let room = limit.zip(race.log_memory(arm));
            let close = room.is_some_and(|(limit, memory)| memory > limit - ROOM);
            let proven = race.standing(arm) == Some(Standing::Meets) && !close;
            let handicap = if proven { 0.0 } else { HANDICAP };
            Some((arm, race.ahead(arm, reference)? - handicap))
        })
        .collect()
}

/// What an arm that is not shown to keep the limits has to be better by, as a logarithm: the confirmation has to show it,
/// and without that nothing is claimed.
pub const HANDICAP: f64 = 0.03;

/// Memory repeats within a few per cent: closer to its limit than this, a few trials more may well be beyond it.
pub const ROOM: f64 = 0.02;

/// The best by its estimate.
pub fn best(race: &Race, limit: Option<f64>) -> Option<usize> {
    let rated = rated(race, limit);
    let best = rated.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(arm, _)| *arm)
}

/// The smallest of those within the margin of the best; of those as small, the best. The baseline only where it is itself
/// the best: whether another one is worth the change is for the confirmation to say.
pub fn smallest_near_best(
    race: &Race,
    baseline: &Point,
    margin: f64,
    limit: Option<f64>,
) -> Option<Chosen> {
    let rated = rated(race, limit);
    let (leader, best) = *rated.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let near: Vec<(usize, f64)> = rated
        .into_iter()
        .filter(|(_, at)| best - at <= margin.ln_1p())
        .filter(|(arm, _)| *arm == leader || race.arms[*arm] != *baseline)
        .collect();
    if race.arms[leader] == *baseline {
        return Some(Chosen {
            arm: leader,
            behind: 0.0,
        });
    }
    let sizes: Vec<Size> = near.iter().map(|(arm, _)| size(&race.seen(*arm))).collect();
    let smallest = sizes[stats::smallest(&sizes)?];
    let alike = |size: &Size| {
        size.pss.low <= smallest.pss.high
            && (size.processes, size.threads) == (smallest.processes, smallest.threads)
    };
    let as_small = near.iter().zip(&sizes).filter(|(_, size)| alike(size));
    let (arm, at) = *as_small
        .map(|(arm, _)| arm)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Chosen {
        arm,
        behind: best - at,
    })
}

/// Of those that are behind the best by no more than this, the one with the fewest changes; of these, the best.
pub fn fewest_changes_near_best(
    race: &Race,
    baseline: &Point,
    tolerance: f64,
    limit: Option<f64>,
) -> Option<usize> {
    let rated = rated(race, limit);
    let best = rated.iter().map(|r| r.1).fold(f64::NEG_INFINITY, f64::max);
    let near = rated.into_iter().filter(|(_, at)| best - at <= tolerance);
    let changes = |arm: usize| race.arms[arm].differing(baseline).count();
    near.min_by(|a, b| {
        let fewer = changes(a.0).cmp(&changes(b.0));
        fewer.then(b.1.total_cmp(&a.1))
    })
    .map(|(arm, _)| arm)
}

/// What an arm costs to run. Memory is compared as its logarithm's exponential, in whatever unit it came.
pub fn size(seen: &[Observation]) -> Size {
    let memory: Vec<f64> = seen
        .iter()
        .filter_map(|seen| seen.log_memory)
        .map(f64::exp)
        .collect();
    let estimate = stats::summary::median(&memory).unwrap_or(f64::MAX);
    Size {
        pss: Range {
            low: memory.iter().copied().fold(estimate, f64::min),
            estimate,
            high: memory.iter().copied().fold(estimate, f64::max),
        },
        processes: seen.last().map_or(0, |seen| seen.processes),
        threads: seen.last().map_or(0, |seen| seen.threads),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Objective, Stage};

    /// A race of three blocks, from each arm's score and memory.
    fn race(arms: &[(f64, f64)]) -> Race {
        let points = (0..arms.len()).map(|arm| Point(vec![arm])).collect();
        let mut race = Race::new(Stage::Race, points, 3, Objective::Throughput);
        for block in 0..3 {
            let told: Vec<Option<Observation>> = arms
                .iter()
                .map(|(score, memory)| {
                    Some(Observation {
                        log_throughput: score + 0.2 * f64::from(block),
                        log_latency: None,
                        log_memory: Some(memory + 0.001 * f64::from(block)),
                        processes: 1,
                        threads: 1,
                        standing: Standing::Meets,
                    })
                })
                .collect();
            race.observe(&told);
        }
        race
    }

    fn chosen(arms: &[(f64, f64)], limit: Option<f64>) -> usize {
        smallest_near_best(&race(arms), &Point(vec![0]), 0.03, limit)
            .unwrap()
            .arm
    }

    #[test]
    fn of_those_near_the_best_the_smallest() {
        assert_eq!(chosen(&[(0.0, 1.0), (0.10, 2.0), (0.09, 1.5)], None), 2);
        assert_eq!(chosen(&[(0.0, 1.0), (0.10, 2.0), (0.05, 1.5)], None), 1);
        // As small: the better one.
        assert_eq!(chosen(&[(0.0, 1.0), (0.09, 1.5), (0.10, 1.5)], None), 2);
    }

    #[test]
    fn the_baseline_only_where_it_leads() {
        assert_eq!(chosen(&[(0.10, 1.0), (0.11, 2.0)], None), 1);
        assert_eq!(chosen(&[(0.11, 2.0), (0.10, 1.0)], None), 0);
    }

    #[test]
    fn at_the_edge_of_the_limit_an_arm_has_to_be_clearly_better() {
        let arms = |lead: f64| [(0.0, 1.0), (0.10, 1.5), (0.10 + lead, 1.995)];
        assert_eq!(chosen(&arms(0.02), Some(2.0)), 1);
        assert_eq!(chosen(&arms(0.10), Some(2.0)), 2);
    }
}
