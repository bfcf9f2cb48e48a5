//! Whether a prediction puts configurations in the order that they really have.

/// Pairs that truly differ, and how many of them were put in the right order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ranking {
    pub pairs: usize,
    pub right: usize,
}

impl Ranking {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Ranking) -> Ranking {
        Ranking {
            pairs: self.pairs + other.pairs,
            right: self.right + other.right,
        }
    }
}

/// Of all pairs whose true values differ by more than `margin` (0.05: the larger is over 1.05 times the smaller), how many
/// are predicted in that order. Two that are predicted alike are not.
pub fn ranking(predicted_and_true: &[(f64, f64)], margin: f64) -> Ranking {
    let mut found = Ranking::default();
    for (nth, &(predicted, truth)) in predicted_and_true.iter().enumerate() {
        for &(other_predicted, other) in &predicted_and_true[nth + 1..] {
            let apart = truth.max(other) > truth.min(other) * (1.0 + margin);
            let same_way = (truth > other && predicted > other_predicted)
                || (truth < other && predicted < other_predicted);
            found.pairs += usize::from(apart);
            found.right += usize::from(apart && same_way);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // 100 and 104 are too close to count; 90 is below both, and predicted above the second.
        let found = ranking(&[(100.0, 100.0), (80.0, 104.0), (85.0, 90.0)], 0.05);
        assert_eq!(found, Ranking { pairs: 2, right: 1 });
        let alike = ranking(&[(1.0, 1.0), (1.0, 2.0)], 0.05);
        assert_eq!(alike, Ranking { pairs: 1, right: 0 });
        assert_eq!(ranking(&[(1.0, 1.0)], 0.05), Ranking::default());
    }

    proptest! {
        /// Another way to say it: sort by the truth, and count the inversions of what was predicted.
        #[test]
        fn inversions_among_the_sorted(values in prop::collection::vec((1_u32..40, 1_u32..40), 0..25)) {
            let values: Vec<(f64, f64)> = values.iter().map(|&(p, t)| (f64::from(p), f64::from(t))).collect();
            let mut sorted = values.clone();
            sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
            let (mut pairs, mut right) = (0, 0);
            for later in 1..sorted.len() {
                for earlier in 0..later {
                    if sorted[later].1 / sorted[earlier].1 > 1.1 {
                        pairs += 1;
                        if sorted[later].0 / sorted[earlier].0 > 1.0 { right += 1; }
                    }
                }
            }
            prop_assert_eq!(ranking(&values, 0.1), Ranking { pairs, right });
        }
    }
}
