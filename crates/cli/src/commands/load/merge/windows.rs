//! When several runs were under way.

use small_sort::SmallSort;

/// Share of the time in which at least one run was under way that all of them must have in common, or a warning says so.
const LEAST_SHARED: f64 = 0.9;

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
    windows.small_sort_by_key(|window| window.began_ns);
    let (mut covered, mut until) = (0, 0);
    for window in windows {
        covered += window.end_ns().saturating_sub(until.max(window.began_ns));
        until = until.max(window.end_ns());
    }
    covered
}

/// How long all of them were under way together.
pub fn shared_ns(windows: &[Window]) -> u64 {
    let began = windows.iter().map(|window| window.began_ns).max();
    let ended = windows.iter().map(Window::end_ns).min();
    ended.unwrap_or(0).saturating_sub(began.unwrap_or(0))
}

/// Why no limit can hold: the load of all machines together was never sent.
pub fn never_together(windows: &[Window]) -> Option<&'static str> {
    (shared_ns(windows) == 0)
        .then_some("the runs were never under way at the same time: the server did not have the load of all together")
}

/// The warning about runs that were not under way together, or for too small a part of the time.
pub fn apart(windows: &[(&str, Window)]) -> Option<String> {
    let all: Vec<Window> = windows.iter().map(|(_, window)| *window).collect();
    let (shared_ns, covered_ns) = (shared_ns(&all), covered_ns(&all));
    if shared_ns as f64 >= LEAST_SHARED * covered_ns as f64 {
        return None;
    }
    let (ended, first) = windows.iter().min_by_key(|(_, w)| w.end_ns())?;
    let (began, last) = windows.iter().max_by_key(|(_, w)| w.began_ns)?;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let what = match last.began_ns.checked_sub(first.end_ns()) {
        Some(gap_ns) => format!(
            "{ended} had ended {:.1} s before {began} began: the machines did not load the server at the same time",
            seconds(gap_ns)
        ),
        None => format!(
            "all runs were under way together for {:.1} s of {:.1} s: {ended} ended first, {began} began last",
            seconds(shared_ns),
            seconds(covered_ns)
        ),
    };
    Some(format!(
        "{what}, and rates are over the {:.1} s in which at least one run was under way; start the machines together and \
         compare their clocks",
        seconds(covered_ns)
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
    fn only_the_time_in_which_all_were_under_way_is_shared() {
        let shared = |windows: &[Window]| shared_ns(windows) / 1_000_000_000;
        assert_eq!(shared(&[]), 0);
        assert_eq!(shared(&[window(100, 10)]), 10);
        assert_eq!(shared(&[window(105, 10), window(100, 10)]), 5);
        assert_eq!(
            shared(&[window(100, 10), window(105, 10), window(109, 9)]),
            1
        );
        let touching = [window(100, 10), window(110, 10)];
        assert_eq!(shared(&touching), 0);
        assert!(never_together(&touching).is_some());
        assert_eq!(never_together(&[window(100, 10), window(109, 10)]), None);
    }

    #[test]
    fn windows_without_a_common_instant_are_named() {
        let [a, b] = [("a", window(100, 10)), ("b", window(109, 10))];
        let said = apart(&[a, ("c", window(112, 3)), b]).unwrap();
        assert!(
            said.starts_with("a had ended 2.0 s before c began:"),
            "{said}"
        );
        assert_eq!(apart(&[a]), None);
    }

    #[test]
    fn windows_that_hardly_overlap_are_named_with_both_times() {
        let apart =
            |late_s: u64| apart(&[("a", window(100, 120)), ("b", window(100 + late_s, 120))]);
        let said = apart(119).unwrap();
        assert!(
            said.starts_with("all runs were under way together for 1.0 s of 239.0 s: a ended first, b began last,"),
            "{said}"
        );
        assert!(apart(7).is_some(), "113 s of 127 s are less than 90 %");
        assert_eq!(apart(6), None, "114 s of 126 s are more than 90 %");
    }
}
