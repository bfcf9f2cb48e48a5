//! What stands above a table: which processes, totals, the diagnosis, workers unlike their siblings, and the parts of a
//! request's time as a bar.

use crate::diagnosis::{FAILED, diagnosis};
use crate::process_row::Resources;
use crate::subject::Subject;
use crate::view::View;
use crate::window::Window;
use inspect::Sums;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// The parts of a request's time, in the order in which a bar has them.
pub const PARTS: [(&str, char, Color); 5] = [
    ("queue", '-', Color::Blue),
    ("Ruby", '█', Color::Green),
    ("GVL wait", '▓', Color::Red),
    ("lock", '▒', Color::Magenta),
    ("I/O", '░', Color::Cyan),
];
/// From so many lines on there is room for the bar.
pub const TALL: u16 = 16;

/// Milliseconds of each part, where it is known.
pub fn times(sums: &Sums) -> [Option<f64>; 5] {
    let times = [
        sums.queue,
        sums.held,
        sums.gvl_wait,
        sums.lock_wait,
        sums.io,
    ];
    times.map(|sum| sum.mean_ms())
}

impl View {
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
    pub(crate) fn bar(&self, sums: &Sums, width: u16) -> Vec<Line<'static>> {
        let times = times(sums);
        let whole: f64 = times.iter().flatten().sum();
        if whole <= 0.0 {
            return Vec::new();
        }
        let mut spans = Vec::new();
        let (mut reached, mut drawn) = (0.0, 0);
        for ((_, mark, colour), ms) in PARTS.into_iter().zip(times) {
            reached += ms.unwrap_or(0.0);
            let until = (reached / whole * f64::from(width)).round() as usize;
            let text: String = std::iter::repeat_n(mark, until - drawn).collect();
            spans.push(Span::styled(text, self.painted(colour)));
            drawn = until;
        }
        let legend = PARTS
            .into_iter()
            .zip(times)
            .filter_map(|((name, mark, _), ms)| {
                ms.map(|ms| format!("{mark} {name} {ms:.1} ms   "))
            });
        let legend = report::wrapped("", &legend.collect::<String>(), width);
        let mut lines = vec![Line::from(spans)];
        lines.extend(legend.into_iter().map(Line::from));
        lines
    }

    pub(crate) fn painted(&self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }
}

pub(crate) fn title(window: &Window) -> String {
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
    let count = run::counted(window.processes.len() as u64, "process");
    let mut words = match (&window.subject, window.processes.first()) {
        (Some(Subject::Process(_)), Some(row)) => row.process.name.clone(),
        (Some(Subject::Endpoint(name)), _) => format!("{name} in {count}"),
        _ => count,
    };
    for all in [servers, applications] {
        if !all.is_empty() {
            words += &format!(", {}", all.join(" and "));
        }
    }
    format!("{words}, the last {:.1} s", window.length.as_secs_f64())
}

pub(crate) fn totals(window: &Window) -> String {
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
            .map(|ms| format!("{ms:.1} ms a request{}", queued(sums))),
    );
    if sums.errors > 0 {
        words.push(format!("{:.1} % {FAILED}", share(sums.errors)));
    }
    if window.of_endpoint().is_some() {
        return words.join(", ");
    }
    let of = window
        .threads()
        .map_or_else(String::new, |n| format!(" of {n}"));
    words.push(format!("{:.1}{of} threads busy", window.busy()));
    let Resources {
        cores, pss_bytes, ..
    } = Resources::of(&window.processes);
    words.extend(cores.map(|cores| format!("CPU {:.0} %", 100.0 * cores)));
    let pss_bytes = pss_bytes.filter(|bytes| *bytes > 0);
    words.extend(pss_bytes.map(|bytes| format!("{} PSS of these processes", report::bytes(bytes))));
    words.join(", ")
}

/// What comes before the application's time.
fn queued(sums: &Sums) -> String {
    let queue = sums.queue.mean_ms().filter(|ms| *ms >= 0.05);
    queue.map_or_else(String::new, |ms| format!(" after {ms:.1} ms in the queue"))
}

/// Without its end, which a mark stands for.
fn cut(text: &str, width: u16) -> String {
    let room = usize::from(width).saturating_sub(1);
    text.chars().take(room).chain(['…']).collect()
}
