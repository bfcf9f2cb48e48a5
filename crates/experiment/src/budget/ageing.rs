//! What it costs to age each trial's server. Pure.

use super::OBJECTIVE_LOAD;

/// Requests that every trial answers before its memory is read, as time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ageing {
    /// Seconds that a trial may take for those after the warm-up, at full load. Its windows are part of them.
    pub seconds: f64,
    /// Share of its capacity at which the open loop runs.
    pub objective_load: f64,
}

/// How many times as long as the baseline any configuration may take. The plan has this time for each, so that the run keeps its
/// budget whatever they take.
const SLOWER: f64 = 1.5;
/// Most of the capacity that the open loop is counted with: beyond it, nothing would be left to the closed loop.
const MOST_LOAD: f64 = 0.95;

impl Ageing {
    /// No request beyond those of the windows.
    pub const NONE: Ageing = Ageing {
        seconds: 0.0,
        objective_load: OBJECTIVE_LOAD,
    };

    /// So many requests, at this capacity and this rate of the open loop; those of the warm-up are answered already.
    pub fn of(requests: u64, warmed_up: u64, capacity_per_s: f64, rate_per_s: f64) -> Ageing {
        Ageing {
            seconds: SLOWER * requests.saturating_sub(warmed_up) as f64 / capacity_per_s,
            objective_load: (rate_per_s / capacity_per_s).min(MOST_LOAD),
        }
    }

    /// Seconds that the baseline takes.
    pub fn of_baseline_s(&self) -> f64 {
        self.seconds / SLOWER
    }

    /// The most requests for which a trial may take so many seconds.
    pub fn requests_in(seconds: f64, warmed_up: u64, capacity_per_s: f64) -> u64 {
        warmed_up + (seconds.max(0.0) / SLOWER * capacity_per_s) as u64
    }

    /// Seconds after two windows of this length.
    pub fn after_windows_s(&self, window_s: f64) -> f64 {
        let answered_s = (1.0 + self.objective_load) * window_s;
        (self.seconds - answered_s).max(0.0)
    }

    /// Seconds of two windows of this length and of the ageing after them.
    pub fn with_windows_s(&self, window_s: f64) -> f64 {
        2.0 * window_s + self.after_windows_s(window_s)
    }

    /// The longest windows that fit into so many seconds with the ageing; below 0 where the ageing alone does not.
    pub fn window_in(&self, seconds: f64) -> f64 {
        let windows_s = seconds / 2.0;
        windows_s.min((seconds - self.seconds) / (1.0 - self.objective_load))
    }

    /// Seconds of load that may be asked for in a trial of so many seconds with such windows; none or less: no ageing fits.
    pub fn room_s(&self, seconds: f64, window_s: f64) -> f64 {
        seconds - (1.0 - self.objective_load) * window_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_windows_answer_is_part_of_the_ageing() {
        // 10,000 requests at 100 a second, of which 500 are the warm-up's.
        let ageing = Ageing::of(10_000, 500, 100.0, 70.0);
        assert!((ageing.of_baseline_s() - 95.0).abs() < 1e-9);
        assert!((ageing.seconds - 142.5).abs() < 1e-9);
        // Windows of 10 s answer what takes 17 s.
        assert!((ageing.with_windows_s(10.0) - 145.5).abs() < 1e-9);
        assert_eq!(Ageing::NONE.with_windows_s(10.0), 20.0);
        assert_eq!(Ageing::NONE.window_in(20.0), 10.0);
        // Windows that answer more cost no more.
        assert!((ageing.with_windows_s(90.0) - 180.0).abs() < 1e-9);
        assert!(ageing.window_in(90.0) < 0.0);
        assert_eq!(Ageing::requests_in(142.5, 500, 100.0), 10_000);
    }

    proptest! {
        #[test]
        fn windows_that_fit_take_just_that_long(
            seconds in 1.0..500.0_f64,
            ageing_s in 0.0..400.0_f64,
            objective_load in 0.05..0.95_f64,
        ) {
            let ageing = Ageing { seconds: ageing_s, objective_load };
            let window_s = ageing.window_in(seconds);
            if window_s > 0.0 {
                prop_assert!((ageing.with_windows_s(window_s) - seconds).abs() < 1e-6);
                let room_s = ageing.room_s(seconds, window_s);
                prop_assert!(room_s >= ageing_s - 1e-6);
            }
        }
    }
}
