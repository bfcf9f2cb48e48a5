//! The digest of a body that comes in pieces: XXH3, 64 bits. Most bodies come in
//! one, for which no state of half a kilobyte is set up.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Of what has come so far.
#[derive(Default)]
pub(crate) enum Digest {
    #[default]
    Empty,
    Whole(u64),
    Pieces(Box<Xxh3>),
}

impl Digest {
    /// A piece; `ended`: the last one.
    pub(crate) fn add(&mut self, piece: &[u8], ended: bool) {
        match self {
            Self::Empty if ended => *self = Self::Whole(xxh3_64(piece)),
            Self::Empty if piece.is_empty() => {}
            Self::Empty => {
                let mut state = Box::new(Xxh3::new());
                state.update(piece);
                *self = Self::Pieces(state);
            }
            Self::Whole(_) => debug_assert!(piece.is_empty(), "something after the last piece"),
            Self::Pieces(state) => state.update(piece),
        }
    }

    pub(crate) fn value(&self) -> u64 {
        match self {
            Self::Empty => xxh3_64(&[]),
            Self::Whole(value) => *value,
            Self::Pieces(state) => state.digest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn however_it_comes(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..5), told: bool) {
            let mut digest = Digest::default();
            for (nth, piece) in pieces.iter().enumerate() {
                digest.add(piece, told && nth + 1 == pieces.len());
            }
            prop_assert_eq!(digest.value(), xxh3_64(&pieces.concat()));
        }
    }
}
