//! Chart of `predict`: the capacity of every configuration.

use super::{Chart, Kind, Row};
use crate::figures::counted;
use run::predict::{Document, Point};

pub fn charts(document: &Document) -> Vec<Chart> {
    // Predictions that the page leaves out.
    if document.self_check.failed {
        return Vec::new();
    }
    let meets = document.asked.objective.is_some();
    let row = |point: &Point| {
        let per_s = match &point.objective {
            Some(at) => at.rate_per_s,
            None => point.most_per_s,
        };
        let threads = counted(point.size.threads, "thread");
        Row::new(counted(point.size.processes, "process"), per_s).of(threads)
    };
    let (title, note) = match meets {
        true => (
            "Highest rate that meets the objective, predicted",
            "A cell for each number of processes and threads, in requests a second.",
        ),
        false => (
            "The most that each configuration can answer, predicted",
            "A cell for each number of processes and threads, in answers a second.",
        ),
    };
    vec![Chart {
        unit: "requests a second",
        rows: document.points.iter().map(row).collect(),
        ..Chart::new("configurations", Kind::Heat, title, note)
    }]
}
