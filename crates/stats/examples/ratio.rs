//! How a candidate's figure relates to a baseline's over interleaved rounds, by the project's own test: pairs
//! `baseline candidate` on standard input, one a line; one JSON object on standard output. The benchmarks use it.

#![allow(clippy::print_stdout, reason = "a program of the benchmarks")]

use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut pairs = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let figures: Vec<f64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let [baseline, candidate] = figures[..] else {
            return Err(format!("{line:?}: give a baseline and a candidate").into());
        };
        pairs.push((baseline, candidate));
    }
    let compared = stats::compare(&pairs, &stats::Rule::default())?;
    let (low, high) = match compared.interval {
        Some(interval) => (interval.low.to_string(), interval.high.to_string()),
        None => ("null".to_owned(), "null".to_owned()),
    };
    println!(
        "{{\"ratio\": {}, \"low\": {low}, \"high\": {high}, \"rounds\": {}, \"verdict\": \"{}\"}}",
        compared.ratio,
        compared.blocks,
        format!("{:?}", compared.verdict).to_lowercase()
    );
    Ok(())
}
