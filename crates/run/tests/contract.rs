//! The committed contract is what the types say.

use std::path::PathBuf;

fn committed(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../contract")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_committed_schema_is_the_types_own() {
    let schema: serde_json::Value = serde_json::from_str(&committed("run-v1.schema.json")).unwrap();
    assert_eq!(
        schema,
        run::json_schema(),
        "run `make contract` and commit what it writes"
    );
}

#[test]
fn the_committed_page_is_the_types_own() {
    assert!(
        committed("run-v1.md") == run::field_page(),
        "run `make contract` and commit what it writes"
    );
}

#[test]
fn every_field_is_described() {
    fn check(path: &str, value: &serde_json::Value) {
        if let Some(properties) = value["properties"].as_object() {
            for (name, property) in properties {
                assert!(
                    property["description"].is_string(),
                    "{path}.{name} has no description"
                );
            }
        }
    }
    let schema = run::json_schema();
    check("Document", &schema);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        check(name, definition);
    }
}
