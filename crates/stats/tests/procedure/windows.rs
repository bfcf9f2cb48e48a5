//! A confirmation whose windows follow the noise: what the trials before it scattered by sets their length, and what its first blocks
//! scatter by sets that of the others. On machines whose independent noise goes with one over the root of the length.

use crate::experiments;
use crate::machine::{Host, Machine};
use rand_pcg::Pcg64;
use stats::{Comparison, Look, Scatter, effect_of_unit_noise, window_s};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Blocks after which the length is set again.
const FIRST_BLOCKS: u32 = 3;
/// Shortest and longest window, seconds.
const LIMITS_S: (f64, f64) = (2.0, 30.0);
/// The noise of a [`Machine`] is that of windows of so many seconds.
const MACHINE_WINDOW_S: f64 = 5.0;

/// How a plan of so many blocks sets lengths.
pub struct Plan {
    looks: Vec<Look>,
    units: RefCell<BTreeMap<u32, f64>>,
}

impl Plan {
    pub fn of(blocks: u32) -> Plan {
        Plan {
            looks: experiments::plan(blocks),
            units: RefCell::default(),
        }
    }

    fn blocks(&self) -> u32 {
        self.looks.last().unwrap().blocks
    }

    /// The length by this scatter in windows of one second.
    fn length_s(&self, seen: Scatter) -> f64 {
        let mut units = self.units.borrow_mut();
        let unit = *units.entry(seen.freedom).or_insert_with(|| {
            let (power, seed) = (experiments::POWER, experiments::PLAN_SEED);
            effect_of_unit_noise(&self.looks, seen.freedom, power, seed)
        });
        let needed_s = window_s(seen, unit, experiments::MARGIN);
        needed_s.unwrap_or(LIMITS_S.1).clamp(LIMITS_S.0, LIMITS_S.1)
    }
}

/// An experiment, and the seconds of its windows in all blocks together.
pub struct Confirmed {
    pub judged: Comparison,
    pub windows_s: f64,
}

/// A race of two blocks of the arms with these effects and of two that are like them, then the blocks of the confirmation of the arms;
/// and the seconds of its windows.
pub fn blocks(
    plan: &Plan,
    machine: Machine,
    effects: &[f64],
    host: &mut Host,
    rng: &mut Pcg64,
) -> (Vec<Vec<f64>>, f64) {
    let raced = [effects, &effects[..2]].concat();
    let mut race = |rng: &mut Pcg64| -> Vec<Option<f64>> {
        host.block(&raced, rng).into_iter().map(Some).collect()
    };
    let raced = Scatter::two_way(&[race(rng), race(rng)]).in_one_second(MACHINE_WINDOW_S);
    let mut length_s = plan.length_s(raced);
    let mut windows_s = 0.0;
    let mut measured: Vec<Vec<f64>> = Vec::new();
    for block in 0..plan.blocks() {
        if block == FIRST_BLOCKS {
            let of_block = |at: &Vec<f64>| at.iter().copied().map(Some).collect();
            let first: Vec<Vec<Option<f64>>> = measured.iter().map(of_block).collect();
            let own = Scatter::two_way(&first).in_one_second(length_s);
            length_s = plan.length_s(raced.and(own));
        }
        host.noise = machine.noise * (MACHINE_WINDOW_S / length_s).sqrt();
        measured.push(host.block(effects, rng));
        windows_s += length_s;
    }
    (measured, windows_s)
}

/// The confirmation of a candidate that is better by `effect`.
pub fn confirm(
    plan: &Plan,
    machine: Machine,
    effect: f64,
    margin: f64,
    host: &mut Host,
    rng: &mut Pcg64,
) -> Confirmed {
    let (measured, windows_s) = blocks(plan, machine, &[0.0, effect], host, rng);
    let pairs: Vec<(f64, f64)> = measured
        .iter()
        .map(|at| (at[0].exp(), at[1].exp()))
        .collect();
    Confirmed {
        judged: experiments::judge(&pairs, &plan.looks, margin, 0.0),
        windows_s,
    }
}
