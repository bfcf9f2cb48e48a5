//! What became of each suggestion of `advise`.

use crate::run_page::{page, sample};
use crate::support::flat;
use run::{Conclusion, Document, Judged, Kind, Proof, Tested, Together};
use std::collections::BTreeMap;

fn proven() -> Document {
    let mut document = sample("compare");
    document.kind = Kind::Prove;
    let judged = |conclusion, why: &str| Judged {
        conclusion,
        why: why.to_owned(),
    };
    let settings = |knob: &str, value: &str| BTreeMap::from([(knob.to_owned(), value.to_owned())]);
    let tested = |check: &str, settings, found| Tested {
        check: check.to_owned(),
        settings,
        evidence: format!("the figures of {check}"),
        arm: document.arms[1].name.clone(),
        judged: found,
    };
    let kept = || judged(Conclusion::Kept, "memory -20.0 % (-22.0 to -18.0)");
    document.proof = Some(Proof {
        today: "threads=3,workers=2".to_owned(),
        environment: BTreeMap::new(),
        suggestions: vec![
            tested(
                "malloc arenas",
                settings("malloc_arena_max", "2"),
                Some(kept()),
            ),
            tested(
                "old objects",
                settings("gc.heap_oldobject_limit_factor", "4"),
                Some(judged(Conclusion::Refuted, "throughput equivalent")),
            ),
            tested(
                "heap growth",
                settings("gc.heap_growth_factor", "1.3"),
                None,
            ),
        ],
        together: Some(Together {
            settings: settings("malloc_arena_max", "2"),
            arm: document.arms[1].name.clone(),
            judged: kept(),
        }),
    });
    document
}

#[test]
fn each_suggestion_has_its_result_with_the_figures_and_what_suggested_it() {
    let document = proven();
    let said = flat(&page(&document));
    for expected in [
        "- malloc arenas: kept (memory -20.0 % (-22.0 to -18.0)) settings malloc_arena_max=2 evidence the figures of malloc arenas",
        "- old objects: refuted (throughput equivalent)",
        "- heap growth: not judged",
        "- all kept: kept (memory",
        "worse by more than the margin of 3 %",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!said.contains("What is worth setting"), "{said}");
    let table = report::experiment_markdown(&document, "powerband advise --prove");
    for expected in [
        "| malloc arenas | `malloc_arena_max=2` | kept (memory -20.0 % (-22.0 to -18.0)) |",
        "| all kept | `malloc_arena_max=2` | kept (",
        "the answer rests on it",
    ] {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    assert!(!flat(&page(&sample("compare"))).contains("each suggestion"));
}
