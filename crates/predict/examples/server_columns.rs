//! Columns of the table of calibrated servers, for `bench/server/run.rb`: `server_columns FLIGHT_DIR... [--cpu-ns N | --kept FLIGHT_DIR...]`.

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
    let flag = |name: &str| words.iter().position(|word| word == name);
    let (kept, cpu_ns) = (flag("--kept"), flag("--cpu-ns"));
    let files = |words: &[String]| -> Result<Vec<PathBuf>, String> {
        let found = words.iter().map(|word| flight::find(Path::new(word)));
        let found: Result<Vec<Vec<PathBuf>>, _> = found.collect();
        Ok(found.map_err(|e| e.to_string())?.concat())
    };
    let own = &words[..kept.or(cpu_ns).unwrap_or(words.len())];
    let kept = kept.map_or(&[][..], |at| &words[at + 1..]);
    let cpu_ns = cpu_ns.and_then(|at| words.get(at + 1)?.parse().ok());
    predict::columns(&files(own)?, &files(kept)?, cpu_ns).map_err(|e| e.to_string())
}
