//! The figures of a recorded schedule.

const NS_PER_S: u64 = 1_000_000_000;

/// The instant at which an arrival is replayed.
// The cast saturates: past 2^64 ns (584 years) nothing is ever due.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn scaled(offset_ns: u64, speed: f64) -> u64 {
    (offset_ns as f64 / speed) as u64
}

/// A mean gap beyond the last instant; a second when there is no gap.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn length_ns(offsets: &[u64], speed: f64) -> u64 {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return 0;
    };
    let gaps = (offsets.len() - 1) as f64;
    let gap_ns = match last.saturating_sub(*first) {
        0 => NS_PER_S as f64,
        span => span as f64 / gaps,
    };
    scaled(*last, speed).saturating_add(((gap_ns / speed) as u64).max(1))
}

pub(super) fn mean_rate(offsets: &[u64], speed: f64) -> f64 {
    match length_ns(offsets, speed) {
        0 => 0.0,
        length => offsets.len() as f64 / (length as f64 / NS_PER_S as f64),
    }
}

pub(super) fn mean_rate_between(offsets: &[u64], speed: f64, from_ns: u64, to_ns: u64) -> f64 {
    if to_ns <= from_ns {
        return 0.0;
    }
    let before = |limit| offsets.partition_point(|at| scaled(*at, speed) < limit);
    let due = before(to_ns) - before(from_ns);
    due as f64 / ((to_ns - from_ns) as f64 / NS_PER_S as f64)
}

/// The most arrivals within any second.
pub(super) fn highest_rate(offsets: &[u64], speed: f64) -> f64 {
    let mut first = 0;
    let mut most = 0;
    for (index, at) in offsets.iter().enumerate() {
        let at = scaled(*at, speed);
        while at.saturating_sub(scaled(offsets[first], speed)) >= NS_PER_S {
            first += 1;
        }
        most = most.max(index + 1 - first);
    }
    most as f64
}
