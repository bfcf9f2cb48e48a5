//! The JSON Schemas of the documents and their pages for people, both made from the types and their comments, so that
//! neither can drift from what is written.

use crate::{
    advise, before_after, calc, capacity, capture, collections, counters, doctor, document, drift,
    duplex, inspect, leak, load, memory, predict, production, survivors, trace, validation,
};
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::fmt::Write;

/// What is published about one kind of document.
#[derive(Debug)]
pub struct Contract {
    /// Name of its files in `contract/`, e.g. `run-v1`.
    pub name: &'static str,
    /// The JSON Schema.
    pub schema: Value,
    /// A Markdown page that describes every field.
    pub page: String,
}

/// Every kind of document that powerband prints.
pub fn contracts() -> Vec<Contract> {
    vec![
        contract::<document::Document>("run-v1", document::SCHEMA, RUN),
        contract::<load::Document>("load-v1", load::SCHEMA, LOAD),
        contract::<capacity::Document>("capacity-v1", capacity::SCHEMA, CAPACITY),
        contract::<capture::Document>("capture-v1", capture::SCHEMA, CAPTURE),
        contract::<advise::Document>("advise-v1", advise::SCHEMA, ADVISE),
        contract::<calc::Document>("calc-v1", calc::SCHEMA, CALC),
        contract::<collections::Document>("collections-v1", collections::SCHEMA, COLLECTIONS),
        contract::<counters::Document>("counters-v1", counters::SCHEMA, COUNTERS),
        contract::<doctor::Document>("doctor-v1", doctor::SCHEMA, DOCTOR),
        contract::<drift::Document>("drift-v1", drift::SCHEMA, DRIFT),
        contract::<duplex::Document>("duplex-v1", duplex::SCHEMA, DUPLEX),
        contract::<inspect::Document>("inspect-v1", inspect::SCHEMA, INSPECT),
        contract::<leak::Document>("leak-v1", leak::SCHEMA, LEAK),
        contract::<memory::Document>("memory-v1", memory::SCHEMA, MEMORY),
        contract::<memory::Comparison>(
            "memory-comparison-v1",
            memory::COMPARISON_SCHEMA,
            MEMORY_COMPARISON,
        ),
        contract::<predict::Document>("predict-v1", predict::SCHEMA, PREDICT),
        contract::<survivors::Document>("survivors-v1", survivors::SCHEMA, SURVIVORS),
        contract::<trace::Document>("trace-v1", trace::SCHEMA, TRACE),
        contract::<validation::Document>("validation-v1", validation::SCHEMA, VALIDATION),
        contract::<production::Document>("verdict-v1", production::SCHEMA, VERDICT),
        contract::<before_after::Document>("before-after-v1", before_after::SCHEMA, BEFORE_AFTER),
    ]
}

/// The JSON Schema of the run document.
pub fn json_schema() -> Value {
    schema_of::<document::Document>(document::SCHEMA)
}

const RUN: &str = "# The run document, version 1\n\n\
     What `powerband tune|compare|sweep --json` prints and `run.json` in a run folder holds. Generated from the\n\
     types in `crates/run`; `contract/run-v1.schema.json` is the same for machines, and the samples in\n\
     `contract/samples/run/` are tested against it from Rust and from Ruby. Times are milliseconds in `_ms`,\n\
     seconds in `_s`; sizes are bytes; rates are per second; ratios and shares are plain numbers.\n\
     An absent or `null` field was not measured; it never means zero.\n\n\
     In the folder, `trials/ID.json` holds one trial each with its raw histograms (`hdr`).\n";

const CAPACITY: &str = "# The capacity document, version 1\n\n\
     What `powerband capacity --json` prints and `capacity.json` in its folder holds. Generated from the types in\n\
     `crates/run`; `contract/capacity-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`,\n\
     seconds in `_s`; rates are per second; shares are plain numbers from 0 to 1. How the search goes and what its\n\
     interval means is in `docs/capacity.md`.\n";

const ADVISE: &str = "# The advice document, version 1\n\n\
     What `powerband advise --json` prints. Generated from the types in `crates/run`;\n\
     `contract/advise-v1.schema.json` is the same for machines. Each check that was made stands in exactly one of\n\
     `suggestions`, `left` and `not_known`. The checks, their thresholds and where these are from are in `docs/advise.md`.\n";

const CALC: &str = "# The calc document, version 1\n\n\
     What `powerband calc WHAT --json` prints. Generated from the types in `crates/run`;\n\
     `contract/calc-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`; rates are per second;\n\
     shares are plain numbers from 0 to 1. An absent or `null` field was not asked for, is infinite or has no formula;\n\
     it never means zero. What each formula takes for granted, and its source, is in `docs/calc.md`.\n";

