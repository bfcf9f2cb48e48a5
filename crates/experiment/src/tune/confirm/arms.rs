//! Which arms the deciding comparison has: the baseline, the finalists, and steps of the path where there is room.

use crate::budget::Confirmation;
use crate::request::Arm;
use crate::tune::choose::Finalists;
use crate::tune::path;

/// What the choice depends on, except for the budget.
#[derive(Debug)]
pub struct Choice<'a> {
    pub baseline: &'a Arm,
    pub finalists: &'a Finalists,
    /// Finalists that the plan has room for.
    pub planned: Option<u32>,
    /// Names of the arms that an earlier sitting measured in this comparison.
    pub earlier: Vec<String>,
}

/// The comparison as fitted and the seconds that it may take; `None` without a budget.
#[derive(Debug)]
pub struct Room(pub Option<(Confirmation, f64)>);

impl Choice<'_> {
    /// Whether an earlier sitting began the comparison. Its decisions stand, and its blocks are to be used.
    pub fn is_begun(&self) -> bool {
        !self.earlier.is_empty()
    }

    /// The arms that are to be fitted into the budget. The third is the second finalist.
    pub fn wanted(&self) -> Vec<Arm> {
        let mut arms = vec![self.baseline.clone(), self.finalists.challenger.clone()];
        let takes_part = |arm: &&Arm| self.planned.is_some_and(|n| n > 1) || self.is_measured(arm);
        arms.extend(self.finalists.second.iter().filter(takes_part).cloned());
        let steps = self.steps(&arms);
        if steps.iter().any(|arm| self.is_measured(arm)) {
            arms.extend(steps);
        }
        arms
    }

    /// The arms of each block: of those that are wanted the ones that fit, and more where there is room. `cost_s` are the seconds
    /// that a trial takes in addition to its windows.
    pub fn taken(
        &self,
        wanted: Vec<Arm>,
        room: &Room,
        cost_s: &dyn Fn(&Arm) -> Option<f64>,
    ) -> Vec<Arm> {
        let mut arms = wanted;
        if self.is_begun() {
            return arms;
        }
        arms.truncate(room.arms());
        if let Some(second) = &self.finalists.second
            && !arms.contains(second)
        {
            room.join(&mut arms, vec![second.clone()], cost_s);
        }
        let steps = self.steps(&arms);
        room.join(&mut arms, steps, cost_s);
        arms
    }

    /// How many finalists are among these arms; `None` where there was one alone to choose.
    pub fn finalists_of(&self, arms: &[Arm]) -> Option<u32> {
        let second = self.finalists.second.as_ref()?;
        Some(1 + u32::from(arms.contains(second)))
    }

    /// The steps of the path that are not among these arms.
    fn steps(&self, arms: &[Arm]) -> Vec<Arm> {
        let steps = path::between(self.baseline.settings, self.finalists.challenger.settings);
        let steps = steps.into_iter().map(|(_, _, to)| Arm::of(to));
        steps.filter(|arm| !arms.contains(arm)).collect()
    }

    fn is_measured(&self, arm: &Arm) -> bool {
        self.earlier.contains(&arm.name)
    }
}

impl Room {
    /// How many of the planned arms take part.
    fn arms(&self) -> usize {
        self.0
            .map_or(usize::MAX, |(fitted, _)| fitted.arms() as usize)
    }

