//! What was learned lately, within so many bytes: two generations, of which
//! the older goes when the younger is full. An entry that is used moves into the
//! younger.

use std::collections::HashMap;

/// What an entry takes in addition to its value.
const ENTRY_BYTES: usize = 64;

/// Digests -> values.
#[derive(Debug)]
pub(super) struct Recent {
    young: HashMap<u128, Vec<u8>>,
    young_bytes: usize,
    old: HashMap<u128, Vec<u8>>,
    /// Of one generation.
    most_bytes: usize,
}

impl Recent {
    /// At most so many bytes in all.
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            young: HashMap::new(),
            young_bytes: 0,
            old: HashMap::new(),
            most_bytes: most_bytes / 2,
        }
    }

    pub(super) fn get(&mut self, key: u128) -> Option<&[u8]> {
        if let Some(value) = self.old.remove(&key) {
            // What is in both is newer in the younger one.
            if !self.young.contains_key(&key) {
                self.insert(key, value);
            }
        }
        self.young.get(&key).map(Vec::as_slice)
    }

    pub(super) fn insert(&mut self, key: u128, value: Vec<u8>) {
        let bytes = value.len() + ENTRY_BYTES;
        if self.young_bytes + bytes > self.most_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        if let Some(before) = self.young.insert(key, value) {
            self.young_bytes -= before.len() + ENTRY_BYTES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_unused_goes_and_the_bytes_stay_within() {
        let mut recent = Recent::new(20 * (ENTRY_BYTES + 10));
        recent.insert(0, vec![0; 10]);
        for key in 1..1000_u128 {
            recent.insert(key, vec![1; 10]);
            assert!(recent.get(0).is_some(), "used each time: {key}");
            assert!(recent.young.len() + recent.old.len() <= 20);
        }
        assert!(recent.get(1).is_none());
        assert_eq!(recent.get(999), Some([1; 10].as_slice()));
    }

    #[test]
    fn the_newer_value_counts() {
        let mut recent = Recent::new(4 * (ENTRY_BYTES + 1));
        recent.insert(7, vec![1]);
        recent.insert(8, vec![1]);
        recent.insert(9, vec![1]);
        recent.insert(7, vec![2]);
        assert_eq!(recent.get(7), Some([2].as_slice()));
        recent.insert(7, vec![3]);
        assert_eq!(recent.get(7), Some([3].as_slice()));
    }
}
