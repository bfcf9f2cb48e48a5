//! The winner and the baseline on fresh blocks: the one claim.

use crate::race::Race;
use crate::{Claim, Observation, Point, Rules, SearchError, Stage, Standing, choose};
use stats::{Better, Comparison, Look, Rule, Verdict};

#[derive(Debug, Clone)]
pub struct Confirm {
    pub race: Race,
    looks: Vec<Look>,
    pub comparison: Option<Comparison>,
}

const BASELINE: usize = 0;
const WINNER: usize = 1;

impl Confirm {
    pub fn new(
        baseline: Point,
        winner: Point,
        rules: &Rules,
        seed: u64,
    ) -> Result<Confirm, SearchError> {
        let looks = stats::looks(rules.blocks, rules.alpha, seed);
        Ok(Confirm {
            race: Race::new(
                Stage::Confirm,
                vec![baseline, winner],
                rules.blocks,
                rules.objective,
            ),
            looks: looks.ok_or(SearchError::Rule {
                name: "blocks",
                value: f64::from(rules.blocks),
                limits: "enough for a verdict: 6 or more at 0.05",
            })?,
            comparison: None,
        })
    }

    pub fn tell(&mut self, told: &[Option<Observation>], rules: &Rules, done: u32) {
        self.race.observe(told);
        if let Some(look) = self.looks.iter().find(|look| look.blocks == done) {
            self.comparison = self.judged(look, rules);
        }
    }

    /// Whether a look has decided, or none is left.
    pub fn over(&self, done: u32) -> bool {
        let decided = self
            .comparison
            .as_ref()
            .is_some_and(|found| found.verdict != Verdict::Undecided);
        decided || self.looks.last().is_none_or(|last| done >= last.blocks)
    }

    fn judged(&self, look: &Look, rules: &Rules) -> Option<Comparison> {
        // Whatever the unit of a score, its differences are ratios.
        let gaps = self.race.gaps(WINNER, BASELINE);
        let pairs: Vec<(f64, f64)> = gaps.into_iter().map(|gap| (1.0, gap.exp())).collect();
        let rule = Rule {
            allowance: rules.allowance,
            ..Rule::at(look, rules.margin, Better::Higher)
        };
        stats::compare(&pairs, &rule).ok()
    }

    pub fn standings(&self) -> (Option<Standing>, Option<Standing>) {
        (self.race.standing(WINNER), self.race.standing(BASELINE))
    }

    /// What may be said. `all_break`: nothing that was tried keeps the limits.
    pub fn claim(&self, all_break: bool) -> Claim {
        let breaks = |standing: Option<Standing>| standing == Some(Standing::Breaks);
        let meets = |standing: Option<Standing>| standing == Some(Standing::Meets);
        let (ours, theirs) = self.standings();
        if breaks(ours) {
            return match (breaks(theirs), all_break) {
                (false, _) => Claim::Infeasible,
                (true, true) => Claim::NoneMeets,
                (true, false) => Claim::Undecided,
            };
        }
        if breaks(theirs) {
            // One that only may keep the limits is no reason yet to trust it.
            let kept = meets(ours) && self.race.failures(WINNER) == 0;
            return if kept {
                Claim::KeepsTheLimits
            } else {
                Claim::Undecided
            };
        }
        let Some(found) = &self.comparison else {
            return Claim::Undecided;
        };
        // Crashes are evidence too: the surviving trials of an arm do not show how it would run.
        let crashed = self.race.failures(WINNER) > 0;
        match found.verdict {
            Verdict::Worse => Claim::Worse,
            Verdict::Undecided => Claim::Undecided,
            _ if crashed => Claim::Undecided,
            // No reason to leave one that keeps the limits for one that may not.
            Verdict::Better if !meets(ours) && meets(theirs) => Claim::Undecided,
            Verdict::Better => Claim::Better,
            Verdict::Equivalent if self.smaller() => Claim::Smaller,
            Verdict::Equivalent => Claim::Equivalent,
        }
    }

    fn smaller(&self) -> bool {
        let sizes = [BASELINE, WINNER].map(|arm| choose::size(&self.race.seen(arm)));
        stats::smallest(&sizes) == Some(WINNER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(log_throughput: f64, standing: Standing) -> Option<Observation> {
        Some(Observation {
            log_throughput,
            log_latency: None,
            log_memory: Some(20.0),
            processes: 2,
            threads: 5,
            standing,
        })
    }

    /// Nine blocks in which the winner is so far ahead, give or take, with these standings; `lost`: blocks that it failed in.
    fn claimed(ahead: f64, ours: Standing, theirs: Standing, lost: u32) -> Claim {
        let rules = Rules::default();
        let (baseline, winner) = (Point(vec![0]), Point(vec![1]));
        let mut confirm = Confirm::new(baseline, winner, &rules, 1).unwrap();
        for block in 1..=9 {
            let noise = 0.001 * f64::from(block % 3);
            let winner = (block > lost).then(|| seen(1.0 + ahead + noise, ours));
            confirm.tell(&[seen(1.0, theirs), winner.flatten()], &rules, block);
            assert_eq!(confirm.over(block), block == 9);
        }
        confirm.claim(false)
    }

    #[test]
    fn claims_rest_on_the_test_and_on_the_limits() {
        use Standing::{Breaks, Meets, SeemsToMeet};
        let cases = [
            (0.1, Meets, Meets, 0, Claim::Better),
            (-0.1, Meets, Meets, 0, Claim::Worse),
            (0.0, Meets, Meets, 0, Claim::Equivalent),
            (0.1, SeemsToMeet, SeemsToMeet, 0, Claim::Better),
            // No reason to leave what keeps the limits for what may not.
            (0.1, SeemsToMeet, Meets, 0, Claim::Undecided),
            (0.1, Breaks, Meets, 0, Claim::Infeasible),
            (-0.1, Meets, Breaks, 0, Claim::KeepsTheLimits),
            (0.1, SeemsToMeet, Breaks, 0, Claim::Undecided),
            (0.1, Breaks, Breaks, 0, Claim::Undecided),
            // Crashes are evidence, too.
            (0.1, Meets, Meets, 1, Claim::Undecided),
            (0.1, Meets, Meets, 9, Claim::Undecided),
        ];
        for (ahead, ours, theirs, lost, expected) in cases {
            let found = claimed(ahead, ours, theirs, lost);
            assert_eq!(found, expected, "{ahead} {ours:?} {theirs:?} {lost}");
        }
    }
}
