//! Charts of `inspect`: where request time goes by endpoint, and the memory of each process.

use super::{Chart, Kind, MIB, Row};
use crate::tables::parts_of_time;
use run::inspect::{Document, MemoryMeasure, Traffic};

/// Endpoints and processes shown.
const MOST: usize = 12;

pub fn charts(document: &Document) -> Vec<Chart> {
    let traffic = [
        (
            "request-time",
            "Where a request's time goes",
            &document.endpoints,
        ),
        ("job-time", "Where a job's time goes", &document.job_classes),
    ];
    let times = traffic
        .into_iter()
        .map(|(id, title, traffic)| split(id, title, traffic));
    times.chain(memory(document)).collect()
}

/// Running Ruby, waiting for the GVL, for locks where they are known, and for I/O.
pub fn parts_of(name: &str, times: [Option<f64>; 4]) -> Vec<Row> {
    let parts = parts_of_time(times[2].is_some()).into_iter();
    let parts = parts.zip(times.into_iter().flatten());
    parts
        .map(|(part, ms)| Row::new(name, ms).of(part.replace('\n', " ")))
        .collect()
}

fn split(id: &'static str, title: &str, traffic: &[Traffic]) -> Chart {
    let rows = traffic.iter().take(MOST).filter_map(|traffic| {
        let s = traffic.split?;
        let times = [
            Some(s.held_ms),
            Some(s.gvl_wait_ms),
            s.lock_wait_ms,
            Some(s.io_ms),
        ];
        Some(parts_of(&traffic.name, times))
    });
    Chart {
        unit: "ms, mean",
        rows: rows.flatten().collect(),
        ..Chart::new(
            id,
            Kind::Parts,
            title,
            "Means in the application, without the queue before it; those with the most time come first.",
        )
    }
}

fn memory(document: &Document) -> Option<Chart> {
    let memory = document.memory.as_ref()?;
    let measure = match memory.measure {
        MemoryMeasure::Pss => {
            "Proportional set size: a page that processes share is divided among them."
        }
        MemoryMeasure::Rss => "Resident set size: a page that processes share counts in each.",
    };
    let row = |process: &run::inspect::ProcessMemory| {
        let name = match (process.is_master, process.worker) {
            (true, _) => "master".to_owned(),
            (_, Some(worker)) => format!("worker {worker}"),
            (_, None) => "process".to_owned(),
        };
        let name = format!("{name} (pid {})", process.pid);
        Row::new(name, process.bytes as f64 / MIB).of("memory")
    };
    Some(Chart {
        unit: "MiB",
        rows: memory.processes.iter().take(MOST).map(row).collect(),
        ..Chart::new("memory", Kind::Parts, "Memory of each process", measure)
    })
}
