//! What the tests of all pages ask of them.

/// A page on one line, for phrases that a width may break.
pub fn flat(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// No word that only a programmer reads.
pub fn without_noise(page: &str) {
    for noise in ["NaN", "inf", "Some(", "None"] {
        assert!(!page.contains(noise), "{noise}:\n{page}");
    }
}

/// No line is longer than the terminal is wide.
pub fn within(width: u16, page: &str) {
    for line in page.lines() {
        let length = line.chars().count();
        assert!(
            length <= width.into(),
            "{length} at {width}: {line}\n{page}"
        );
    }
}
