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
        // A longer window allows a longer warm-up.
        let warmup_s = timing(window_s).warmup_max_s - timing(self.window_s).warmup_max_s;
        let trials = f64::from(self.blocks * self.arms());
        match longer.seconds() + trials * warmup_s <= left_s {
            true => longer,
            false => self,
        }
    }

    /// The richest that fits, with room for the search of rates if possible. Where nothing fits, the poorest: fewer blocks would
    /// never decide.
    pub fn fitted(self, left_with_search_s: f64, left_s: f64) -> Confirmation {
        let least = self
            .least_blocks
            .clamp(self.done.min(self.blocks), self.blocks);
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
            return shape.proving(left_s);
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
        always_s: 20.0,
        second_s: 10.0,
    };

    fn fitted(left_with_search_s: f64, left_s: f64) -> (u32, bool, f64) {
        let found = PLANNED.fitted(left_with_search_s, left_s);
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
        let window_s = |of: Confirmation, left_s| of.fitted(192.0, left_s).window_s;
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
        let found = resumed.fitted(60.0, 60.0);
        assert_eq!((found.blocks, found.arms()), (9, 3));
        assert_eq!(resumed.fitted(0.0, -5.0).blocks, 9);
    }

    /// The one that was left out cannot come back, and a slow arm costs what it costs.
    #[test]
    fn more_arms_take_part_only_where_the_whole_comparison_still_fits() {
        let dropped = PLANNED.fitted(200.0, 200.0);
        assert!(!dropped.second && !dropped.has_room(&[PLANNED.second_s], 200.0));
        let all = PLANNED.fitted(600.0, 600.0);
        assert!(all.has_room(&[10.0], 600.0));
        assert!(!all.has_room(&[20.0], 600.0) && !all.has_room(&[10.0, 1.0], 600.0));
    }

    #[test]
    fn a_length_that_was_asked_for_stays() {
        let asked = Confirmation {
            may_vary: false,
            ..PLANNED
        };
        assert_eq!(asked.fitted(0.0, 10.0).window_s, 3.0);
    }
}
