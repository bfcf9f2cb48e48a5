//! The screens: what stands above, a table, and the keys.

use crate::course::{Course, name};
use crate::detail::Detail;
use crate::head::{PARTS, TALL};
use crate::seen::Seen;
use crate::table::{COLUMN, Row as Figures, Rows, endpoints, processes};
use crate::view::{Tab, View};
use crate::window::Window;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Row, StatefulWidget, Table, TableState, Widget};

impl View {
    /// Draws what was seen.
    pub fn draw(&self, seen: &Seen, area: Rect, buffer: &mut Buffer) {
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
        Line::styled(self.keys(area.width), dim).render(keys, buffer);
        let style = self.painted(Color::Yellow);
        let problem = self.problem.iter();
        let problem = problem.flat_map(|problem| report::wrapped("", problem, body.width));
        let problem: Vec<Line<'_>> = problem.map(|line| Line::styled(line, style)).collect();
        let below = put(&problem, body, buffer);
        let (lines, (rows, selected)) = match &self.detail {
            Some(Detail {
                course: Some(course),
                ..
            }) => (
                self.course(course, seen, below),
                (
                    Rows::fit("from, ms", course.rows(), below.width),
                    Some(course.selected),
                ),
            ),
            Some(detail) => {
                let lines = match seen.part() {
                    Some(part) => self.head(part, below.width, below.height),
                    None if !problem.is_empty() => Vec::new(),
                    None if seen.window.is_none() => vec![self.reading()],
                    None => vec![Line::from(
                        "This process has ended, or no request of it has; Esc goes back.",
                    )],
                };
                (lines, detail.table(seen, below.width))
            }
            None => match &seen.window {
                Some(window) => (
                    self.head(window, below.width, below.height),
                    (of(window, self.tab, below.width), Some(self.selected)),
                ),
                None if problem.is_empty() => {
                    put(&[self.reading()], below, buffer);
                    return;
                }
                None => return,
            },
        };
        let below = put(&lines, below, buffer);
        if !rows.rows.is_empty() {
            self.table(&rows, selected, below, buffer);
        }
    }

    fn reading(&self) -> Line<'static> {
        Line::from(format!("reading {}", self.source))
    }

    /// As many keys as there is room for.
    fn keys(&self, width: u16) -> String {
        let keys: &[&str] = match &self.detail {
            Some(detail) => detail.keys(),
            None => match self.tab.next() {
                Tab::Endpoints => &["q quit", "Enter details", "Tab endpoints", "↑ ↓ select"],
                Tab::Processes => &["q quit", "Enter details", "Tab processes", "↑ ↓ select"],
            },
        };
        let mut line = String::new();
        for key in keys {
            let space = if line.is_empty() { "" } else { "  " };
            let more = format!("{space}{key}");
            if line.chars().count() + more.chars().count() > usize::from(width) {
                break;
            }
            line += &more;
        }
        line
    }

    /// What stands above the steps of a request.
    pub(crate) fn course(&self, course: &Course, seen: &Seen, area: Rect) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let (title, facts) = course.words(seen.wall_ns());
        let wrapped = |text: &str| report::wrapped("", text, area.width);
        let mut lines: Vec<Line<'static>> = Vec::new();
        lines.extend(
            wrapped(&title)
                .into_iter()
                .map(|line| Line::styled(line, bold)),
        );
        // On a small screen the steps matter more than their sums.
        let is_brief = area.height < TALL && course.steps.is_ok();
        if !is_brief {
            lines.extend(self.bar(&course.slow.sums, area.width));
        }
        if course.steps.is_ok() {
            let parts = course.line(area.width).into_iter().filter_map(|doing| {
                let part = PARTS.into_iter().find(|(one, ..)| *one == name(doing));
                part.map(|(_, mark, colour)| Span::styled(mark.to_string(), self.painted(colour)))
            });
            lines.push(Line::from("In the order in which it happened:"));
            lines.push(Line::from(parts.collect::<Vec<_>>()));
        }
        if !is_brief {
            lines.extend(wrapped(&facts).into_iter().map(Line::from));
        }
        if let Err(why) = &course.steps {
            lines.extend(wrapped(&why.to_string()).into_iter().map(Line::from));
        }
        lines
    }

    pub(crate) fn table(
        &self,
        rows: &Rows,
        selected: Option<usize>,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let right = |text: String| Cell::from(Text::from(text).alignment(Alignment::Right));
        let titles = rows.titles.iter().map(|title| right((*title).to_owned()));
        let header = Row::new(std::iter::once(Cell::from(rows.what)).chain(titles))
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
}

