//! What the page of `tune` adds below its tables: why a configuration was tried, and what is to be changed by hand.

use crate::run_page::{page, sample};
use crate::support::flat;

#[test]
fn more_processes_than_cores_have_their_reason() {
    let mut document = sample("tune");
    let heading = "Why more processes than cores were tried";
    assert!(!page(&document).contains(heading));
    let why = "more processes than 2 cores: a request waits for I/O for 80 % of its own time, when its process may leave a core \
               idle, 60/s predicted, at most 50/s with 2 processes";
    document.arms[1].fate = format!("the best prediction ({why}); won the elimination rounds");
    let page = flat(&page(&document));
    let listed = format!("{heading} - single × 4 threads: {why} ");
    assert!(page.contains(&listed), "{page}");
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
