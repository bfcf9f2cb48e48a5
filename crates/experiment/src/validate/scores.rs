//! All windows together: cells, scores and the sentence.

use run::Settings;
use run::validation::{Cell, Figures, Range, Score, Scored, Trial};
use small_sort::SmallSort;
use stats::{Ranking, ranking, summary};

/// What design asks of predictions up to 85 % of capacity.
fn target(figure: Scored) -> Option<f64> {
    match figure {
        Scored::Capacity | Scored::Throughput => Some(0.03),
        Scored::Mean => Some(0.08),
        Scored::P99 => Some(0.10),
        Scored::P50 | Scored::P95 => None,
    }
}

/// Pairs of configurations that differ by less are as good as alike.
const APART: f64 = 0.05;

/// The windows of one configuration at one load.
pub fn cells(trials: &[Trial]) -> Vec<Cell> {
    let mut keys: Vec<(Settings, Option<f64>)> = Vec::new();
    for trial in trials.iter().filter(|trial| pair(trial).is_some()) {
        let key = (trial.settings, trial.load);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.small_sort_by(|a, b| a.0.cmp(&b.0).then(order(a.1).total_cmp(&order(b.1))));
    keys.into_iter()
        .map(|(settings, load)| {
            let of = |trial: &&Trial| trial.settings == settings && trial.load == load;
            let found: Vec<_> = trials.iter().filter(of).filter_map(pair).collect();
            cell(settings, load, &found)
        })
        .collect()
}

/// The closed loop first.
fn order(load: Option<f64>) -> f64 {
    load.unwrap_or(-1.0)
}

/// What was predicted and what came, of a window that counts.
fn pair(trial: &Trial) -> Option<(&Range, &Range)> {
    match trial.refused {
        Some(_) => None,
        None => trial.predicted.as_ref().zip(trial.measured.as_ref()),
    }
}

fn cell(settings: Settings, load: Option<f64>, found: &[(&Range, &Range)]) -> Cell {
    let of = |each: &dyn Fn(&Range, &Range, Scored) -> f64, sum: &dyn Fn(&[f64]) -> f64| {
        let value = |figure: Scored| {
            let values: Vec<f64> = found.iter().map(|(p, m)| each(p, m, figure)).collect();
            sum(&values)
        };
        Figures {
            throughput_per_s: value(Scored::Throughput),
            mean_ms: value(Scored::Mean),
            p50_ms: value(Scored::P50),
            p95_ms: value(Scored::P95),
            p99_ms: value(Scored::P99),
        }
    };
    let log =
        |p: &Range, m: &Range, figure: Scored| (figure.of(&p.figures) / figure.of(&m.figures)).ln();
    let mean = |logs: &[f64]| summary::mean(logs).unwrap_or(f64::NAN);
    Cell {
        settings,
        load,
        trials: found.len() as u32,
        predicted: of(&|p, _, figure| figure.of(&p.figures).ln(), &|logs| {
            mean(logs).exp()
        }),
        measured: of(&|_, m, figure| figure.of(&m.figures).ln(), &|logs| {
            mean(logs).exp()
        }),
        error: of(&log, &|logs| mean(logs).exp() - 1.0),
        spread: (found.len() > 1).then(|| of(&log, &|logs| summary::sd(logs).unwrap_or(f64::NAN))),
    }
}

/// Each figure over all of them.
pub fn scores(trials: &[Trial], cells: &[Cell]) -> Vec<Score> {
    Scored::ALL
        .map(|figure| score(figure, trials, cells))
        .to_vec()
}

fn score(figure: Scored, trials: &[Trial], cells: &[Cell]) -> Score {
    let concerns = |load: Option<f64>| load.is_none() == figure.of_closed_loop();
    let errors: Vec<f64> = cells
        .iter()
        .filter(|cell| concerns(cell.load))
        .map(|cell| figure.of(&cell.error))
        .collect();
    let sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let target = target(figure);
    let windows: Vec<(&Range, &Range)> = trials
        .iter()
        .filter(|t| concerns(t.load))
        .filter_map(pair)
        .collect();
    let held = |(predicted, measured): &&(&Range, &Range)| {
        let came = figure.of(&measured.figures);
        figure.of(&predicted.low) <= came && came <= figure.of(&predicted.high)
    };
    let ranked = match figure {
        // What comes is what was offered.
        Scored::Throughput => Ranking::default(),
        _ => ranked(figure, trials),
    };
    Score {
        figure,
        target,
        cells: errors.len() as u32,
        within: target.map(|target| sizes.iter().filter(|size| **size <= target).count() as u32),
        median_error: summary::median(&sizes),
        worst_error: sizes.iter().copied().reduce(f64::max),
        bias: summary::mean(&errors),
        windows: windows.len() as u32,
        covered: windows.iter().filter(held).count() as u32,
        pairs: ranked.pairs as u32,
        right: ranked.right as u32,
    }
}

/// Pairs of configurations at one load in one block.
fn ranked(figure: Scored, trials: &[Trial]) -> Ranking {
    let mut places: Vec<(u32, f64)> = trials.iter().map(|t| (t.block, order(t.load))).collect();
    places.small_sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    places.dedup();
    let here = |(block, load): (u32, f64)| {
        let of = |t: &&Trial| {
            t.block == block && order(t.load) == load && t.load.is_none() == figure.of_closed_loop()
        };
        let values: Vec<(f64, f64)> = trials
            .iter()
            .filter(of)
            .filter_map(pair)
            .map(|(p, m)| (figure.of(&p.figures), figure.of(&m.figures)))
            .collect();
        ranking(&values, APART)
    };
    places
        .into_iter()
        .map(here)
        .fold(Ranking::default(), Ranking::and)
}

/// The answer in one sentence; `None` without a score.
pub fn sentence(scores: &[Score], traced: Settings, cells: &[Cell]) -> Option<String> {
    let of = |figure: Scored| scores.iter().find(|score| score.figure == figure);
    let words = |figure: Scored, name: &str| {
        let score = of(figure)?;
        let median = score.median_error? * 100.0;
        let within = score.within.unwrap_or(0);
        Some(format!(
            "{name} {median:.1} % ({within} of the {} that count within {:.0} %)",
            score.cells,
            score.target.unwrap_or(0.0) * 100.0
        ))
    };
    let parts: Vec<String> = [
        words(Scored::Capacity, "capacity"),
        words(Scored::Mean, "mean response"),
        words(Scored::P99, "p99"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut settings: Vec<Settings> = cells.iter().map(|cell| cell.settings).collect();
    settings.dedup();
    let all = scores.iter().fold((0, 0), |(pairs, right), s| {
        (pairs + s.pairs, right + s.right)
    });
    let order = match all {
        (0, _) => String::new(),
        (pairs, right) => format!("; {right} of {pairs} pairs in the right order"),
    };
    (!parts.is_empty()).then(|| {
        format!(
            "From a trace of {traced}, {} other configurations were predicted with a median error of: {}{order}.",
            settings.len(),
            parts.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(x: f64) -> Figures {
        Figures {
            throughput_per_s: x,
            mean_ms: x,
            p50_ms: x,
            p95_ms: x,
            p99_ms: x,
        }
    }

    fn range(x: f64, half: f64) -> Range {
        Range {
            figures: figures(x),
            low: figures(x - half),
            high: figures(x + half),
        }
    }

    fn trial(block: u32, threads: u16, load: Option<f64>, predicted: f64, came: f64) -> Trial {
        Trial {
            block,
            settings: Settings {
                workers: 0,
                threads,
                preload: false,
            },
            load,
            rate_per_s: load,
            refused: None,
            marks: Vec::new(),
            requests: 1,
            utilisation: 0.5,
            predicted: Some(range(predicted, 5.0)),
            measured: Some(range(came, 1.0)),
            error: None,
            predicted_parts: None,
            measured_parts: None,
        }
    }

    fn of(scores: &[Score], figure: Scored) -> &Score {
        scores.iter().find(|s| s.figure == figure).unwrap()
    }

    #[test]
    fn blocks_are_averaged_and_refused_windows_left_out() {
        let mut refused = trial(3, 1, Some(0.5), 1.0, 1.0);
        refused.refused = Some("late".to_owned());
        let trials = [
            trial(1, 1, Some(0.5), 110.0, 100.0),
            trial(2, 1, Some(0.5), 100.0, 110.0),
            refused,
            trial(1, 2, None, 104.0, 100.0),
        ];
        let cells = cells(&trials);
        assert_eq!(cells.len(), 2);
        assert_eq!((cells[0].trials, cells[1].trials), (2, 1));
        assert!(cells[0].error.mean_ms.abs() < 1e-12);
        let spread = cells[0].spread.unwrap().p99_ms;
        assert!((spread - 2.0_f64.sqrt() * 1.1_f64.ln()).abs() < 1e-12);
        assert!(cells[1].spread.is_none());
        let scores = scores(&trials, &cells);
        let capacity = of(&scores, Scored::Capacity);
        assert_eq!(
            (capacity.cells, capacity.within, capacity.windows),
            (1, Some(0), 1)
        );
        assert_eq!((capacity.covered, capacity.pairs), (1, 0));
        let mean = of(&scores, Scored::Mean);
        assert_eq!(
            (mean.cells, mean.within, mean.windows, mean.covered),
            (1, Some(1), 2, 0)
        );
        assert!(
            sentence(&scores, trials[0].settings, &cells)
                .unwrap()
                .contains("2 other configurations")
        );
    }

    #[test]
    fn pairs_are_of_one_load_and_one_block() {
        let trials = [
            trial(1, 1, Some(0.5), 100.0, 100.0),
            trial(1, 2, Some(0.5), 120.0, 130.0),
            trial(1, 3, Some(0.7), 999.0, 10.0),
            trial(2, 1, Some(0.5), 140.0, 100.0),
            trial(2, 2, Some(0.5), 120.0, 130.0),
        ];
        let scores = scores(&trials, &cells(&trials));
        let p99 = of(&scores, Scored::P99);
        assert_eq!((p99.pairs, p99.right), (2, 1));
        assert_eq!(of(&scores, Scored::Throughput).pairs, 0);
        assert_eq!(of(&scores, Scored::Capacity).pairs, 0);
    }

    #[test]
    fn nothing_scored_has_no_sentence() {
        let scores = scores(&[], &[]);
        assert_eq!(scores.len(), 6);
        let settings = Settings::PUMA_DEFAULT;
        assert_eq!(sentence(&scores, settings, &[]), None);
    }
}