    /// Adds arms to those that take part if all of them fit in as well.
    fn join(&self, arms: &mut Vec<Arm>, more: Vec<Arm>, cost_s: &dyn Fn(&Arm) -> Option<f64>) {
        let fits = self.0.is_none_or(|(fitted, left_s)| {
            let joined = arms.iter().skip(fitted.arms() as usize);
            let costs: Option<Vec<f64>> = joined.chain(&more).map(cost_s).collect();
            costs.is_some_and(|costs| fitted.has_room(&costs, left_s))
        });
        if fits {
            arms.extend(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Settings;

    const TODAY: (u16, u16) = (0, 1);
    const FIRST: (u16, u16) = (2, 4);
    const SECOND: (u16, u16) = (2, 6);
    /// Between the baseline and the first: the workers change before the threads.
    const STEP: (u16, u16) = (2, 1);

    fn arm((workers, threads): (u16, u16)) -> Arm {
        Arm::of(Settings {
            workers,
            threads,
            preload: false,
        })
    }

    /// Six blocks of trials that take 2 s in windows and 1 s in addition.
    fn fitted(second: bool, left_s: f64) -> Room {
        let confirmation = Confirmation {
            blocks: 6,
            least_blocks: 6,
            done: 0,
            always: 2,
            second,
            window_s: 1.0,
            may_vary: false,
            proving_s: None,
            shortest_s: 2.0,
            always_s: 2.0,
            second_s: 1.0,
        };
        Room(Some((confirmation, left_s)))
    }

    /// The arms of a comparison, and how many of them are finalists.
    fn chosen(planned: u32, earlier: &[(u16, u16)], room: &Room) -> (Vec<(u16, u16)>, Option<u32>) {
        let finalists = Finalists {
            challenger: arm(FIRST),
            second: Some(arm(SECOND)),
        };
        let choice = Choice {
            baseline: &arm(TODAY),
            finalists: &finalists,
            planned: Some(planned),
            earlier: earlier.iter().map(|at| arm(*at).name).collect(),
        };
        let arms = choice.taken(choice.wanted(), room, &|_| Some(1.0));
        let found = arms
            .iter()
            .map(|arm| (arm.settings.workers, arm.settings.threads));
        (found.collect(), choice.finalists_of(&arms))
    }

    #[test]
    fn both_finalists_meet_the_baseline_where_there_is_room() {
        let both = vec![TODAY, FIRST, SECOND];
        let all = vec![TODAY, FIRST, SECOND, STEP];
        let one = vec![TODAY, FIRST];
        for (planned, room, expected) in [
            // Three arms take 54 s, four take 72 s.
            (2, fitted(true, 60.0), (both.clone(), Some(2))),
            (2, fitted(true, 80.0), (all.clone(), Some(2))),
            (2, Room(None), (all.clone(), Some(2))),
            // The budget has no room for what was planned.
            (2, fitted(false, 40.0), (one.clone(), Some(1))),
            // Or more than was planned.
            (1, fitted(false, 60.0), (both, Some(2))),
            (1, fitted(false, 80.0), (all, Some(2))),
            (1, fitted(false, 40.0), (one, Some(1))),
        ] {
            assert_eq!(chosen(planned, &[], &room), expected, "{planned} {room:?}");
        }
    }

    #[test]
    fn what_an_earlier_sitting_began_stays() {
        let none = fitted(false, 0.0);
        for (planned, earlier, finalists) in [
            (1, vec![TODAY, FIRST], 1),
            (1, vec![TODAY, FIRST, SECOND], 2),
            (2, vec![TODAY, FIRST, SECOND], 2),
            (1, vec![TODAY, FIRST, STEP], 1),
            (2, vec![TODAY, FIRST, SECOND, STEP], 2),
        ] {
            let expected = (earlier.clone(), Some(finalists));
            assert_eq!(chosen(planned, &earlier, &none), expected, "{planned}");
        }
    }

    #[test]
    fn a_finalist_that_has_no_second_goes_alone() {
        let finalists = Finalists {
            challenger: arm(FIRST),
            second: None,
        };
        let choice = Choice {
            baseline: &arm(TODAY),
            finalists: &finalists,
            planned: Some(2),
            earlier: Vec::new(),
        };
        let arms = choice.taken(choice.wanted(), &fitted(false, 40.0), &|_| Some(1.0));
        assert_eq!(arms, [arm(TODAY), arm(FIRST)]);
        assert_eq!(choice.finalists_of(&arms), None);
    }
}
