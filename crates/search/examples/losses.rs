//! Why searches end further than 5 % from the best: the lost problems of a family by cause, and the trials by stage.
//!
//! ```sh
//! cargo run --release -p powerband-search --example losses -- [PROBLEMS, 500] [SEED, 101] [FAMILY, mixed]
//! ```

#![allow(clippy::print_stdout, reason = "a program of the benchmarks")]

#[path = "../tests/simulated/machine.rs"]
mod machine;
#[path = "../tests/simulated/play.rs"]
mod play;
#[path = "../tests/simulated/problem.rs"]
mod problem;

use play::{Played, play};
use problem::{FAMILIES, Family, THREADS, WORKERS};
use search::{Point, Stage};
use std::collections::BTreeMap;

const WITHIN: f64 = 0.05;

/// What is left free of the memory limit where a point is clear of it, as a logarithm.
const CLEAR: f64 = 0.02;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        let given = arguments.next().and_then(|argument| argument.parse().ok());
        given.unwrap_or(default)
    };
    let (problems, seed) = (number(500), number(101));
    let asked = arguments.next().unwrap_or_else(|| "mixed".to_owned());
    let name = |family: &Family| format!("{family:?}").to_lowercase();
    let Some(family) = FAMILIES.into_iter().find(|family| name(family) == asked) else {
        println!("{asked}: no such family");
        return;
    };
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut stages: BTreeMap<Stage, u32> = BTreeMap::new();
    for nth in 0..problems {
        let played = play(family, nth, seed, None);
        for (stage, trials) in &played.outcome.trials_of {
            *stages.entry(*stage).or_default() += trials;
        }
        if played.regret(&played.outcome.winner) > WITHIN {
            *causes.entry(cause(&played)).or_default() += 1;
        }
    }
    println!("{asked}, {problems} problems, seed {seed}\n");
    println!("| why the winner is not within 5 % | problems |\n| --- | ---: |");
    for (cause, lost) in causes {
        println!(
            "| {cause} | {:.1} % |",
            100.0 * lost as f64 / problems as f64
        );
    }
    println!("\n| stage | trials, mean |\n| --- | ---: |");
    for (stage, trials) in stages {
        println!("| {stage:?} | {:.1} |", f64::from(trials) / problems as f64);
    }
}

fn cause(played: &Played) -> &'static str {
    let problem = &played.problem;
    let winner = &played.outcome.winner;
    if problem.fails(&winner.0) {
        return "it fails";
    }
    if !problem.feasible(&winner.0) {
        return "it breaks the memory limit";
    }
    if played.regret_beside_clear(winner) <= WITHIN {
        return "whatever is better is at the edge of the memory limit";
    }
    let near = |point: &Point| played.regret(point) <= WITHIN;
    let limit = problem.log_memory_limit;
    let clear = |point: &Point| limit.is_none_or(|l| problem.log_memory(&point.0) <= l - CLEAR);
    if played.tried.iter().any(|point| near(point) && clear(point)) {
        return "a better one was tried, and not chosen";
    }
    if played.tried.iter().any(near) {
        return "a better one was tried, at the edge of the memory limit";
    }
    let cell = |point: &Point| (point.0[WORKERS], point.0[THREADS]);
    let mut cells = Vec::new();
    let mut fewest = usize::MAX;
    problem.grid(|point| {
        if problem.feasible(&point.0) && near(point) {
            cells.push(cell(point));
            fewest = fewest.min(point.differing(winner).count());
        }
    });
    let tried = |point: &Point| cells.contains(&cell(point));
    match (cells.contains(&cell(winner)), fewest) {
        (true, 1) => "not tried: one setting away",
        (true, 2) => "not tried: two settings away",
        (true, _) => "not tried: three or more settings away",
        (false, _) if played.tried.iter().any(tried) => {
            "not tried: other processes or threads, which ran with other settings"
        }
        (false, _) => "not tried: other processes or threads, which never ran",
    }
}
