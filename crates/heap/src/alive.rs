//! What a heap consists of, by class.

use crate::dump::Dump;
use run::leak::Class;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The largest.
const MOST_CLASSES: usize = 50;

/// Classes of all objects, those of the most bytes first. Classes and modules are one kind: each is called by its own name.
pub fn alive(dump: &Dump) -> Vec<Class> {
    // By what distinguishes them in the dump, because a name for each of millions of objects would take long.
    let mut kinds: HashMap<_, (u32, u64, u64)> = HashMap::new();
    for index in 0..dump.len() as u32 {
        if dump.is_root(index) {
            continue;
        }
        let (first, objects, bytes) = kinds.entry(dump.kind_of(index)).or_insert((index, 0, 0));
        *first = (*first).min(index);
        *objects += 1;
        *bytes += dump.node(index).bytes;
    }
    let mut classes: HashMap<String, Class> = HashMap::new();
    for (first, objects, bytes) in kinds.into_values() {
        let name = match dump.is_module(first) {
            true => "classes and modules".to_owned(),
            false => dump.what(first),
        };
        let class = classes.entry(name.clone()).or_insert(Class {
            class: name,
            objects: 0,
            bytes: 0,
        });
        class.objects += objects;
        class.bytes += bytes;
    }
    let mut classes: Vec<Class> = classes.into_values().collect();
    classes.sort_by(|one, other| {
        let order = |one: &Class| Reverse((one.bytes, one.objects));
        order(one)
            .cmp(&order(other))
            .then_with(|| one.class.cmp(&other.class))
    });
    classes.truncate(MOST_CLASSES);
    classes
}
