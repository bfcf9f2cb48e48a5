//! `compare --shadow-log --csv`: a row an endpoint of each comparison, `all` first. An unknown value is an empty cell.

use crate::Failure;
use run::Outcome;
use run::duplex::{Document, Purpose, Times};

const FIGURES: [&str; 4] = ["mean", "p50", "p95", "p99"];

/// The whole table.
pub fn csv(document: &Document) -> Result<String, Failure> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut head: Vec<String> = [
        "candidate",
        "reference",
        "purpose",
        "endpoint",
        "verdict",
        "requests",
    ]
    .map(str::to_owned)
    .to_vec();
    head.extend(["candidate_failed", "reference_failed"].map(str::to_owned));
    for name in FIGURES {
        head.extend(
            ["candidate_ms", "reference_ms", "ratio", "low", "high"]
                .map(|of| format!("{name}_{of}")),
        );
    }
    let mut write = |row: Vec<String>| table.write_record(row);
    let mut rows = vec![head];
    for one in &document.comparisons {
        let mut row = |endpoint: &str, outcome: Option<Outcome>, times: &Times| {
            let mut row = vec![
                one.candidate.clone(),
                one.reference.clone(),
                purpose(one.purpose).to_owned(),
            ];
            row.extend([
                endpoint.to_owned(),
                outcome.map_or("", Outcome::word).to_owned(),
            ]);
            row.extend(
                [
                    times.requests,
                    times.candidate_failed,
                    times.reference_failed,
                ]
                .map(|count| count.to_string()),
            );
            for (_, figure) in times.figures() {
                let cells = [
                    figure.candidate_ms,
                    figure.reference_ms,
                    figure.ratio,
                    figure.low,
                    figure.high,
                ];
                row.extend(
                    cells.map(|cell| cell.map_or_else(String::new, |value| value.to_string())),
                );
            }
            rows.push(row);
        };
        row("all", Some(one.outcome), &one.all);
        for endpoint in &one.endpoints {
            row(&endpoint.endpoint, endpoint.outcome, &endpoint.times);
        }
    }
    let failed = |e: csv::Error| Failure::usage(format!("the table cannot be written: {e}"));
    rows.into_iter().try_for_each(&mut write).map_err(failed)?;
    let bytes = table
        .into_inner()
        .map_err(|e| Failure::usage(format!("the table cannot be written: {e}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Claim => "claim",
        Purpose::Between => "between",
        Purpose::Setup => "setup",
        Purpose::Primary => "primary",
    }
}
