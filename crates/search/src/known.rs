//! What the races of modelled points have shown, all else as it is today.

use crate::Point;
use crate::race::Race;

/// A modelled point that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    pub point: Point,
    /// How far its score is ahead of the centre's.
    pub ahead: f64,
    pub log_memory: Option<f64>,
}

/// What the races of modelled points have shown of each, by the centre: those that broke a limit included, since a change
/// may make room. Results of an earlier race are moved by how far the new centre was ahead in this one.
pub fn joined(earlier: &[Known], race: &Race, centre: &Point) -> Vec<Known> {
    let Some(reference) = race.place(centre) else {
        return earlier.to_vec();
    };
    let moved = earlier
        .iter()
        .find(|known| known.point == race.arms[0])
        .and_then(|old| Some(old.ahead + race.ahead(reference, 0)?))
        .unwrap_or(0.0);
    let mut joined: Vec<Known> = (0..race.arms.len())
        .filter_map(|arm| {
            Some(Known {
                point: race.arms[arm].clone(),
                ahead: race.ahead(arm, reference)?,
                log_memory: race.log_memory(arm),
            })
        })
        .collect();
    for known in earlier {
        if joined.iter().all(|new| new.point != known.point) {
            joined.push(Known {
                ahead: known.ahead - moved,
                ..known.clone()
            });
        }
    }
    joined
}