/// One of the tables about all processes.
pub(crate) fn of(window: &Window, tab: Tab, width: u16) -> Rows {
    match tab {
        Tab::Processes => Rows::fit("process", processes(window), width),
        Tab::Endpoints => Rows::fit("endpoint", endpoints(window), width),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::CourseStep;
    use crate::samples::{process, reading, record, served};
    use crate::slow::Slow;
    use flight::events::Doing;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use std::time::Duration;

    fn seen() -> Seen {
        let quick = served(100, 10, 62);
        let slow = served(100, 200, 62);
        let workers = |a, b| {
            vec![
                process(1, 0, &[("a#index", a)]),
                process(2, 1, &[("a#index", b)]),
            ]
        };
        let mut seen = Seen::new(Duration::from_secs(5));
        seen.push(reading(0, workers(served(0, 0, 0), served(0, 0, 0))));
        seen.push(reading(5, workers(quick, slow)));
        seen
    }

    fn drawn(view: &View, seen: &Seen, width: u16, height: u16) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let draw =
            |frame: &mut ratatui::Frame<'_>| view.draw(seen, frame.area(), frame.buffer_mut());
        terminal.draw(draw).unwrap();
        terminal.backend().buffer().clone()
    }

    fn text(view: &View, width: u16, height: u16) -> String {
        let mut seen = seen();
        seen.look_at(view.subject());
        crate::plain::text(&drawn(view, &seen, width, height))
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
            drawn(&View::default(), &seen(), width, height);
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

    fn press(view: &mut View, seen: &mut Seen, codes: &[KeyCode]) {
        for code in codes {
            view.key(KeyEvent::new(*code, KeyModifiers::NONE), seen);
            seen.look_at(view.subject());
        }
    }

    fn has(screen: &str, words: &[&str]) {
        for words in words {
            assert!(screen.contains(words), "{words}\n{screen}");
        }
    }

    #[test]
    fn one_process_in_detail_on_a_usual_and_a_small_screen() {
        let (mut view, mut seen) = (View::default(), seen());
        press(&mut view, &mut seen, &[KeyCode::Down, KeyCode::Enter]);
        let screen = text(&view, 80, 24);
        let words = [
            "worker 1 (2), the last 5.0 s",
            "20.0 requests/s",
            "Requests run Ruby for 200.0 ms",
            "! worker 1 (2) takes 3.5 times as long",
            "0 to 5 s ago",
            "q quit  Esc back  Tab endpoints",
        ];
        has(&screen, &words);
        has(
            &text(&view, 40, 10),
            &["worker 1 (2)", "0 to 5 s ago", "Esc back  Tab endpoints"],
        );
        press(&mut view, &mut seen, &[KeyCode::Tab]);
        has(&text(&view, 40, 10), &["a#index", "20.0", "Tab slowest"]);
        for (width, height) in [(1, 1), (8, 2), (20, 3), (500, 4)] {
            drawn(&view, &seen, width, height);
        }
    }

    #[test]
    fn one_endpoint_in_detail_has_its_processes_and_not_their_cpu() {
        let (mut view, mut seen) = (View::default(), seen());
        let keys = [KeyCode::Tab, KeyCode::Enter, KeyCode::Tab];
        press(&mut view, &mut seen, &keys);
        let screen = text(&view, 160, 24);
        has(
            &screen,
            &["a#index in 2 processes", "worker 0 (1)", "worker 1 (2)"],
        );
        assert!(
            !screen.contains("CPU") && !screen.contains("busy"),
            "{screen}"
        );
    }

    #[test]
    fn a_slow_request_has_its_parts_and_says_why_there_is_no_order() {
        let (mut view, mut seen) = (View::default(), seen());
        press(&mut view, &mut seen, &[KeyCode::Enter]);
        let process = process(1, 0, &[("a#index", served(0, 0, 0))]);
        seen.look.as_mut().unwrap().slowest = vec![Slow::of(record(1_234), &process)];
        press(&mut view, &mut seen, &[KeyCode::BackTab, KeyCode::Enter]);
        for (width, height) in [(80, 24), (40, 10)] {
            let screen = crate::plain::text(&drawn(&view, &seen, width, height));
            let words = [
                "a#index: 200 after 1,234 ms",
                "█ Ruby 1234.0 ms",
                "Esc back",
            ];
            has(&screen, &words);
        }
        let screen = crate::plain::text(&drawn(&view, &seen, 80, 24));
        has(
            &screen,
            &[
                "The order of its steps is not recorded.",
                "POWERBAND_BURSTS=N",
            ],
        );
    }

    #[test]
    fn a_slow_request_has_its_steps_on_a_small_screen_too() {
        let (mut view, mut seen) = (View::default(), seen());
        press(&mut view, &mut seen, &[KeyCode::Enter]);
        let process = process(1, 0, &[("a#index", served(0, 0, 0))]);
        let mut course = Course::read(Slow::of(record(40), &process));
        let step = |from_ns, doing| CourseStep {
            from_ns,
            ns: 20_000_000,
            doing,
            call: None,
            gc_ns: 0,
        };
        course.steps = Ok(vec![step(0, Doing::Running), step(20_000_000, Doing::Io)]);
        view.detail.as_mut().unwrap().course = Some(course);
        let small = crate::plain::text(&drawn(&view, &seen, 40, 10));
        has(&small, &["████░░░░", "0.0 Ruby", "20.0 I/O", "Esc back"]);
        let usual = crate::plain::text(&drawn(&view, &seen, 80, 24));
        has(
            &usual,
            &["█ Ruby 40.0 ms", "████░░░░", "20.0 I/O", "alone in"],
        );
    }

    #[test]
    fn a_process_that_has_ended_is_no_blank_screen() {
        let (mut view, mut seen) = (View::default(), seen());
        press(&mut view, &mut seen, &[KeyCode::Enter]);
        seen.push(reading(6, vec![process(2, 1, &[])]));
        let screen = crate::plain::text(&drawn(&view, &seen, 80, 24));
        has(
            &screen,
            &["This process has ended, or no request of it has; Esc goes back."],
        );
    }

    #[test]
    fn without_colour_no_cell_has_any() {
        let coloured = |colour| {
            let view = View {
                colour,
                ..View::default()
            };
            let buffer = drawn(&view, &seen(), 80, 24);
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
        let screen = |view: &View| crate::plain::text(&drawn(view, &Seen::default(), 80, 24));
        assert!(screen(&view).contains("reading /tmp/x"));
        view.problem = Some("no process runs".to_owned());
        assert!(screen(&view).contains("no process runs"));
    }
}
