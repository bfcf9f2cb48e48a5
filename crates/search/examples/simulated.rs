//! The search on thousands of made-up servers whose truth is known, beside what people do instead.
//!
//!     cargo run --release -p powerband-search --example simulated [PROBLEMS [SEED [FAMILY]]]

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

const WITHIN: f64 = 0.05;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(default, |a| a.parse().unwrap());
    let (problems, seed) = (number(2_000), number(7));
    let only = std::env::args().nth(3);
    println!("{problems} problems a family, seed {seed}\n");
    println!(
        "| problems | winner within 5 % | regret: median | p90 | false better | of winners no better | truly better found | infeasible called better | \
         recommended within 5 % | trials: median | p90 | share of a grid | one at a time within 5 % | random within 5 % |"
    );
    println!("| --- |{}", " ---: |".repeat(13));
    for family in FAMILIES {
        if only
            .as_ref()
            .is_some_and(|only| *only != format!("{family:?}"))
        {
            continue;
        }
        row(family, problems, seed);
    }
}

fn row(family: Family, problems: u64, seed: u64) {
    let mut tally = Tally::default();
    for nth in 0..problems {
        let played = play(family, nth, seed);
        if std::env::var_os("DIAGNOSE").is_some() && played.regret(&played.outcome.winner) > 0.05 {
            println!("{}", played.diagnose(nth));
        }
        if std::env::var_os("MISSED").is_some()
            && played.gain() > 0.03
            && !played.claimed_better()
            && played.outcome.comparison.is_some()
        {
            let o = &played.outcome;
            println!(
                "MISSED {:?} {:?} {:?} {:?} gain {:.3}",
                o.claim,
                o.winner_standing,
                o.baseline_standing,
                o.comparison.as_ref().map(|c| (c.verdict, c.blocks)),
                played.gain()
            );
        }
        tally.add(&played, seed_of(family, nth, seed));
    }
    println!("{}", tally.row(family));
}

#[derive(Default)]
struct Tally {
    regrets: Vec<f64>,
    recommended: Vec<f64>,
    trials: Vec<f64>,
    shares: Vec<f64>,
    one_at_a_time: Vec<f64>,
    random: Vec<f64>,
    no_better: usize,
    falsely: usize,
    infeasible: usize,
    truly: usize,
    found: usize,
}

impl Tally {
    fn add(&mut self, played: &Played, seed: u64) {
        let outcome = &played.outcome;
        let baseline = played.problem.space.baseline();
        self.regrets.push(played.regret(&outcome.winner));
        let changes =
            [Claim::Better, Claim::Smaller, Claim::KeepsTheLimits].contains(&outcome.claim);
        let recommended = if changes { &outcome.winner } else { &baseline };
        self.recommended.push(played.regret(recommended));
        self.trials.push(f64::from(outcome.trials));
        self.shares
            .push(f64::from(outcome.trials) / played.grid_trials() as f64);
        let gain = played.gain();
        let feasible = played.problem.feasible(&outcome.winner.0);
        self.infeasible += usize::from(played.claimed_better() && !feasible);
        if outcome.comparison.is_some() && gain <= 1e-12 {
            self.no_better += 1;
            self.falsely += usize::from(played.claimed_better());
        }
        if outcome.comparison.is_some() && feasible && gain > 0.03_f64.ln_1p() {
            self.truly += 1;
            self.found += usize::from(played.claimed_better());
        }
        let rng = |nth: u64| Pcg64::seed_from_u64(seed ^ (nth << 50));
        let trials = outcome.trials;
        let naive = naive::one_at_a_time(&played.problem, trials, rng(1));
        self.one_at_a_time.push(played.regret(&naive));
        let naive = naive::random(&played.problem, trials, rng(2), rng(3));
        self.random.push(played.regret(&naive));
    }

    fn row(&self, family: Family) -> String {
        let percent = |x: f64| format!("{:.1} %", 100.0 * x);
        let within = |regrets: &[f64]| {
            let count = regrets.iter().filter(|r| **r <= WITHIN).count();
            percent(count as f64 / regrets.len() as f64)
        };
        let at = |values: &[f64], q| stats::summary::quantile(values, q).unwrap_or(f64::NAN);
        let share = |count: usize, of: usize| match of {
            0 => "–".to_owned(),
            _ => format!("{count} of {of}"),
        };
        let cells = [
            format!("{family:?}").to_lowercase(),
            within(&self.regrets),
            percent(at(&self.regrets, 0.5)),
            percent(at(&self.regrets, 0.9)),
            percent(self.falsely as f64 / self.regrets.len() as f64),
            share(self.falsely, self.no_better),
            share(self.found, self.truly),
            format!("{}", self.infeasible),
            within(&self.recommended),
            format!("{:.0}", at(&self.trials, 0.5)),
            format!("{:.0}", at(&self.trials, 0.9)),
            percent(at(&self.shares, 0.5)),
            within(&self.one_at_a_time),
            within(&self.random),
        ];
        format!("| {} |", cells.join(" | "))
    }
}
