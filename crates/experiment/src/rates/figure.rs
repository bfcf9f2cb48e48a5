//! How rates are shown.

/// Three significant digits, as the search has them.
pub fn figure(per_s: f64) -> String {
    match per_s {
        r if r >= 100.0 => format!("{r:.0}"),
        r if r >= 10.0 => format!("{r:.1}").trim_end_matches(".0").to_owned(),
        r => format!("{r:.2}"),
    }
}
