//! Which combinations of two-level factors a screen runs.
//!
//! Plackett and Burman (1946): for n a multiple of 4 a square of signs whose columns are all orthogonal, built from one
//! row that is shifted round. In it a main effect is confused with pairs of other factors, so each run is followed by its
//! opposite, all signs turned (fold-over: Box and Hunter 1961). The interaction of two factors is the same in a run and in
//! its opposite, since both signs turn, and cancels in their difference: main effects are clear of all pairs (resolution
//! IV).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_pcg::Pcg64;

/// The generating rows, without the last run of minuses and without the constant column.
const GENERATORS: [&str; 5] = [
    "+++-+--",
    "++-+++---+-",
    "++++-+-++--+---",
    "++--++++-+-+----++-",
    "+++++-+-++--++--+-+----",
];

/// Most factors that one screen takes.
pub const MOST_FACTORS: usize = 24;

/// One run of each pair, `true` for the alternative; the other run is its opposite. The columns, the order of the pairs and
/// which run of a pair is named are drawn from the seed. `None` beyond [`MOST_FACTORS`].
///
/// The number of pairs is that of the smallest square that holds the factors: 8 (16 runs) for up to 8 factors, 12 (24 runs)
/// for up to 12, then 16, 20 and 24. Fewer than 8 would do for 4 factors; 8 keep the standard error of an effect at a
/// quarter of what a single trial has, and leave degrees of freedom to see the noise by.
pub fn pairs(factors: usize, seed: u64) -> Option<Vec<Vec<bool>>> {
    let square = GENERATORS.into_iter().find(|g| g.len() + 1 >= factors);
    let square = signs(square?);
    let mut rng = Pcg64::seed_from_u64(seed);
    // The constant column comes last: with it the design is saturated.
    let mut columns: Vec<usize> = (1..square.len()).collect();
    columns.shuffle(&mut rng);
    columns.push(0);
    let mut pairs: Vec<Vec<bool>> = square
        .iter()
        .map(|row| {
            columns[..factors]
                .iter()
                .map(|&column| row[column])
                .collect()
        })
        .map(|row: Vec<bool>| turned(row, &mut rng))
        .collect();
    pairs.shuffle(&mut rng);
    Some(pairs)
}

fn turned(row: Vec<bool>, rng: &mut impl Rng) -> Vec<bool> {
    let turn: bool = rng.random();
    row.into_iter().map(|sign| sign != turn).collect()
}

/// The square of a generator, its constant column first.
fn signs(generator: &str) -> Vec<Vec<bool>> {
    let row: Vec<bool> = generator.chars().map(|c| c == '+').collect();
    let shifted = |by: usize| {
        let mut shifted = row.clone();
        shifted.rotate_right(by);
        shifted
    };
    let rows = (0..row.len()).map(shifted);
    rows.chain([vec![false; row.len()]])
        .map(|row| std::iter::once(true).chain(row).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(at: bool) -> i32 {
        if at { 1 } else { -1 }
    }

    #[test]
    fn the_squares_are_orthogonal_and_their_columns_balanced() {
        for generator in GENERATORS {
            let square = signs(generator);
            for one in 0..square.len() {
                for other in 0..square.len() {
                    let sum: i32 = square
                        .iter()
                        .map(|row| sign(row[one]) * sign(row[other]))
                        .sum();
                    let expected = if one == other { square.len() as i32 } else { 0 };
                    assert_eq!(sum, expected, "{generator}: {one} and {other}");
                }
            }
        }
    }

    #[test]
    fn so_many_pairs_as_the_smallest_square_has_rows() {
        let of = |factors| pairs(factors, 1).unwrap().len();
        let sizes = [1, 7, 8, 9, 11, 12, 13, 20, 24].map(of);
        assert_eq!(sizes, [8, 8, 8, 12, 12, 12, 16, 20, 24]);
        assert_eq!(pairs(MOST_FACTORS + 1, 1), None);
    }

    /// Over all runs, main effects are orthogonal to each other, to the mean and to every product of two factors.
    #[test]
    fn folded_over_main_effects_are_clear_of_pairs() {
        for factors in 1..=MOST_FACTORS {
            let runs: Vec<Vec<i32>> = pairs(factors, factors as u64)
                .unwrap()
                .into_iter()
                .flat_map(|run| {
                    let run: Vec<i32> = run.into_iter().map(sign).collect();
                    let opposite = run.iter().map(|x| -x).collect();
                    [run, opposite]
                })
                .collect();
            for main in 0..factors {
                assert_eq!(runs.iter().map(|run| run[main]).sum::<i32>(), 0);
                for one in 0..factors {
                    let with_one: i32 = runs.iter().map(|run| run[main] * run[one]).sum();
                    assert_eq!(with_one == 0, main != one, "{factors} factors");
                    for other in 0..factors {
                        let sum: i32 = runs
                            .iter()
                            .map(|run| run[main] * run[one] * run[other])
                            .sum();
                        assert_eq!(sum, 0, "{main} with {one} x {other}");
                    }
                }
            }
        }
    }

    /// A resumed run must continue with the screen it began with.
    #[test]
    fn the_seed_decides() {
        assert_eq!(pairs(6, 4), pairs(6, 4));
        assert_ne!(pairs(6, 4), pairs(6, 5));
        let first: Vec<String> = pairs(7, 1)
            .unwrap()
            .iter()
            .map(|run| run.iter().map(|at| if *at { '+' } else { '-' }).collect())
            .collect();
        assert_eq!(first[0].len(), 7);
    }
}
