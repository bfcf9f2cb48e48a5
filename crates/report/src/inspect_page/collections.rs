//! Collections by kind and cause, and what the slowest requests waited for.

use super::{ms, ms_or_none};
use crate::figures::{counted, grouped, percent, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts};
use run::inspect::{
    CollectionCause, CollectionKind, Collections, CollectionsOfKind, Document, MajorBy, Stopped,
    StoppedBy,
};

pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some(found) = &document.collections else {
        return;
    };
    if found.kinds.is_empty() {
        return;
    }
    sheet.heading("Garbage collections");
    match (&found.requests, &found.why_not) {
        (Some(requests), _) => sheet.prose(&sentence(requests, "requests")),
        (None, Some(why_not)) => sheet.prose(&format!("{}.", run::sentence_case(why_not))),
        (None, None) => {}
    }
    if let Some(worst) = worst(found) {
        sheet.prose(&sentence(worst, &format!("requests to {}", worst.name)));
    }
    if found.lost > 0 {
        sheet.prose(&no_longer_logged(found.lost));
    }
    table(sheet, found);
}

/// Why the processes were stopped more often than they collected. `None` where they were not, and where the log lacks collections.
pub fn several_stops(found: Option<&Collections>, stops: u64) -> Option<&'static str> {
    let found = found.filter(|found| found.lost == 0)?;
    let collections: u64 = found.kinds.iter().map(|of| of.count).sum();
    (collections > 0 && collections < stops).then_some(
        "A collection may stop a process several times, for steps of marking and sweeping.",
    )
}

/// How many collections newer ones have overwritten.
pub fn no_longer_logged(lost: u64) -> String {
    let are = if lost == 1 { "is" } else { "are" };
    format!(
        "{} {are} no longer in the logs, which hold the latest of each process.",
        counted(lost, "older collection")
    )
}

/// The endpoint that collections cost most, where that is another story than the one of all requests.
fn worst(found: &Collections) -> Option<&Stopped> {
    let of_all = found
        .requests
        .as_ref()
        .map_or(0.0, |all| all.by_major.share);
    let worst = found
        .endpoints
        .iter()
        .max_by(|a, b| a.by_major.share.total_cmp(&b.by_major.share))?;
    (found.endpoints.len() > 1
        && worst.by_major.share >= 0.1
        && worst.by_major.share > 1.5 * of_all)
        .then_some(worst)
}

/// `Of the slowest 1 % of requests (100), 40 % waited for a major collection (12.0 ms on average) ….`
fn sentence(of: &Stopped, whose: &str) -> String {
    let major = waited(&of.by_major, "a major collection");
    let minor = waited(&of.by_minor, "a minor one");
    let mut text = format!(
        "Of the slowest 1 % of {whose} ({} of {}), {major} and {minor}. p99 is {} ms; without the time that collections stopped them it would be {} ms",
        grouped(of.slowest),
        grouped(of.requests),
        ms(of.p99_ms),
        ms(of.p99_without_ms),
    );
    if let Some(untouched) = of.p99_untouched_ms.filter(|_| of.untouched < of.requests) {
        text.push_str(&format!(
            ", and of the {} that no collection stopped it is {} ms",
            grouped(of.untouched),
            ms(untouched)
        ));
    }
    text + "."
}

fn waited(by: &StoppedBy, what: &str) -> String {
    match by.requests {
        0 => format!("none waited for {what}"),
        _ => format!(
            "{} waited for {what} ({} ms on average)",
            percent(by.share),
            ms(by.mean_ms)
        ),
    }
}

fn table(sheet: &mut Sheet, found: &Collections) {
    let head = [
        "collections",
        "count",
        "a minute and process",
        "share of time",
        "p50 ms",
        "p99 ms",
        "longest pause ms",
        "freed a collection",
        "promoted a collection",
    ];
    let mean =
        |count: Option<f64>| count.map_or(NONE.to_owned(), |count| grouped(count.round() as u64));
    let short = |of: &CollectionsOfKind| name(of.kind, of.major_by, of.cause);
    let named = |of: &CollectionsOfKind| {
        let name = short(of);
        let alike = found.kinds.iter().filter(|other| short(other) == name);
        match of.cause.filter(|_| alike.count() > 1) {
            Some(cause) => format!("{name} ({})", caused(cause)),
            None => name,
        }
    };
    let row = |of: &CollectionsOfKind| {
        vec![
            named(of),
            grouped(of.count),
            of.per_minute.map_or(NONE.to_owned(), |n| format!("{n:.1}")),
            of.share_of_time.map_or(NONE.to_owned(), share),
            ms(of.p50_ms),
            ms_or_none(of.p99_ms),
            ms(of.longest_pause_ms),
            mean(of.freed),
            mean(of.promoted),
        ]
    };
    let rows: Vec<_> = found.kinds.iter().map(row).collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
}

