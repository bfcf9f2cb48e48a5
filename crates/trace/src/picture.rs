//! The timeline as SVG, for a page: a lane per thread that served, a column per pixel, each in the colour of what the
//! thread did for most of it.

use crate::stack::{Slice, What};
use crate::timeline::{ProcessTimeline, ThreadTimeline};
use flight::events::Doing;
use std::fmt::Write;

const WIDTH: u32 = 960;
const LEFT: u32 = 150;
const RIGHT: u32 = 50;
const TOP: u32 = 34;
const LANE: u32 = 16;
const THIN: u32 = 4;
const GAP: u32 = 4;
const HEAD: u32 = 20;
const FOOT: u32 = 26;
/// What fits to the left of a lane.
const NAME: usize = 22;

// Colours that are distinct without red and green (Okabe and Ito), as in web/src/colours.ts.
const LEGEND: [(&str, &str); 5] = [
    ("running", "#009e73"),
    ("waiting for the GVL", "#d55e00"),
    ("lock", "#cc79a7"),
    ("I/O or sleep", "#56b4e9"),
    ("GC", "#1e1e1e"),
];
const WAITING: usize = 1;
const GC: usize = LEGEND.len() - 1;
const INK: &str = "#333";
const GRID: &str = "#bbb";

/// Draws all of it.
///
/// # Errors
/// When nothing was recorded that could be drawn.
pub fn picture(processes: &[ProcessTimeline]) -> Result<String, String> {
    let begin_ns = processes.iter().map(|c| c.begin_ns).min().unwrap_or(0);
    let end_ns = processes.iter().map(|c| c.end_ns).max().unwrap_or(0);
    let groups: Vec<(&ProcessTimeline, Vec<&ThreadTimeline>)> = processes
        .iter()
        .map(|c| (c, c.threads.iter().filter(|t| t.requests() > 0).collect()))
        .collect();
    let lanes: u32 = groups.iter().map(|(_, threads)| threads.len() as u32).sum();
    if lanes == 0 || end_ns <= begin_ns {
        return Err("no request was recorded".to_owned());
    }
    let bottom = TOP + groups.len() as u32 * HEAD + lanes * (LANE + GAP);
    let mut svg = Svg::new(WIDTH, bottom + FOOT);
    svg.legend();
    svg.scale(begin_ns, end_ns, bottom);
    let mut y = TOP;
    for (timeline, threads) in groups {
        svg.text(6, y + 14, &timeline.origin.name);
        y += HEAD;
        for thread in threads {
            svg.text(6, y + 12, &thread.name);
            for place in [Place::Between, Place::Inside] {
                svg.lane(y, place, &columns(thread, place, begin_ns, end_ns));
            }
            svg.marks(y, &request_begins(thread, begin_ns, end_ns));
            y += LANE + GAP;
        }
    }
    Ok(svg.finish())
}

/// As few bytes as say it: the timeline of twenty threads has thousands of pieces.
struct Svg(String);

impl Svg {
    fn new(width: u32, height: u32) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"12\" fill=\"{INK}\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        ))
    }

    fn text(&mut self, x: u32, y: u32, words: &str) {
        let mut shown: String = words.chars().take(NAME).collect();
        if shown.len() < words.len() {
            shown.pop();
            shown.push('…');
        }
        self.add(format_args!("<text x=\"{x}\" y=\"{y}\">"));
        for c in shown.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                // XML has no room for them, not even escaped.
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => self.0.push(' '),
                c => self.0.push(c),
            }
        }
        self.0.push_str("</text>\n");
    }

    fn stroke(&mut self, colour: &str, width: u32, path: &str) {
        self.add(format_args!(
            "<path stroke=\"{colour}\" stroke-width=\"{width}\" d=\"{path}\"/>\n"
        ));
    }

    fn legend(&mut self) {
        let mut x = LEFT;
        for (name, colour) in LEGEND {
            self.stroke(colour, 12, &format!("M{x} 15h12"));
            self.text(x + 17, 19, name);
            x += 42 + 6 * name.len() as u32;
        }
        self.stroke(INK, THIN, &format!("M{x} 15h12"));
        self.text(x + 17, 19, "between requests");
    }

    fn scale(&mut self, begin_ns: u64, end_ns: u64, bottom: u32) {
        let step_ns = step(end_ns - begin_ns);
        let mut path = String::new();
        for at in (0..=(end_ns - begin_ns) / step_ns).map(|n| n * step_ns) {
            let x = column(begin_ns + at, begin_ns, end_ns);
            path += &format!("M{x} {}V{}", TOP + HEAD - 4, bottom + 4);
            self.text(x + 3, bottom + 14, &format!("{} ms", at / 1_000_000));
        }
        self.stroke(GRID, 1, &path);
    }

    /// A path for each colour, along the middle of the lane.
    fn lane(&mut self, y: u32, place: Place, runs: &[Run]) {
        let height = match place {
            Place::Inside => LANE,
            Place::Between => THIN,
        };
        for (kind, (_, colour)) in LEGEND.iter().enumerate() {
            let mut path = String::new();
            let mut pen = None;
            for run in runs.iter().filter(|run| run.kind == kind) {
                path += &match pen {
                    None => format!("M{} {}", run.from, y + LANE / 2),
                    Some(x) => format!("m{} 0", run.from - x),
                };
                path += &format!("h{}", run.to - run.from);
                pen = Some(run.to);
            }
            if !path.is_empty() {
                self.stroke(colour, height, &path);
            }
        }
    }

    fn marks(&mut self, y: u32, columns: &[u32]) {
        let path: String = columns
            .iter()
            .map(|x| format!("M{x} {}v{}", y - 2, LANE + 3))
            .collect();
        if !path.is_empty() {
            self.stroke(INK, 1, &path);
        }
    }

    fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    fn add(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.0.write_fmt(what);
    }
}

