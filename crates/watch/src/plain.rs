//! One window as text.

use crate::draw::put;
use crate::view::{Tab, View};
use crate::window::Window;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Endpoints shown, those with the most time.
const ENDPOINTS: usize = 20;
/// As for a screen on which everything has room.
const ROOM: u16 = 100;

/// Totals, diagnosis, and both tables, in lines of at most so many characters.
#[must_use]
pub fn plain(window: &Window, width: u16) -> String {
    let view = View::default();
    let head = view.head(window, width, ROOM);
    let mut all = text(&drawn(width, head.len(), |area, buffer| {
        put(&head, area, buffer);
    }));
    for (tab, rows) in [
        (Tab::Processes, window.processes.len()),
        (Tab::Endpoints, window.endpoints.len().min(ENDPOINTS)),
    ] {
        if rows > 0 {
            all.push('\n');
            all += &text(&drawn(width, rows + 1, |area, buffer| {
                view.table(window, tab, None, area, buffer);
            }));
        }
    }
    all + "\nTimes are milliseconds a request; CPU is in per cent of a core, RSS in MiB.\n"
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
    use crate::samples::{process, reading, served};

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
}
