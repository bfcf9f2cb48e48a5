//! Requests grouped by how long they took: what the slow ones wait for that the others do not.

use run::inspect::Band;

/// What a band needs of a record, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub wall: u64,
    /// `u64::MAX` when unknown.
    pub queue: u64,
    pub held: u64,
    pub gvl_wait: u64,
    pub lock_wait: u64,
    pub io: u64,
    pub gc: u64,
    /// The part of `gc` that was of major collections; `u64::MAX` when unknown.
    pub gc_major: u64,
}

/// Percentiles between which the bands lie.
const EDGES: [f64; 8] = [0.0, 10.0, 50.0, 60.0, 90.0, 99.0, 99.9, 100.0];

/// The bands of these samples; reorders them. A band that is empty, as of few samples, is part of the next one.
pub fn bands(samples: &mut [Sample], lock: bool, gc: bool) -> Vec<Band> {
    let count = samples.len();
    let edge = |percentile: f64| (percentile / 100.0 * count as f64).floor() as usize;
    let mut bands = Vec::new();
    let mut rest = samples;
    let mut from = EDGES[0];
    for to in &EDGES[1..] {
        let length = edge(*to) - edge(from);
        if length == 0 {
            continue;
        }
        if length < rest.len() {
            rest.select_nth_unstable_by_key(length, |s| s.wall);
        }
        let (these, slower) = rest.split_at_mut(length);
        bands.push(band(from, *to, these, lock, gc));
        from = *to;
        rest = slower;
    }
    bands
}

fn band(from: f64, to: f64, samples: &[Sample], lock: bool, gc: bool) -> Band {
    let mean = |of: fn(&Sample) -> u64| {
        let sum: u128 = samples.iter().map(|s| u128::from(of(s))).sum();
        sum as f64 / samples.len() as f64 / 1e6
    };
    let held_ms = mean(|s| s.held);
    // Where only some processes distinguish it, it counts as I/O for all.
    let io_ms = if lock {
        mean(|s| s.io)
    } else {
        mean(|s| s.io.saturating_add(s.lock_wait))
    };
    Band {
        from,
        to,
        requests: samples.len() as u64,
        wall_ms: mean(|s| s.wall),
        held_ms,
        gvl_wait_ms: mean(|s| s.gvl_wait),
        lock_wait_ms: lock.then(|| mean(|s| s.lock_wait)),
        io_ms,
        gc_ms: gc.then(|| mean(|s| s.gc)),
        io_share_of_work: share_of_work(held_ms, io_ms),
    }
}

/// I/O / (I/O + held); `None` when both are 0.
pub fn share_of_work(held: f64, io: f64) -> Option<f64> {
    (held + io > 0.0).then(|| io / (held + io))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(wall: u64) -> Sample {
        Sample {
            wall: wall * 1_000_000,
            queue: u64::MAX,
            gc_major: u64::MAX,
            held: wall * 250_000,
            gvl_wait: 0,
            lock_wait: 0,
            io: wall * 750_000,
            gc: 0,
        }
    }

    /// 1 to 1,000 ms in an order of their own: each band holds the ranks that its percentiles name.
    #[test]
    fn each_request_is_in_the_band_of_its_rank() {
        let mut samples: Vec<Sample> = (0..1_000).map(|n| sample(1 + n * 7 % 1_000)).collect();
        let found = bands(&mut samples, false, true);
        let of: Vec<(f64, u64, f64)> = found
            .iter()
            .map(|b| (b.from, b.requests, b.wall_ms))
            .collect();
        let expected = [
            (0.0, 100, 50.5),
            (10.0, 400, 300.5),
            (50.0, 100, 550.5),
            (60.0, 300, 750.5),
            (90.0, 90, 945.5),
            (99.0, 9, 995.0),
            (99.9, 1, 1_000.0),
        ];
        assert_eq!(of, expected);
        let one = found[3];
        assert_eq!((one.lock_wait_ms, one.gc_ms), (None, Some(0.0)));
        assert_eq!(one.io_share_of_work, Some(0.75));
    }

    #[test]
    fn few_requests_have_few_bands() {
        assert!(bands(&mut [], true, true).is_empty());
        let found = bands(&mut [sample(4)], true, true);
        assert_eq!((found.len(), found[0].from, found[0].to), (1, 0.0, 100.0));
        let mut samples: Vec<Sample> = (1..=20).map(sample).collect();
        let last = bands(&mut samples, true, true).pop().unwrap();
        assert_eq!((last.from, last.to, last.requests), (99.0, 100.0, 1));
    }
}
