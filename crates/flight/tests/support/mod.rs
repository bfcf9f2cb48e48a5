//! What tests of damaged files share.

use std::path::PathBuf;

use proptest::prelude::*;

/// A golden sample: `flight/basic.flight`.
pub fn sample(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples");
    std::fs::read(folder.join(name)).expect("the golden samples are part of the repository")
}

pub fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    bytes[offset..offset + value.len()].copy_from_slice(value);
}

/// Numbers that a careless reader trips over.
pub fn extremes() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        Just(u64::from(u32::MAX)),
        0_u64..200,
        any::<u64>(),
    ]
}

/// What happens to a file: words of its header that a careless reader trips over, other bytes anywhere, and a cut.
#[derive(Debug, Clone)]
pub struct Damage {
    words: Vec<(usize, u64)>,
    anywhere: Vec<(prop::sample::Index, u8)>,
    cut: Option<prop::sample::Index>,
}

impl Damage {
    pub fn apply(&self, bytes: &mut Vec<u8>) {
        for (word, value) in &self.words {
            put(bytes, 4 * word, &value.to_le_bytes());
        }
        for (at, byte) in &self.anywhere {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        if let Some(cut) = self.cut {
            bytes.truncate(cut.index(bytes.len()));
        }
    }
}

/// Damage to a file whose header has these words of four bytes.
pub fn damage(header: std::ops::Range<usize>) -> impl Strategy<Value = Damage> {
    (
        proptest::collection::vec((header, extremes()), 0..4),
        proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        proptest::option::of(any::<prop::sample::Index>()),
    )
        .prop_map(|(words, anywhere, cut)| Damage {
            words,
            anywhere,
            cut,
        })
}
