//! The committed contract is what the types say.

use std::path::PathBuf;

fn committed(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../contract")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_committed_schemas_are_the_types_own() {
    for contract in run::contracts() {
        let text = committed(&format!("{}.schema.json", contract.name));
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            schema, contract.schema,
            "{}: run `make contract` and commit what it writes",
            contract.name
        );
    }
}

#[test]
fn the_committed_pages_are_the_types_own() {
    for contract in run::contracts() {
        assert!(
            committed(&format!("{}.md", contract.name)) == contract.page,
            "{}: run `make contract` and commit what it writes",
            contract.name
        );
    }
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
    for contract in run::contracts() {
        check(contract.name, &contract.schema);
        for (name, definition) in contract.schema["$defs"].as_object().unwrap() {
            check(&format!("{} {name}", contract.name), definition);
        }
    }
}

#[test]
fn a_row_of_a_page_is_one_line() {
    for contract in run::contracts() {
        for line in contract.page.lines().filter(|line| line.starts_with("| ")) {
            assert!(line.ends_with('|'), "{}: {line}", contract.name);
        }
    }
}
