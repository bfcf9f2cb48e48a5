//! The page of `powerband doctor` at the widths of terminals.

use crate::support::{flat, within, without_noise};
use report::{Style, doctor_page};
use run::doctor::{Document, NotKnown};

fn sample() -> Document {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/doctor/application.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn page(document: &Document, width: u16) -> String {
    let style = Style {
        width,
        colour: false,
    };
    let page = doctor_page(document, style);
    within(width, &page);
    // A log level is no infinity.
    without_noise(&page.replace("info", ""));
    page
}

#[test]
fn every_part_is_there_at_every_width() {
    let document = sample();
    for width in [60, 80, 100, 120, 160] {
        let page = flat(&page(&document, width));
        let findings = document
            .findings
            .iter()
            .flat_map(|f| [&f.what, &f.evidence, &f.why, &f.remedy]);
        let fine = document.fine.iter().map(|one| &one.evidence);
        let unknown = document.not_known.iter().map(|one| &one.why);
        for text in findings.chain(fine).chain(unknown) {
            assert!(
                page.contains(&flat(text)),
                "{text:?} is missing at {width}:\n{page}"
            );
        }
    }
}

#[test]
fn the_worst_comes_first_and_empty_parts_have_no_heading() {
    let mut document = sample();
    let whole = page(&document, 100);
    let place = |heading: &str| {
        whole
            .find(heading)
            .unwrap_or_else(|| panic!("{heading}:\n{whole}"))
    };
    let headings = [
        "Spoils measurements",
        "Harms the server",
        "Notes",
        "Looked at and found fine",
        "Could not be looked at",
    ];
    assert!(headings.map(place).is_sorted());
    document.findings.clear();
    document.not_known.clear();
    let page = page(&document, 100);
    for heading in ["Spoils", "Harms the", "Notes", "Could not"] {
        assert!(!page.contains(heading), "{heading}:\n{page}");
    }
}

#[test]
fn a_reason_for_which_several_checks_could_not_be_made_is_there_once() {
    let mut document = sample();
    document.not_known = ["environment", "governor", "yjit"]
        .map(|check| NotKnown {
            check: check.to_owned(),
            why: match check {
                "governor" => "there is none".to_owned(),
                _ => "/proc/7/environ may not be read".to_owned(),
            },
        })
        .to_vec();
    let page = flat(&page(&document, 100));
    assert!(
        page.contains(
            "- environment, yjit: /proc/7/environ may not be read - governor: there is none"
        ),
        "{page}"
    );
}
