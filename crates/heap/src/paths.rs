//! The way to what keeps objects, from the nearest class or module with a name, else from a root.

use crate::dump::Dump;
use crate::holders::Holders;
use run::leak::Step;

/// Longer ways have their first and last steps: a list of a million entries is one, too.
const MOST_STEPS: usize = 16;

/// The steps, and the address of each.
pub fn path(dump: &Dump, holders: &Holders, keeper: u32) -> (Vec<Step>, Vec<u64>) {
    let mut way: Vec<u32> = holders.way(dump, keeper).collect();
    way.reverse();
    if way.len() > MOST_STEPS {
        let last = way.split_off(way.len() - MOST_STEPS / 2);
        way.truncate(MOST_STEPS / 2);
        way.extend(last);
    }
    let steps = way.iter().map(|at| Step {
        what: dump.what(*at),
        name: None,
        defined_at: None,
    });
    let addresses = way.iter().map(|at| dump.node(*at).address);
    (steps.collect(), addresses.collect())
}
