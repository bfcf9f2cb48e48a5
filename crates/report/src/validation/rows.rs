//! The tables' rows, for every output format.

use crate::figures::{percent, rate};
use crate::tables::NONE;
use run::validation::{Cell, Document, Figures, Score, Trial};

/// A table.
pub struct Rows {
    pub title: &'static str,
    pub head: &'static [&'static str],
    /// Columns of words, on the left.
    pub words: usize,
    pub rows: Vec<Vec<String>>,
    /// What its columns mean.
    pub meaning: &'static str,
}

/// All of the document.
pub fn all(document: &Document) -> Vec<Rows> {
    let mut found = vec![scores(&document.scores)];
    found.push(capacities(&document.cells));
    found.push(responses(document));
    found.push(parts(document));
    found.retain(|rows| !rows.rows.is_empty());
    found
}

fn scores(scores: &[Score]) -> Rows {
    let row = |score: &Score| {
        let of = |count: u32, all: u32| match all {
            0 => NONE.to_owned(),
            _ => format!("{count} of {all}"),
        };
        let aim = score
            .target
            .map_or_else(|| NONE.to_owned(), |aim| format!("{:.0} %", aim * 100.0));
        vec![
            score.figure.word().to_owned(),
            score.median_error.map_or_else(|| NONE.to_owned(), percent),
            score.worst_error.map_or_else(|| NONE.to_owned(), percent),
            score.bias.map_or_else(|| NONE.to_owned(), signed_percent),
            aim,
            score
                .within
                .map_or_else(|| NONE.to_owned(), |within| of(within, score.cells)),
            of(score.covered, score.windows),
            of(score.right, score.pairs),
        ]
    };
    Rows {
        title: "Errors of the predictions",
        head: &[
            "",
            "median",
            "worst",
            "bias",
            "aim",
            "within it",
            "in the interval",
            "pairs in order",
        ],
        words: 1,
        rows: scores
            .iter()
            .filter(|score| score.cells > 0)
            .map(row)
            .collect(),
        meaning: "Median, worst and bias are over configurations and loads, all blocks together. In the interval: windows whose \
                  90 % interval held what came. Pairs: of configurations at the same load in the same block that differ by over \
                  5 %. The capacity is a closed loop's throughput.",
    }
}

fn capacities(cells: &[Cell]) -> Rows {
    let row = |cell: &Cell| {
        vec![
            cell.settings.to_string(),
            rate(cell.predicted.throughput_per_s),
            rate(cell.measured.throughput_per_s),
            signed_percent(cell.error.throughput_per_s),
            spread(cell, |s| s.throughput_per_s),
        ]
    };
    Rows {
        title: "Capacity, answers per second of a closed loop",
        head: &["configuration", "predicted", "came", "error", "spread"],
        words: 1,
        rows: cells
            .iter()
            .filter(|cell| cell.load.is_none())
            .map(row)
            .collect(),
        meaning: "Spread: standard deviation of the error between blocks.",
    }
}

fn responses(document: &Document) -> Rows {
    let row = |cell: &Cell| {
        let load = cell.load.unwrap_or(0.0);
        let ms = |ms: f64| match ms {
            ms if ms >= 100.0 => format!("{ms:.0}"),
            ms => format!("{ms:.1}"),
        };
        vec![
            cell.settings.to_string(),
            format!("{:.0} %", load * 100.0),
            rate(cell.measured.throughput_per_s),
            ms(cell.predicted.mean_ms),
            ms(cell.measured.mean_ms),
            signed_percent(cell.error.mean_ms),
            signed_percent(cell.error.p50_ms),
            signed_percent(cell.error.p95_ms),
            ms(cell.predicted.p99_ms),
            ms(cell.measured.p99_ms),
            signed_percent(cell.error.p99_ms),
            own(document, cell),
        ]
    };
    let open = document.cells.iter().filter(|cell| cell.load.is_some());
    Rows {
        title: "Response times under Poisson arrivals, ms",
        head: &[
            "configuration",
            "load",
            "per s",
            "mean",
            "came",
            "error",
            "p50",
            "p95",
            "p99",
            "came",
            "error",
            "p99's own",
        ],
        words: 1,
        rows: open.map(row).collect(),
        meaning: "Load: share of the predicted capacity. Predictions were given the windows' very arrivals. p99's own: half of \
                  the 90 % interval that the p99 itself has in one window, by drawing blocks of its answers.",
    }
}

