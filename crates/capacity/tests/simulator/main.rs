//! The simulator against theory, against schedules worked out by hand, against
//! a second, naive simulator, and for what must hold whatever the scenario.

mod accepting;
mod by_hand;
mod cold;
mod properties;
mod reference;
mod theory;

use capacity::sim::{Arrivals, Outcome, Scenario, Step, Work, simulate};

pub const MS: u64 = 1_000_000;

/// Requests that all arrive at 0, or when their `Arrivals` say.
pub fn work(requests: &[&[Step]]) -> Work {
    let mut work = Work::new();
    for steps in requests {
        work.push(0, steps.iter().copied());
    }
    work
}

/// Arrivals at these milliseconds.
pub fn at_ms(times: &[f64]) -> Arrivals {
    Arrivals::Given(times.iter().map(|ms| (ms * 1e6) as u64).collect())
}

pub fn run(work: &Work, scenario: &Scenario, arrivals: &Arrivals) -> Outcome {
    simulate(work, scenario, arrivals, 1).expect("a scenario that can be simulated")
}

/// Response times in milliseconds.
pub fn responses_ms(outcome: &Outcome) -> Vec<f64> {
    let ms = outcome.response_ns.iter().map(|&ns| ns as f64 / 1e6);
    ms.collect()
}
