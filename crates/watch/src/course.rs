//! The course of one slow request: how long it did what and, where its events were recorded, in which order.

use crate::slow::{NoOrder, Slow};
use crate::table::{Full, ago_s, status};
use crate::window::{CALLS, call_ms};
use flight::CallKind;
use flight::events::{CallKind as InnerKind, Doing, InnerCall, RequestBursts};
use small_sort::SmallSort;

/// A request, and its course.
#[derive(Debug, Clone)]
pub struct Course {
    pub slow: Slow,
    pub steps: Result<Vec<CourseStep>, NoOrder>,
    /// The first step on the screen.
    pub selected: usize,
}

/// A time in which the request did one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct CourseStep {
    /// From its begin.
    pub from_ns: u64,
    pub ns: u64,
    pub doing: Doing,
    /// The innermost call that it was in when this began.
    pub call: Option<&'static str>,
    /// Its own garbage collection inside.
    pub gc_ns: u64,
}

impl Course {
    /// Reads the request's events, where there are any.
    pub fn read(slow: Slow) -> Self {
        Self {
            steps: slow.course().map(|bursts| steps(&bursts)),
            slow,
            selected: 0,
        }
    }

    /// Which request it is and what its figures are, a paragraph each.
    pub fn words(&self, now_wall_ns: u64) -> (String, String) {
        let (slow, sums) = (&self.slow, &self.slow.sums);
        let title = format!(
            "{}: {} after {} ms, ended {} s ago, {}",
            slow.endpoint,
            status(slow),
            report::rate(slow.record.wall_ns as f64 / 1e6),
            ago_s(slow, now_wall_ns),
            slow.process
        );
        let mut facts = Vec::new();
        let pool = (CallKind::Pool, "the connection pool");
        for (kind, name) in CALLS.into_iter().chain([pool]) {
            let count = sums.calls[kind].count.total();
            if let Some(ms) = call_ms(sums, kind).filter(|_| count > 0) {
                facts.push(format!(
                    "{name} {ms:.1} ms in {}",
                    run::counted(count, "call")
                ));
            }
        }
        if let Some(gc) = sums.gc.mean_ms() {
            facts.push(format!("garbage collection {gc:.1} ms"));
        }
        let busy = slow.record.busy_threads.saturating_sub(1);
        facts.push(match busy {
            0 => "alone in its process when it began".to_owned(),
            _ => format!("{} in progress when it began", counted_others(busy)),
        });
        (title, run::sentence_case(&(facts.join(", ") + ".")))
    }

    /// The request to scale: for each character, what it did for most of that time.
    pub fn line(&self, width: u16) -> Vec<Doing> {
        let steps = self.steps.as_deref().unwrap_or_default();
        let whole = steps.last().map_or(0, |last| last.from_ns + last.ns);
        let width = u64::from(width);
        let mut line = Vec::new();
        for cell in 0..width {
            let (from, to) = (whole * cell / width, whole * (cell + 1) / width);
            let first = steps.partition_point(|step| step.from_ns + step.ns <= from);
            let inside = steps[first..].iter().take_while(|step| step.from_ns < to);
            let mut sums = DOING.map(|(doing, _)| (doing, 0));
            for step in inside {
                let ns = (step.from_ns + step.ns).min(to) - step.from_ns.max(from);
                sums.iter_mut()
                    .filter(|(doing, _)| *doing == step.doing)
                    .for_each(|(_, sum)| *sum += ns);
            }
            let most = sums.into_iter().max_by_key(|(_, ns)| *ns);
            line.extend(most.filter(|(_, ns)| *ns > 0).map(|(doing, _)| doing));
        }
        line
    }

    /// A row for each step; neighbours that are all shorter than [`SHORT_NS`] have one together.
    pub fn rows(&self) -> Vec<Full> {
        let steps = self.steps.as_deref().unwrap_or_default();
        let is_short = |step: &CourseStep| step.ns < SHORT_NS;
        let groups = steps.chunk_by(|one, next| is_short(one) && is_short(next));
        groups.map(row).collect()
    }
}

/// The tables have tenths of a millisecond.
const SHORT_NS: u64 = 100_000;

/// A step, or neighbours.
fn row(steps: &[CourseStep]) -> Full {
    let ms = |ns: u64| format!("{:.1}", ns as f64 / 1e6);
    let from_ns = steps.first().map_or(0, |first| first.from_ns);
    let sum = |of: fn(&CourseStep) -> u64| steps.iter().map(of).sum::<u64>();
    let mut calls: Vec<&str> = steps.iter().filter_map(|step| step.call).collect();
    calls.sort_unstable();
    calls.dedup();
    let what = match steps {
        [step] => name(step.doing).to_owned(),
        _ => format!("{} short steps, most in {}", steps.len(), name(most(steps))),
    };
    let gc = match sum(|step| step.gc_ns) {
        0 => String::new(),
        ns => ms(ns),
    };
    Full::new(
        format!("{:>9} {what}", ms(from_ns)),
        vec![
            ("for, ms", ms(sum(|step| step.ns))),
            ("in call", calls.join(", ")),
            ("GC", gc),
        ],
    )
}

/// What these steps did for most of their time.
fn most(steps: &[CourseStep]) -> Doing {
    let ns = |doing: Doing| -> u64 {
        let same = steps.iter().filter(|step| step.doing == doing);
        same.map(|step| step.ns).sum()
    };
    let doing = DOING.map(|(doing, _)| doing);
    doing
        .into_iter()
        .max_by_key(|doing| ns(*doing))
        .unwrap_or(Doing::Running)
}