/// Half of the truth's own interval of the p99, as a share of it, mean over windows.
fn own(document: &Document, cell: &Cell) -> String {
    let halves: Vec<f64> = windows(document, cell)
        .filter_map(|trial| trial.measured.as_ref())
        .map(|m| (m.high.p99_ms - m.low.p99_ms) / 2.0 / m.figures.p99_ms)
        .collect();
    match halves.len() {
        0 => NONE.to_owned(),
        count => format!(
            "±{:.0} %",
            100.0 * halves.iter().sum::<f64>() / count as f64
        ),
    }
}

fn windows<'a>(document: &'a Document, cell: &'a Cell) -> impl Iterator<Item = &'a Trial> {
    let same =
        |t: &&Trial| t.settings == cell.settings && t.load == cell.load && t.refused.is_none();
    document.trials.iter().filter(same)
}

fn parts(document: &Document) -> Rows {
    let row = |cell: &Cell| {
        let mean = |of: &dyn Fn(&Trial) -> Option<f64>| {
            let values: Vec<f64> = windows(document, cell).filter_map(of).collect();
            match values.len() {
                0 => NONE.to_owned(),
                count => format!("{:.2}", values.iter().sum::<f64>() / count as f64),
            }
        };
        let both = |of: fn(&run::validation::Parts) -> Option<f64>| {
            [
                mean(&|trial| trial.predicted_parts.as_ref().and_then(of)),
                mean(&|trial| trial.measured_parts.as_ref().and_then(of)),
            ]
        };
        let mut row = vec![
            cell.settings.to_string(),
            cell.load.map_or_else(
                || "closed".to_owned(),
                |load| format!("{:.0} %", load * 100.0),
            ),
        ];
        row.extend(both(|parts| parts.queue_ms));
        row.extend(both(|parts| Some(parts.gvl_wait_ms)));
        row.extend(both(|parts| Some(parts.io_ms)));
        row.extend(both(|parts| Some(parts.cpu_ms)));
        row.extend(both(|parts| Some(parts.core_wait_ms)));
        row
    };
    Rows {
        title: "Where a request's time goes, predicted and measured, ms",
        head: &[
            "configuration",
            "load",
            "queue",
            "came",
            "GVL wait",
            "came",
            "I/O",
            "came",
            "CPU",
            "came",
            "core wait",
            "came",
        ],
        words: 1,
        rows: document.cells.iter().map(row).collect(),
        meaning: "Queue: until a thread began. GVL wait: measured within the application, predicted around it as well. CPU: of all the server's processes. Core wait: of the time with the GVL, without \
                  a processor.",
    }
}

fn spread(cell: &Cell, of: fn(&Figures) -> f64) -> String {
    cell.spread
        .as_ref()
        .map_or_else(|| NONE.to_owned(), |spread| percent(of(spread)))
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::validation::Scored;

    #[test]
    fn a_score_without_cells_has_no_row() {
        let score = |cells, target| Score {
            figure: Scored::P99,
            target,
            cells,
            within: target.map(|_| 1),
            median_error: Some(0.021),
            worst_error: Some(0.2),
            bias: Some(-0.01),
            windows: 4,
            covered: 3,
            pairs: 0,
            right: 0,
        };
        let rows = scores(&[score(0, None), score(2, Some(0.1))]);
        assert_eq!(
            rows.rows,
            [[
                "p99", "2.1 %", "20.0 %", "-1.0 %", "10 %", "1 of 2", "3 of 4", NONE
            ]]
        );
    }
}
