//! The course of a quantity that is read again and again: whether it is flat, rises to a level, or goes on rising.
//!
//! The readings are joined to [`BLOCKS`] blocks of equally many, each with its medians: what a garbage collection does for a moment
//! is gone, and neighbours depend less on one another. Growth is claimed where it is seen over all blocks and again in the
//! later half of them, and is not slower there: a warm-up that levels off within the time does not pass.

use crate::slope::{Slope, theil_sen};
use crate::summary::median;

/// Blocks that the readings are joined to; with fewer readings nothing is said.
pub const BLOCKS: usize = 20;
/// Growth over the whole time, as a share of the level, that is less than this is not called growth.
const MATERIAL_COURSE: f64 = 0.01;
/// What is called flat changes over the whole time by less than this share of the level, surely.
const FLAT_WITHIN: f64 = 0.02;
/// Growth in the later half of the time that is slower than this share of that in the earlier half is a warm-up's.
const AS_FAST: f64 = 0.75;
/// A rise is one where the first block lies further below the later half than so many times the distance of most blocks there from
/// their median.
const BELOW: f64 = 5.0;

/// Which course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It changes over the whole time by less than 2 % of the level.
    Flat,
    /// It rises, and more slowly than it did.
    WarmingUp,
    /// It rose, and is flat since.
    Plateau,
    /// It rises as fast in the later half as in the earlier.
    Growing,
    /// It falls.
    Shrinking,
    /// The readings allow more than one of these.
    Undecided,
}

/// A course and what it was judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    pub course: Course,
    /// Over the whole time.
    pub whole: Slope,
    /// In its later half.
    pub late: Slope,
    /// The median in the later half.
    pub level: f64,
    /// The lowest and the highest block of the later half.
    pub level_range: (f64, f64),
}

/// Judges readings (x, y), ordered by x, at two-sided level `alpha`. `None` for fewer than [`BLOCKS`], and where x does not advance.
pub fn course(readings: &[(f64, f64)], alpha: f64) -> Option<Judged> {
    let blocks = joined(readings)?;
    let (first, last) = blocks.split_at(BLOCKS / 2);
    let whole = theil_sen(&blocks, alpha)?;
    let early = theil_sen(first, alpha)?;
    let late = theil_sen(last, alpha)?;
    let heights: Vec<f64> = last.iter().map(|(_, y)| *y).collect();
    let level = median(&heights)?;
    let (begin, end) = (blocks.first()?.0, blocks.last()?.0);
    let span = end - begin;
    let material = MATERIAL_COURSE * level.abs();
    let change = whole.estimate * span;

    let rises = whole.interval.low > 0.0 && change >= material;
    let still = late.interval.low > 0.0 && late.estimate * span >= material;
    let stays = late.estimate.abs() * span < 2.0 * material && late.interval.low <= 0.0;
    let off: Vec<f64> = heights.iter().map(|y| (y - level).abs()).collect();
    let rose = level - blocks[0].1 > material.max(BELOW * median(&off)?);
    let within = FLAT_WITHIN * level.abs();
    let flat = whole.interval.high * span < within && whole.interval.low * span > -within;
    let course = if rises && still {
        match late.estimate >= AS_FAST * early.estimate {
            true => Course::Growing,
            false => Course::WarmingUp,
        }
    } else if whole.interval.high < 0.0 && -change >= material {
        Course::Shrinking
    } else if rose && stays {
        Course::Plateau
    } else if flat {
        Course::Flat
    } else {
        Course::Undecided
    };
    let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
    Some(Judged {
        course,
        whole,
        late,
        level,
        level_range: heights
            .iter()
            .fold((low, high), |(low, high), y| (low.min(*y), high.max(*y))),
    })
}

/// Medians of equally many readings one after the other: [`BLOCKS`] of them. `None` for fewer readings.
pub fn joined(readings: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
    let count = readings.len();
    if count < BLOCKS {
        return None;
    }
    let block = |index: usize| {
        let readings = &readings[index * count / BLOCKS..(index + 1) * count / BLOCKS];
        let (x, y): (Vec<f64>, Vec<f64>) = readings.iter().copied().unzip();
        Some((median(&x)?, median(&y)?))
    };
    (0..BLOCKS).map(block).collect()
}

#[cfg(test)]
#[path = "course/tests.rs"]
mod tests;
