//! The search on thousands of made-up servers whose truth is known, compared with what people do instead: the
//! tables of `bench/search/RESULTS.md`.
//!
//! ```sh
//! cargo run --release -p powerband-search --example simulated -- [PROBLEMS A FAMILY, 2000] [SEED, 7] [FAMILY]
//! ```

#![allow(clippy::print_stdout, reason = "a program of the benchmarks")]

#[path = "../tests/simulated/machine.rs"]
mod machine;
#[path = "../tests/simulated/naive.rs"]
mod naive;
#[path = "../tests/simulated/play.rs"]
mod play;
#[path = "../tests/simulated/problem.rs"]
mod problem;

use play::{Played, play, seed_of};
use problem::{FAMILIES, Family};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use search::Claim;

/// How far behind the best point of the grid is near enough.
const WITHIN: f64 = 0.05;

/// Trials that a search may have in the last table.
const FEW: [u32; 4] = [40, 60, 80, 100];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        let given = arguments.next().and_then(|argument| argument.parse().ok());
        given.unwrap_or(default)
    };
    let (problems, seed) = (number(2_000), number(7));
    let only = arguments.next().map(|family| family.to_lowercase());
    let families: Vec<Family> = FAMILIES
        .into_iter()
        .filter(|family| only.as_ref().is_none_or(|only| *only == name(*family)))
        .collect();
    println!("{problems} problems a family, seed {seed}.\n");
    let all: Vec<(Family, Tally)> = families
        .into_iter()
        .map(|family| (family, tally(family, problems, seed, None)))
        .collect();
    table(
        &all,
        &[
            ("winner within 5 %", &|t| within(&t.regrets)),
            ("of the best clear of the limit", &|t| {
                within(&t.beside_clear)
            }),
            ("behind the best: median", &|t| at(&t.regrets, 0.5)),
            ("p90", &|t| at(&t.regrets, 0.9)),
            ("trials: median", &|t| {
                format!("{:.0}", quantile(&t.trials, 0.5))
            }),
            ("p90", &|t| format!("{:.0}", quantile(&t.trials, 0.9))),
            ("share of the grid's: median", &|t| at(&t.shares, 0.5)),
            ("one at a time within 5 %", &|t| within(&t.one_at_a_time)),
            ("random within 5 %", &|t| within(&t.random)),
        ],
    );
    table(
        &all,
        &[
            ("\"better\" of what is no better", &|t| {
                of(t.falsely, t.no_better)
            }),
            ("\"better\" of what breaks a limit", &|t| {
                of(t.broken, t.claimed)
            }),
            ("better by more than 3 %, and said so", &|t| {
                of(t.found, t.truly)
            }),
            ("left running within 5 %", &|t| within(&t.recommended)),
        ],
    );
    println!("Within 5 % by trials allowed, and their median in use:\n");
    println!(
        "| problems |{}",
        FEW.map(|trials| format!(" {trials} |")).concat()
    );
    println!("| --- |{}", " ---: |".repeat(FEW.len()));
    for (family, _) in all {
        let cell = |trials: u32| {
            let tally = tally(family, problems / 4, seed, Some(trials));
            format!(
                " {} ({:.0}) |",
                within(&tally.regrets),
                quantile(&tally.trials, 0.5)
            )
        };
        println!("| {} |{}", name(family), FEW.map(cell).concat());
    }
}

type Column<'a> = (&'a str, &'a dyn Fn(&Tally) -> String);

fn table(all: &[(Family, Tally)], columns: &[Column<'_>]) {
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    println!("| problems | {} |", heads.join(" | "));
    println!("| --- |{}", " ---: |".repeat(columns.len()));
    for (family, tally) in all {
        let cells: Vec<String> = columns.iter().map(|(_, cell)| cell(tally)).collect();
        println!("| {} | {} |", name(*family), cells.join(" | "));
    }
    println!();
}

fn name(family: Family) -> String {
    format!("{family:?}").to_lowercase()
}

fn quantile(values: &[f64], q: f64) -> f64 {
    stats::summary::quantile(values, q).unwrap_or(f64::NAN)
}

fn at(shares: &[f64], q: f64) -> String {
    percent(quantile(shares, q))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn within(regrets: &[f64]) -> String {
    let near = regrets.iter().filter(|regret| **regret <= WITHIN).count();
    percent(near as f64 / regrets.len() as f64)
}

fn of(count: usize, all: usize) -> String {
    match all {
        0 => "–".to_owned(),
        _ => format!("{count} of {all} ({})", percent(count as f64 / all as f64)),
    }
}

/// What was counted in the problems of a family. Regrets are shares of the best feasible point's throughput that are
/// missing; all of it where a point is not feasible.
#[derive(Default)]
struct Tally {
    regrets: Vec<f64>,
    beside_clear: Vec<f64>,
    recommended: Vec<f64>,
    trials: Vec<f64>,
    shares: Vec<f64>,
    one_at_a_time: Vec<f64>,
    random: Vec<f64>,
    /// Confirmations of winners that are no better than the baseline, and of those the claims that they are.
    no_better: usize,
    falsely: usize,
    /// Claims of "better", and of those the ones of points beyond a limit.
    claimed: usize,
    broken: usize,
    /// Confirmations of feasible winners that are better by more than the margin, and of those the claims that they are.
    truly: usize,
    found: usize,
}

fn tally(family: Family, problems: u64, seed: u64, trials: Option<u32>) -> Tally {
    let mut tally = Tally::default();
    for nth in 0..problems {
        let played = play(family, nth, seed, trials);
        tally.add(&played, seed_of(family, nth, seed));
    }
    tally
}

impl Tally {
    fn add(&mut self, played: &Played, seed: u64) {
        let (problem, outcome) = (&played.problem, &played.outcome);
        self.regrets.push(played.regret(&outcome.winner));
        let clear = played.regret_beside_clear(&outcome.winner);
        self.beside_clear.push(clear);
        let changes = [Claim::Better, Claim::Smaller, Claim::KeepsTheLimits];
        let left_running = if changes.contains(&outcome.claim) {
            outcome.winner.clone()
        } else {
            problem.space.baseline()
        };
        self.recommended.push(played.regret(&left_running));
        self.trials.push(f64::from(outcome.trials));
        let share = f64::from(outcome.trials) / played.grid_trials() as f64;
        self.shares.push(share);
        self.claims(played);
        let rng = |nth: u64| Pcg64::seed_from_u64(seed ^ (nth << 50));
        let naive = naive::one_at_a_time(problem, outcome.trials, rng(1));
        self.one_at_a_time.push(played.regret(&naive));
        let naive = naive::random(problem, outcome.trials, rng(2), rng(3));
        self.random.push(played.regret(&naive));
    }

    fn claims(&mut self, played: &Played) {
        let better = played.claimed_better();
        let feasible = played.problem.feasible(&played.outcome.winner.0);
        self.claimed += usize::from(better);
        self.broken += usize::from(better && !feasible);
        if played.outcome.comparison.is_none() {
            return;
        }
        // Sums in another order differ in their last digit.
        if played.gain() <= 1e-12 {
            self.no_better += 1;
            self.falsely += usize::from(better);
        } else if feasible && played.gain() > 0.03_f64.ln_1p() {
            self.truly += 1;
            self.found += usize::from(better);
        }
    }
}
