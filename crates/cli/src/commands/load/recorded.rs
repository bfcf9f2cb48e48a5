//! Recorded traffic, read from whatever file it is in.

use super::requests::Requested;
use experiment::config::{Asked, Hosts, Problem, read_recording};
use std::path::Path;

/// Reads the file of `--replay` or `--workload`.
pub fn read(file: &Path, flag: &str, hosts: Hosts) -> Result<Requested, Vec<Problem>> {
    let name = file.display().to_string();
    let recording = read_recording(file, &Asked::new(&name, flag), hosts)?;
    Ok(Requested {
        workload: recording.workload,
        name,
        instants_ns: recording.instants_ns,
        notes: recording.notes,
    })
}

/// `2x`, `0.5` or `10 x`.
pub fn parse_speed(asked: &Asked) -> Result<f64, Problem> {
    let text = asked.text.trim();
    let number = text.strip_suffix(['x', '×']).unwrap_or(text).trim();
    number
        .parse()
        .ok()
        .filter(|speed| (0.001..=1000.0).contains(speed))
        .ok_or_else(|| {
            Problem::of(
                asked,
                "no speed",
                "give a factor from 0.001x to 1000x, such as 2x",
            )
        })
}
