//! The figures of a window as rows, and which columns a width has room for.

use crate::history::Step;
use crate::process_row::Resources;
use crate::slow::Slow;
use crate::subject::Subject;
use crate::window::{CALLS, EndpointRow, Window, call_ms, pool_ms};
use flight::CallKind;
use inspect::Sums;
use std::time::Duration;

/// Characters of a figure, the space before it included.
pub const COLUMN: u16 = 8;
/// The least that a name has.
const NAME: u16 = 16;
const LONGEST_NAME: u16 = 44;
/// What is kept where not all columns have room, first those that are kept longest.
const KEPT: [&str; 21] = [
    "req/s", "total", "for, ms", "in call", "ago", "GVL", "Ruby", "I/O", "busy", "status", "CPU",
    "RSS", "queue", "lock", "pool", "GC", "5xx", "SQL", "HTTP", "cache", "Redis",
];

/// A table that fits.
#[derive(Debug)]
pub struct Rows {
    /// The title of the names.
    pub what: &'static str,
    pub name_width: u16,
    pub titles: Vec<&'static str>,
    pub rows: Vec<Row>,
}

/// One process, endpoint, step or request.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    pub straggler: bool,
    pub cells: Vec<String>,
}

/// All figures of a row, before the width is known.
#[derive(Debug)]
pub struct Full {
    pub name: String,
    pub straggler: bool,
    pub cells: Cells,
    /// What it is about, where it has a view.
    pub subject: Option<Subject>,
}

pub type Cells = Vec<(&'static str, String)>;

impl Full {
    pub fn new(name: String, cells: Cells) -> Self {
        Self {
            name,
            straggler: false,
            cells,
            subject: None,
        }
    }
}

impl Rows {
    /// The columns that fit.
    pub fn fit(what: &'static str, all: Vec<Full>, width: u16) -> Self {
        let longest = all.iter().map(|row| row.name.chars().count()).max();
        let longest = u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX);
        let name_width = longest.clamp(NAME, LONGEST_NAME);
        let cells = all.first().map_or(&[][..], |row| &row.cells);
        let mut titles: Vec<&str> = cells.iter().map(|(title, _)| *title).collect();
        let room = usize::from(width.saturating_sub(name_width) / COLUMN).max(1);
        let present = KEPT.into_iter().filter(|title| titles.contains(title));
        let kept: Vec<&str> = present.take(room).collect();
        titles.retain(|title| kept.contains(title));
        let rows = all.into_iter().map(|row| Row {
            name: row.name,
            straggler: row.straggler,
            cells: row
                .cells
                .into_iter()
                .filter(|(title, _)| kept.contains(title))
                .map(|(_, text)| text)
                .collect(),
        });
        Self {
            what,
            name_width: width
                .saturating_sub(COLUMN * kept.len() as u16)
                .min(name_width),
            rows: rows.collect(),
            titles,
        }
    }
}

/// A row for each process. CPU, memory and threads of one endpoint are not known.
pub fn processes(window: &Window) -> Vec<Full> {
    let kinds = kinds(window.processes.iter().map(|row| &row.sums));
    let rows = window.processes.iter().map(|row| {
        let process = &row.process;
        let mut cells = figures(window.per_s(row.sums.requests), &row.sums, &kinds);
        if window.of_endpoint().is_none() {
            let threads = process.threads.map_or("?".to_owned(), |n| n.to_string());
            cells.extend(resources(row.cores, process.rss_bytes));
            cells.push(("busy", format!("{}/{threads}", process.in_flight)));
        }
        Full {
            straggler: !row.unlike.is_empty(),
            subject: Some(Subject::Process(process.id)),
            ..Full::new(process.name.clone(), cells)
        }
    });
    rows.collect()
}

/// A row for each endpoint.
pub fn endpoints(window: &Window) -> Vec<Full> {
    let rows = window.endpoints.iter().filter(|row| row.sums.requests > 0);
    let kinds = kinds(rows.clone().map(|row| &row.sums));
    let row = |row: &EndpointRow| Full {
        subject: Some(Subject::Endpoint(row.name.clone())),
        ..Full::new(
            row.name.clone(),
            figures(window.per_s(row.sums.requests), &row.sums, &kinds),
        )
    };
    rows.map(row).collect()
}

/// A row for each step of the last minutes.
pub fn steps(steps: &[Step], with_resources: bool) -> Vec<Full> {
    let kinds = kinds(steps.iter().map(|step| &step.sums));
    let rows = steps.iter().map(|step| {
        let seconds = |time: Duration| time.as_secs_f64().round();
        let name = format!("{:.0} to {:.0} s ago", seconds(step.to), seconds(step.from));
        let mut cells = figures(step.per_s(), &step.sums, &kinds);
        if with_resources {
            let Resources {
                cores, rss_bytes, ..
            } = step.resources;
            cells.extend(resources(cores, rss_bytes));
        }
        Full::new(name, cells)
    });
    rows.collect()
}

