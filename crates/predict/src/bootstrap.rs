//! Draws of a trace: what it might have been, had it been made at another time.

use capacity::sim::Work;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// As many requests as the trace has, in moving blocks of neighbours drawn with replacement, at the old arrivals. Requests
/// that come together resemble each other (a cold cache, a crawler), and stay together in a block (Künsch 1989).
pub(crate) fn draw(work: &Work, seed: u64) -> Work {
    let mut random = Pcg64::seed_from_u64(seed);
    let length = block_length(work.len());
    let mut drawn = Work::new();
    let mut from = 0;
    for (nth, &arrival_ns) in work.arrivals_ns().iter().enumerate() {
        if nth % length == 0 {
            from = random.random_range(0..=work.len() - length);
        }
        drawn.push(arrival_ns, work.steps(from + nth % length));
    }
    drawn
}

/// Long enough for what neighbours share, and short enough that there are many.
pub(crate) fn block_length(requests: usize) -> usize {
    ((requests as f64).cbrt().ceil() as usize).clamp(1, requests.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use capacity::sim::Step;

    #[test]
    fn neighbours_stay_together_and_every_part_is_drawn() {
        let mut work = Work::new();
        (0..1_000).for_each(|n| work.push(n, [Step::Held(n + 1)]));
        let drawn = draw(&work, 7);
        assert_eq!(drawn, draw(&work, 7));
        assert_eq!(drawn.arrivals_ns(), work.arrivals_ns());
        let held = |nth: usize| match drawn.steps(nth).next() {
            Some(Step::Held(ns)) => ns,
            other => panic!("{other:?}"),
        };
        let joins = (1..1_000).filter(|&n| held(n) == held(n - 1) + 1).count();
        assert!(joins >= 900, "{joins}");
        let tenths: std::collections::BTreeSet<u64> =
            (0..1_000).map(|n| (held(n) - 1) / 100).collect();
        assert_eq!(tenths.len(), 10);
    }
}
