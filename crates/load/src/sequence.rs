//! Which request comes next: a pure function of workload and seed, so that
//! every arm of a block answers the same requests in the same order.
//!
//! Independent weighted draws would let two windows differ by chance in how
//! many slow requests they hold, which is noise that no block design removes.
//! Requests are therefore dealt from decks of [`DECK`]: each deck holds every
//! request as often as its weight says, to within one card, what is rounded
//! away in one deck is owed to the next, and each deck is shuffled. A recording
//! keeps its own order.

use std::sync::Arc;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use crate::workload::Workload;

/// Requests in a deck. Weights in whole percent are exact in every deck.
pub const DECK: usize = 100;

/// An endless, deterministic stream of indices: of requests outside sessions, as
/// in [`Workload::requests`], and, counted on from these, of sessions.
#[derive(Debug, Clone)]
pub struct Sequence {
    shares: Vec<f64>,
    /// What each request is owed, in cards; sums to zero between decks.
    credit: Vec<f64>,
    deck: Vec<u32>,
    dealt: usize,
    random: Pcg64,
    order: Option<Arc<[u32]>>,
}

impl Sequence {
    /// The stream of this workload and seed.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64) -> Self {
        let total: f64 = workload.weights().sum();
        let shares: Vec<f64> = workload.weights().map(|weight| weight / total).collect();
        Self {
            credit: vec![0.0; shares.len()],
            shares,
            deck: Vec::with_capacity(DECK),
            dealt: workload.begins_at(seed),
            random: Pcg64::seed_from_u64(seed),
            order: workload.order().cloned(),
        }
    }

    /// The next index; the stream never ends.
    pub fn next_index(&mut self) -> usize {
        if let Some(order) = &self.order {
            let index = order[self.dealt];
            self.dealt = (self.dealt + 1) % order.len();
            return index as usize;
        }
        if self.shares.len() == 1 {
            return 0;
        }
        if self.dealt == self.deck.len() {
            self.fill();
        }
        let index = self.deck[self.dealt];
        self.dealt += 1;
        index as usize
    }

    /// Smooth weighted round robin: each card goes to the request that is owed
    /// most, which keeps every prefix of decks within a card or so of exact.
    fn fill(&mut self) {
        self.deck.clear();
        self.dealt = 0;
        for _ in 0..DECK {
            let mut most = 0;
            for (index, share) in self.shares.iter().enumerate() {
                self.credit[index] += share;
                if self.credit[index] > self.credit[most] {
                    most = index;
                }
            }
            self.credit[most] -= 1.0;
            self.deck
                .push(u32::try_from(most).expect("a workload is far smaller than u32::MAX"));
        }
        self.deck.shuffle(&mut self.random);
    }
}

impl Iterator for Sequence {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        Some(self.next_index())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn workload(weights: &[f64]) -> Workload {
        let text: String = weights
            .iter()
            .enumerate()
            .map(|(i, weight)| format!("[[request]]\npath = \"/{i}\"\nweight = {weight:?}\n"))
            .collect();
        Workload::from_toml(&text).unwrap()
    }

    /// Pins generator and shuffle, as the arrivals' test does.
    #[test]
    fn sequences_never_change() {
        let first: Vec<usize> = Sequence::new(&workload(&[5.0, 3.0, 2.0]), 42)
            .take(12)
            .collect();
        assert_eq!(first, GOLDEN);
    }

    const GOLDEN: [usize; 12] = [1, 1, 1, 1, 0, 2, 0, 1, 2, 1, 0, 0];

    #[test]
    fn whole_percentages_are_exact_in_every_deck() {
        let mut sequence = Sequence::new(&workload(&[50.0, 30.0, 19.0, 1.0]), 9);
        for _ in 0..50 {
            let mut counts = [0; 4];
            for index in sequence.by_ref().take(DECK) {
                counts[index] += 1;
            }
            assert_eq!(counts, [50, 30, 19, 1]);
        }
    }

    #[test]
    fn the_order_within_decks_varies() {
        let all: Vec<usize> = Sequence::new(&workload(&[1.0, 1.0]), 3)
            .take(4 * DECK)
            .collect();
        let decks: Vec<&[usize]> = all.chunks(DECK).collect();
        assert_ne!(decks[0], decks[1]);
        assert_ne!(decks[1], decks[2]);
    }

    proptest! {
        #[test]
        fn counts_stay_near_their_shares(
            weights in prop::collection::vec(0.01f64..100.0, 1..20),
            seed: u64,
            decks in 1usize..40,
        ) {
            let workload = workload(&weights);
            let drawn: Vec<usize> = Sequence::new(&workload, seed).take(decks * DECK).collect();
            let total: f64 = weights.iter().sum();
            for (index, weight) in weights.iter().enumerate() {
                let count = drawn.iter().filter(|drawn| **drawn == index).count();
                let exact = weight / total * (decks * DECK) as f64;
                // Independent draws would miss this by tens.
                prop_assert!((count as f64 - exact).abs() < 4.0, "{count} for {exact}");
            }
            let again: Vec<usize> = Sequence::new(&workload, seed).take(decks * DECK).collect();
            prop_assert_eq!(drawn, again);
        }
    }
}
