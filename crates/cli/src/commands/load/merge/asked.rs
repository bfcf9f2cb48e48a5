//! The questions of merged runs: equal except for what may differ between machines, such as the rate, which is added up.

use run::LatencyObjective;
use run::load::{Asked, Document, Mode};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

/// Pages named that one document lacks.
const MOST_NAMED: usize = 5;

/// What is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Runs of one workload.
    Runs,
    /// Shares of one topic: the pages of one share and its length may differ from those of another.
    Group,
}

/// What one run was asked.
#[derive(Debug, Clone, Copy)]
struct Question<'a> {
    asked: &'a Asked,
    objective: Option<LatencyObjective>,
    of: Of,
}

/// A field that must be the same, and its value for people.
type Field = (&'static str, fn(&Question<'_>) -> String);

const SAME: [Field; 9] = [
    ("workload", |d| workload(&d.asked.workload).to_owned()),
    ("mode", |d| match d.asked.mode {
        Mode::Open => "open loop (--rate)".to_owned(),
        Mode::Closed => "closed loop (-c)".to_owned(),
    }),
    ("arrivals", |d| or_none(d.asked.arrivals.as_ref())),
    ("speed", |d| {
        or_none(d.asked.speed.map(|speed| format!("{speed}x")).as_ref())
    }),
    ("think", |d| {
        or_none(d.asked.think_ms.map(|ms| format!("{ms} ms")).as_ref())
    }),
    ("timeout", |d| format!("{} ms", d.asked.timeout_ms)),
    ("replay_host", |d| d.asked.replay_host.to_string()),
    ("sending", |d| sending(d)),
    ("objective", |d| {
        let said = d
            .objective
            .map(|o| format!("p{}={} ms", o.percentile, o.limit_ms));
        or_none(said.as_ref())
    }),
];

/// Machines have the file in different folders. What is requested without a file is a method and a path.
fn workload(asked: &str) -> &str {
    let file = Path::new(asked).file_name().and_then(OsStr::to_str);
    match asked.contains(" /") {
        true => asked,
        false => file.unwrap_or(asked),
    }
}

fn or_none(value: Option<&String>) -> String {
    value.map_or_else(|| "none".to_owned(), Clone::clone)
}

fn sending(question: &Question<'_>) -> String {
    let sending = &question.asked.sending;
    let connections = match (question.of, sending.keep_alive) {
        // Whether a share's connections are known is the share's matter.
        (Of::Group, _) => "the recording",
        (Of::Runs, true) => "kept connections",
        (Of::Runs, false) => "a connection a request",
    };
    let additions = sending.additions();
    additions.map_or(connections.to_owned(), |more| {
        format!("{connections} ({more})")
    })
}

/// What all generators of a group must be asked alike, in words.
pub fn in_words(asked: &Asked, objective: Option<LatencyObjective>) -> String {
    let question = Question {
        asked,
        objective,
        of: Of::Group,
    };
    let words = SAME.map(|(field, value)| format!("{field} {}", value(&question)));
    words.join(", ")
}

fn question(document: &Document, of: Of) -> Question<'_> {
    Question {
        asked: &document.asked,
        objective: objective(document),
        of,
    }
}

/// The objective, without what became of it.
pub fn objective(document: &Document) -> Option<LatencyObjective> {
    document.objective.as_ref().map(|o| LatencyObjective {
        percentile: o.percentile,
        limit_ms: o.limit_ms,
    })
}

/// Why two runs are not of the same thing, a line for each field.
pub fn different(first: (&str, &Document), other: (&str, &Document), of: Of) -> Option<String> {
    let differs = |(field, value): &Field| {
        let (of_first, of_other) = (value(&question(first.1, of)), value(&question(other.1, of)));
        (of_first != of_other).then(|| {
            format!(
                "{field} differs: {of_first} in {}, {of_other} in {}; merge runs that were asked the same",
                first.0, other.0
            )
        })
    };
    let mut lines: Vec<String> = SAME.iter().filter_map(differs).collect();
    if of == Of::Runs {
        lines.extend(pages(first, other));
        lines.extend(pages(other, first));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The names of requests that one document has and the other lacks. A document has those of its workload, sent or not.
fn pages(one: (&str, &Document), other: (&str, &Document)) -> Option<String> {
    let known: BTreeSet<&str> = names(other.1).collect();
    let lacking: Vec<&str> = names(one.1).filter(|name| !known.contains(name)).collect();
    (!lacking.is_empty()).then(|| {
        format!(
            "endpoints differ: {} has no {}, {} has; merge runs of one workload",
            other.0,
            run::first_of(&lacking, MOST_NAMED),
            one.0
        )
    })
}

fn names(document: &Document) -> impl Iterator<Item = &str> {
    document.endpoints.iter().map(|page| page.name.as_str())
}

/// What all together were asked, over so long a window.
pub fn together(documents: &[&Document], window_s: f64) -> Asked {
    let all: Vec<&Asked> = documents.iter().map(|d| &d.asked).collect();
    let longest = |of: fn(&Asked) -> Option<f64>| all.iter().filter_map(|a| of(a)).reduce(f64::max);
    let rates = documents
        .iter()
        .map(|d| Some(d.asked.mean_rate_per_s? * d.window_s));
    let due: Option<f64> = rates.sum();
    Asked {
        rate: rate(&all),
        mean_rate_per_s: due.filter(|_| window_s > 0.0).map(|due| due / window_s),
        connections: all.iter().map(|a| a.connections).sum(),
        requests: all.iter().map(|a| a.requests).sum(),
        duration_s: longest(|a| a.duration_s),
        warmup_s: longest(|a| a.warmup_s),
        ..all[0].clone()
    }
}

/// `2 x 100 + 50`, and of what was merged before `2 x (2 x 100 + 50)`.
fn rate(all: &[&Asked]) -> Option<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for asked in all {
        let rate = asked.rate.as_deref()?;
        match counted.iter_mut().find(|(known, _)| *known == rate) {
            Some((_, count)) => *count += 1,
            None => counted.push((rate, 1)),
        }
    }
    let words = counted.iter().map(|(rate, count)| match count {
        1 => (*rate).to_owned(),
        count if rate.contains(' ') => format!("{count} x ({rate})"),
        count => format!("{count} x {rate}"),
    });
    Some(words.collect::<Vec<String>>().join(" + "))
}
