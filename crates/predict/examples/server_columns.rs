//! Columns of the table of calibrated servers, for `bench/server/run.rb`: `server_columns FLIGHT_DIR... [--cpu-ns N]`.

#![allow(clippy::print_stdout, reason = "a program of the benchmarks")]

use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{}",
        columns(&std::env::args().skip(1).collect::<Vec<String>>())?
    );
    Ok(())
}

fn columns(words: &[String]) -> Result<String, String> {
    let flag = words.iter().position(|word| word == "--cpu-ns");
    let cpu_ns = flag.map(|at| {
        words
            .get(at + 1)
            .and_then(|n| n.parse().ok())
            .ok_or("--cpu-ns needs a number")
    });
    let folders = &words[..flag.unwrap_or(words.len())];
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in folders {
        files.extend(flight::find(Path::new(folder)).map_err(|e| e.to_string())?);
    }
    predict::columns(&files, cpu_ns.transpose()?).map_err(|e| e.to_string())
}
