//! What a browser draws: the words and tables of the terminal, and the figures of its charts. `web/src/watch/seen.ts`
//! has the same types.

use crate::course::{Course, name};
use crate::diagnosis::diagnosis;
use crate::head::{PARTS, times, title, totals};
use crate::history::Step;
use crate::look::Look;
use crate::seen::Seen;
use crate::subject::{Subject, id};
use crate::table::{Full, endpoints, processes, requests, steps};
use crate::window::{CALLS, Window, call_ms, pool_ms};
use inspect::Sums;
use serde::Serialize;

/// Rows of a table, those with the most request time.
const ROWS: usize = 200;

/// Everything, or one process or endpoint.
#[derive(Debug, Serialize)]
pub struct Picture {
    title: String,
    totals: String,
    sentence: String,
    /// Workers unlike their siblings.
    unlike: Vec<String>,
    /// The parts of a request's time, which add up to it.
    parts: Vec<Time>,
    /// What is inside these parts.
    inside: Vec<Time>,
    /// Threads of all processes; of an endpoint, none.
    threads: Option<u32>,
    /// The oldest first.
    steps: Vec<Figures>,
    tables: Vec<Table>,
    course: Option<Line>,
}

/// Milliseconds a request.
#[derive(Debug, Serialize)]
struct Time {
    name: &'static str,
    ms: f64,
}

/// What was done in some seconds.
#[derive(Debug, Serialize)]
struct Figures {
    /// Seconds ago.
    from_s: f64,
    to_s: f64,
    per_s: f64,
    failed_per_s: f64,
    parts: Vec<Time>,
    inside: Vec<Time>,
    busy: f64,
    cores: Option<f64>,
    rss_bytes: Option<u64>,
    pss_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Table {
    title: &'static str,
    /// The title of the names.
    what: &'static str,
    titles: Vec<&'static str>,
    rows: Vec<Row>,
    /// Rows that are left out.
    further: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    unlike: bool,
    cells: Vec<String>,
    opens: Option<Opens>,
}

/// What a row leads to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Opens {
    Process(String),
    Endpoint(String),
    /// Of what is looked at.
    Request(String),
}

impl Opens {
    fn of(subject: Subject) -> Self {
        match subject {
            Subject::Process(key) => Self::Process(id(&key)),
            Subject::Endpoint(name) => Self::Endpoint(name),
        }
    }
}

/// The course of one request.
#[derive(Debug, Serialize)]
struct Line {
    title: String,
    facts: String,
    parts: Vec<Time>,
    /// In the order in which it happened; empty where that is not known.
    steps: Vec<Time>,
    /// Why there are none.
    no_order: Option<String>,
    table: Table,
}

impl Picture {
    /// Everything; `None` before the second reading.
    pub(crate) fn of_all(seen: &Seen) -> Option<Self> {
        let window = seen.window()?;
        let all_steps = seen.all_steps();
        let tables = vec![
            Table::new("Processes", "process", processes(window)),
            Table::new("Endpoints", "endpoint", endpoints(window)),
            Table::new("The last minutes", "when", steps(&all_steps, true)),
        ];
        Some(Self::of(window, &all_steps, tables))
    }

    /// One process or endpoint, and one of its slowest requests; `None` where the window has nothing of it.
    pub(crate) fn of_look(seen: &Seen, look: &mut Look, request: Option<&str>) -> Option<Self> {
        let part = look.part.as_ref()?;
        let of_process = matches!(look.subject, Subject::Process(_));
        let others = match of_process {
            true => Table::new("Endpoints", "endpoint", endpoints(part)),
            false => Table::new("Processes", "process", processes(part)),
        };
        let slowest = requests(&look.slowest, !of_process, seen.wall_ns());
        let mut slowest = Table::new("Slowest requests", "request", slowest);
        for (row, slow) in slowest.rows.iter_mut().zip(&look.slowest) {
            row.opens = Some(Opens::Request(slow.id()));
        }
        let minutes = Table::new("The last minutes", "when", steps(&look.steps, of_process));
        let tables = vec![others, slowest, minutes];
        let mut picture = Self::of(part, &look.steps, tables);
        let course = request.and_then(|request| look.course(request));
        picture.course = course.map(|course| Line::of(course, seen.wall_ns()));
        Some(picture)
    }

