//! What unit tests judge and word: the runs of the contract's samples, which were really measured.

use run::Document;

/// One of `compare`, `sweep` and `tune`.
pub fn document(kind: &str) -> Document {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/run");
    let text = std::fs::read(format!("{folder}/{kind}.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}
