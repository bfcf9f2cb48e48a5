//! `validate-trace FILE…`: names what breaks the JSON trace event format; exit 1 when anything does.
#![allow(clippy::print_stderr)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: validate-trace FILE…");
        return ExitCode::from(2);
    }
    let mut kept = true;
    for file in files {
        let read = std::fs::read_to_string(&file).map_err(|e| e.to_string());
        match read.and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string())) {
            Ok(document) => {
                for problem in testkit::trace_problems(&document) {
                    eprintln!("{file}: {problem}");
                    kept = false;
                }
            }
            Err(why) => {
                eprintln!("{file}: {why}");
                return ExitCode::from(2);
            }
        }
    }
    if kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
