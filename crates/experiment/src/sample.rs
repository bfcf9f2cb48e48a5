//! What unit tests judge and word: the runs of the contract's samples, which were really measured.

use run::{Document, Growth};

/// One of `compare`, `sweep` and `tune`.
pub fn document(kind: &str) -> Document {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/run");
    let text = std::fs::read(format!("{folder}/{kind}.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Of an application that keeps 20 kB of every request.
pub fn growth() -> Growth {
    Growth {
        bytes_per_thousand: 21_495_808.0,
        interval: (21_181_235.0, 21_810_380.0),
        trials: 9,
        resident_bytes: (214 << 20, 1_322 << 20),
        requests: 63_000,
    }
}
