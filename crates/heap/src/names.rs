//! Names by which objects hold others: the running process knows them, a dump does not.

use crate::search::Kept;
use run::leak::Retained;
use std::collections::HashMap;

/// A name, and of a constant where it is defined, else an empty text.
pub type Name = (String, String);

/// What is to be asked: holder-held,holder-held… as hexadecimal addresses, a root being 0.
pub fn unnamed(kept: &[Kept]) -> String {
    let mut pairs: Vec<String> = kept
        .iter()
        .flat_map(|one| one.addresses.windows(2))
        .map(|pair| key(pair[0], pair[1]))
        .collect();
    pairs.sort();
    pairs.dedup();
    pairs.join(",")
}

/// Puts the names where they belong.
pub fn name(kept: Vec<Kept>, names: &HashMap<String, Name>) -> Vec<Retained> {
    kept.into_iter()
        .map(|mut one| {
            let held = one.retained.path.iter_mut().skip(1);
            for (step, pair) in held.zip(one.addresses.windows(2)) {
                if let Some((name, place)) = names.get(&key(pair[0], pair[1])) {
                    step.name = Some(name.clone());
                    step.defined_at = Some(place.clone()).filter(|place| !place.is_empty());
                }
            }
            one.retained
        })
        .collect()
}

fn key(holder: u64, held: u64) -> String {
    format!("{holder:x}-{held:x}")
}
