//! The golden samples are documents of this version: they keep the schema, and the types lose nothing of them.

use serde_json::Value;
use std::path::PathBuf;

fn contract() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract")
}

fn samples() -> Vec<(String, Value)> {
    let folder = contract().join("samples/run");
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut found: Vec<(String, Value)> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let value = serde_json::from_str(&text).unwrap();
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                value,
            )
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn there_is_one_of_each_kind() {
    let names: Vec<String> = samples().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["compare.json", "sweep.json", "tune.json"]);
}

#[test]
fn the_samples_keep_the_schema() {
    for (name, sample) in samples() {
        let broken = testkit::violations(&run::json_schema(), &sample).unwrap();
        assert!(broken.is_empty(), "{name}: {broken:#?}");
    }
}

#[test]
fn the_types_lose_nothing_to_the_last_digit() {
    for (name, _) in samples() {
        let text = std::fs::read_to_string(contract().join("samples/run").join(&name)).unwrap();
        let document: run::Document =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let again = serde_json::to_string_pretty(&document).unwrap() + "\n";
        assert!(again == text, "{name} is not what the types write");
    }
}

#[test]
fn the_schema_refuses_what_is_none() {
    let (_, sample) = samples().swap_remove(0);
    for spoil in [
        |v: &mut Value| v["elapsed_s"] = "long".into(),
        |v: &mut Value| v["surprise"] = 1.into(),
        |v: &mut Value| drop(v.as_object_mut().unwrap().remove("plan")),
    ] {
        let mut spoiled = sample.clone();
        spoil(&mut spoiled);
        let broken = testkit::violations(&run::json_schema(), &spoiled).unwrap();
        assert_eq!(broken.len(), 1, "{broken:?}");
    }
}
