//! The page of `powerband capture info`: what a file of recorded traffic holds.

use crate::Style;
use crate::figures::{counted, duration, grouped, milliseconds, rate, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, table};
use run::capture::{Count, Document};
use run::load::least_values;

/// Characters of the course, from no request to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The whole page, with at most so many endpoints.
pub fn capture_page(document: &Document, endpoints: usize, style: Style) -> String {
    sheet(document, endpoints, style).into_text()
}

pub(crate) fn sheet(document: &Document, endpoints: usize, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&what(document));
    if let Some(origin) = &document.origin {
        let mut told = vec![format!(
            "capture {}, file {}",
            origin.capture,
            origin.part + 1
        )];
        for (label, value) in [
            ("recorded on", &origin.host),
            ("in front of", &origin.primary),
            ("by", &origin.written_by),
        ] {
            if !value.is_empty() {
                told.push(format!("{label} {value}"));
            }
        }
        sheet.prose(&told.join(", "));
        if !origin.unredacted.is_empty() {
            let names = origin.unredacted.join(", ");
            sheet.bold(&format!(
                "The file holds unredacted values of {names}: with it one can act as the users in it."
            ));
        }
    }
    rates(&mut sheet, document);
    sheet.heading("Requests");
    sheet.labelled("methods    ", &counts(&document.methods));
    if !document.statuses.is_empty() {
        sheet.labelled("statuses   ", &counts(&document.statuses));
    }
    sizes(&mut sheet, document);
    if let Some(l) = document.latency {
        let ms = |figure| milliseconds(Some(figure));
        let percentiles = [
            (50.0, l.p50_ms),
            (90.0, l.p90_ms),
            (99.0, l.p99_ms),
            (99.9, l.p999_ms),
        ];
        let text: String = percentiles
            .into_iter()
            .filter(|(percentile, _)| document.answered >= least_values(*percentile))
            .map(|(percentile, figure)| format!("p{percentile} {}, ", ms(figure)))
            .collect();
        let text = format!(
            "{text}slowest {} (from the request's last byte until the answer's)",
            ms(l.max_ms)
        );
        sheet.labelled("latency    ", &text);
    }
    of_endpoints(&mut sheet, document, endpoints);
    left_out(&mut sheet, document);
    sheet
}

/// `traffic.pbc: capture file, 12,345 requests on 67 connections in 10 min, from 2026-11-21T12:45:58Z`
fn what(document: &Document) -> String {
    let mut text = format!(
        "{}: {}, {}",
        document.file,
        document.format,
        counted(document.requests, "request")
    );
    if let Some(connections) = document.connections {
        text += &format!(" on {}", counted(connections, "connection"));
    }
    match document.span_s {
        Some(span) => text += &format!(" in {}", length(span)),
        None => text += ", at unknown instants",
    }
    if let Some(began) = &document.began_at {
        text += &format!(", from {began}");
    }
    text
}

fn rates(sheet: &mut Sheet, document: &Document) {
    let (Some(mean), Some(highest)) = (document.mean_rate_per_s, document.highest_rate_per_s)
    else {
        return;
    };
    let text = format!(
        "{}/s on average, {}/s in the busiest second",
        rate(mean),
        rate(highest)
    );
    sheet.labelled("rate       ", &text);
    let most = document
        .course
        .iter()
        .map(|slice| slice.requests)
        .max()
        .unwrap_or(0);
    if document.course.len() < 2 || most == 0 {
        return;
    }
    let bar = |requests: u64| match requests {
        0 => ' ',
        // From 0 to 7, whatever the counts.
        some => BARS[((some - 1) as u128 * 8 / u128::from(most)).min(7) as usize],
    };
    let bars: String = document
        .course
        .iter()
        .map(|slice| bar(slice.requests))
        .collect();
    let slice_s = document.course[1].at_s - document.course[0].at_s;
    sheet.line(&format!("           {bars}  {} each", length(slice_s)));
}

fn time(ms: Option<f64>) -> String {
    ms.map_or_else(|| NONE.to_owned(), |ms| milliseconds(Some(ms)))
}

fn length(seconds: f64) -> String {
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else {
        duration(seconds)
    }
}

/// `512 bytes`, `1.5 KiB`, `12 MiB`.
fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    let mut unit = "bytes";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    match size {
        small if small < 10.0 && unit != "bytes" => format!("{small:.1} {unit}"),
        size => format!("{size:.0} {unit}"),
    }
}

