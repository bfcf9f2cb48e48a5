//! The page of `powerband compare --shadow-log` at the widths of terminals.

use crate::support::{flat, within, without_noise};
use report::{Style, duplex_page};
use run::Outcome;
use run::duplex::{Document, Inside, NotRead, Standing};

fn sample() -> Document {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/duplex/three.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn page(document: &Document, width: u16) -> String {
    let style = Style {
        width,
        colour: false,
    };
    let page = duplex_page(document, 20, style);
    within(width, &page);
    without_noise(&page);
    page
}

#[test]
fn pages_keep_the_width_and_hold_what_the_document_says() {
    let document = sample();
    for width in [60, 80, 100, 120, 160, 200] {
        let page = page(&document, width);
        let page = flat(&page);
        assert!(page.starts_with(&document.sentence), "{page}");
        document
            .warnings
            .iter()
            .for_each(|one| assert!(page.contains(one), "{one}\n{page}"));
        for part in [
            "6,000 requests compared, in 5 min 00 s",
            "Response times: new against the twin twin",
            "Response times: slow against new",
            "GET /orders/:id",
            "Against the primary",
            "What new answers differently",
            "status 200 to 500",
            "json /lines/*/price",
            "primary: 12.50",
            "shadow: 12.5",
            "kind of difference is noise",
            "What became of the requests",
            "The twin, twin, runs what the primary runs",
            "24 stretches of time",
            "queue full",
        ] {
            assert!(
                page.contains(part),
                "{part:?} is missing at {width}:\n{page}"
            );
        }
        assert!(!page.contains("csrf-token"), "noise is not listed:\n{page}");
        assert!(
            !page.contains("What twin answers"),
            "the twin is the noise:\n{page}"
        );
    }
    // A narrow terminal breaks words inside of cells, and no line.
    page(&document, 80);
    let wide = page(&document, 120);
    for absent in ["A/A", "batch", "given", " lost at "] {
        assert!(!wide.contains(absent), "{absent}: {wide}");
    }
    assert!(wide.contains("copy sent"), "{wide}");
}

#[test]
fn failures_are_infinite_and_the_unknown_a_dash() {
    let mut document = sample();
    let claim = &mut document.comparisons[0];
    claim.all.p99.candidate_ms = None;
    (claim.all.p99.ratio, claim.all.p99.low, claim.all.p99.high) = (None, None, None);
    claim.outcome = Outcome::Undecided;
    claim.endpoints.clear();
    let page = page(&document, 100);
    let row = page.lines().find(|line| line.starts_with("p99")).unwrap();
    assert!(row.contains('∞') && row.ends_with('–'), "{row}");
}

#[test]
fn a_wider_interval_has_its_reason() {
    let mut document = sample();
    let text = |document: &Document| flat(&page(document, 100));
    assert!(!text(&document).contains(" wider for "));
    document.comparisons[0].allowance = 0.12;
    assert!(text(&document).contains("and 12.00 % wider for what the twin differs by"));
    document.comparisons[0].reference = run::duplex::PRIMARY.to_owned();
    assert!(text(&document).contains("and 12.00 % wider for the mirror's own wait for a CPU core"));
    // No interval shows so little.
    document.comparisons[0].allowance = 0.0001;
    assert!(!text(&document).contains(" wider for "));
}

#[test]
fn a_difference_against_its_columns_is_explained() {
    const WHY: &str = "point in different directions";
    let mut document = sample();
    // In another one the sample's p95 differs from its columns by more than rounding.
    document.comparisons.truncate(1);
    let text = flat(&page(&document, 100));
    assert!(
        !text.contains(WHY) && !text.contains("need not be that"),
        "{text}"
    );
    document.comparisons[0].all.p50.ratio = Some(0.8);
    let text = flat(&page(&document, 100));
    assert_eq!(
        text.matches("need not be that of the columns").count(),
        1,
        "{text}"
    );
    assert!(!text.contains(WHY), "{text}");
    let p50 = &mut document.comparisons[0].all.p50;
    (p50.candidate_ms, p50.reference_ms) = (Some(12.0), Some(11.5));
    (p50.ratio, p50.low, p50.high) = (Some(0.96), Some(0.94), Some(0.98));
    let mean = &mut document.comparisons[0].endpoints[0].times.mean;
    (mean.candidate_ms, mean.reference_ms) = (Some(8.0), Some(9.0));
    (mean.ratio, mean.low, mean.high) = (Some(1.05), Some(0.99), Some(1.1));
    let endpoint = document.comparisons[0].endpoints[0].endpoint.clone();
    let text = flat(&page(&document, 100));
    let named = format!("{WHY} in p50, the mean of {endpoint}: this happens");
    assert!(text.contains(&named), "{text}");
    // Columns that look the same have no sign.
    document.comparisons[0].all.p50.reference_ms = Some(12.01);
    let text = flat(&page(&document, 100));
    assert!(
        text.contains(&format!("{WHY} in the mean of {endpoint}: this happens")),
        "{text}"
    );
}

#[test]
fn an_undecided_row_whose_interval_excludes_zero_has_its_reason() {
    let mut document = sample();
    let why = "the 95 % interval alone would be enough, but with 3 endpoints each verdict is judged at 0.05 / 3 = 0.0167";
    for endpoint in &mut document.comparisons[0].endpoints[..2] {
        (endpoint.outcome, endpoint.why) = (Some(Outcome::Undecided), Some(why.to_owned()));
    }
    let names: Vec<String> = document.comparisons[0].endpoints[..2]
        .iter()
        .map(|one| one.endpoint.clone())
        .collect();
    let background = document.comparisons.iter_mut();
    let background = background.last().unwrap();
    background.outcome = Outcome::Undecided;
    background.why = Some("old lost 2 % of its requests".to_owned());
    let said = format!(
        "{} is undecided: old lost 2 % of its requests.",
        background.candidate
    );
    let text = flat(&page(&document, 100));
    let reason = format!("Undecided ({}): {why}.", names.join(", "));
    assert_eq!(text.matches(&reason).count(), 1, "{text}");
    assert!(text.contains(&said), "{text}");
    assert!(
        text.contains("Verdict on the mean: better. 5,960 requests"),
        "{text}"
    );
}

#[test]
fn without_a_twin_the_page_says_that_pages_differ_by_themselves() {
    let mut document = sample();
    document.shadows[2].twin = false;
    for answers in &mut document.answers {
        answers.twin = None;
        answers.differences.iter_mut().for_each(|one| {
            one.standing = Standing::Unknown;
            (one.twin_share, one.excess) = (None, None);
        });
    }
    assert!(flat(&page(&document, 100)).contains("dynamic pages differ by themselves"));
    for answers in &mut document.answers {
        (answers.differ, answers.noise) = (0, 0);
        answers.differences.clear();
    }
    let same = flat(&page(&document, 100));
    assert!(
        same.contains("All 6,000 answers that were compared are the same"),
        "{same}"
    );
    assert!(!same.contains("judge each difference"), "{same}");
}

#[test]
fn what_the_agents_saw_stands_side_by_side() {
    let mut document = sample();
    assert!(!page(&document, 100).contains("From inside"));
    document.shadows[0].inside = Some(Inside {
        source: "/run/powerband/1000".to_owned(),
        server: "puma 6.6.0".to_owned(),
        ruby: "3.3.8".to_owned(),
        processes: 2,
        threads: Some(3),
        requests: 6_000,
        wall_ms: 22.5,
        held_ms: Some(9.0),
        gvl_wait_ms: Some(4.25),
        io_ms: Some(9.25),
        cpu_ms: None,
        gc_stopped_ms: None,
        gc_share: Some(0.031),
        allocations: Some(41_222.4),
        pss_bytes: Some(300 << 20),
    });
    let page = page(&document, 100);
    for part in [
        "From inside",
        "GVL wait",
        "4.25 ms",
        "3.10 %",
        "41,222",
        "300 MiB",
        "2 x 3",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(
        !page.contains("stopped by the garbage collector"),
        "not measured, no row:\n{page}"
    );
}

#[test]
fn what_could_not_be_read_is_said_and_text_of_answers_rules_no_terminal() {
    let mut document = sample();
    document.not_read.push(NotRead {
        file: "monday.log.pbc".to_owned(),
        reason: "4096 bytes at byte 900: its checksum is wrong".to_owned(),
    });
    document.answers[0].differences[0].example.shadow = "\u{1b}[31mred\nline".to_owned();
    let page = page(&document, 100);
    assert!(
        page.contains("- monday.log.pbc: 4096 bytes at byte 900"),
        "{page}"
    );
    assert!(
        !page.contains('\u{1b}') && page.contains("[31mred line"),
        "{page}"
    );
}
