//! The golden samples of documents keep their schemas, and the types lose nothing of them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The sample, which one unknown field spoils.
fn kept<D: DeserializeOwned + Serialize>(name: &str, contract: &str) {
    let path = format!(
        "{}/../../contract/samples/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let contracts = run::contracts();
    let contract = contracts.iter().find(|c| c.name == contract).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let broken = testkit::violations(&contract.schema, &value).unwrap();
    assert!(broken.is_empty(), "{name}: {broken:#?}");
    let document: D = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&document).unwrap(), value, "{name}");
    value["more"] = true.into();
    let broken = testkit::violations(&contract.schema, &value).unwrap();
    assert_eq!(broken.len(), 1, "{name}");
}

#[test]
fn the_samples_keep_their_schemas_and_the_types_lose_nothing() {
    kept::<run::advise::Document>("advise/collecting", "advise-v1");
    kept::<run::capacity::Document>("capacity/mixed", "capacity-v1");
    kept::<run::duplex::Document>("duplex/three", "duplex-v1");
    kept::<run::memory::Document>("memory/cluster", "memory-v1");
    kept::<run::memory::Comparison>("memory/comparison", "memory-comparison-v1");
    kept::<run::predict::Document>("predict/mixed", "predict-v1");
    kept::<run::production::Document>("verdict/waiting", "verdict-v1");
    kept::<run::before_after::Document>("before-after/week", "before-after-v1");
}
