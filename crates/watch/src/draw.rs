//! The screen: totals, where time goes, the diagnosis, workers unlike their siblings, and a table.

use crate::diagnosis::diagnosis;
use crate::table::{COLUMN, Row as Figures, Rows};
use crate::view::{Tab, View};
use crate::window::Window;
use inspect::Sums;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Row, StatefulWidget, Table, TableState, Widget};

const KEYS: &str = "q quit   Tab processes/endpoints   ↑ ↓ select";
/// From so many lines on the bar is drawn.
const TALL: u16 = 16;

impl View {
    /// Draws a window; `None` before there is one.
    pub fn draw(&self, window: Option<&Window>, area: Rect, buffer: &mut Buffer) {
        if area.height < 2 || area.width < 8 {
            return;
        }
        let body = Rect {
            height: area.height - 1,
            ..area
        };
        let keys = Rect {
            y: area.y + area.height - 1,
            height: 1,
            ..area
        };
        let dim = Style::new().add_modifier(Modifier::DIM);
        Line::styled(KEYS, dim).render(keys, buffer);
        let mut lines = Vec::new();
        lines.extend(self.problem.iter().flat_map(|problem| {
            let style = self.painted(Color::Yellow);
            report::wrapped("", problem, body.width)
                .into_iter()
                .map(move |line| Line::styled(line, style))
        }));
        match window {
            None if lines.is_empty() => lines.push(Line::from(format!("reading {}", self.source))),
            None => {}
            Some(window) => lines.extend(self.head(window, body.width, body.height)),
        }
        let below = put(&lines, body, buffer);
        if let Some(window) = window {
            self.table(window, self.tab, Some(self.selected), below, buffer);
        }
    }

    /// What stands above the table.
    pub(crate) fn head(&self, window: &Window, width: u16, height: u16) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut lines = vec![Line::styled(title(window), bold)];
        let most = usize::from(height / 4).max(1);
        let mut add = |text: &str, style: Style, most: usize| {
            let mut parts = report::wrapped("", text, width);
            if parts.len() > most {
                parts.truncate(most);
                if let Some(last) = parts.last_mut() {
                    *last = cut(last, width);
                }
            }
            lines.extend(parts.into_iter().map(|part| Line::styled(part, style)));
        };
        add(&totals(window), Style::new(), most);
        add(&run::sentence_case(&diagnosis(window)), bold, most);
        let unlike = window.processes.iter().flat_map(|row| &row.unlike);
        for why in unlike.take(most) {
            add(&format!("! {why}"), self.painted(Color::Yellow), 2);
        }
        if height >= TALL {
            lines.extend(self.bar(&window.all, width));
        }
        lines
    }

    /// The parts of a request's time, to scale, each with another character.
    fn bar(&self, sums: &Sums, width: u16) -> Vec<Line<'static>> {
        let parts = [
            ("queue", '-', Color::Blue, sums.queue.mean_ms()),
            ("Ruby", '█', Color::Green, sums.held.mean_ms()),
            ("GVL wait", '▓', Color::Red, sums.gvl_wait.mean_ms()),
            ("lock", '▒', Color::Magenta, sums.lock_wait.mean_ms()),
            ("I/O", '░', Color::Cyan, sums.io.mean_ms()),
        ];
        let whole: f64 = parts.iter().filter_map(|(.., ms)| *ms).sum();
        if whole <= 0.0 {
            return Vec::new();
        }
        let mut spans = Vec::new();
        let (mut reached, mut drawn) = (0.0, 0);
        for (_, mark, colour, ms) in parts {
            reached += ms.unwrap_or(0.0);
            let until = (reached / whole * f64::from(width)).round() as usize;
            let text: String = std::iter::repeat_n(mark, until - drawn).collect();
            spans.push(Span::styled(text, self.painted(colour)));
            drawn = until;
        }
        let legend = parts.map(|(name, mark, _, ms)| {
            ms.map_or_else(String::new, |ms| format!("{mark} {name} {ms:.1} ms   "))
        });
        let legend = report::wrapped("", &legend.concat(), width);
        let mut lines = vec![Line::from(spans)];
        lines.extend(legend.into_iter().map(Line::from));
        lines
    }

    pub(crate) fn table(
        &self,
        window: &Window,
        tab: Tab,
        selected: Option<usize>,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let rows = Rows::of(window, tab, area.width);
        let right = |text: String| Cell::from(Text::from(text).alignment(Alignment::Right));
        let what = match tab {
            Tab::Processes => "process",
            Tab::Endpoints => "endpoint",
        };
        let titles = rows.titles.iter().map(|title| right((*title).to_owned()));
        let header = Row::new(std::iter::once(Cell::from(what)).chain(titles))
            .style(Style::new().add_modifier(Modifier::UNDERLINED));
        let row = |figures: &Figures| {
            let cells = figures.cells.iter().map(|text| right(text.clone()));
            let row = Row::new(std::iter::once(Cell::from(figures.name.clone())).chain(cells));
            match figures.straggler {
                true => row.style(self.painted(Color::Yellow)),
                false => row,
            }
        };
        let figures = rows.titles.iter().map(|_| COLUMN);
        let widths = std::iter::once(rows.name_width).chain(figures);
        let table = Table::new(rows.rows.iter().map(row), widths.map(Constraint::Length))
            .column_spacing(0)
            .header(header)
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        let last = rows.rows.len().saturating_sub(1);
        let mut state = TableState::new().with_selected(selected.map(|at| at.min(last)));
        StatefulWidget::render(table, area, buffer, &mut state);
    }

    fn painted(&self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }
}

