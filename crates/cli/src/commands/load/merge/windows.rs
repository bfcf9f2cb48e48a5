//! When several runs were under way.

/// From an instant on, for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Unix time.
    pub began_ns: u64,
    /// How long.
    pub length_ns: u64,
}

impl Window {
    /// Its end.
    pub fn end_ns(&self) -> u64 {
        self.began_ns.saturating_add(self.length_ns)
    }
}

/// How long at least one of them was under way.
pub fn covered_ns(windows: &[Window]) -> u64 {
    let mut windows = windows.to_vec();
    windows.sort_by_key(|window| window.began_ns);
    let (mut covered, mut until) = (0, 0);
    for window in windows {
        covered += window.end_ns().saturating_sub(until.max(window.began_ns));
        until = until.max(window.end_ns());
    }
    covered
}

/// Where two of them had no instant in common: the warning that names these two.
pub fn apart(windows: &[(&str, Window)]) -> Option<String> {
    let (ended, first) = windows.iter().min_by_key(|(_, w)| w.end_ns())?;
    let (began, last) = windows.iter().max_by_key(|(_, w)| w.began_ns)?;
    let gap_ns = last.began_ns.checked_sub(first.end_ns())?;
    Some(format!(
        "{ended} had ended {:.1} s before {began} began: the machines did not load the server at the same time, and rates are over the \
         time in which one of them did; start them together and compare their clocks",
        gap_ns as f64 / 1e9
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(began_s: u64, length_s: u64) -> Window {
        Window {
            began_ns: began_s * 1_000_000_000,
            length_ns: length_s * 1_000_000_000,
        }
    }

    #[test]
    fn time_that_several_cover_counts_once_and_a_gap_not_at_all() {
        let covered = |windows: &[Window]| covered_ns(windows) / 1_000_000_000;
        assert_eq!(covered(&[]), 0);
        assert_eq!(covered(&[window(100, 10), window(100, 10)]), 10);
        assert_eq!(covered(&[window(105, 10), window(100, 10)]), 15);
        assert_eq!(covered(&[window(100, 10), window(102, 3)]), 10);
        assert_eq!(covered(&[window(100, 10), window(200, 5)]), 15);
    }

    #[test]
    fn windows_without_a_common_instant_are_named() {
        let near = [("a", window(100, 10)), ("b", window(109, 10))];
        assert_eq!(apart(&near), None);
        let far = [near[0], ("c", window(112, 3)), near[1]];
        let said = apart(&far).unwrap();
        assert!(
            said.starts_with("a had ended 2.0 s before c began:"),
            "{said}"
        );
        assert_eq!(apart(&[near[0]]), None);
    }
}