/// `major, oldmalloc`, `minor, newobj`: Ruby's own words, as `GC.latest_gc_info` has them. What asked for a forced one says more.
pub fn name(
    kind: Option<CollectionKind>,
    major_by: Option<MajorBy>,
    cause: Option<CollectionCause>,
) -> String {
    let why = match major_by {
        Some(MajorBy::Nofree) => Some("nofree"),
        Some(MajorBy::Oldgen) => Some("oldgen"),
        Some(MajorBy::Shady) => Some("shady"),
        Some(MajorBy::Oldmalloc) => Some("oldmalloc"),
        Some(MajorBy::Force) | None => cause.map(caused),
    };
    let kind = match kind {
        Some(CollectionKind::Minor) => "minor",
        Some(CollectionKind::Major) => "major",
        None => "of unknown kind",
    };
    match why {
        Some(why) => format!("{kind}, {why}"),
        None => kind.to_owned(),
    }
}

fn caused(cause: CollectionCause) -> &'static str {
    match cause {
        CollectionCause::Newobj => "newobj",
        CollectionCause::Malloc => "malloc",
        CollectionCause::Method => "GC.start",
        CollectionCause::Capi => "capi",
        CollectionCause::Stress => "stress",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped() -> Stopped {
        Stopped {
            name: "all requests".to_owned(),
            requests: 10_000,
            p99_ms: 120.0,
            p99_without_ms: 80.0,
            untouched: 9_000,
            p99_untouched_ms: Some(78.0),
            slowest: 100,
            by_major: StoppedBy {
                requests: 40,
                share: 0.4,
                mean_ms: 12.0,
            },
            by_minor: StoppedBy {
                requests: 0,
                share: 0.0,
                mean_ms: 0.0,
            },
        }
    }

    #[test]
    fn the_sentence_says_who_waited_and_what_it_would_be_without() {
        assert_eq!(
            sentence(&stopped(), "requests"),
            "Of the slowest 1 % of requests (100 of 10,000), 40.0 % waited for a major collection (12.0 ms on average) and none waited \
             for a minor one. p99 is 120 ms; without the time that collections stopped them it would be 80.0 ms, and of the 9,000 \
             that no collection stopped it is 78.0 ms."
        );
        let few = Stopped {
            p99_untouched_ms: None,
            ..stopped()
        };
        assert!(sentence(&few, "requests").ends_with("it would be 80.0 ms."));
    }

    #[test]
    fn an_endpoint_is_named_where_it_is_another_story() {
        let endpoint = |name: &str, share| Stopped {
            name: name.to_owned(),
            by_major: StoppedBy {
                share,
                ..stopped().by_major
            },
            ..stopped()
        };
        let mut found = Collections {
            watched_s: 1.0,
            lost: 0,
            kinds: Vec::new(),
            requests: Some(stopped()),
            endpoints: vec![endpoint("a", 0.1), endpoint("b", 0.9)],
            why_not: None,
        };
        assert_eq!(worst(&found).map(|w| w.name.as_str()), Some("b"));
        found.endpoints[1] = endpoint("b", 0.5);
        assert_eq!(worst(&found), None);
        found.endpoints = vec![endpoint("b", 0.9)];
        assert_eq!(worst(&found), None);
    }

    #[test]
    fn more_stops_than_collections_are_explained() {
        let kind = serde_json::json!({
            "kind": "minor", "count": 2, "pause_ms": 60.0, "p50_ms": 20.0, "longest_pause_ms": 20.0, "cpu_ms": 60.0
        });
        let logged =
            serde_json::json!({"watched_s": 1.0, "lost": 0, "kinds": [kind], "endpoints": []});
        let mut found: Collections = serde_json::from_value(logged).unwrap();
        assert_eq!(several_stops(Some(&found), 2), None);
        let said = several_stops(Some(&found), 3).unwrap();
        assert!(said.contains("several times"));
        assert_eq!(several_stops(None, 3), None);
        found.lost = 1;
        assert_eq!(
            several_stops(Some(&found), 3),
            None,
            "the rest is not logged"
        );
    }

    #[test]
    fn causes_have_rubys_names() {
        use {CollectionCause as Cause, CollectionKind as Kind};
        let major = |by, cause| name(Some(Kind::Major), Some(by), Some(cause));
        assert_eq!(major(MajorBy::Oldmalloc, Cause::Malloc), "major, oldmalloc");
        assert_eq!(major(MajorBy::Force, Cause::Method), "major, GC.start");
        assert_eq!(
            name(Some(Kind::Minor), None, Some(Cause::Newobj)),
            "minor, newobj"
        );
        assert_eq!(name(None, None, None), "of unknown kind");
    }
}
