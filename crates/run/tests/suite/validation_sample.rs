//! The golden sample of the validation document keeps its schema, and the types lose nothing of it.

use serde_json::Value;

#[test]
fn the_sample_keeps_the_schema_and_the_types_lose_nothing() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/validation/bursts.json"
    );
    let contracts = run::contracts();
    let contract = contracts
        .iter()
        .find(|c| c.name == "validation-v1")
        .unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let broken = testkit::violations(&contract.schema, &value).unwrap();
    assert!(broken.is_empty(), "{broken:#?}");
    let document: run::validation::Document = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&document).unwrap(), value);
    value["surprise"] = 1.into();
    assert_eq!(
        testkit::violations(&contract.schema, &value).unwrap().len(),
        1
    );
}
