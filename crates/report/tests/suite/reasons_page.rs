//! What the page of `tune` adds below its tables: why a configuration was tried, and what is to be changed by hand.

use crate::run_page::{page, sample};
use crate::support::flat;

#[test]
fn more_processes_than_cores_have_their_reason() {
    let mut document = sample("tune");
    let heading = "Why more processes than cores were tried";
    assert!(!page(&document).contains(heading));
    let profile = document.profile.as_mut().unwrap();
    (profile.io_ms, profile.held_ms) = (15.0, 5.0);
    let fate = |most| {
        format!(
            "the best prediction (more processes than 2 cores: {most}/s predicted, at most 50/s with 2 processes); won the \
             elimination rounds"
        )
    };
    (document.arms[0].fate, document.arms[1].fate) = (fate(60), fate(55));
    let said = flat(&page(&document));
    let reason = "while a request waits for I/O (75 % of its own time), its process may leave a core idle that another process can \
                  use; each process costs memory and context switches";
    let listed = format!(
        "{heading} - {reason} - single × 1 thread: 60/s predicted, at most 50/s with 2 processes - single × 4 threads: 55/s"
    );
    assert!(said.contains(&listed), "{said}");
    document.profile.as_mut().unwrap().io_ms = 0.2;
    let said = flat(&page(&document));
    assert!(
        said.contains("for only 4 % of their own time, so little is expected of it"),
        "{said}"
    );
}

#[test]
fn changes_that_no_diff_holds_are_listed() {
    let mut document = sample("tune");
    let verdict = document.verdict.as_mut().unwrap();
    assert!(!verdict.changes.is_empty());
    verdict.by_hand = vec!["start the server with MALLOC_ARENA_MAX=2".to_owned()];
    let with_diffs = flat(&page(&document));
    let heading = "What no diff holds: set it, or look at it, by hand";
    let listed = |heading: &str| format!("{heading} - start the server with MALLOC_ARENA_MAX=2");
    assert!(with_diffs.contains(&listed(heading)), "{with_diffs}");
    document.verdict.as_mut().unwrap().changes.clear();
    let alone = flat(&page(&document));
    let heading = "What to change by hand";
    assert!(alone.contains(&listed(heading)), "{alone}");
}
