//! Objects that requests left, by what keeps them: the first object on their path that is older than the rounds.

use crate::dump::Dump;
use crate::holders::Holders;
use crate::log::Log;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// An object that a request left.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    pub object: u32,
    /// From 0.
    pub round: usize,
    /// By its place in the log; absent where it was made between requests.
    pub request: Option<usize>,
    /// Kept directly, and not by another one that is left.
    pub directly: bool,
    /// Made in an earlier round than what is kept directly and keeps it.
    pub taken_over: bool,
}

/// What is said of a keeper alone.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    pub grows: bool,
    /// Whether its sizes are known, so that its growth is.
    pub has_sizes: bool,
}

/// What one object, or several of a kind, keep.
#[derive(Debug, Default)]
pub struct Group {
    pub keepers: Vec<u32>,
    pub left: Vec<Left>,
}

/// Every object that was made in the rounds, with what keeps it.
pub fn by_keeper(dump: &Dump, holders: &Holders, log: &Log) -> HashMap<u32, Vec<Left>> {
    // With the round of what the keeper keeps directly.
    let mut keepers: HashMap<u32, (u32, usize)> = HashMap::new();
    let mut groups: HashMap<u32, Vec<Left>> = HashMap::new();
    for object in holders.in_order().iter().copied() {
        let made_in = dump.node(object).made_in;
        let Some(round) = log.round_of(made_in) else {
            continue;
        };
        let holder = holders.holder(object);
        // The order has each object after its holder.
        let above = keepers.get(&holder).copied();
        let (keeper, since) = above.unwrap_or((holder, round));
        keepers.insert(object, (keeper, since));
        groups.entry(keeper).or_default().push(Left {
            object,
            round,
            request: log.request_of(made_in),
            directly: above.is_none(),
            taken_over: round < since,
        });
    }
    groups
}

/// A group for each keeper by which alone something grows; the others by the kinds of all objects on their paths, for a cache
/// that is spread over many of a kind. Those with known sizes are by themselves, so that the sizes of all of a group are known.
pub fn joined(
    dump: &Dump,
    holders: &Holders,
    by_keeper: HashMap<u32, Vec<Left>>,
    judged: impl Fn(u32, &[Left]) -> Judged,
) -> Vec<Group> {
    let mut alone = Vec::new();
    let mut alike: HashMap<(u64, bool), Group> = HashMap::new();
    let mut ordered: Vec<(u32, Vec<Left>)> = by_keeper.into_iter().collect();
    ordered.sort_by_key(|(keeper, _)| *keeper);
    for (keeper, left) in ordered {
        let judged = judged(keeper, &left);
        if judged.grows {
            alone.push(Group {
                keepers: vec![keeper],
                left,
            });
            continue;
        }
        let kind = (kinds(dump, holders, keeper), judged.has_sizes);
        let group = alike.entry(kind).or_default();
        group.keepers.push(keeper);
        group.left.extend(left);
    }
    alone.extend(alike.into_values());
    alone
}

/// A number for the kinds of objects from a class, or a root, to this one.
fn kinds(dump: &Dump, holders: &Holders, keeper: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    for object in holders.way(dump, keeper) {
        match dump.begins_way(object) {
            true => object.hash(&mut hasher),
            false => dump.kind_of(object).hash(&mut hasher),
        }
    }
    hasher.finish()
}
