//! What a search asks for and what it comes to.

use crate::{Point, Standing};
use serde::{Deserialize, Serialize};
use stats::Comparison;

/// The stages, in their order; those that have nothing to do are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The baseline and what the model proposes, all else as it is.
    Candidates,
    /// Where a model is wrong: the best of these and its neighbours, as long as the best one moves.
    Neighbours,
    /// What cannot be modelled, all of it at once: pairs of opposite runs.
    Screen,
    /// The combinations that these two suggest, and factors of many levels.
    Race,
    /// Rounds of the best so far and of what all trials together promise most of.
    Refine,
    /// The best and what lies one change away: without each of its changes, and with each that it has not.
    Ablation,
    /// What that suggests, where it is more than one change.
    Together,
    /// The winner and the baseline, on fresh blocks.
    Confirm,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// One trial of each point, in an order that the caller draws.
    Block(Block),
    Done(Box<Outcome>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub stage: Stage,
    /// Within the stage, from 1.
    pub number: u32,
    /// Blocks that the stage has at most, as far as is known.
    pub of: u32,
    /// No two alike.
    pub points: Vec<Point>,
}

/// What may be said of the winner. Nothing is claimed of any other point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Better than the baseline, on fresh blocks, and it is not known to break a limit.
    Better,
    /// The baseline breaks a limit and the winner keeps them all, whichever scores better.
    KeepsTheLimits,
    /// Shown to be within the margin, and smaller.
    Smaller,
    /// Shown to be within the margin.
    Equivalent,
    Worse,
    /// The confirmation showed that it breaks a limit.
    Infeasible,
    Undecided,
    /// Nothing that was tried is ahead of the baseline, which is the winner.
    BaselineBest,
    /// Everything tried breaks a limit or failed, the baseline included, which is named as the winner.
    NoneMeets,
}

/// What a screened factor does, on average over the other ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    pub factor: usize,
    /// Of the alternative over what runs today, on the score; `None` where it could not be determined.
    pub score: Option<Estimate>,
    pub log_throughput: Option<Estimate>,
    pub log_memory: Option<Estimate>,
    pub log_latency: Option<Estimate>,
    pub found: Found,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// A natural logarithm of a factor.
    pub estimate: f64,
    pub standard_error: f64,
    /// Of the standard error.
    pub freedom: u32,
}

/// What the screen makes of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Clear of zero, one-sided at 0.05.
    Helps,
    /// Beyond one standard error: worth an arm of the race.
    MayHelp,
    Nothing,
    /// Below zero by more than one standard error.
    Harms,
    /// Every run with it failed.
    Fails,
    /// Every run with it failed, and may have for another reason.
    SeemsToFail,
    /// It fails together with this other factor.
    ConflictsWith(usize),
    /// With it the limits are broken, without it they are kept.
    BreaksALimit,
    /// Not allowed where the screen was done.
    NotPossible,
    /// Not distinguished from others by the runs so far.
    Unknown,
    /// The trials did not allow a screen.
    NotTried,
}

/// What one change brings: the configuration with it over the same without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub factor: usize,
    /// Level of the baseline, and of the configuration it was taken out of.
    pub from: usize,
    pub to: usize,
    /// On the score, as a factor; the interval, where there are blocks enough for one, is that of one look.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub blocks: u32,
    /// Whether the winner has it.
    pub kept: bool,
}

/// What became of a point that was an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fate {
    pub point: Point,
    /// The last stage that it was in.
    pub stage: Stage,
    pub end: End,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Two trials failed and none succeeded.
    Failed,
    /// Its only trial failed.
    FailedOnce,
    BreaksALimit,
    /// Left a race after this block, behind that point.
    Behind {
        block: u32,
        leader: Point,
    },
    /// Was there at the end of its stage.
    RacedToTheEnd,
    /// Went into the confirmation.
    Winner,
}

/// A stage that was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub stage: Stage,
    /// The fewest trials of a search that has it.
    pub needed: u32,
    /// Trials that there were.
    pub given: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub winner: Point,
    pub claim: Claim,
    /// Of the confirmation, on the score: a ratio above 1 is for the winner whatever the objective.
    pub comparison: Option<Comparison>,
    /// As the confirmation left them; `None` where nothing was confirmed.
    pub winner_standing: Option<Standing>,
    pub baseline_standing: Option<Standing>,
    pub effects: Vec<Effect>,
    /// From the configuration that won the race, whatever was taken out of it again.
    pub steps: Vec<Step>,
    pub fates: Vec<Fate>,
    /// Failed ones included.
    pub trials: u32,
    pub trials_of: Vec<(Stage, u32)>,
    /// Stages that would have had something to do and for which the trials did not reach.
    pub left_out: Vec<LeftOut>,
}
