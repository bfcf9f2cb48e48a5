//! Equal stretches of time, never more than there is room for: when a run outgrows them, neighbours are joined and
//! each is twice as long.

/// Windows of every series, when all of them are full.
pub const WINDOWS: u64 = 128;

/// The first windows are as short as this: 12 of them make 3 s.
const SHORTEST_NS: u64 = 250_000_000;

/// What two neighbouring windows make together.
pub trait Join: Default {
    /// This one, with what the next one held.
    fn join(&mut self, next: &Self);
}

/// How long windows are by now; one for all series, so that the nth of each is the same time.
#[derive(Debug)]
pub struct Clock {
    length_ns: u64,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            length_ns: SHORTEST_NS,
        }
    }
}

impl Clock {
    /// The window of an instant; `lengthen` is called for each doubling that it needs first.
    pub fn window(&mut self, at_ns: u64, mut lengthen: impl FnMut()) -> usize {
        while at_ns / self.length_ns >= WINDOWS {
            // Cannot overflow: at_ns is at least 128 times as much.
            self.length_ns *= 2;
            lengthen();
        }
        (at_ns / self.length_ns) as usize
    }

    #[cfg(test)]
    pub fn length_ns(&self) -> u64 {
        self.length_ns
    }
}

/// Windows of one series, from the beginning of the run to the last that anything fell into.
#[derive(Debug, Default, Clone)]
pub struct Windows<T> {
    held: Vec<T>,
}

impl<T: Join> Windows<T> {
    /// The nth.
    pub fn at(&mut self, index: usize) -> &mut T {
        if self.held.len() <= index {
            self.held.resize_with(index + 1, T::default);
        }
        &mut self.held[index]
    }

    /// Every two neighbours become one.
    pub fn lengthen(&mut self) {
        let mut old = std::mem::take(&mut self.held).into_iter();
        while let Some(mut first) = old.next() {
            if let Some(second) = old.next() {
                first.join(&second);
            }
            self.held.push(first);
        }
    }

    /// In the order of time.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.held.iter()
    }

    /// All of them as one.
    pub fn total(&self) -> T {
        let mut total = T::default();
        self.held.iter().for_each(|window| total.join(window));
        total
    }
}

/// Neighbours joined into at most `most` batches of about the same weight, each at least as heavy as an equal share of
/// what the ones before it left; in the order of time. Equal weights rather than equal times, so that the hours in which
/// little came count for little.
pub fn batches<T: Join>(windows: &Windows<T>, weight: impl Fn(&T) -> u64, most: u64) -> Vec<T> {
    let mut left: u64 = windows.iter().map(&weight).sum();
    let mut found = Vec::new();
    let (mut open, mut held) = (T::default(), 0_u64);
    for window in windows.iter() {
        open.join(window);
        held += weight(window);
        let shares = most.saturating_sub(found.len() as u64).max(1);
        if held > 0 && u128::from(held) * u128::from(shares) >= u128::from(left) {
            found.push(std::mem::take(&mut open));
            left -= held;
            held = 0;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Default, Clone, PartialEq)]
    struct Held(Vec<u64>);

    impl Join for Held {
        fn join(&mut self, next: &Held) {
            self.0.extend(&next.0);
        }
    }

    fn filled(instants: &[u64]) -> (Clock, Windows<Held>) {
        let (mut clock, mut windows) = (Clock::default(), Windows::<Held>::default());
        for at in instants {
            let index = clock.window(*at, || windows.lengthen());
            windows.at(index).0.push(*at);
        }
        (clock, windows)
    }

    proptest! {
        /// Whatever was joined on the way, everything stands where windows of the last length would have had it.
        #[test]
        fn joining_on_the_way_is_windowing_at_the_end(instants in prop::collection::vec(0..10_000_000_000_000_u64, 1..300)) {
            let (clock, windows) = filled(&instants);
            prop_assert!(windows.iter().count() as u64 <= WINDOWS);
            let mut seen = 0;
            for (index, window) in windows.iter().enumerate() {
                seen += window.0.len();
                prop_assert!(window.0.iter().all(|at| (at / clock.length_ns()) as usize == index));
            }
            prop_assert_eq!(seen, instants.len());
        }

        #[test]
        fn batches_hold_everything_once_in_order_and_about_as_much_each(
            mut instants in prop::collection::vec(0..40_000_000_000_u64, 1..600), most in 1..30_u64,
        ) {
            instants.sort_unstable();
            let (_, windows) = filled(&instants);
            let found = batches(&windows, |window| window.0.len() as u64, most);
            prop_assert!(!found.is_empty() && found.len() as u64 <= most);
            let widest = windows.iter().map(|w| w.0.len()).max().unwrap_or(0);
            for batch in &found {
                prop_assert!(!batch.0.is_empty());
                prop_assert!(batch.0.len() as f64 <= instants.len() as f64 / most as f64 + widest as f64 + 1.0);
            }
            let joined: Vec<u64> = found.into_iter().flat_map(|batch| batch.0).collect();
            prop_assert_eq!(joined, instants);
        }
    }

    #[test]
    fn the_longest_instant_is_taken() {
        let (_, windows) = filled(&[1, u64::MAX]);
        assert_eq!(windows.total().0, [1, u64::MAX]);
    }
}
