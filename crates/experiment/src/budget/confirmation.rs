//! How the deciding comparison of `tune` fits into what is left of the budget once it begins. Trials may have taken longer than the
//! plan expected, and an interruption costs the block that it broke off. Pure.

use super::{LEAST_WINDOW_S, MOST_WINDOW_S, timing};

/// The length of each window, seconds, where those of all blocks are so long together; `None` beyond the longest window.
pub fn proving_window_s(all_s: f64, blocks: u32) -> Option<f64> {
    Some(all_s / f64::from(blocks)).filter(|window_s| *window_s <= MOST_WINDOW_S)
}

/// The comparison, and what its trials cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confirmation {
    /// Blocks, those that are done included.
    pub blocks: u32,
    /// The fewest that it may have.
    pub least_blocks: u32,
    /// Blocks that an earlier sitting measured.
    pub done: u32,
    /// Arms that take part in any case.
    pub always: u32,
    /// Whether a second finalist takes part that may be left out.
    pub second: bool,
    /// Length of each of the two windows of a trial, seconds.
    pub window_s: f64,
    /// Whether the windows may have another length.
    pub may_vary: bool,
    /// Seconds of windows, in all blocks together, that count enough requests to prove the latency limit; `None` where there is
    /// none, or where the comparison has begun.
    pub proving_s: Option<f64>,
    /// Windows are no shorter than this, seconds, however little noise there is.
    pub shortest_s: f64,
    /// What a trial of each of the former costs in addition to its windows, seconds, together.
    pub always_s: f64,
    /// The same of the second finalist.
    pub second_s: f64,
}

impl Confirmation {
    /// Seconds that it still takes.
    pub fn seconds(&self) -> f64 {
        f64::from(self.blocks.saturating_sub(self.done))
            * (self.fixed_s() + self.windows() * self.window_s)
    }

    /// Of a block, in addition to its windows.
    fn fixed_s(&self) -> f64 {
        self.always_s + if self.second { self.second_s } else { 0.0 }
    }

    /// Arms of a block.
    pub fn arms(&self) -> u32 {
        self.always + u32::from(self.second)
    }

    /// Windows of a block.
    fn windows(&self) -> f64 {
        2.0 * f64::from(self.arms())
    }

    /// Whether more arms, whose trials cost so much in addition to their windows, fit in as well.
    pub fn has_room(&self, beside_s: &[f64], left_s: f64) -> bool {
        let blocks = f64::from(self.blocks.saturating_sub(self.done));
        let block_s: f64 = beside_s.iter().map(|s| s + 2.0 * self.window_s).sum();
        self.seconds() + blocks * block_s <= left_s
    }

    /// With windows that are long enough to prove the latency limit, where there is time. The search of the highest rate then has less.
    fn proving(self, left_s: f64) -> Confirmation {
        let window_s = self
            .proving_s
            .and_then(|all_s| proving_window_s(all_s, self.blocks));
        let Some(window_s) = window_s.filter(|window_s| self.may_vary && *window_s > self.window_s)
        else {
            return self;
        };
        let longer = Confirmation { window_s, ..self };
        match longer.seconds_after(self.window_s) <= left_s {
            true => longer,
            false => self,
        }
    }

    /// Seconds that it takes, where trials with windows of so many have shown what their warm-up takes.
    fn seconds_after(&self, window_s: f64) -> f64 {
        // A longer window allows a longer warm-up.
        let warmup_s = timing(self.window_s).warmup_max_s - timing(window_s).warmup_max_s;
        let blocks = self.blocks.saturating_sub(self.done);
        self.seconds() + f64::from(blocks * self.arms()) * warmup_s.max(0.0)
    }

    /// The length by the noise, no longer than there is time for; `needed_s` find the margin.
    pub fn window_by_noise(&self, needed_s: f64, left_s: f64) -> f64 {
        let needed_s = needed_s.clamp(self.shortest_in(self.blocks), MOST_WINDOW_S);
        let blocks = f64::from(self.blocks.saturating_sub(self.done).max(1));
        let spare_s = (left_s - self.seconds()) / blocks / f64::from(self.arms());
        // A trial has two windows, and each second of theirs may make its warm-up longer by another.
        needed_s.min(self.window_s + spare_s.max(0.0) / 4.0)
    }

    /// The shortest windows of so many blocks: those that prove the latency limit stay that long.
    fn shortest_in(&self, blocks: u32) -> f64 {
        let proving = self.proving_s.map(|all_s| {
            let proving_s = proving_window_s(all_s, blocks);
            proving_s.map_or(self.window_s, |proving_s| proving_s.min(self.window_s))
        });
        self.shortest_s.max(proving.unwrap_or(0.0))
    }