    fn of(window: &Window, steps: &[Step], tables: Vec<Table>) -> Self {
        let unlike = window.processes.iter().flat_map(|row| &row.unlike);
        Self {
            title: title(window),
            totals: totals(window),
            sentence: run::sentence_case(&diagnosis(window)),
            unlike: unlike.cloned().collect(),
            parts: parts(&window.all),
            inside: inside(&window.all),
            threads: window.threads().filter(|_| window.of_endpoint().is_none()),
            steps: steps.iter().rev().map(Figures::of).collect(),
            tables,
            course: None,
        }
    }
}

impl Figures {
    fn of(step: &Step) -> Self {
        let share = step.sums.errors as f64 / step.sums.requests.max(1) as f64;
        Self {
            from_s: rounded(step.from.as_secs_f64()),
            to_s: rounded(step.to.as_secs_f64()),
            per_s: rounded(step.per_s()),
            failed_per_s: rounded(step.per_s() * share),
            parts: parts(&step.sums),
            inside: inside(&step.sums),
            busy: rounded(step.busy()),
            cores: step.resources.cores.map(rounded),
            rss_bytes: step.resources.rss_bytes,
            pss_bytes: step.resources.pss_bytes,
        }
    }
}

impl Table {
    fn new(title: &'static str, what: &'static str, all: Vec<Full>) -> Self {
        let further = all.len().saturating_sub(ROWS);
        let titles = all.first().map_or(&[][..], |row| &row.cells);
        let titles = titles.iter().map(|(title, _)| *title).collect();
        let rows = all.into_iter().take(ROWS).map(|row| Row {
            name: row.name.trim().to_owned(),
            unlike: row.straggler,
            cells: row.cells.into_iter().map(|(_, text)| text).collect(),
            opens: row.subject.map(Opens::of),
        });
        Self {
            title,
            what,
            titles,
            rows: rows.collect(),
            further,
        }
    }
}

impl Line {
    fn of(course: &Course, now_wall_ns: u64) -> Self {
        let (title, facts) = course.words(now_wall_ns);
        let steps = course.steps.iter().flatten().map(|step| Time {
            name: name(step.doing),
            ms: rounded(step.ns as f64 / 1e6),
        });
        Self {
            title,
            facts,
            parts: parts(&course.slow.sums),
            steps: steps.collect(),
            no_order: course.steps.as_ref().err().map(ToString::to_string),
            table: Table::new("Course", "from, ms", course.rows()),
        }
    }
}

fn parts(sums: &Sums) -> Vec<Time> {
    let names = PARTS.map(|(name, ..)| name);
    known(names.into_iter().zip(times(sums)))
}

fn inside(sums: &Sums) -> Vec<Time> {
    let calls = CALLS.map(|(kind, name)| (name, call_ms(sums, kind)));
    let own = [("pool", pool_ms(sums)), ("GC", sums.gc.mean_ms())];
    known(calls.into_iter().chain(own))
}

