//! The arm of an instance in each slice.

use super::gathered::Seen;
use crate::experiment::Experiment;
use crate::label::Label;
use small_sort::SmallSort;
use std::collections::{BTreeMap, BTreeSet};

/// The arms of one instance, in the order in which they were seen first.
#[derive(Debug)]
pub(super) struct Running<'a> {
    pub(super) labels: Vec<(Label, usize)>,
    seen: Vec<&'a BTreeSet<usize>>,
    /// Of each end of a slice.
    present: Vec<Present>,
    last: usize,
}

/// The arms at the end of a slice.
#[derive(Debug, Default, Clone, Copy)]
struct Present {
    /// The place of the one that was seen first.
    first: usize,
    count: usize,
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
pub(super) fn by_instance<'a>(
    seen: &'a Seen,
    experiment: &Experiment,
    strangers: &mut BTreeSet<String>,
) -> BTreeMap<&'a str, Running<'a>> {
    let digest = experiment.short_digest();
    let mut by_instance = BTreeMap::new();
    for (instance, texts) in seen {
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
        ours.small_sort_by_key(|(label, _, seen)| (seen.first().copied(), label.period));
        let ends = ours.iter().filter_map(|(_, _, seen)| seen.last().copied());
        let Some(last) = ends.max() else { continue };
        let seen: Vec<&BTreeSet<usize>> = ours.iter().map(|(_, _, seen)| *seen).collect();
        let mut present = vec![Present::default(); last + 1];
        for (place, ends) in seen.iter().enumerate() {
            for end in ends.iter() {
                let here = &mut present[*end];
                if here.count == 0 {
                    here.first = place;
                }
                here.count += 1;
            }
        }
        let running = Running {
            seen,
            present,
            labels: ours
                .into_iter()
                .map(|(label, arm, _)| (label, arm))
                .collect(),
            last,
        };
        by_instance.insert(instance.as_str(), running);
    }
    by_instance
}

impl Running<'_> {
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
        let at = |end: usize| self.present.get(end).copied().unwrap_or_default();
        let (before, after) = (at(slice), at(slice + 1));
        if before.count == 0 || after.count == 0 {
            let latest = self.latest(slice).filter(|_| slice < self.last);
            return latest.map_or(Owner::Nobody, Owner::Vanished);
        }
        let earliest = before.first.min(after.first);
        let has = |of: Present, end: usize| {
            of.first == earliest || (of.count > 1 && self.seen[earliest].contains(&end))
        };
        if !(has(before, slice) && has(after, slice + 1)) {
            return Owner::Changing;
        }
        match (before.count.max(after.count), whole_unit) {
            (1, _) => Owner::Alone(earliest),
            (_, true) => Owner::Straggler(earliest),
            (_, false) => Owner::Several,
        }
    }
}
