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