/// A row for each request, named by its endpoint, or by its process where the endpoint is known.
pub fn requests(slowest: &[Slow], by_process: bool, now_wall_ns: u64) -> Vec<Full> {
    let kinds = kinds(slowest.iter().map(|slow| &slow.sums));
    let rows = slowest.iter().map(|slow| {
        let name = if by_process {
            &slow.process
        } else {
            &slow.endpoint
        };
        let mut cells = figures(0.0, &slow.sums, &kinds);
        cells.retain(|(title, _)| !matches!(*title, "req/s" | "5xx"));
        cells.push(("status", status(slow)));
        cells.push(("ago", format!("{} s", ago_s(slow, now_wall_ns))));
        Full::new(name.clone(), cells)
    });
    rows.collect()
}

/// Seconds since its end.
pub fn ago_s(slow: &Slow, now_wall_ns: u64) -> u64 {
    now_wall_ns.saturating_sub(slow.ended_wall_ns) / 1_000_000_000
}

/// What became of a request.
pub fn status(slow: &Slow) -> String {
    match &slow.record {
        record if record.raised => "raised".to_owned(),
        record if record.job => "done".to_owned(),
        record => record.status.to_string(),
    }
}

/// The kinds of calls that any of them makes: a column of zeros says nothing.
fn kinds<'a>(all: impl Iterator<Item = &'a Sums> + Clone) -> Vec<(CallKind, &'static str)> {
    let makes = |kind| all.clone().any(|sums| sums.calls[kind].count.total() > 0);
    let used = CALLS.into_iter().filter(|(kind, _)| makes(*kind));
    used.collect()
}

fn figures(per_s: f64, sums: &Sums, kinds: &[(CallKind, &'static str)]) -> Cells {
    let ms = |mean: Option<f64>| known(mean.map(report::rate));
    let errors = (sums.requests > 0)
        .then(|| format!("{:.1} %", 100.0 * sums.errors as f64 / sums.requests as f64));
    let mut cells = vec![
        ("req/s", report::rate(per_s)),
        ("total", ms(sums.wall.mean_ms())),
        ("queue", ms(sums.queue.mean_ms())),
        ("Ruby", ms(sums.held.mean_ms())),
        ("GVL", ms(sums.gvl_wait.mean_ms())),
        ("lock", ms(sums.lock_wait.mean_ms())),
        ("I/O", ms(sums.io.mean_ms())),
    ];
    let calls = kinds.iter();
    cells.extend(calls.map(|(kind, name)| (*name, ms(call_ms(sums, *kind)))));
    cells.extend([
        ("GC", ms(sums.gc.mean_ms())),
        ("pool", ms(pool_ms(sums))),
        ("5xx", known(errors)),
    ]);
    cells
}

fn resources(cores: Option<f64>, rss_bytes: Option<u64>) -> [(&'static str, String); 2] {
    let cores = cores.map(|cores| format!("{:.0} %", 100.0 * cores));
    let rss = rss_bytes.map(|bytes| format!("{} M", bytes >> 20));
    [("CPU", known(cores)), ("RSS", known(rss))]
}

fn known(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Process;
    use crate::samples::{process, reading, served};

    #[test]
    fn a_narrow_screen_keeps_what_says_most() {
        let before = reading(0, vec![process(1, 0, &[])]);
        let after = reading(5, vec![process(1, 0, &[("a", served(100, 10, 5))])]);
        let window = Window::between(&before, &after);
        let fit = |width| Rows::fit("process", processes(&window), width);
        assert_eq!(fit(40).titles, ["req/s", "total", "GVL"]);
        assert_eq!(fit(160).titles.len(), 13);
        assert_eq!(fit(40).rows[0].cells, ["20.0", "20.0", "5.0"]);
    }
    #[test]
    fn kinds_of_calls_have_columns_where_any_row_makes_them() {
        let before = reading(0, vec![process(1, 0, &[])]);
        let mut calling = served(10, 10, 5);
        let mut after = process(1, 0, &[("a", calling), ("b", served(10, 10, 5))]);
        let titles = |after: &Process| {
            let window = Window::between(&before, &reading(5, vec![after.clone()]));
            Rows::fit("endpoint", endpoints(&window), 200).titles
        };
        assert!(!titles(&after).contains(&"SQL"));
        calling.calls[CallKind::Sql].count = 20;
        after = process(1, 0, &[("a", calling), ("b", served(10, 10, 5))]);
        let titles = titles(&after);
        assert!(
            titles.contains(&"SQL") && !titles.contains(&"HTTP"),
            "{titles:?}"
        );
    }
}
