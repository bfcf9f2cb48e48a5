//! Why there is no honest prediction, and what would help.

use std::path::PathBuf;

use capacity::CapacityError;
use thiserror::Error;

/// Every message names what was found, the limit and the remedy.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PredictError {
    #[error("{path}: {reason}")]
    NotRead { path: PathBuf, reason: String },
    #[error(
        "no request was recorded{}: send traffic to the server while the agent runs in it (powerband run -- CMD), and predict then",
        but_jobs(*.jobs)
    )]
    NoRequests { jobs: usize },
    #[error("{}; trace for longer, or under more traffic", too_few(*.found, *.needed))]
    TooFew { found: usize, needed: usize },
    #[error(
        "{}; trace at 85 % or less, by a lower rate (--rate of tune), or with more threads or processes",
        saturated(.what, *.utilisation)
    )]
    Saturated {
        what: &'static str,
        utilisation: f64,
    },
    #[error(
        "fibers serve these requests: several share a thread, so that its times cannot be divided among them; nothing can be \
         predicted for a server under a fiber scheduler"
    )]
    Fibers,
    #[error(
        "the agent could not tell GVL held, GVL wait and I/O apart in process {pid}: it needs CRuby 3.2 or newer on Linux, and \
         no other tool at the GVL's hook"
    )]
    NotSplit { pid: u32 },
    #[error(
        "the files are of different servers or configurations: {}; give those of one, by their names, by --application or by --since",
        .found.join("; ")
    )]
    Mixed { found: Vec<String> },
    #[error("{asked:?}: no process of it recorded into these files; they are of {}", .found.join(", "))]
    OtherApplications { asked: String, found: Vec<String> },
    #[error(
        "{name} is a server that is not simulated: Puma 5 to 8, Unicorn, Pitchfork and Passenger are; for another, try configurations with powerband compare"
    )]
    UnknownServer { name: String },
    #[error(
        "the files do not say how many {what} the server runs with: trace it with a Puma, Unicorn, Pitchfork or Passenger that the agent knows"
    )]
    UnknownSize { what: &'static str },
    #[error(
        "the server ran {workers} workers, and the files are of {found}: the requests of the others are missing, so that the rate and the load of each are not known; name the folder that holds the files of all workers"
    )]
    WorkersMissing { found: usize, workers: u32 },
    #[error(
        "{fewer:.2} and {more:.2} requests in service at a time are too near to each other: to see I/O grow with them, give two traces of the same requests, one with at least 1.5 times as many as the other"
    )]
    SameLevel { fewer: f64, more: f64 },
    #[error(
        "I/O took {found:.2} times as long at {more:.2} requests in service as at {fewer:.2}: I/O grows faster than the load, \
         and the model fits a straight line; the database or upstream is saturated at the higher level, so trace at two lower ones"
    )]
    SteepIo { fewer: f64, more: f64, found: f64 },
    #[error(transparent)]
    Capacity(#[from] CapacityError),
}

impl PredictError {
    /// The error without its remedy, for a caller whose user cannot choose how the trace is made.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            PredictError::TooFew { found, needed } => too_few(*found, *needed),
            PredictError::Saturated { what, utilisation } => saturated(what, *utilisation),
            other => other.to_string(),
        }
    }
}

fn too_few(found: usize, needed: usize) -> String {
    let why = match needed >= crate::LEAST_REQUESTS {
        true => ": the interval of a p99 needs five requests that are slower",
        false => "",
    };
    format!("{found} recorded requests are too few: at least {needed} are needed{why}")
}

fn saturated(what: &str, utilisation: f64) -> String {
    format!(
        "the trace was made with {what} busy {:.1} % of the time: a queue that has no end says nothing about other rates",
        100.0 * utilisation
    )
}

fn but_jobs(jobs: usize) -> String {
    match jobs {
        0 => String::new(),
        jobs => format!(
            ", only {}, and predict is about requests",
            run::counted(jobs, "job")
        ),
    }
}
