//! The committed page is what the catalogue says.

#[test]
fn the_committed_page_is_the_catalogues_own() {
    assert!(
        include_str!("../../../../docs/knobs.md") == knobs::page(),
        "docs/knobs.md: run `make contract` and commit what it writes"
    );
}