fn known(times: impl Iterator<Item = (&'static str, Option<f64>)>) -> Vec<Time> {
    let times = times.filter_map(|(name, ms)| {
        Some(Time {
            name,
            ms: rounded(ms?),
        })
    });
    times.collect()
}

/// More digits only make the answer larger.
fn rounded(figure: f64) -> f64 {
    (figure * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, record, served};
    use crate::slow::{NoOrder, Slow};
    use serde_json::{Value, json};
    use std::time::Duration;

    const MARKUP: &str = "</script><b>a</b>";

    fn seen() -> Seen {
        let mut seen = Seen::new(Duration::from_secs(5));
        seen.push(reading(0, vec![process(1, 0, &[]), process(2, 1, &[])]));
        let mut busy = process(1, 0, &[(MARKUP, served(100, 10, 62))]);
        busy.rss_bytes = Some(1 << 20);
        let slow = process(2, 1, &[(MARKUP, served(100, 200, 62))]);
        seen.push(reading(5, vec![busy, slow]));
        seen
    }

    fn value(picture: Option<Picture>) -> Value {
        serde_json::to_value(picture.unwrap()).unwrap()
    }

    #[test]
    fn everything_has_words_figures_and_rows_that_lead_further() {
        assert!(Picture::of_all(&Seen::default()).is_none());
        let all = value(Picture::of_all(&seen()));
        assert_eq!(all["title"], "2 processes, the last 5.0 s");
        let words = "Requests run Ruby for 105.0 ms of their 172.0 ms";
        assert!(
            all["sentence"].as_str().unwrap().starts_with(words),
            "{all}"
        );
        assert!(
            all["unlike"][0]
                .as_str()
                .unwrap()
                .starts_with("worker 1 (2) takes 3.5 times")
        );
        assert_eq!(all["threads"], 10);
        let parts = json!([
            {"name": "Ruby", "ms": 105.0}, {"name": "GVL wait", "ms": 62.0},
            {"name": "lock", "ms": 0.0}, {"name": "I/O", "ms": 5.0}
        ]);
        assert_eq!(all["parts"], parts);
        assert_eq!(
            all["inside"],
            json!([
                {"name": "SQL", "ms": 0.0}, {"name": "HTTP", "ms": 0.0}, {"name": "GC", "ms": 0.0}
            ])
        );
        let step = &all["steps"][0];
        assert_eq!(
            (&step["from_s"], &step["to_s"], &step["per_s"]),
            (&json!(5.0), &json!(0.0), &json!(40.0))
        );
        // Not known of both processes.
        assert_eq!(step["rss_bytes"], Value::Null);
        assert_eq!(step["busy"], 6.88);
        let tables = all["tables"].as_array().unwrap();
        let [processes, endpoints, _] = tables.as_slice() else {
            panic!("{all}")
        };
        assert_eq!(processes["rows"][1]["name"], "worker 1 (2)");
        assert_eq!(processes["rows"][1]["unlike"], true);
        assert_eq!(processes["rows"][1]["opens"], json!({"process": "2-1-0"}));
        assert_eq!(processes["titles"][0], "req/s");
        assert_eq!(processes["rows"][1]["cells"][0], "20.0");
        assert_eq!(endpoints["rows"][0]["name"], MARKUP);
        assert_eq!(endpoints["rows"][0]["opens"], json!({"endpoint": MARKUP}));
    }

    #[test]
    fn one_endpoint_has_its_slowest_requests_and_the_course_of_one() {
        let seen = seen();
        let mut look = Look::at(Subject::Endpoint(MARKUP.to_owned()));
        assert!(Picture::of_look(&seen, &mut look, None).is_none());
        seen.update(&mut look);
        look.slowest = vec![Slow::of(
            record(99),
            &process(1, 0, &[(MARKUP, served(0, 0, 0))]),
        )];
        let request = look.slowest[0].id();
        let one = value(Picture::of_look(&seen, &mut look, Some(&request)));
        assert_eq!(one["threads"], Value::Null);
        assert_eq!(
            one["tables"][1]["rows"][0]["opens"],
            json!({"request": request})
        );
        let course = &one["course"];
        assert!(
            course["title"].as_str().unwrap().starts_with(MARKUP),
            "{course}"
        );
        assert_eq!(course["steps"], json!([]));
        assert_eq!(course["no_order"], NoOrder::NotSet.to_string());
        let other = value(Picture::of_look(&seen, &mut look, Some("1-2")));
        assert_eq!(other["course"], Value::Null);
    }

    #[test]
    fn a_long_table_says_how_much_is_left_out() {
        let names: Vec<String> = (0..ROWS + 5).map(|n| format!("e{n}")).collect();
        let all = names.iter().map(|name| Full::new(name.clone(), Vec::new()));
        let table = Table::new("Endpoints", "endpoint", all.collect());
        assert_eq!((table.rows.len(), table.further), (ROWS, 5));
    }
}
