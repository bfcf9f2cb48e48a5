//! What cannot be searched, or is no answer to what was asked.

use crate::Point;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SearchError {
    #[error("factor {factor}: {what}")]
    Factor { factor: String, what: &'static str },
    #[error("a forbidden combination names a factor or level that is not there, or none")]
    Forbidden,
    #[error("what runs today is itself a forbidden combination")]
    BaselineForbidden,
    #[error(
        "the candidate {0:?} is no allowed point of the space, or differs from the baseline in what is not modelled"
    )]
    Candidate(Point),
    #[error("{screened} factors to screen; the largest design takes {most}")]
    TooManyFactors { screened: usize, most: usize },
    #[error("{name} = {value}; it must be {limits}")]
    Rule {
        name: &'static str,
        value: f64,
        limits: &'static str,
    },
    #[error("{trials} trials cannot hold a race and a confirmation; {least} can")]
    TooFewTrials { trials: u32, least: u32 },
    #[error("{told} observations for a block of {asked} points")]
    Count { told: usize, asked: usize },
    #[error("the search is done, so there is nothing to tell it")]
    Done,
    #[error("an observation that is not a finite number: {0}")]
    NotFinite(f64),
}