const CAPTURE: &str = "# The capture document, version 1\n\n\
     What `powerband capture info --json` prints. Generated from the types in `crates/run`;\n\
     `contract/capture-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`, seconds in `_s`; rates\n\
     are per second; shares are plain numbers from 0 to 1. An absent or `null` field is not in the file; it never means\n\
     zero. What the formats hold is in `docs/traffic.md`.\n";

const COLLECTIONS: &str = "# The collections document, version 1\n\n\
     What `powerband trace --gc --json` prints. Generated from the types in `crates/run`;\n\
     `contract/collections-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`; sizes are bytes in\n\
     `_bytes`. An absent or `null` field is not known; it never means zero. What each figure is taken from is in\n\
     `contract/flight-v1.md`.\n";

const COUNTERS: &str = "# The counters document, version 1\n\n\
     What `powerband inspect --save FILE` writes and `--since FILE` subtracts. Generated from the types in `crates/run`;\n\
     `contract/counters-v1.schema.json` is the same for machines. Times are nanoseconds. A counter or bucket that is not\n\
     there is 0; whether it was measured is in `measured`. A reader ignores fields that it does not know.\n";

const LEAK: &str = "# The leak document, version 1\n\n\
     What `powerband leak --json` prints and `leak.json` in its folder holds. Generated from the types in `crates/run`;\n\
     `contract/leak-v1.schema.json` is the same for machines. Times are seconds; sizes are bytes. An absent or `null` field is not\n\
     known; it never means zero. How it is measured and what each verdict means is in `docs/leak.md`.\n";

const PREDICT: &str = "# The predict document, version 1\n\n\
     What `powerband predict FLIGHT_DIR --json` prints. Generated from the types in `crates/run`;\n\
     `contract/predict-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`, microseconds in\n\
     `_us`; rates are per second; shares are plain numbers from 0 to 1; intervals are of 90 %. An absent or `null`\n\
     field was not asked for or is not known; it never means zero. What stands behind each figure is in\n\
     `docs/predict.md`.\n";

const SURVIVORS: &str = "# The survivors document, version 1\n\n\
     What `powerband trace --survivors --json` prints. Generated from the types in `crates/run`;\n\
     `contract/survivors-v1.schema.json` is the same for machines. Times are seconds; sizes are bytes; shares are plain\n\
     numbers from 0 to 1. An absent or `null` field is not known; it never means zero. How objects are sampled and what\n\
     each figure means is in `docs/trace.md`; the file that the agent writes is `contract/survivors-file-v1.md`.\n";

const TRACE: &str = "# The trace document, version 1\n\n\
     What `powerband trace --json` prints about the file for Perfetto that it wrote. Generated from the types in\n\
     `crates/run`; `contract/trace-v1.schema.json` is the same for machines. What is in the file itself is in\n\
     `docs/trace.md`.\n";

const VALIDATION: &str = "# The validation document, version 1\n\n\
     What `powerband predict --validate --json` prints and `validation.json` in its folder holds. Generated from the\n\
     types in `crates/run`; `contract/validation-v1.schema.json` is the same for machines. Times are milliseconds in\n\
     `_ms`, seconds in `_s`; rates are per second; shares and errors are plain numbers (0.05 is 5 %). How it is measured\n\
     and what each score means is in `docs/validation.md`.\n";

const VERDICT: &str = "# The verdict document, version 1\n\n\
     What `powerband verdict --json` prints. Generated from the types in `crates/run`;\n\
     `contract/verdict-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`; sizes are bytes in\n\
     `_bytes`; ratios and shares are plain numbers. An absent or `null` field is not known; it never means zero. How to\n\
     read it is in `docs/experiment.md`, what stands behind it in `docs/method.md`.\n";

const BEFORE_AFTER: &str = "# The before-after document, version 1\n\n\
     What `powerband verdict --before … --after … --json` prints. Generated from the types in `crates/run`;\n\
     `contract/before-after-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`; sizes are bytes in\n\
     `_bytes`; ratios and shares are plain numbers. An absent or `null` field is not known; it never means zero. How to\n\
     read it is in `docs/before-after.md`, what stands behind it in `docs/method.md`.\n";

const DOCTOR: &str = "# The doctor document, version 1\n\n\
     What `powerband doctor --json` prints. Generated from the types in `crates/run`;\n\
     `contract/doctor-v1.schema.json` is the same for machines. Each check stands in exactly one of `findings`, `fine` and\n\
     `not_known`. The checks, their thresholds and where these are from are in `docs/doctor.md`.\n";

