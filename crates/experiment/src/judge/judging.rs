//! At which look, and by which margin, a comparison is judged.

use super::blocks;
use run::{Document, Metric, Stage};
use stats::{Better, Look, Rule};

/// The rule of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Judging {
    /// Equivalence margin, a share.
    pub margin: f64,
    /// The look at which it is judged.
    pub look: Look,
    /// What identical arms were seen to differ by, a share; see [`stats::Rule`].
    pub allowance: f64,
    /// What is compared of trials.
    pub metric: Metric,
}

impl Judging {
    /// At one look of the plan's run.
    pub fn at(document: &Document, look: Look) -> Judging {
        Judging {
            margin: document.plan.margin,
            look,
            allowance: document.calibration.as_ref().map_or(0.0, |c| c.allowance),
            metric: document.plan.objective.metric(),
        }
    }

    /// At the look at which the stage came to its end: who compares other arms of its blocks profits from the same stop.
    pub fn reached(document: &Document, stage: Stage) -> Judging {
        Judging::after(document, blocks(&document.trials, stage).len() as u32)
    }

    /// At the last look that so many blocks have reached.
    pub fn after(document: &Document, done: u32) -> Judging {
        let looks = stats::looks(document.plan.blocks, document.plan.alpha, document.seed);
        let reached = looks.and_then(|looks| looks.into_iter().rfind(|look| look.blocks <= done));
        reached.map_or_else(
            || Judging::once(document),
            |look| Judging::at(document, look),
        )
    }

    /// Where nothing is claimed.
    pub fn once(document: &Document) -> Judging {
        let alpha = document.plan.alpha;
        let look = Look {
            blocks: document.plan.blocks,
            alpha,
            overall: alpha,
        };
        Judging::at(document, look)
    }

    /// As the test takes it.
    pub fn rule(&self, metric: Metric) -> Rule {
        let better = match metric.less_is_better() {
            true => Better::Lower,
            false => Better::Higher,
        };
        Rule {
            allowance: self.allowance,
            ..Rule::at(&self.look, self.margin, better)
        }
    }
}
