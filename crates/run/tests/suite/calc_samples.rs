//! The golden samples of the calc document keep its schema, and the types lose nothing of them.

use serde_json::Value;

#[test]
fn the_samples_keep_the_schema_and_the_types_lose_nothing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/calc");
    let contract = run::contracts()
        .into_iter()
        .find(|c| c.name == "calc-v1")
        .unwrap();
    for name in ["amdahl", "threads", "queue", "usl", "pool"] {
        let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        let broken = testkit::violations(&contract.schema, &value).unwrap();
        assert!(broken.is_empty(), "{name}: {broken:#?}");
        let document: run::calc::Document = serde_json::from_str(&text).unwrap();
        assert_eq!(
            serde_json::to_string_pretty(&document).unwrap() + "\n",
            text,
            "{name}"
        );
        value["surprise"] = 1.into();
        assert_eq!(
            testkit::violations(&contract.schema, &value).unwrap().len(),
            1
        );
    }
}
