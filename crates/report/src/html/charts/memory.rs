//! Charts of `memory`: all processes over time, each of them, and what they consist of.

use super::{Chart, Kind, MIB, Mark, Row, thinned};
use crate::memory_page::{PARTS, part_name, part_sum, process_name};
use run::memory::{Comparison, Document, Sample};

/// Processes shown: as many as there are colours.
const MOST: usize = 8;

type Of = fn(&Sample) -> Option<u64>;

pub fn charts(document: &Document) -> Vec<Chart> {
    vec![over_time(document), each(document), parts(document)]
}

pub fn compared(compared: &Comparison) -> Vec<Chart> {
    let sides = [("before", &compared.before), ("after", &compared.after)];
    let rows = sides.into_iter().flat_map(|(name, side)| {
        let parts = side.parts.iter();
        parts.map(move |(part, bytes)| Row::new(name, *bytes as f64 / MIB).of(part_name(*part)))
    });
    vec![Chart {
        unit: "MiB",
        rows: rows.collect(),
        ..Chart::new(
            "parts",
            Kind::Parts,
            "What the memory consists of",
            "Resident (RSS), at the end of each time.",
        )
    }]
}

fn line(name: &str, samples: &[Sample], of: Of, lines: usize) -> Vec<Row> {
    let known: Vec<(f64, u64)> = samples
        .iter()
        .filter_map(|s| Some((s.at_s, of(s)?)))
        .collect();
    thinned(&known, lines)
        .filter_map(|joined| joined.iter().max_by_key(|(_, bytes)| *bytes))
        .map(|(at_s, bytes)| {
            Row::new(format!("{at_s:.1} s"), *bytes as f64 / MIB)
                .of(name)
                .at(*at_s)
        })
        .collect()
}

fn over_time(document: &Document) -> Chart {
    let lines: [(&str, Of); 6] = [
        ("RSS", |s| Some(s.rss_bytes)),
        ("PSS", |s| s.pss_bytes),
        ("USS", |s| s.uss_bytes),
        ("anonymous", |s| s.anonymous_bytes),
        ("files", |s| s.file_bytes),
        ("swap", |s| s.swap_bytes.filter(|bytes| *bytes > 0)),
    ];
    let rows = lines
        .into_iter()
        .flat_map(|(name, of)| line(name, &document.samples, of, lines.len()));
    let limit = document
        .container
        .and_then(|container| container.limit_bytes);
    let most = document
        .samples
        .iter()
        .map(|sample| sample.rss_bytes)
        .max()
        .unwrap_or(0);
    Chart {
        unit: "MiB",
        at_unit: Some("seconds from the start"),
        // A limit far above would flatten the lines.
        mark: limit.filter(|limit| *limit < 2 * most).map(|limit| Mark {
            value: limit as f64 / MIB,
            name: "limit of the control group".to_owned(),
        }),
        rows: rows.collect(),
        ..Chart::new(
            "memory",
            Kind::Lines,
            "Memory over time, all processes together",
            "PSS divides a page among the processes that share it; RSS, anonymous memory and files count it in each.",
        )
    }
}

fn each(document: &Document) -> Chart {
    let processes = document.processes.iter().take(MOST);
    let rows = processes.clone().flat_map(|process| {
        let name = process_name(process);
        line(
            &name,
            &process.samples,
            |s| Some(s.rss_bytes),
            processes.len(),
        )
    });
    Chart {
        unit: "MiB",
        at_unit: Some("seconds from the start"),
        rows: rows.collect(),
        ..Chart::new(
            "processes",
            Kind::Lines,
            "Memory over time, each process (RSS)",
            "A page that processes share counts in each.",
        )
    }
}

fn parts(document: &Document) -> Chart {
    let processes = document
        .processes
        .iter()
        .filter(|process| !process.ended)
        .take(MOST);
    let rows = processes.flat_map(|process| {
        let last = process.last.as_ref();
        PARTS.into_iter().filter_map(move |part| {
            let bytes = part_sum(last?, part);
            let row = Row::new(process_name(process), bytes as f64 / MIB).of(part_name(part));
            (bytes > 0).then_some(row)
        })
    });
    Chart {
        unit: "MiB",
        rows: rows.collect(),
        ..Chart::new(
            "parts",
            Kind::Parts,
            "What the memory consists of",
            "Resident (RSS), at the last reading of each process that says it.",
        )
    }
}
