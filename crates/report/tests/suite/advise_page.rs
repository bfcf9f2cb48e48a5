//! The page of the golden sample of `advise`, and of altered copies of it.

use crate::support::flat;
use run::advise::Document;

fn sample() -> Document {
    let path = "/../../contract/samples/advise/collecting.json";
    let text = std::fs::read_to_string(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn page(document: &Document) -> String {
    let style = report::Style {
        width: 100,
        colour: false,
    };
    report::advise_page(document, style)
}

#[test]
fn each_suggestion_has_its_figures_and_its_cost_and_the_command_is_one_line() {
    let document = sample();
    let page = page(&document);
    assert!(
        page.lines()
            .any(|line| line == document.command.as_deref().unwrap()),
        "{page}"
    );
    let said = flat(&page);
    for expected in [
        "2 changes are worth a test; none is proven to help this application. Collections take",
        "Worth a test - malloc limit: gc.malloc_limit=16MiB, gc.malloc_limit_max=32MiB (RUBY_GC_MALLOC_LIMIT=16777216",
        "evidence 2047 of 2047 (100.0 %) minor collections began because",
        "may cost memory outside of the slots",
        "Left as it is - out of band: ",
        "heap at boot: the logs no longer hold the first collections",
        "the variables that process ",
    ] {
        assert!(said.contains(expected), "{expected}:\n{page}");
    }
}

#[test]
fn without_a_suggestion_there_is_nothing_to_test_and_unknown_is_said() {
    let mut document = sample();
    document.suggestions.clear();
    document.command = None;
    document.looked_at.environment_of = None;
    document.looked_at.left_out = 3;
    let said = flat(&page(&document));
    assert!(
        !said.contains("Worth a test") && !said.contains("powerband compare"),
        "{said}"
    );
    assert!(
        said.contains("3 processes of other servers or earlier starts left out; no variables"),
        "{said}"
    );
}

/// Files and documents of others may hold anything.
#[test]
fn nothing_of_a_document_reaches_the_terminal_as_a_command_to_it() {
    let text = serde_json::to_string(&sample()).unwrap();
    let hostile: Document =
        serde_json::from_str(&text.replace("malloc", "\\u001b[31mmalloc")).unwrap();
    assert!(!page(&hostile).contains('\u{1b}'));
}
