//! The figures of a window as rows, and which columns a width has room for.

use crate::view::Tab;
use crate::window::{Window, pool_ms};
use inspect::Sums;

/// Characters of a figure, the space before it included.
pub const COLUMN: u16 = 8;
/// The least that a name has.
const NAME: u16 = 16;
const LONGEST_NAME: u16 = 44;
/// What is kept where not all columns have room, first those that are kept longest.
const KEPT: [&str; 13] = [
    "req/s", "total", "GVL", "Ruby", "I/O", "busy", "CPU", "RSS", "queue", "lock", "pool", "GC",
    "5xx",
];

/// A table that fits.
#[derive(Debug)]
pub struct Rows {
    pub name_width: u16,
    pub titles: Vec<&'static str>,
    pub rows: Vec<Row>,
}

/// One process or endpoint.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    pub straggler: bool,
    pub cells: Vec<String>,
}

impl Rows {
    pub fn of(window: &Window, tab: Tab, width: u16) -> Self {
        let all = match tab {
            Tab::Processes => processes(window),
            Tab::Endpoints => endpoints(window),
        };
        let longest = all.iter().map(|(name, ..)| name.chars().count()).max();
        let longest = u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX);
        let name_width = longest.clamp(NAME, LONGEST_NAME);
        let cells = all.first().map_or(&[][..], |(.., cells)| cells);
        let mut titles: Vec<&str> = cells.iter().map(|(title, _)| *title).collect();
        let room = usize::from(width.saturating_sub(name_width) / COLUMN).max(1);
        let present = KEPT.into_iter().filter(|title| titles.contains(title));
        let kept: Vec<&str> = present.take(room).collect();
        titles.retain(|title| kept.contains(title));
        let rows = all.into_iter().map(|(name, straggler, cells)| Row {
            name,
            straggler,
            cells: cells
                .into_iter()
                .filter(|(title, _)| kept.contains(title))
                .map(|(_, text)| text)
                .collect(),
        });
        Self {
            name_width: width
                .saturating_sub(COLUMN * kept.len() as u16)
                .min(name_width),
            rows: rows.collect(),
            titles,
        }
    }
}

type Cells = Vec<(&'static str, String)>;

fn processes(window: &Window) -> Vec<(String, bool, Cells)> {
    let rows = window.processes.iter().map(|row| {
        let process = &row.process;
        let mut cells = figures(window, &row.sums);
        let cores = row.cores.map(|cores| format!("{:.0} %", 100.0 * cores));
        let rss = process.rss_bytes.map(|bytes| format!("{} M", bytes >> 20));
        let threads = process.threads.map_or("?".to_owned(), |n| n.to_string());
        cells.push(("CPU", known(cores)));
        cells.push(("RSS", known(rss)));
        cells.push(("busy", format!("{}/{threads}", process.in_flight)));
        (process.name.clone(), !row.unlike.is_empty(), cells)
    });
    rows.collect()
}

fn endpoints(window: &Window) -> Vec<(String, bool, Cells)> {
    let rows = window.endpoints.iter().filter(|row| row.sums.requests > 0);
    rows.map(|row| (row.name.clone(), false, figures(window, &row.sums)))
        .collect()
}

fn figures(window: &Window, sums: &Sums) -> Cells {
    let ms = |mean: Option<f64>| known(mean.map(report::rate));
    let errors = (sums.requests > 0)
        .then(|| format!("{:.1} %", 100.0 * sums.errors as f64 / sums.requests as f64));
    vec![
        ("req/s", report::rate(window.per_s(sums.requests))),
        ("total", ms(sums.wall.mean_ms())),
        ("queue", ms(sums.queue.mean_ms())),
        ("Ruby", ms(sums.held.mean_ms())),
        ("GVL", ms(sums.gvl_wait.mean_ms())),
        ("lock", ms(sums.lock_wait.mean_ms())),
        ("I/O", ms(sums.io.mean_ms())),
        ("GC", ms(sums.gc.mean_ms())),
        ("pool", ms(pool_ms(sums))),
        ("5xx", known(errors)),
    ]
}

fn known(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, served};

    #[test]
    fn a_narrow_screen_keeps_what_says_most() {
        let before = reading(0, vec![process(1, 0, &[])]);
        let after = reading(5, vec![process(1, 0, &[("a", served(100, 10, 5))])]);
        let window = Window::between(&before, &after);
        let titles = |width| Rows::of(&window, Tab::Processes, width).titles;
        assert_eq!(titles(40), ["req/s", "total", "GVL"]);
        assert_eq!(titles(160).len(), KEPT.len());
        let rows = Rows::of(&window, Tab::Processes, 40).rows;
        assert_eq!(rows[0].cells, ["20.0", "20.0", "5.0"]);
    }
}