/// A round distance between marks, at most ten of them.
fn step(span_ns: u64) -> u64 {
    let mut step = 1_000_000;
    for factor in [2, 5, 10].into_iter().cycle() {
        if span_ns / step <= 10 {
            break;
        }
        step = match factor {
            2 => step * 2,
            5 => step / 2 * 5,
            _ => step * 2,
        };
    }
    step
}

fn column(at_ns: u64, begin_ns: u64, end_ns: u64) -> u32 {
    let share = at_ns.saturating_sub(begin_ns) as f64 / (end_ns - begin_ns) as f64;
    LEFT + (share.min(1.0) * f64::from(WIDTH - LEFT - RIGHT)) as u32
}

/// Its place in the legend.
fn kind(slice: &Slice) -> Option<usize> {
    match slice.what {
        What::Doing(Doing::Running) => Some(0),
        What::Doing(Doing::Waiting) => Some(WAITING),
        What::Doing(Doing::Lock) => Some(2),
        What::Doing(Doing::Io) => Some(3),
        What::Collection(_) => Some(GC),
        What::Request { .. } | What::Call(_) => None,
    }
}

/// Columns side by side in which the same was done.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    from: u32,
    to: u32,
    kind: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    /// Where a thread reads and parses the next request, and may wait for the GVL to do so. That it waits for work is not
    /// shown.
    Between,
}

fn columns(thread: &ThreadTimeline, place: Place, begin_ns: u64, end_ns: u64) -> Vec<Run> {
    let width = (WIDTH - LEFT - RIGHT) as usize;
    let per_column = (end_ns - begin_ns) as f64 / width as f64;
    let requests: Vec<&Slice> = thread
        .slices
        .iter()
        .filter(|s| matches!(s.what, What::Request { .. }))
        .collect();
    let mut time = vec![[0.0_f64; LEGEND.len()]; width];
    for slice in &thread.slices {
        let Some(kind) = kind(slice) else {
            continue;
        };
        let next = requests.partition_point(|r| r.end_ns <= slice.begin_ns);
        let inside = requests
            .get(next)
            .is_some_and(|r| r.begin_ns <= slice.begin_ns);
        let shown = match place {
            Place::Inside => inside,
            Place::Between => !inside && kind <= WAITING,
        };
        if !shown {
            continue;
        }
        let at = |ns: u64| ns.saturating_sub(begin_ns) as f64 / per_column;
        let (from, to) = (at(slice.begin_ns), at(slice.end_ns.min(end_ns)));
        let mut at = from;
        while at < to && (at as usize) < width {
            let next = (at.floor() + 1.0).min(to);
            time[at as usize][kind] += next - at;
            at = next;
        }
    }
    let mut runs: Vec<Run> = Vec::new();
    for (column, shares) in (LEFT..).zip(&time) {
        let most = (0..GC).fold(0, |best, kind| match shares[kind] > shares[best] {
            true => kind,
            false => best,
        });
        // A pause is part of what runs: it shows where it takes a third of the column.
        let kind = match () {
            () if shares[GC] > 0.33 => GC,
            () if shares[most] > 0.05 => most,
            () => continue,
        };
        match runs.last_mut() {
            Some(last) if last.to == column && last.kind == kind => last.to = column + 1,
            _ => runs.push(Run {
                from: column,
                to: column + 1,
                kind,
            }),
        }
    }
    runs
}

/// Marks where requests begin, as far as they can be distinguished.
fn request_begins(thread: &ThreadTimeline, begin_ns: u64, end_ns: u64) -> Vec<u32> {
    let begins = thread
        .slices
        .iter()
        .filter(|s| matches!(s.what, What::Request { whole: true, .. }) && s.begin_ns < end_ns);
    let mut columns: Vec<u32> = begins
        .map(|s| column(s.begin_ns, begin_ns, end_ns))
        .collect();
    columns.dedup();
    let apart = columns.windows(2).all(|w| w[1] - w[0] > 3);
    if apart { columns } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let mut svg = Svg::new(10, 10);
        svg.text(1, 2, "<a & b>\u{1}");
        svg.text(1, 2, "Zoë's thread with a very long name");
        let text = svg.finish();
        assert!(text.contains("\">&lt;a &amp; b&gt; </text>"), "{text}");
        assert!(text.contains("\">Zoë's thread with a v…</text>"), "{text}");
    }

    #[test]
    fn runs_of_one_colour_are_one_path() {
        let run = |from, to, kind| Run { from, to, kind };
        let mut svg = Svg::new(10, 10);
        svg.lane(
            50,
            Place::Inside,
            &[run(150, 153, 0), run(153, 160, 1), run(162, 163, 0)],
        );
        let text = svg.finish();
        assert!(text.contains("d=\"M150 58h3m9 0h1\""), "{text}");
        assert!(text.contains("d=\"M153 58h7\""), "{text}");
    }

    #[test]
    fn marks_are_round_and_few() {
        for (span_ms, step_ms) in [
            (7, 1),
            (11, 2),
            (45, 5),
            (100, 10),
            (150, 20),
            (900, 100),
            (5000, 500),
        ] {
            assert_eq!(
                step(span_ms * 1_000_000),
                step_ms * 1_000_000,
                "{span_ms} ms"
            );
        }
    }
}