const DRIFT: &str = "# The drift document, version 1\n\n\
     What `powerband drift --json` prints. Generated from the types in `crates/run`; `contract/drift-v1.schema.json` is\n\
     the same for machines. Milliseconds, bytes, requests a second, or plain numbers from 0 to 1, by the figure. An absent\n\
     or `null` field is not known; it never means zero. How to read it is in `docs/drift.md`.\n";

const DUPLEX: &str = "# The duplex document, version 1\n\n\
     What `powerband compare --shadow-log FILE --json` prints, and what a mirror that runs shows. Generated from the types\n\
     in `crates/run`; `contract/duplex-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`, seconds\n\
     in `_s`; sizes are bytes; ratios and shares are plain numbers; intervals of ratios are of 95 %. An absent or `null`\n\
     field is infinite or not known; it never means zero. How to read it is in `docs/mirror.md`, what stands behind it in\n\
     `docs/method.md`.\n";

const LOAD: &str = "# The load document, version 1\n\n\
     What `powerband load --json` prints. Generated from the types in `crates/run`; `contract/load-v1.schema.json`\n\
     is the same for machines. Times are milliseconds in `_ms`, seconds in `_s`; rates are per second; shares are\n\
     plain numbers from 0 to 1. What each latency counts from and to is in `docs/load.md`.\n";

const MEMORY: &str = "# The memory document, version 1\n\n\
     What `powerband memory --json` prints. Generated from the types in `crates/run`;\n\
     `contract/memory-v1.schema.json` is the same for machines. Sizes are bytes, times seconds in `_s`. An absent or `null`\n\
     field is not known; it never means zero. What each figure is read from is in `docs/memory.md`.\n";

const MEMORY_COMPARISON: &str = "# The memory-comparison document, version 1\n\n\
     What `powerband memory --compare BEFORE AFTER --json` prints. Generated from the types in `crates/run`;\n\
     `contract/memory-comparison-v1.schema.json` is the same for machines. Sizes are bytes, times seconds in `_s`. An absent\n\
     or `null` field is not known; it never means zero. How to read it is in `docs/memory.md`.\n";

const INSPECT: &str = "# The inspect document, version 1\n\n\
     What `powerband inspect --json` prints. Generated from the types in `crates/run`;\n\
     `contract/inspect-v1.schema.json` is the same for machines. Times are milliseconds in `_ms`, seconds in `_s`;\n\
     rates are per second; shares are plain numbers from 0 to 1. An absent or `null` field was not measured; it never\n\
     means zero. What each figure is taken from is in `docs/inspect.md`.\n";

fn contract<T: JsonSchema>(name: &'static str, schema: &str, opening: &str) -> Contract {
    let schema_value = schema_of::<T>(schema);
    Contract {
        name,
        page: field_page(&schema_value, schema, opening),
        schema: schema_value,
    }
}

fn schema_of<T: JsonSchema>(name: &str) -> Value {
    let mut schema = serde_json::to_value(schemars::schema_for!(T)).expect("a schema is JSON");
    schema["properties"]["schema"]["const"] = Value::from(name);
    schema
}

fn field_page(schema: &Value, name: &str, opening: &str) -> String {
    let mut page = format!("{opening}\nThe document's `schema` is `{name}`.\n");
    section(&mut page, "Document", schema);
    let empty = Map::new();
    let definitions = schema["$defs"].as_object().unwrap_or(&empty);
    for (name, definition) in definitions {
        section(&mut page, name, definition);
    }
    page
}

/// The description in one cell of a table.
fn cell(described: &Value) -> String {
    let text = described["description"].as_str().unwrap_or_default();
    text.replace('\n', " ").replace('|', "\\|")
}

fn section(page: &mut String, name: &str, schema: &Value) {
    let about = schema["description"].as_str().unwrap_or_default();
    let _ = write!(page, "\n## {name}\n\n{about}\n");
    if let Some(properties) = schema["properties"].as_object() {
        page.push_str("\n| field | type | meaning |\n|---|---|---|\n");
        for (field, property) in properties {
            let meaning = cell(property);
            let _ = writeln!(page, "| `{field}` | {} | {meaning} |", type_of(property));
        }
    } else if let Some(variants) = schema["oneOf"].as_array() {
        page.push_str("\n| value | meaning |\n|---|---|\n");
        for variant in variants {
            let _ = writeln!(
                page,
                "| `{}` | {} |",
                variant["const"].as_str().unwrap_or_default(),
                cell(variant)
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
