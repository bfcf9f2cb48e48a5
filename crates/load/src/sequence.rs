//! Which request comes next: a pure function of workload and seed, so that
//! every arm of a block answers the same requests in the same order.
//!
//! Independent weighted draws would let two windows differ by chance in how
//! many slow requests they hold, which is noise that no block design removes.
//! Requests are therefore dealt from decks of [`DECK`]: each deck holds every
//! request as often as its weight says, to within one card, what is rounded
//! away in one deck is owed to the next, and each deck is shuffled.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use crate::workload::Workload;

/// Requests in a deck. Weights in whole percent are exact in every deck.
pub const DECK: usize = 100;

/// An endless, deterministic stream of indices into [`Workload::requests`].
#[derive(Debug, Clone)]
pub struct Sequence {
    shares: Vec<f64>,
    /// What each request is owed, in cards; sums to zero between decks.
    credit: Vec<f64>,
    deck: Vec<u32>,
    dealt: usize,
    random: Pcg64,
}

impl Sequence {
    /// The stream of this workload and seed.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64) -> Self {
        let total: f64 = workload.requests().iter().map(|r| r.weight).sum();
        let shares: Vec<f64> = workload
            .requests()
            .iter()
            .map(|r| r.weight / total)
            .collect();
        Self {
            credit: vec![0.0; shares.len()],
            shares,
            deck: Vec::with_capacity(DECK),
            dealt: 0,
            random: Pcg64::seed_from_u64(seed),
        }
    }

    /// The next index; the stream never ends.
    pub fn next_index(&mut self) -> usize {
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
