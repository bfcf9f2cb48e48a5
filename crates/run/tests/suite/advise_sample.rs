//! The golden sample of the advice document keeps its schema, and the types lose nothing of it.

use serde_json::Value;

#[test]
fn the_sample_keeps_the_schema_and_the_types_lose_nothing() {
    let path = "/../../contract/samples/advise/collecting.json";
    let path = format!("{}{path}", env!("CARGO_MANIFEST_DIR"));
    let contracts = run::contracts();
    let contract = contracts.iter().find(|c| c.name == "advise-v1").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let broken = testkit::violations(&contract.schema, &value).unwrap();
    assert!(broken.is_empty(), "{broken:#?}");
    let document: run::advise::Document = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&document).unwrap(), value);
    value["suggestions"][0]["settings"] = "gc.malloc_limit=1MiB".into();
    let broken = testkit::violations(&contract.schema, &value).unwrap();
    assert_eq!(broken.len(), 1);
}
