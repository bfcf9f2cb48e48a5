//! The document's JSON Schema and its page for people, both made from the types and their comments, so that
//! neither can drift from what is written.

use crate::document::{Document, SCHEMA};
use serde_json::{Map, Value};
use std::fmt::Write;

/// The JSON Schema of the run document.
pub fn json_schema() -> Value {
    let mut schema =
        serde_json::to_value(schemars::schema_for!(Document)).expect("a schema is JSON");
    schema["properties"]["schema"]["const"] = Value::from(SCHEMA);
    schema
}

/// A Markdown page that describes every field.
pub fn field_page() -> String {
    let schema = json_schema();
    let mut page = format!(
        "# The run document, version 1\n\n\
         What `powerband tune|compare|sweep --json` prints and `run.json` in a run folder holds. Generated from the\n\
         types in `crates/run`; `contract/run-v1.schema.json` is the same for machines, and the samples in\n\
         `contract/samples/run/` are tested against it from Rust and from Ruby. Times are milliseconds in `_ms`,\n\
         seconds in `_s`; sizes are bytes; rates are per second; ratios and shares are plain numbers.\n\
         An absent or `null` field was not measured; it never means zero.\n\n\
         In the folder, `trials/ID.json` holds one trial each with its raw histograms (`hdr`).\n\n\
         The document's `schema` is `{SCHEMA}`.\n"
    );
    section(&mut page, "Document", &schema);
    let empty = Map::new();
    let definitions = schema["$defs"].as_object().unwrap_or(&empty);
    for (name, definition) in definitions {
        section(&mut page, name, definition);
    }
    page
}

fn section(page: &mut String, name: &str, schema: &Value) {
    let about = schema["description"].as_str().unwrap_or_default();
    let _ = write!(page, "\n## {name}\n\n{about}\n");
    if let Some(properties) = schema["properties"].as_object() {
        page.push_str("\n| field | type | meaning |\n|---|---|---|\n");
        for (field, property) in properties {
            let meaning = property["description"]
                .as_str()
                .unwrap_or_default()
                .replace('\n', " ")
                .replace('|', "\\|");
            let _ = writeln!(page, "| `{field}` | {} | {meaning} |", type_of(property));
        }
    } else if let Some(variants) = schema["oneOf"].as_array() {
        page.push_str("\n| value | meaning |\n|---|---|\n");
        for variant in variants {
            let _ = writeln!(
                page,
                "| `{}` | {} |",
                variant["const"].as_str().unwrap_or_default(),
                variant["description"].as_str().unwrap_or_default()
            );
        }
    }
}

fn type_of(property: &Value) -> String {
    if let Some(name) = property["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    if let Some(choices) = property["anyOf"].as_array() {
        return choices.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    match &property["type"] {
        Value::String(name) if name == "array" => match property.get("items") {
            Some(items) => format!("array of {}", type_of(items)),
            None => "pair".to_owned(),
        },
        Value::String(name) => name.clone(),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any".to_owned(),
    }
}
