//! What the processes that run take: servers are bought by the gigabyte.

use crate::figures::{bytes, counted};
use crate::sheet::Sheet;
use run::inspect::{Memory, MemoryMeasure, ProcessMemory};

/// More processes than these are not listed one by one.
const LISTED: usize = 8;

pub fn write(sheet: &mut Sheet, memory: &Memory) {
    let (label, about) = match memory.measure {
        MemoryMeasure::Pss => ("PSS", "a page that processes share is divided among them"),
        MemoryMeasure::Rss => (
            "RSS",
            "PSS may not be read; a page that processes share counts in each, so that the sum is too high",
        ),
    };
    let each = match memory.processes.len() {
        0..=LISTED => {
            let each: Vec<String> = memory.processes.iter().map(named).collect();
            each.join(", ")
        }
        count => {
            let sizes = memory.processes.iter().map(|process| process.bytes);
            format!(
                "{} of {} to {}",
                counted(count, "process"),
                bytes(sizes.clone().min().unwrap_or(0)),
                bytes(sizes.max().unwrap_or(0))
            )
        }
    };
    sheet.labelled(
        "Memory  ",
        &format!(
            "{} {label} now: {each} ({about}).",
            bytes(memory.total_bytes)
        ),
    );
}

/// `worker 0 (pid 4711) 118 MiB`.
fn named(process: &ProcessMemory) -> String {
    let name = match (process.is_master, process.worker) {
        (true, _) => "master".to_owned(),
        (_, Some(worker)) => format!("worker {worker}"),
        (_, None) => "process".to_owned(),
    };
    format!("{name} (pid {}) {}", process.pid, bytes(process.bytes))
}
