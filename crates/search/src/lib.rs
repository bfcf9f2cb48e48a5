//! The search of `tune` over everything that can be set, as a machine with two calls, ask and tell.
//!
//! [`Search::ask`] names the block of trials that is to be measured next, [`Search::tell`] takes its outcome. Between
//! them nothing is read, and nothing kept but the observations: the same space, rules, seed and observations give the
//! same asks, on which resuming a run rests, and a simulated machine is searched by the very code that searches a real
//! one. How each stage decides, and what may be concluded from it, is in `docs/method.md`.
//!
//! What is left to others: running trials, drawing the order within a block, judging limits, wording the answer.

mod ablation;
mod candidates;
mod cholesky;
mod choose;
mod confirm;
mod design;
mod error;
mod failures;
mod known;
mod least_squares;
mod observation;
mod outcome;
mod plan;
mod proposals;
mod prospects;
mod race;
mod risk;
mod round;
mod rules;
mod screen;
mod search;
mod space;
mod surrogate;

pub use design::MOST_FACTORS;
pub use error::SearchError;
pub use observation::{Observation, Standing};
pub use outcome::{
    Ask, Block, Claim, Effect, End, Estimate, Fate, Found, LeftOut, Outcome, Stage, Step,
};
pub use proposals::{Foreseen, Proposals};
pub use rules::{Objective, Rules};
pub use search::Search;
pub use space::{Factor, Forbidden, How, Point, Space};
