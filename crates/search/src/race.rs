//! Arms in blocks, of which the hopeless leave: it drops, it proves nothing.

use crate::{Block, End, Objective, Observation, Point, Rules, Stage, Standing};
use stats::{ArmSoFar, RaceRule, Scatter, SignedRank};

#[derive(Debug, Clone)]
pub struct Race {
    pub stage: Stage,
    pub arms: Vec<Point>,
    /// Why an arm left; `None` while it runs.
    pub left: Vec<Option<End>>,
    objective: Objective,
    blocks: u32,
    /// What came, by block and arm.
    seen: Vec<Vec<Option<Observation>>>,
    /// Trials of each arm that failed.
    failed: Vec<u32>,
}

impl Race {
    pub fn new(stage: Stage, arms: Vec<Point>, blocks: u32, objective: Objective) -> Race {
        Race {
            stage,
            left: vec![None; arms.len()],
            failed: vec![0; arms.len()],
            arms,
            objective,
            blocks,
            seen: Vec::new(),
        }
    }

    /// The arms that still run, by index.
    pub fn live(&self) -> Vec<usize> {
        let live = self.left.iter().enumerate();
        live.filter(|(_, end)| end.is_none())
            .map(|(arm, _)| arm)
            .collect()
    }

    /// What is to be measured next; `None` when the race is over.
    pub fn block(&self) -> Option<Block> {
        let (done, live) = (self.seen.len() as u32, self.live());
        // A single survivor needs no comparison, once it is known to run at all.
        let over = done >= self.blocks || live.is_empty() || (live.len() == 1 && done > 0);
        (!over).then(|| Block {
            stage: self.stage,
            number: done + 1,
            of: self.blocks,
            points: live.into_iter().map(|arm| self.arms[arm].clone()).collect(),
        })
    }

    /// Takes the outcome of the block that was asked for, and keeps every arm.
    pub fn observe(&mut self, told: &[Option<Observation>]) -> Vec<usize> {
        let live = self.live();
        let mut row = vec![None; self.arms.len()];
        for (&arm, seen) in live.iter().zip(told) {
            row[arm] = *seen;
            self.failed[arm] += u32::from(seen.is_none());
        }
        self.seen.push(row);
        live
    }

    /// Takes what came of the block that was asked for. An arm that the others are compared with stays to the end.
    pub fn tell(&mut self, told: &[Option<Observation>], rules: &Rules, stays: Option<usize>) {
        for arm in self.observe(told) {
            if self.standing(arm) == Some(Standing::Breaks) {
                self.left[arm] = Some(End::BreaksALimit);
            } else if self.failed[arm] >= 2 && self.standing(arm).is_none() {
                self.left[arm] = Some(End::Failed);
            }
        }
        self.drop_the_hopeless(rules, stays);
    }

    fn drop_the_hopeless(&mut self, rules: &Rules, stays: Option<usize>) {
        let rule = RaceRule {
            margin: rules.margin,
            ..RaceRule::default()
        };
        // An arm that seems to break a limit leads no other.
        let leads = |standing: Standing| match self.objective.wants_proof() {
            true => standing == Standing::Meets,
            false => standing.likely(),
        };
        let (likely, doubtful): (Vec<usize>, Vec<usize>) = self
            .live()
            .into_iter()
            .partition(|&arm| self.standing(arm).is_none_or(leads));
        let Some(leader) = self.drop_behind(&likely, &rule, |behind| Some(behind) != stays) else {
            return;
        };
        for arm in doubtful {
            self.drop_behind(&[leader, arm], &rule, |behind| behind == arm);
        }
    }

    /// Judges these arms by each other; the leader.
    fn drop_behind(
        &mut self,
        arms: &[usize],
        rule: &RaceRule,
        may_leave: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let so_far: Vec<ArmSoFar> = arms
            .iter()
            .map(|&arm| ArmSoFar {
                name: String::new(),
                log_throughput: self.scores(arm),
            })
            .collect();
        // Scores are finite: `Search::tell` takes no others.
        let step = stats::step(&so_far, rule).ok()?;
        let leader = arms[step.leader?];
        let behind = step.dropped.iter().map(|dropped| arms[dropped.arm]);
        for arm in behind.filter(|&arm| may_leave(arm)) {
            self.left[arm] = Some(End::Behind {
                block: self.seen.len() as u32,
                leader: self.arms[leader].clone(),
            });
        }
        Some(leader)
    }

    /// Whether a limit has to be proven to be kept before anything rests on it.
    pub fn wants_proof(&self) -> bool {
        self.objective.wants_proof()
    }

    /// By block.
    fn scores(&self, arm: usize) -> Vec<Option<f64>> {
        let score = |seen: &Observation| self.objective.score(seen);
        self.figures(arm, score)
    }

    fn figures(&self, arm: usize, of: impl Fn(&Observation) -> Option<f64>) -> Vec<Option<f64>> {
        let seen = self.seen.iter();
        seen.map(|row| row[arm].as_ref().and_then(&of)).collect()
    }

    /// All that was seen of an arm.
    pub fn seen(&self, arm: usize) -> Vec<Observation> {
        self.seen.iter().filter_map(|row| row[arm]).collect()
    }

    /// The latest; `None` of an arm that never ran.
    pub fn standing(&self, arm: usize) -> Option<Standing> {
        self.seen(arm).last().map(|seen| seen.standing)
    }

    pub fn failures(&self, arm: usize) -> u32 {
        self.failed[arm]
    }

    /// How far `arm` is ahead of `other`, by the blocks that both ran in.
    pub fn ahead(&self, arm: usize, other: usize) -> Option<f64> {
        let gaps = self.gaps(arm, other);
        SignedRank::of(&gaps).ok().map(|test| test.estimate())
    }

    pub fn gaps(&self, arm: usize, other: usize) -> Vec<f64> {
        let both = self.scores(arm).into_iter().zip(self.scores(other));
        both.filter_map(|(a, b)| Some(a? - b?)).collect()
    }

    pub fn log_memory(&self, arm: usize) -> Option<f64> {
        let seen = self.figures(arm, |seen| seen.log_memory);
        stats::summary::median(&seen.into_iter().flatten().collect::<Vec<f64>>())
    }

    /// What one trial's figure scatters by, arms and blocks taken out.
    pub fn scatter(&self, of: impl Fn(&Observation) -> Option<f64>) -> Scatter {
        let figures = |row: &Vec<Option<Observation>>| {
            row.iter().map(|seen| seen.as_ref().and_then(&of)).collect()
        };
        Scatter::two_way(&self.seen.iter().map(figures).collect::<Vec<_>>())
    }

    pub fn place(&self, point: &Point) -> Option<usize> {
        self.arms.iter().position(|arm| arm == point)
    }
}
