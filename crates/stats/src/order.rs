//! The order of arms within each block.

use rand::seq::SliceRandom;

/// A fresh random order of `0..arms` for each block: what drifts with time
/// then falls on no arm in particular. The same seed gives the same orders.
pub fn block_orders(arms: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = crate::generator(seed);
    let block = |_| {
        let mut order: Vec<usize> = (0..arms).collect();
        order.shuffle(&mut rng);
        order
    };
    (0..blocks).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Golden: a resumed run must continue with the orders it began with.
    #[test]
    fn orders_are_pinned() {
        assert_eq!(
            block_orders(4, 3, 1),
            [[3, 2, 0, 1], [3, 1, 2, 0], [1, 2, 3, 0]]
        );
    }

    #[test]
    fn each_arm_comes_first_about_equally_often() {
        let mut first = [0_i32; 3];
        for order in block_orders(3, 3_000, 5) {
            first[order[0]] += 1;
            let mut sorted = order;
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(first.iter().all(|n| (n - 1_000).abs() < 110), "{first:?}");
    }
}
