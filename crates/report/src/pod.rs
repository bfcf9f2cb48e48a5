//! What the limits of pods did: how often a CPU quota stopped the server, and how near to its memory limit it came.

use crate::figures::{bytes, median, percent, rate};
use crate::markdown_table;
use crate::reading::called;
use crate::sheet::Sheet;
use crate::tables::{NONE, table};
use run::{ArmSummary, Document, Pod, Trial};

const HEADING: &str = "What the limits of the pod did";
const MEANING: &str = "Most/s per core: the highest rate divided by the CPU quota, to compare pods of different sizes. Throttled: the share of the 100 ms \
                       periods in which the server used up its quota and stood still until the next. This time is in the response times \
                       above. Stopped: the time stood still in each second, summed over cores. Peak memory: of the control group, with \
                       the cache of the files that the server reads; the kernel frees this cache before it kills. All are medians of \
                       the trials.";

/// The section; nothing where no configuration had limits.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let rows = rows(document);
    if rows.is_empty() {
        return;
    }
    sheet.heading(HEADING);
    let mut table = table(sheet.style(), &head(), 1);
    table.add_rows(rows);
    sheet.table(table);
    sheet.prose(MEANING);
}

/// The same in Markdown.
pub fn markdown(page: &mut String, document: &Document) {
    let rows = rows(document);
    if rows.is_empty() {
        return;
    }
    *page += &format!("\n### {HEADING}\n\n");
    markdown_table::rows(page, &head(), 1);
    for row in rows {
        markdown_table::line(page, &row);
    }
    *page += &format!("\n{MEANING}\n");
}

fn head() -> [&'static str; 6] {
    [
        "settings",
        "most/s per core",
        "throttled at full load",
        "throttled at the common rate",
        "stopped at the common rate",
        "peak memory",
    ]
}

fn rows(document: &Document) -> Vec<Vec<String>> {
    let arms = document.arms.iter();
    arms.filter_map(|arm| row(document, arm)).collect()
}

fn row(document: &Document, arm: &ArmSummary) -> Option<Vec<String>> {
    let trials = run::evidence(&arm.name, &document.trials).into_iter();
    let pods: Vec<(&Trial, Pod)> = trials
        .filter(|trial| trial.counts())
        .filter_map(|trial| Some((trial, trial.pod?)))
        .collect();
    if pods.is_empty() {
        return None;
    }
    let cell = |figure: &dyn Fn(&Trial, Pod) -> Option<f64>, shown: &dyn Fn(f64) -> String| {
        let figures = pods.iter().filter_map(|(trial, pod)| figure(trial, *pod));
        median(figures.collect()).map_or_else(|| NONE.to_owned(), shown)
    };
    Some(vec![
        called(document, arm),
        cell(
            &|trial, pod| Some(trial.capacity_per_s()? / pod.cpus?),
            &rate,
        ),
        cell(&|_, pod| pod.saturation?.share(), &percent),
        cell(&|_, pod| pod.objective?.share(), &percent),
        cell(
            &|trial, pod| {
                let window = trial
                    .objective
                    .as_ref()
                    .filter(|window| window.seconds > 0.0)?;
                Some(pod.objective?.stopped_ms? / window.seconds)
            },
            &|ms| format!("{ms:.0} ms/s"),
        ),
        cell(&|_, pod| Some(pod.peak_bytes? as f64), &|peak| {
            bytes(peak as u64)
        }),
    ])
}