fn counts(counts: &[Count]) -> String {
    let one = |c: &Count| format!("{} {} ({})", grouped(c.requests), c.name, share(c.share));
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn sizes(sheet: &mut Sheet, document: &Document) {
    let b = &document.bytes;
    let mut text = format!("{} in bodies of requests", bytes(b.request_bodies));
    if b.request_bodies_kept < b.request_bodies {
        text += &format!(", of which {} are here", bytes(b.request_bodies_kept));
    }
    if document.answered > 0 {
        text += &format!(
            "; {} in bodies of answers, which are not kept",
            bytes(b.answer_bodies)
        );
    }
    sheet.labelled("bytes      ", &text);
}

fn of_endpoints(sheet: &mut Sheet, document: &Document, most: usize) {
    sheet.heading("Endpoints");
    let head = ["endpoint", "requests", "share", "p50", "p99", "errors"];
    let mut rows = table(sheet.style(), &head, 1);
    for endpoint in document.endpoints.iter().take(most) {
        let enough = |percentile: f64| endpoint.requests >= least_values(percentile);
        let at = |percentile, ms: Option<f64>| time(ms.filter(|_| enough(percentile)));
        rows.add_row(vec![
            endpoint.name.clone(),
            grouped(endpoint.requests),
            share(endpoint.share),
            at(50.0, endpoint.p50_ms),
            at(99.0, endpoint.p99_ms),
            endpoint.error_share.map_or_else(|| NONE.to_owned(), share),
        ]);
    }
    sheet.table(rows);
    if document.endpoints.len() > most {
        let more = document.endpoints.len() - most;
        sheet.prose(&format!("and {more} more: --limit shows them"));
    }
}

fn left_out(sheet: &mut Sheet, document: &Document) {
    let mut told = Vec::new();
    if document.bodies_left_out > 0 {
        told.push(format!(
            "{} without the whole body: it was too large to be kept, or redaction could not vouch for it. A \
             replay leaves them out.",
            counted(document.bodies_left_out, "request")
        ));
    }
    if let Some(damage) = &document.damage {
        told.push(format!(
            "damaged in {}: {} were skipped, and {} known to be lost.",
            counted(damage.places, "place"),
            bytes(damage.bytes),
            match damage.requests {
                1 => "1 request is".to_owned(),
                requests => format!("{} are", counted(requests, "request")),
            }
        ));
        told.extend(damage.first.iter().cloned());
    }
    if document.skipped > 0 {
        told.push(format!(
            "{} lines or entries could not be read.",
            grouped(document.skipped)
        ));
        told.extend(document.first_skipped.iter().cloned());
    }
    sheet.listed("Left out", &told);
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::capture::{Bytes, Damage, Endpoint, Latency, SCHEMA, Slice};

    fn document() -> Document {
        let count = |name: &str| Count {
            name: name.into(),
            requests: 1200,
            share: 1.0,
        };
        let slice = |at_s, requests| Slice {
            at_s,
            requests,
            rate_per_s: requests as f64,
        };
        Document {
            schema: SCHEMA.into(),
            powerband_version: "0.1.0".into(),
            file: "a.pbc".into(),
            format: "capture file".into(),
            origin: None,
            began_at: Some("2026-11-21T12:45:58Z".into()),
            span_s: Some(3.0),
            requests: 1200,
            answered: 1200,
            connections: Some(7),
            mean_rate_per_s: Some(400.0),
            highest_rate_per_s: Some(800.0),
            course: vec![slice(0.0, 1), slice(1.0, 0), slice(2.0, 800)],
            methods: vec![count("GET")],
            endpoints: vec![
                Endpoint {
                    name: "GET /a/:id".into(),
                    requests: 1200,
                    share: 1.0,
                    error_share: Some(0.0),
                    p50_ms: Some(4.0),
                    p99_ms: Some(12.5),
                };
                3
            ],
            statuses: vec![count("200")],
            latency: Some(Latency {
                mean_ms: 5.0,
                p50_ms: 4.0,
                p90_ms: 8.0,
                p99_ms: 12.5,
                p999_ms: 20.0,
                max_ms: 21.0,
            }),
            bytes: Bytes {
                request_bodies: 100,
                request_bodies_kept: 90,
                answer_bodies: 5000,
            },
            bodies_left_out: 2,
            damage: Some(Damage {
                places: 1,
                bytes: 99,
                requests: 3,
                first: vec!["99 bytes at byte 5".into()],
            }),
            skipped: 0,
            first_skipped: Vec::new(),
        }
    }

    #[test]
    fn the_page_tells_what_is_there_and_what_is_not() {
        let style = Style {
            width: 100,
            colour: false,
        };
        let page = capture_page(&document(), 2, style);
        for words in [
            "a.pbc: capture file, 1,200 requests on 7 connections",
            "▁ █",
            "GET /a/:id",
            "and 1 more",
            "2 requests without the whole body",
            "99 bytes at byte 5",
        ] {
            assert!(page.contains(words), "{words:?} in {page}");
        }
        assert_eq!(page.matches("GET /a/:id").count(), 2);
        assert!(
            page.contains("p99 12.5 ms, p99.9 20.0 ms, slowest"),
            "{page}"
        );
    }

    #[test]
    fn percentiles_of_too_few_requests_are_left_out() {
        let style = Style {
            width: 100,
            colour: false,
        };
        let mut few = document();
        few.answered = 99;
        few.endpoints[0].requests = 99;
        let page = capture_page(&few, 1, style);
        assert!(page.contains("p90 8.0 ms, slowest"), "{page}");
        assert!(!page.contains("12.5"), "{page}");
    }
}
