//! One window as text.

use crate::course::Course;
use crate::draw::{of, put};
use crate::seen::Seen;
use crate::table::{Rows, requests};
use crate::view::{Tab, View};
use crate::window::Window;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Endpoints shown, those with the most time.
const ENDPOINTS: usize = 20;
/// As for a screen on which everything has room.
const ROOM: u16 = 100;

/// Totals, diagnosis, and both tables, in lines of at most so many characters.
#[must_use]
pub fn plain(window: &Window, width: u16) -> String {
    let mut page = Page::new(&View::default().head(window, width, ROOM), width);
    page.table(&of(window, Tab::Processes, width));
    let mut endpoints = of(window, Tab::Endpoints, width);
    endpoints.rows.truncate(ENDPOINTS);
    page.table(&endpoints);
    page.text + UNITS
}

/// The process or endpoint that is looked at: its figures in the window, its parts, its slowest requests and the course
/// of the slowest. `None` where the window has nothing of it.
#[must_use]
pub fn plain_detail(seen: &Seen, width: u16) -> Option<String> {
    let part = seen.part()?;
    let view = View::default();
    let mut page = Page::new(&view.head(part, width, ROOM), width);
    let others = match part.of_endpoint() {
        Some(_) => Tab::Processes,
        None => Tab::Endpoints,
    };
    page.table(&of(part, others, width));
    let by_process = part.of_endpoint().is_some();
    let slowest = requests(seen.slowest(), by_process, seen.wall_ns());
    page.table(&Rows::fit("slowest requests", slowest, width));
    if let Some(slow) = seen.slowest().first() {
        let course = Course::read(slow.clone());
        page.text.push('\n');
        page.lines(&view.course(&course, seen, Rect::new(0, 0, width, ROOM)));
        page.table(&Rows::fit("from, ms", course.rows(), width));
    }
    Some(page.text + UNITS)
}

const UNITS: &str =
    "\nTimes are milliseconds a request; CPU is in per cent of a core, RSS in MiB.\n";

struct Page {
    text: String,
    width: u16,
}

impl Page {
    fn new(head: &[Line<'_>], width: u16) -> Self {
        let mut page = Self {
            text: String::new(),
            width,
        };
        page.lines(head);
        page
    }

    fn lines(&mut self, lines: &[Line<'_>]) {
        self.text += &text(&drawn(self.width, lines.len(), |area, buffer| {
            put(lines, area, buffer);
        }));
    }

    /// Nothing where it has no row.
    fn table(&mut self, rows: &Rows) {
        if rows.rows.is_empty() {
            return;
        }
        self.text.push('\n');
        let height = rows.rows.len() + 1;
        self.text += &text(&drawn(self.width, height, |area, buffer| {
            View::default().table(rows, None, area, buffer);
        }));
    }
}

fn drawn(width: u16, height: usize, draw: impl FnOnce(Rect, &mut Buffer)) -> Buffer {
    let height = u16::try_from(height).unwrap_or(u16::MAX);
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(area, &mut buffer);
    buffer
}

/// The characters of a picture, without the spaces at the ends of lines.
pub(crate) fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let lines = buffer.content.chunks(width).map(|line| {
        let line: String = line.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, record, served};
    use crate::slow::Slow;
    use crate::subject::Subject;
    use std::time::Duration;

    #[test]
    fn text_has_both_tables_and_fits() {
        let before = reading(0, vec![process(1, 0, &[])]);
        let after = reading(5, vec![process(1, 0, &[("a#index", served(100, 10, 62))])]);
        let window = Window::between(&before, &after);
        for width in [60, 100] {
            let page = plain(&window, width);
            for words in ["worker 0 (1)", "a#index", "Threads wait 62.0 ms a request"] {
                assert!(page.contains(words), "{words}\n{page}");
            }
            let longest = page.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(76.max(usize::from(width))), "{page}");
        }
    }

    #[test]
    fn a_detail_as_text_has_its_parts_and_the_slowest_request() {
        let mut seen = Seen::new(Duration::from_secs(5));
        seen.push(reading(0, vec![process(1, 0, &[])]));
        let busy = process(1, 0, &[("a#index", served(100, 10, 62))]);
        let slow = Slow::of(record(99), &busy);
        seen.push(reading(5, vec![busy]));
        assert_eq!(plain_detail(&seen, 100), None);
        seen.look_at(Some(&Subject::Endpoint("a#index".to_owned())));
        seen.look.as_mut().unwrap().slowest = vec![slow];
        let page = plain_detail(&seen, 100).unwrap();
        for words in [
            "a#index in 1 process",
            "worker 0 (1)",
            "slowest requests",
            "a#index: 200 after 99.0 ms",
            "The order of its steps is not recorded",
        ] {
            assert!(page.contains(words), "{words}\n{page}");
        }
    }
}
