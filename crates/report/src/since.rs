//! What became of the answer of an earlier run.

use crate::sheet::Sheet;
use crate::tables::table;
use run::Document;

/// The section; nothing without `--since`, and before there is an answer.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some(since) = &document.since else {
        return;
    };
    let Some(sentence) = &since.sentence else {
        return;
    };
    let day = since.started_at.get(..10).unwrap_or(&since.started_at);
    sheet.heading(&format!("Since the run of {day}"));
    sheet.prose(sentence);
    let (Some(then), Some(now)) = (&since.request, &document.profile) else {
        return;
    };
    let mut table = table(sheet.style(), &["a request, mean", "then", "now"], 1);
    let lock_waits = then.lock_wait_ms.zip(now.lock_wait_ms);
    let rows = [
        ("running Ruby", Some((then.held_ms, now.held_ms))),
        ("waiting for a lock", lock_waits),
        ("I/O", Some((then.io_ms, now.io_ms))),
    ];
    for (part, times) in rows {
        if let Some((then, now)) = times {
            table.add_row([
                part.to_owned(),
                format!("{then:.1} ms"),
                format!("{now:.1} ms"),
            ]);
        }
    }
    sheet.table(table);
    sheet.prose(&format!(
        "These times come from the two pilots at full load, with {} then and {} now. They can explain a change. They do not prove one.",
        then.settings, document.plan.baseline
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use run::{EarlierRequest, Settings, Since, Standing};

    const PLAIN: Style = Style {
        width: 120,
        colour: false,
    };

    #[test]
    fn the_section_has_the_answer_and_both_times_of_a_request() {
        let text = include_bytes!("../../../contract/samples/run/tune.json");
        let mut document: Document = serde_json::from_slice(text).unwrap();
        document.since = Some(Since {
            run: "20261120-214512-tune-1f3a".to_owned(),
            started_at: "2026-11-20T21:45:12Z".to_owned(),
            settings: Settings::PUMA_DEFAULT,
            request: Some(EarlierRequest {
                settings: Settings::PUMA_DEFAULT,
                held_ms: 4.04,
                io_ms: 12.0,
                lock_wait_ms: None,
            }),
            standing: Some(Standing::StillRight),
            sentence: Some("The answer is still right.".to_owned()),
        });
        let now = document.profile.as_ref().unwrap().held_ms;
        let page = crate::page(&document, PLAIN);
        let start = page.find("Since the run of 2026-11-20").unwrap();
        let section: Vec<&str> = page[start..].lines().take(12).collect();
        let section = section.join("\n");
        assert!(section.contains("The answer is still right."), "{section}");
        let row = section.lines().find(|line| line.contains("running Ruby"));
        let row = row.unwrap();
        assert!(
            row.contains("4.0 ms") && row.contains(&format!("{now:.1} ms")),
            "{row}"
        );
        assert!(!section.contains("waiting for a lock"), "{section}");
        document.since.as_mut().unwrap().sentence = None;
        assert!(!crate::page(&document, PLAIN).contains("Since the run"));
    }
}
