//! The arm of an instance in each slice.

use super::gathered::Gathered;
use crate::experiment::Experiment;
use crate::label::Label;
use std::collections::{BTreeMap, BTreeSet};

/// The arms of one instance, in the order in which they were seen first.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) labels: Vec<(Label, usize)>,
    seen: Vec<BTreeSet<usize>>,
    last: usize,
}

/// The arm for which a slice is evidence, as its place in [`Running::labels`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The instance is not there yet, or has ended.
    Nobody,
    /// The instance is absent now, had this arm before, and comes back later.
    Vanished(usize),
    /// Each arm is there at one end only.
    Changing,
    /// Two arms at once, of processes that were drawn one by one.
    Several,
    /// Two arms at once: the slice counts for the one that was there first.
    Straggler(usize),
    Alone(usize),
}

impl Owner {
    pub(super) fn place(self) -> Option<usize> {
        match self {
            Owner::Alone(place) | Owner::Straggler(place) => Some(place),
            _ => None,
        }
    }
}

/// The arms of each instance; adds labels of arms that the experiment does not have to `strangers`.
pub(super) fn by_instance(
    gathered: &Gathered,
    experiment: &Experiment,
    strangers: &mut BTreeSet<String>,
) -> BTreeMap<String, Running> {
    let digest = experiment.short_digest();
    let mut by_instance = BTreeMap::new();
    for (instance, texts) in &gathered.arms {
        let mut ours: Vec<(Label, usize, &BTreeSet<usize>)> = Vec::new();
        for (text, seen) in texts {
            let label = Label::parse(text).filter(|label| label.digest == digest);
            let Some(label) = label else { continue };
            match experiment.arm(label.drawn()) {
                Some(arm) => ours.push((label, arm, seen)),
                None => {
                    strangers.insert(text.clone());
                }
            }
        }
        ours.retain(|(_, _, seen)| !seen.is_empty());
        ours.sort_by_key(|(label, _, seen)| (seen.first().copied(), label.period));
        let ends = ours.iter().filter_map(|(_, _, seen)| seen.last().copied());
        let Some(last) = ends.max() else { continue };
        let running = Running {
            seen: ours.iter().map(|(_, _, seen)| (*seen).clone()).collect(),
            labels: ours
                .into_iter()
                .map(|(label, arm, _)| (label, arm))
                .collect(),
            last,
        };
        by_instance.insert(instance.clone(), running);
    }
    by_instance
}

impl Running {
    /// The end of a slice at which an arm was seen first.
    pub(super) fn first_seen(&self, place: usize) -> Option<usize> {
        self.seen[place].first().copied()
    }

    /// The ends of slices at which an arm was seen, in order. Where two were, both have it.
    pub(super) fn ends(&self, place: usize) -> impl Iterator<Item = usize> {
        self.seen[place].iter().copied()
    }

    /// The arm that was seen last, at this end or before it.
    fn latest(&self, end: usize) -> Option<usize> {
        let seen = self.seen.iter().enumerate();
        let last = seen.filter_map(|(place, ends)| Some((ends.range(..=end).next_back()?, place)));
        last.max().map(|(_, place)| place)
    }

    /// The owner of the slice from this end to the next one.
    pub(super) fn owner(&self, slice: usize, whole_unit: bool) -> Owner {
        let at = |end: usize| -> Vec<usize> {
            let places = 0..self.seen.len();
            places
                .filter(|place| self.seen[*place].contains(&end))
                .collect()
        };
        let (before, after) = (at(slice), at(slice + 1));
        if before.is_empty() || after.is_empty() {
            let latest = self.latest(slice).filter(|_| slice < self.last);
            return latest.map_or(Owner::Nobody, Owner::Vanished);
        }
        // The one that was there first comes first.
        let earliest = before[0].min(after[0]);
        if !(before.contains(&earliest) && after.contains(&earliest)) {
            return Owner::Changing;
        }
        match (before.len().max(after.len()), whole_unit) {
            (1, _) => Owner::Alone(earliest),
            (_, true) => Owner::Straggler(earliest),
            (_, false) => Owner::Several,
        }
    }
}
