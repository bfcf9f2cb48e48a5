//! Puma's own account of itself, from its control application on a private socket.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Deserialize;
use thiserror::Error;

use crate::http::{self, Answer, Target};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Why the status could not be read.
#[derive(Debug, Error)]
pub enum StatusError {
    #[error(
        "this command's status cannot be read; add -C {{config}} to the words of a custom Puma \
         command"
    )]
    NoControl,
    #[error("only Puma tells the status of its threads, and this server is another")]
    NotPuma,
    #[error("Puma's status socket does not answer: {0}")]
    Silent(io::Error),
    #[error("Puma's status socket answers with status {0}")]
    Refused(u16),
    #[error("Passenger has not started")]
    PassengerAbsent,
    #[error("Passenger's status socket does not answer: {0}")]
    PassengerSilent(io::Error),
    #[error("Passenger's status socket answers with status {0}")]
    PassengerRefused(u16),
    #[error("Passenger's status cannot be understood: {0}")]
    PassengerUnreadable(String),
    #[error("this server is no Passenger")]
    NotPassenger,
    #[error("Puma's status cannot be understood: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// What Puma says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PumaStatus {
    /// False in single mode.
    pub cluster: bool,
    /// One a process that serves requests: a single entry in single mode.
    pub workers: Vec<WorkerStatus>,
}

/// One serving process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStatus {
    /// `None` in single mode.
    pub index: Option<u32>,
    /// `None` in single mode, where it is the server's own, and until worker 0 has forked it (`fork_worker`).
    pub pid: Option<u32>,
    /// Ready to serve.
    pub booted: bool,
    /// `None` until a worker's first report; in cluster mode up to five seconds old.
    pub counters: Option<Counters>,
}

/// Puma's counters of one process. Its `*_max` ones are not here: they reset when read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Counters {
    /// Requests accepted and waiting for a thread.
    pub backlog: u64,
    /// Threads that exist.
    pub running: u64,
    /// Requests that could be taken at once.
    pub pool_capacity: u64,
    /// Threads at most.
    pub max_threads: u64,
    /// Requests taken since the start.
    #[serde(default)]
    pub requests_count: u64,
    /// Threads at work plus the backlog; from Puma 6.5.
    #[serde(default)]
    pub busy_threads: Option<u64>,
}

impl PumaStatus {
    /// Worker processes; 0 in single mode, as `workers` is set.
    pub fn worker_count(&self) -> usize {
        if self.cluster { self.workers.len() } else { 0 }
    }

    /// Workers that are ready to serve.
    pub fn booted(&self) -> usize {
        self.workers.iter().filter(|worker| worker.booted).count()
    }

    /// Every process has booted and reported its counters.
    pub fn is_complete(&self) -> bool {
        self.workers
            .iter()
            .all(|worker| worker.booted && worker.counters.is_some())
    }
}

/// Where the control application listens, and what it wants to hear.
#[derive(Debug, Clone)]
pub(crate) struct Control {
    pub(crate) socket: PathBuf,
    pub(crate) token: String,
}

impl Control {
    pub(crate) fn status(&self) -> Result<PumaStatus, StatusError> {
        let answer = self.ask("stats").map_err(StatusError::Silent)?;
        if answer.status != 200 {
            return Err(StatusError::Refused(answer.status));
        }
        Ok(parse(&answer.body)?)
    }

    /// True when Puma has taken the request to stop.
    pub(crate) fn stop(&self) -> bool {
        self.ask("stop").is_ok_and(|answer| answer.status == 200)
    }

    fn ask(&self, action: &str) -> io::Result<Answer> {
        let target = Target::Unix(self.socket.clone());
        let deadline = Instant::now() + ANSWER_WITHIN;
        let path = format!("/{action}?token={}", self.token);
        let in_time = || {
            if Instant::now() < deadline {
                Ok(())
            } else {
                Err(io::Error::from(io::ErrorKind::TimedOut))
            }
        };
        http::get(&target, &path, in_time).and_then(|answer| answer)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    Cluster { worker_status: Vec<WorkerDocument> },
    Single(Counters),
}

#[derive(Deserialize)]
struct WorkerDocument {
    pid: Option<u32>,
    index: u32,
    booted: bool,
    last_status: LastStatus,
}

/// An empty object until the worker's first report.
#[derive(Deserialize)]
#[serde(untagged)]
enum LastStatus {
    Reported(Counters),
    NotYet {},
}

fn parse(body: &[u8]) -> Result<PumaStatus, serde_json::Error> {
    Ok(match serde_json::from_slice(body)? {
        Document::Single(counters) => PumaStatus {
            cluster: false,
            workers: vec![WorkerStatus {
                index: None,
                pid: None,
                booted: true,
                counters: Some(counters),
            }],
        },
        Document::Cluster { worker_status } => PumaStatus {
            cluster: true,
            workers: worker_status
                .into_iter()
                .map(|worker| WorkerStatus {
                    index: Some(worker.index),
                    pid: worker.pid,
                    booted: worker.booted,
                    counters: match worker.last_status {
                        LastStatus::Reported(counters) => Some(counters),
                        LastStatus::NotYet {} => None,
                    },
                })
                .collect(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_mode_as_puma_6_6_writes_it() {
        let status = parse(
            br#"{"started_at":"2026-01-01T00:00:00Z","backlog":0,"running":3,"pool_capacity":2,
                "busy_threads":1,"max_threads":3,"requests_count":7,
                "versions":{"puma":"6.6.0","ruby":{"engine":"ruby"}}}"#,
        )
        .unwrap();
        assert_eq!((status.worker_count(), status.booted()), (0, 1));
        let counters = status.workers[0].counters.unwrap();
        assert_eq!((counters.max_threads, counters.busy_threads), (3, Some(1)));
    }

    #[test]
    fn a_cluster_whose_second_worker_has_not_reported() {
        let status = parse(
            br#"{"workers":2,"phase":0,"booted_workers":1,"old_workers":0,"worker_status":[
                {"pid":11,"index":0,"phase":0,"booted":true,"last_status":
                  {"backlog":0,"running":5,"pool_capacity":5,"max_threads":5,"requests_count":0}},
                {"pid":12,"index":1,"phase":0,"booted":false,"last_status":{}}]}"#,
        )
        .unwrap();
        assert_eq!((status.worker_count(), status.booted()), (2, 1));
        assert!(!status.is_complete());
        assert_eq!(status.workers[0].counters.unwrap().busy_threads, None);
        assert_eq!(status.workers[1].counters, None);
    }

    #[test]
    fn a_worker_that_worker_0_has_not_forked_yet_has_no_process() {
        let status = parse(
            br#"{"workers":1,"phase":1,"booted_workers":0,"old_workers":0,"worker_status":[
                {"pid":null,"index":1,"phase":1,"booted":false,"last_status":{}}]}"#,
        )
        .unwrap();
        assert_eq!((status.worker_count(), status.workers[0].pid), (1, None));
        assert!(!status.is_complete());
    }
}