/// As the bar of a window names them.
const DOING: [(Doing, &str); 4] = [
    (Doing::Running, "Ruby"),
    (Doing::Waiting, "GVL wait"),
    (Doing::Lock, "lock"),
    (Doing::Io, "I/O"),
];

/// What it is called on the screen.
pub fn name(doing: Doing) -> &'static str {
    let found = DOING.iter().find(|(one, _)| *one == doing);
    found.map_or("", |(_, name)| name)
}

fn counted_others(busy: u16) -> String {
    match busy {
        1 => "1 other request of its process".to_owned(),
        n => format!("{n} other requests of its process"),
    }
}

fn steps(request: &RequestBursts) -> Vec<CourseStep> {
    let mut calls: Vec<&InnerCall> = request.calls.iter().collect();
    calls.small_sort_by_key(|call| (call.from_ns, std::cmp::Reverse(call.to_ns)));
    let mut calls = calls.into_iter().peekable();
    let mut open: Vec<&InnerCall> = Vec::new();
    let mut from_ns = 0;
    let step = |burst: &flight::events::Burst| {
        while let Some(call) = calls.next_if(|call| call.from_ns <= from_ns) {
            open.push(call);
        }
        open.retain(|call| call.to_ns > from_ns);
        let to_ns = from_ns + burst.ns;
        let overlap = |&(from, to): &(u64, u64)| to.min(to_ns).saturating_sub(from.max(from_ns));
        let step = CourseStep {
            from_ns,
            ns: burst.ns,
            doing: burst.doing,
            call: open.last().map(|call| match call.kind {
                InnerKind::Sql => "SQL",
                InnerKind::Http => "HTTP",
                InnerKind::Cache => "cache",
                InnerKind::Redis => "Redis",
                InnerKind::Pool => "pool",
                InnerKind::Other(_) => "other",
            }),
            gc_ns: request.collections.iter().map(overlap).sum(),
        };
        from_ns = to_ns;
        step
    };
    request.bursts.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, record};
    use flight::events::Burst;

    fn course() -> Course {
        let of = Burst::new;
        let request = RequestBursts {
            thread: 1,
            start_mono_ns: 0,
            endpoint: 0,
            status: 200,
            flags: 8,
            busy_threads: 3,
            bursts: vec![
                of(Doing::Running, 10_000_000),
                of(Doing::Io, 20_000_000),
                of(Doing::Waiting, 60_000_000),
                of(Doing::Running, 10_000_000),
            ],
            calls: vec![InnerCall {
                kind: InnerKind::Sql,
                from_ns: 9_000_000,
                to_ns: 91_000_000,
            }],
            collections: vec![(2_000_000, 5_000_000)],
        };
        let slow = Slow::of(
            record(100),
            &process(1, 0, &[("a", flight::Totals::default())]),
        );
        Course {
            steps: Ok(steps(&request)),
            slow,
            selected: 0,
        }
    }

    #[test]
    fn steps_have_their_call_and_collection() {
        let steps = course().steps.unwrap();
        let seen: Vec<_> = steps
            .iter()
            .map(|s| (s.from_ns / 1_000_000, s.call, s.gc_ns))
            .collect();
        let sql = Some("SQL");
        assert_eq!(
            seen,
            [
                (0, None, 3_000_000),
                (10, sql, 0),
                (30, sql, 0),
                (90, sql, 0)
            ]
        );
    }

    /// A loop over SQLite has hundreds of steps of some microseconds.
    #[test]
    fn short_neighbours_are_one_row() {
        let mut course = course();
        let of = |from_ns, ns, doing, call| CourseStep {
            from_ns,
            ns,
            doing,
            call,
            gc_ns: 0,
        };
        course.steps = Ok(vec![
            of(0, 5_000_000, Doing::Running, None),
            of(5_000_000, 50_000, Doing::Io, Some("SQL")),
            of(5_050_000, 90_000, Doing::Running, None),
            of(5_140_000, 60_000, Doing::Io, Some("SQL")),
            of(5_200_000, 2_000_000, Doing::Io, Some("SQL")),
            of(7_200_000, 10_000, Doing::Running, None),
        ]);
        let rows = course.rows();
        let shown = rows.iter().map(|row| {
            let cells = row.cells.iter().map(|(_, text)| text.as_str());
            let words: Vec<&str> = std::iter::once(row.name.trim()).chain(cells).collect();
            words.join(" ").trim_end().to_owned()
        });
        let shown: Vec<String> = shown.collect();
        assert_eq!(
            shown,
            [
                "0.0 Ruby 5.0",
                "5.0 3 short steps, most in I/O 0.2 SQL",
                "5.2 I/O 2.0 SQL",
                "7.2 Ruby 0.0",
            ]
        );
    }

    #[test]
    fn the_line_is_to_scale() {
        let line = course().line(10);
        let parts = [Doing::Running, Doing::Io, Doing::Waiting];
        let counts = parts.map(|part| line.iter().filter(|doing| **doing == part).count());
        assert_eq!(
            (line[0], line[1], line[3], counts),
            (parts[0], parts[1], parts[2], [2, 2, 6])
        );
        let (title, facts) = course().words(9_000_000_000);
        assert_eq!(title, "a: 200 after 100 ms, ended 8 s ago, worker 0 (1)");
        assert_eq!(
            facts,
            "Garbage collection 0.0 ms, alone in its process when it began."
        );
    }
}
