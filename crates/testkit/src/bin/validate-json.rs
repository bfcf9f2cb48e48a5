//! `validate-json SCHEMA FILE…`: names what breaks the schema; exit 1 when anything does.
#![allow(clippy::print_stderr)]

use serde_json::Value;
use std::process::ExitCode;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let Some((schema, files)) = names.split_first().filter(|(_, files)| !files.is_empty()) else {
        eprintln!("usage: validate-json SCHEMA FILE…");
        return ExitCode::from(2);
    };
    match check(schema, files) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn check(schema: &str, files: &[String]) -> Result<bool, String> {
    let schema = read(schema)?;
    let mut kept = true;
    for file in files {
        for violation in testkit::violations(&schema, &read(file)?)? {
            eprintln!("{file}: {violation}");
            kept = false;
        }
    }
    Ok(kept)
}

fn read(name: &str) -> Result<Value, String> {
    let text = std::fs::read_to_string(name).map_err(|e| format!("{name}: {e}"))?;
    serde_json::from_str(&text).map_err(|e| format!("{name} is not one JSON document: {e}"))
}
