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
    let known = ends.filter_map(|end| {
        Some(Counted {
            end,
            starts: figures.number(Family::Starts, end)?,
            requests: figures.number(Family::Requests, end),
        })
    });
    let known: Vec<Counted> = known.skip(1).collect();
    let pairs = known
        .windows(2)
        .map(|pair| (pair[1].end, pair[1].began_since(&pair[0])));
    pairs.filter(|(_, began)| *began > 0.0).collect()
}

/// The counters of an instance at the end of a slice.
struct Counted {
    end: usize,
    starts: f64,
    requests: Option<f64>,
}

impl Counted {
    /// A counter that is lower began at 0 again, with another flight folder. A container that starts again has as many starts as before, so
    /// its requests show it.
    fn began_since(&self, before: &Counted) -> f64 {
        let requests = self.requests.zip(before.requests);
        let is_reset =
            self.starts < before.starts || requests.is_some_and(|(now, then)| now < then);
        match is_reset {
            true => self.starts,
            false => self.starts - before.starts,
        }
    }
}