/// Draws lines, and returns what is left below.
pub(crate) fn put(lines: &[Line<'_>], area: Rect, buffer: &mut Buffer) -> Rect {
    let shown = (lines.len() as u16).min(area.height);
    for (row, line) in (0..shown).zip(lines) {
        let at = Rect {
            y: area.y + row,
            height: 1,
            ..area
        };
        line.render(at, buffer);
    }
    Rect {
        y: area.y + shown,
        height: area.height - shown,
        ..area
    }
}

fn title(window: &Window) -> String {
    let mut servers: Vec<&str> = Vec::new();
    let mut applications: Vec<&str> = Vec::new();
    for row in &window.processes {
        let (_, root, server) = &row.process.family;
        for (all, one) in [(&mut servers, server), (&mut applications, root)] {
            if !one.is_empty() && !all.contains(&one.as_str()) {
                all.push(one);
            }
        }
    }
    let mut words = run::counted(window.processes.len() as u64, "process");
    for all in [servers, applications] {
        if !all.is_empty() {
            words += &format!(", {}", all.join(" and "));
        }
    }
    format!("{words}, the last {:.1} s", window.length.as_secs_f64())
}

fn totals(window: &Window) -> String {
    let sums = &window.all;
    let mut words = vec![format!(
        "{} requests/s",
        report::rate(window.per_s(sums.requests))
    )];
    let share = |of: u64| 100.0 * of as f64 / sums.requests as f64;
    words.extend(
        sums.wall
            .mean_ms()
            .filter(|_| sums.requests > 0)
            .map(|ms| format!("{ms:.1} ms a request")),
    );
    if sums.errors > 0 {
        words.push(format!("{:.1} % failed (5xx)", share(sums.errors)));
    }
    let of = window
        .threads()
        .map_or_else(String::new, |n| format!(" of {n}"));
    words.push(format!("{:.1}{of} threads busy", window.busy()));
    let cores: Option<f64> = window.processes.iter().map(|row| row.cores).sum();
    words.extend(
        cores
            .filter(|_| !window.processes.is_empty())
            .map(|cores| format!("CPU {:.0} %", 100.0 * cores)),
    );
    let pss: Option<u64> = window
        .processes
        .iter()
        .map(|row| row.process.pss_bytes)
        .sum();
    words.extend(
        pss.filter(|pss| *pss > 0)
            .map(|pss| format!("{} PSS", report::bytes(pss))),
    );
    words.join(", ")
}

/// Without its end, which a mark stands for.
fn cut(text: &str, width: u16) -> String {
    let room = usize::from(width).saturating_sub(1);
    text.chars().take(room).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, served};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn window() -> Window {
        let quick = served(100, 10, 62);
        let slow = served(100, 200, 62);
        let workers = |a, b| {
            vec![
                process(1, 0, &[("a#index", a)]),
                process(2, 1, &[("a#index", b)]),
            ]
        };
        let before = reading(0, workers(served(0, 0, 0), served(0, 0, 0)));
        Window::between(&before, &reading(5, workers(quick, slow)))
    }

    fn drawn(view: &View, window: Option<&Window>, width: u16, height: u16) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let draw =
            |frame: &mut ratatui::Frame<'_>| view.draw(window, frame.area(), frame.buffer_mut());
        terminal.draw(draw).unwrap();
        terminal.backend().buffer().clone()
    }

    fn text(view: &View, width: u16, height: u16) -> String {
        crate::plain::text(&drawn(view, Some(&window()), width, height))
    }

    #[test]
    fn a_usual_screen_has_everything() {
        let screen = text(&View::default(), 80, 24);
        let words = [
            "2 processes, the last 5.0 s",
            "40.0 requests/s",
            "Requests run Ruby for 105.0 ms of their 172.0 ms",
            "! worker 1 (2) takes 3.5 times as long",
            "█ Ruby 105.0 ms",
            "worker 0 (1)",
            "20.0",
            "q quit",
        ];
        for words in words {
            assert!(screen.contains(words), "{words}\n{screen}");
        }
    }

    #[test]
    fn a_small_screen_has_the_rows_and_a_large_one_all_columns() {
        let small = text(&View::default(), 40, 10);
        for words in ["2 processes", "worker 0 (1)", "q quit"] {
            assert!(small.contains(words), "{words}\n{small}");
        }
        assert!(!small.contains("RSS"), "{small}");
        let large = text(&View::default(), 160, 50);
        for words in ["queue", "pool", "RSS", "5xx", "0/5"] {
            assert!(large.contains(words), "{words}\n{large}");
        }
        for (width, height) in [(1, 1), (8, 2), (20, 3), (500, 4)] {
            drawn(&View::default(), Some(&window()), width, height);
        }
    }

    #[test]
    fn the_other_table_has_endpoints() {
        let view = View {
            tab: Tab::Endpoints,
            ..View::default()
        };
        let screen = text(&view, 80, 24);
        assert!(
            screen.contains("a#index") && !screen.contains("worker 0"),
            "{screen}"
        );
    }

    #[test]
    fn without_colour_no_cell_has_any() {
        let coloured = |colour| {
            let view = View {
                colour,
                ..View::default()
            };
            let buffer = drawn(&view, Some(&window()), 80, 24);
            buffer
                .content
                .iter()
                .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
        };
        assert!(coloured(true));
        assert!(!coloured(false));
    }

    #[test]
    fn without_a_window_it_says_what_it_reads_or_why_not() {
        let mut view = View {
            source: "/tmp/x".to_owned(),
            ..View::default()
        };
        let screen = |view: &View| crate::plain::text(&drawn(view, None, 80, 24));
        assert!(screen(&view).contains("reading /tmp/x"));
        view.problem = Some("no process runs".to_owned());
        assert!(screen(&view).contains("no process runs"));
    }
}