    /// The blocks and windows that find the margin in the least time; `None` if no choice fits into `left_s`.
    fn enough(&self, left_s: f64, needed_s: &dyn Fn(u32) -> Option<f64>) -> Option<Confirmation> {
        let shapes = (self.least()..=self.blocks).filter_map(|blocks| {
            let needed_s = needed_s(blocks).filter(|_| self.may_vary)?;
            let window_s = needed_s.max(self.shortest_in(blocks));
            let shape = Confirmation {
                blocks,
                window_s,
                ..*self
            };
            let fits = window_s <= MOST_WINDOW_S && shape.seconds_after(self.window_s) <= left_s;
            fits.then_some(shape)
        });
        shapes.min_by(|one, other| one.seconds().total_cmp(&other.seconds()))
    }

    /// The fewest blocks.
    pub fn least(&self) -> u32 {
        self.least_blocks
            .clamp(self.done.min(self.blocks), self.blocks)
    }

    /// As many blocks with windows of such a length as find the margin by the noise seen, where there is time for that: `needed_s` is
    /// the length for a number of blocks, `None` where too little showed the noise. Else the richest that fits, with room for the
    /// search of rates if possible. Where nothing fits, the poorest: fewer blocks would never decide.
    pub fn fitted(
        self,
        left_with_search_s: f64,
        left_s: f64,
        needed_s: &dyn Fn(u32) -> Option<f64>,
    ) -> Confirmation {
        if let Some(enough) = self.enough(left_with_search_s, needed_s) {
            return enough.proving(left_s);
        }
        let least = self.least();
        let mut shapes: Vec<Confirmation> = (least..=self.blocks)
            .rev()
            .map(|blocks| Confirmation { blocks, ..self })
            .collect();
        if self.second {
            shapes.push(Confirmation {
                blocks: least,
                second: false,
                ..self
            });
        }
        let fits = |left_s: f64| shapes.iter().find(|shape| shape.seconds() <= left_s);
        if let Some(shape) = fits(left_with_search_s).or_else(|| fits(left_s)) {
            let window_s = match needed_s(shape.blocks).filter(|_| self.may_vary) {
                Some(needed_s) => shape.window_by_noise(needed_s, left_with_search_s),
                None => shape.window_s,
            };
            let longer = Confirmation {
                window_s: window_s.max(shape.window_s),
                ..*shape
            };
            return longer.proving(left_s);
        }
        let poorest = shapes.pop().unwrap_or(self);
        let blocks = f64::from(poorest.blocks.saturating_sub(poorest.done).max(1));
        let fitting_s = (left_s / blocks - poorest.fixed_s()) / poorest.windows();
        Confirmation {
            window_s: match self.may_vary {
                true => fitting_s.clamp(LEAST_WINDOW_S.min(self.window_s), self.window_s),
                false => self.window_s,
            },
            ..poorest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 10 s each with windows of 3 s: a block of two takes 32 s, one of three 48 s.
    const PLANNED: Confirmation = Confirmation {
        blocks: 9,
        least_blocks: 6,
        done: 0,
        always: 2,
        second: true,
        window_s: 3.0,
        may_vary: true,
        proving_s: None,
        shortest_s: 2.0,
        always_s: 20.0,
        second_s: 10.0,
    };

    const UNKNOWN: fn(u32) -> Option<f64> = |_| None;

    fn fitted(left_with_search_s: f64, left_s: f64) -> (u32, bool, f64) {
        let found = PLANNED.fitted(left_with_search_s, left_s, &UNKNOWN);
        (found.blocks, found.second, found.window_s)
    }

    #[test]
    fn blocks_go_first_then_the_second_finalist_then_the_search_then_length() {
        assert_eq!(fitted(500.0, 600.0), (9, true, 3.0));
        assert_eq!(fitted(350.0, 600.0), (7, true, 3.0));
        assert_eq!(fitted(200.0, 600.0), (6, false, 3.0));
        assert_eq!(fitted(100.0, 290.0), (6, true, 3.0));
        assert_eq!(fitted(0.0, 180.0), (6, false, 2.5));
        assert_eq!(fitted(0.0, 10.0), (6, false, 2.0));
    }

    /// 24 s of windows prove the limit: in six blocks 4 s each. A warm-up may then take 8 s instead of 6.
    #[test]
    fn windows_become_longer_where_that_proves_the_limit_and_there_is_time() {
        let limited = Confirmation {
            blocks: 6,
            second: false,
            proving_s: Some(24.0),
            ..PLANNED
        };
        assert_eq!(limited.seconds(), 192.0);
        let window_s = |of: Confirmation, left_s| of.fitted(192.0, left_s, &UNKNOWN).window_s;
        assert_eq!(window_s(limited, 216.0 + 24.0), 4.0);
        assert_eq!(window_s(limited, 215.0 + 24.0), 3.0);
        let proving = |all_s| Confirmation {
            proving_s: Some(all_s),
            ..limited
        };
        assert_eq!(window_s(proving(12.0), 900.0), 3.0, "they are long enough");
        assert_eq!(window_s(proving(181.0), 9e3), 3.0, "30 s each are too few");
        let fixed = Confirmation {
            may_vary: false,
            ..limited
        };
        assert_eq!(window_s(fixed, 900.0), 3.0);
    }

    /// A block of three takes 48 s with windows of 3 s, and 6 s more or less with each second more or less.
    #[test]
    fn blocks_and_windows_follow_the_noise() {
        let by_noise = |left_s, needed_s: fn(u32) -> Option<f64>| {
            let found = PLANNED.fitted(left_s, left_s, &needed_s);
            (found.blocks, found.second, found.window_s)
        };
        // Little noise: six blocks with the shortest windows take the least time.
        assert_eq!(by_noise(900.0, |_| Some(0.5)), (6, true, 2.0));
        // Six blocks need windows that are so much longer that nine take less time.
        let falling = |blocks| Some(if blocks < 9 { 20.0 } else { 4.0 });
        assert_eq!(by_noise(900.0, falling), (9, true, 4.0));
        // Nothing finds the margin in time: nine blocks take 432 s, and 27 trials share the other 108.
        let (blocks, second, window_s) = by_noise(540.0, |_| Some(29.0));
        assert!(
            (blocks, second) == (9, true) && (window_s - 4.0).abs() < 1e-9,
            "{window_s}"
        );
        let asked = Confirmation {
            may_vary: false,
            ..PLANNED
        };
        assert_eq!(asked.fitted(900.0, 900.0, &|_| Some(0.5)).window_s, 3.0);
    }

    /// 12 s of windows prove the limit: 2 s in each of six blocks, and noise alone would ask for less in each.
    #[test]
    fn windows_that_prove_the_limit_stay_long_enough() {
        let limited = |all_s| Confirmation {
            proving_s: Some(all_s),
            shortest_s: 0.5,
            ..PLANNED
        };
        let window_s = |all_s, left_s| {
            let found = limited(all_s).fitted(left_s, left_s, &|_| Some(0.1));
            (found.blocks, found.window_s)
        };
        assert_eq!(window_s(12.0, 900.0), (6, 2.0));
        // Windows of 3 s cannot prove the limit; the budget has no room for longer ones.
        assert_eq!(window_s(27.0, 300.0), (6, 3.0));
    }

    /// Three of nine blocks are done, and six of two arms with windows of 3 s take 192 s.
    #[test]
    fn the_other_blocks_have_windows_by_the_noise_of_the_first() {
        let begun = Confirmation {
            done: 3,
            second: false,
            ..PLANNED
        };
        assert_eq!(begun.seconds(), 192.0);
        assert_eq!(begun.window_by_noise(1.0, 900.0), 2.0);
        assert_eq!(begun.window_by_noise(3.5, 900.0), 3.5);
        assert_eq!(begun.window_by_noise(99.0, 9e3), MOST_WINDOW_S);
        // Each of twelve trials may take 4 s more, half of them for the warm-up.
        assert!((begun.window_by_noise(9.0, 240.0) - 4.0).abs() < 1e-9);
        assert_eq!(
            begun.window_by_noise(9.0, 0.0),
            3.0,
            "no time is no reason for less"
        );
    }

    /// A resumed run keeps the blocks and the arms that were measured.
    #[test]
    fn what_an_earlier_sitting_measured_stays() {
        let resumed = Confirmation {
            least_blocks: 9,
            done: 7,
            always: 3,
            second: false,
            always_s: 30.0,
            ..PLANNED
        };
        assert_eq!(resumed.seconds(), 2.0 * 48.0);
        let found = resumed.fitted(60.0, 60.0, &UNKNOWN);
        assert_eq!((found.blocks, found.arms()), (9, 3));
        assert_eq!(resumed.fitted(0.0, -5.0, &UNKNOWN).blocks, 9);
    }

    /// The one that was left out cannot come back, and a slow arm costs what it costs.
    #[test]
    fn more_arms_take_part_only_where_the_whole_comparison_still_fits() {
        let dropped = PLANNED.fitted(200.0, 200.0, &UNKNOWN);
        assert!(!dropped.second && !dropped.has_room(&[PLANNED.second_s], 200.0));
        let all = PLANNED.fitted(600.0, 600.0, &UNKNOWN);
        assert!(all.has_room(&[10.0], 600.0));
        assert!(!all.has_room(&[20.0], 600.0) && !all.has_room(&[10.0, 1.0], 600.0));
    }

    #[test]
    fn a_length_that_was_asked_for_stays() {
        let asked = Confirmation {
            may_vary: false,
            ..PLANNED
        };
        assert_eq!(asked.fitted(0.0, 10.0, &UNKNOWN).window_s, 3.0);
    }
}
