//! The committed schema of `powerband.toml` is the catalogue's own, knows the keys that the reader knows, and takes every
//! configuration of this repository.

use experiment::config::{editor_schema, read_all};
use serde_json::Value;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn the_committed_schema_is_what_the_reader_knows() {
    let path = Path::new(ROOT).join("contract/powerband-toml.schema.json");
    let committed: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(
        committed == editor_schema(),
        "run `make contract` and commit what it writes"
    );
}

/// Keys of a section that the reader takes, found by asking for one that will never exist.
fn known(text: &str) -> Vec<String> {
    let (_, problems) = read_all(text, Path::new("powerband.toml"));
    let listed = problems
        .iter()
        .filter(|p| p.what.contains("no_such_key"))
        .find_map(|p| p.remedy.strip_prefix("the keys there are "));
    let mut keys: Vec<String> = listed
        .unwrap_or_else(|| panic!("{text}: {problems:?}"))
        .split(", ")
        .map(|key| key.rsplit('.').next().unwrap().to_owned())
        .collect();
    keys.sort();
    keys
}

#[test]
fn sections_and_keys_are_the_readers() {
    let schema = editor_schema();
    let keys = |schema: &Value| -> Vec<String> {
        let mut keys: Vec<String> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&schema), known("no_such_key = 1"));
    for section in [
        "app",
        "server",
        "objective",
        "tune",
        "safety",
        "hooks",
        "workload",
    ] {
        let read = known(&format!("[{section}]\nno_such_key = 1"));
        assert_eq!(keys(&schema["properties"][section]), read, "{section}");
    }
    assert_eq!(
        keys(&schema["properties"]["service"]["items"]),
        known("[[service]]\nno_such_key = 1")
    );
}

/// Every `powerband.toml`, and what is called otherwise and read as one.
fn configurations(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            configurations(&path, found);
        } else if path
            .file_name()
            .is_some_and(|name| name == "powerband.toml")
        {
            found.push(path);
        }
    }
}

#[test]
fn every_configuration_here_is_taken_by_schema_and_reader() {
    let root = Path::new(ROOT);
    let mut found = vec![root.join("e2e/redmine.toml")];
    for folder in ["examples", "bench", "experiments"] {
        configurations(&root.join(folder), &mut found);
    }
    let schema = editor_schema();
    for path in &found {
        let text = std::fs::read_to_string(path).unwrap();
        let (_, problems) = read_all(&text, path);
        assert!(problems.is_empty(), "{}: {problems:?}", path.display());
        let value: toml::Value = text.parse::<toml::Table>().unwrap().into();
        let document = serde_json::to_value(value).unwrap();
        let violations = testkit::violations(&schema, &document).unwrap();
        assert!(violations.is_empty(), "{}: {violations:?}", path.display());
    }
    let wrong = serde_json::json!({"arm": [{"name": "a b", "tunr": 1}], "tunes": {}});
    assert_eq!(testkit::violations(&schema, &wrong).unwrap().len(), 3);
}
