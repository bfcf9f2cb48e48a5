//! The processes of a unit that began again.

use super::arms::Running;
use super::gathered::Figures;
use crate::query::Family;

/// The ends of slices at which more processes of an instance had begun than when this arm was seen before, and how many more.
///
/// A hole is bridged, because a unit that starts again is often not there for a while. The first slice is left out: the workers of a
/// cluster begin one after the other.
pub(super) fn of(
    figures: &Figures,
    running: &Running<'_>,
    place: usize,
    slices: usize,
) -> Vec<(usize, f64)> {
    let ends = running.ends(place).filter(|end| *end <= slices);
    let known = ends.filter_map(|end| Some((end, figures.number(Family::Starts, end)?)));
    let known: Vec<(usize, f64)> = known.skip(1).collect();
    let pairs = known
        .windows(2)
        .map(|pair| (pair[1].0, began(pair[0].1, pair[1].1)));
    pairs.filter(|(_, began)| *began > 0.0).collect()
}

/// A counter that is lower began at 0 again, with another flight folder.
fn began(before: f64, after: f64) -> f64 {
    if after < before {
        after
    } else {
        after - before
    }
}
