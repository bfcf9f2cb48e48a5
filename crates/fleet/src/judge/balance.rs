//! Sample ratio mismatch: whether the counts of draws fit the shares.

use super::shown_p;
use crate::experiment::Experiment;
use crate::join::Fleet;
use run::production::Check;
use stats::ratio_p;

/// Below this p, something other than the draw decides which units are seen.
const ALARM: f64 = 0.001;

pub(super) fn checks(experiment: &Experiment, fleet: &Fleet, slices: usize) -> Vec<Check> {
    let seen = fleet.units.iter().filter(|unit| unit.from <= slices);
    let mut counts = vec![0_u32; experiment.arms.len()];
    for unit in seen {
        counts[unit.arm] += 1;
    }
    let all: u32 = counts.iter().sum();
    // With two arms, both tests are the same test.
    let tests = if counts.len() == 2 { 1 } else { counts.len() };
    let p = counts
        .iter()
        .zip(&experiment.arms)
        .map(|(count, arm)| ratio_p(*count, all, arm.share))
        .fold(1.0, f64::min);
    let p = f64::min(1.0, p * tests as f64);
    let passed = p >= ALARM;
    let listed: Vec<String> = counts
        .iter()
        .zip(&experiment.arms)
        .map(|(count, arm)| {
            format!(
                "{} {count} of {all} ({:.1} % expected)",
                arm.name,
                arm.share * 100.0
            )
        })
        .collect();
    let listed = listed.join(", ");
    let sentence = match passed {
        true => format!("draws seen: {listed}, {}", shown_p(p)),
        false => format!(
            "the draws that are seen do not have the arms' shares: {listed}, {}; look for units of one arm that do not start, are not \
             scraped, or are started without powerband run --experiment",
            shown_p(p)
        ),
    };
    vec![Check {
        name: "shares".to_owned(),
        passed: Some(passed),
        sentence,
    }]
}
