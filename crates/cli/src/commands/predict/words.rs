//! What the predictions mean, in sentences.

use run::predict::{Document, Point, Rate, Size};

/// An error of the self-check from which on figures are doubtful: of means, and of the p99.
const MUCH: (f64, f64) = (0.15, 0.25);
/// A GVL, or threads, busier than this in the trace leave much to chance.
const BUSY: f64 = 0.85;

pub fn sentence(document: &Document) -> String {
    let per_s = document.asked.rates_per_s.first().copied().unwrap_or(0.0);
    let objective = document
        .asked
        .objective
        .map(|o| format!("p{} = {} ms", o.percentile, round(o.limit_ms)));
    let Some((point, at)) = begun(document) else {
        let many = document.points.len();
        return match (&objective, document.exit_code) {
            (Some(objective), _) => format!(
                "Not one of the {many} configurations keeps {objective} at {} a second{}.",
                round(per_s),
                within_memory(document)
            ),
            (None, 1) => {
                format!("Not one of the {many} configurations fits into the memory that was given.")
            }
            (None, _) => format!(
                "Not one of the {many} configurations can do {} a second: give more processes, threads or cores.",
                round(per_s)
            ),
        };
    };
    let because = match &objective {
        Some(objective) => format!("the smallest configuration that keeps {objective}"),
        None => {
            "the smallest configuration within 3 % of the most that any of these can do".to_owned()
        }
    };
    let answer = at
        .and_then(|at| at.answer.as_ref())
        .map_or(String::new(), |answer| {
            format!(
                ": mean {} ms, p99 {} ms ({} to {})",
                round(answer.figures.mean_ms),
                round(answer.figures.p99_ms),
                round(answer.low.p99_ms),
                round(answer.high.p99_ms)
            )
        });
    format!(
        "At {} a second begin with {}, {because}{}{answer}. It does at most {} a second; from {} on add capacity.",
        round(per_s),
        words(point.size),
        within_memory(document),
        round(point.most_per_s),
        round(point.add_at_per_s)
    )
}

fn begun(document: &Document) -> Option<(&Point, Option<&Rate>)> {
    let size = document.begin_with?;
    let point = document.points.iter().find(|point| point.size == size)?;
    Some((point, point.rates.first()))
}

fn within_memory(document: &Document) -> String {
    match document.points.iter().any(|point| point.fits.is_some()) {
        true => " within the memory that was given".to_owned(),
        false => String::new(),
    }
}

/// What is not the application's to say.
pub fn assumptions(document: &Document) -> Vec<String> {
    let mut said = Vec::new();
    let asked = &document.asked;
    said.push(format!(
        "arrivals are Poisson, as of independent users, and connections are {}",
        match asked.keep_alive {
            true => "kept",
            false => "opened for each request",
        }
    ));
    let quota = asked.quota_cores.map_or(String::new(), |quota| {
        format!(", with a quota of {} of them", round(quota))
    });
    said.push(format!(
        "the server has {} cores{quota}, and nothing else computes on them: --cores and --quota say otherwise",
        round(asked.cores)
    ));
    match (&document.memory, asked.memory_bytes) {
        (Some(memory), _) => said.push(format!("memory is fitted to {}", memory.from)),
        (None, Some(_)) => {}
        (None, None) => said.push(
            "memory is not known: flight files do not hold it; predict while the traced server runs, or give --measured-memory"
                .to_owned(),
        ),
    }
    said
}

pub fn warnings(document: &Document) -> Vec<String> {
    let mut said = Vec::new();
    let check = &document.self_check;
    let (mean, p99) = (check.error.mean_ms, check.error.p99_ms);
    if mean.abs() > MUCH.0 || p99.abs() > MUCH.1 {
        said.push(format!(
            "At the traced configuration, where the truth is known, the model is off by {:+.0} % at the mean and {:+.0} % at \
             the p99: believe the order of the configurations rather than the figures, whose intervals are as wide. A \
             machine that others keep busy does this; trace again on a quiet one.",
            100.0 * mean,
            100.0 * p99
        ));
    }
    let traced = &document.traced;
    let busiest = traced.utilisation_gvl.max(traced.utilisation_threads);
    if busiest > BUSY {
        said.push(format!(
            "The trace was made at {:.0} % utilisation: errors grow with it. Up to {:.0} % they are smaller.",
            100.0 * busiest,
            100.0 * BUSY
        ));
    }
    if let (None, Some(_)) = (&document.memory, document.asked.memory_bytes) {
        said.push(
            "Whether a configuration fits into the memory that was given is not known: flight files do not hold memory. \
             Predict while the traced server runs, or give --measured-memory."
                .to_owned(),
        );
    }
    let outside = document
        .asked
        .rates_per_s
        .iter()
        .filter(|rate| {
            document
                .points
                .iter()
                .all(|point| **rate > point.most_per_s)
        })
        .count();
    if outside > 0 && document.begin_with.is_some() {
        said.push(format!(
            "{outside} of the rates {} more than any of these configurations can do.",
            if outside == 1 { "is" } else { "are" }
        ));
    }
    said
}

fn words(size: Size) -> String {
    let many = |count: u16, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    };
    format!(
        "{} of {}",
        many(size.processes, "process", "processes"),
        many(size.threads, "thread", "threads")
    )
}

/// Three digits at least, and none behind the point that nobody believes.
fn round(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v.fract() == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
