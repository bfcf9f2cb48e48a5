//! The agent's log of a search: between which collections each request ran, and how large containers were between rounds.

use crate::HeapError;
use crate::lines::{self, Wrong};
use crate::strings::Strings;
use serde::Deserialize;
use serde::de::Error;
use std::collections::HashMap;
use std::io::BufRead;

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Number of collections after it ended; what is made from the end of the one before it until then is its own: the server makes
    /// its environment before the application is called.
    pub until: u64,
    /// Number of its endpoint's name.
    pub endpoint: u32,
}

/// A log.
#[derive(Debug, Default)]
pub struct Log {
    /// Number of collections at the beginning of the first round and at the end of each.
    boundaries: Vec<u64>,
    /// By their end.
    requests: Vec<Request>,
    endpoints: Strings,
    /// By address: sizes at each boundary, of what was there at all of them.
    sizes: HashMap<u64, Sized>,
}

/// How large a container was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sized {
    /// `Array`, `Hash` or `String`.
    pub kind: String,
    /// At each boundary.
    pub sizes: Vec<u64>,
}

/// A line: an array whose first element says what the others are.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Size(String, usize, String, u64, u64),
    Request(String, u64, String),
    Boundary(String, u64),
}

impl Log {
    /// Reads a log line by line.
    ///
    /// # Errors
    /// It cannot be read, or a line is none of a log.
    pub fn read(input: impl BufRead) -> Result<Log, HeapError> {
        let mut log = Log::default();
        lines::each(input, |line| log.take(serde_json::from_slice(line)?))?;
        let count = log.boundaries.len();
        log.sizes.retain(|_, sized| sized.sizes.len() == count);
        Ok(log)
    }

    fn take(&mut self, line: Line) -> Result<(), Wrong> {
        match line {
            Line::Boundary(word, collections) if word == "boundary" => {
                self.boundaries.push(collections);
            }
            Line::Request(word, until, endpoint) if word == "request" => {
                let endpoint = self.endpoints.number(&endpoint);
                // Collections are only ever more; what says otherwise is damaged, and would spoil the order.
                let until = self
                    .requests
                    .last()
                    .map_or(until, |last| last.until.max(until));
                self.requests.push(Request { until, endpoint });
            }
            Line::Size(word, boundary, kind, address, size) if word == "size" => {
                self.size(boundary, kind, address, size);
            }
            Line::Boundary(word, ..) | Line::Request(word, ..) | Line::Size(word, ..) => {
                return Err(
                    serde_json::Error::custom(format!("{word:?} is no line of a log")).into(),
                );
            }
        }
        Ok(())
    }

    /// One that was not there at an earlier boundary is another object, or was small.
    fn size(&mut self, boundary: usize, kind: String, address: u64, size: u64) {
        if boundary == 0 {
            let sizes = vec![size];
            self.sizes.insert(address, Sized { kind, sizes });
        } else if let Some(sized) = self.sizes.get_mut(&address)
            && sized.sizes.len() == boundary
            && sized.kind == kind
        {
            sized.sizes.push(size);
        }
    }

    /// Rounds that ended.
    pub fn rounds(&self) -> usize {
        self.boundaries.len().saturating_sub(1)
    }

    /// The round in whose time something was made, from 0.
    pub fn round_of(&self, made_in: u64) -> Option<usize> {
        let begun = self.boundaries.partition_point(|at| *at <= made_in);
        let round = begun.checked_sub(1)?;
        (round < self.rounds()).then_some(round)
    }

    /// The request in whose time something was made, by its place. What is made after the last one of a round is of none.
    pub fn request_of(&self, made_in: u64) -> Option<usize> {
        let place = self
            .requests
            .partition_point(|request| request.until <= made_in);
        let request = self.requests.get(place)?;
        let same_round = self.round_of(request.until) == self.round_of(made_in);
        same_round.then_some(place)
    }

    pub fn request(&self, place: usize) -> Request {
        self.requests[place]
    }

    /// Requests of each round.
    pub fn requests_by_round(&self) -> Vec<u64> {
        let mut counts = vec![0; self.rounds()];
        for request in &self.requests {
            if let Some(round) = self.round_of(request.until) {
                counts[round] += 1;
            }
        }
        counts
    }

    /// Names of endpoints with the requests of each in the rounds.
    pub fn endpoints(&self) -> Vec<(&str, u64)> {
        let mut counts = vec![0; self.endpoints.all().len()];
        let within = |request: &&Request| self.round_of(request.until).is_some();
        for request in self.requests.iter().filter(within) {
            counts[request.endpoint as usize] += 1;
        }
        let names = self.endpoints.all().iter().map(AsRef::as_ref);
        names.zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    pub fn endpoint_name(&self, number: u32) -> &str {
        self.endpoints.text(number)
    }

    /// The sizes at each boundary of what was there at all of them.
    pub fn sizes_of(&self, address: u64) -> Option<&Sized> {
        self.sizes.get(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"["boundary",10]
["size",0,"Array",4096,100]
["size",0,"Hash",8192,70]
["request",11,"shop#show"]
["request",12,"shop#index"]
["boundary",16]
["size",1,"Array",4096,120]
["size",1,"String",8192,70]
["request",18,"shop#show"]
["request",20,""]
["boundary",25]
["size",2,"Array",4096,140]
"#;

    #[test]
    fn what_is_made_belongs_to_a_round_and_a_request() {
        let log = Log::read(LOG.as_bytes()).unwrap();
        assert_eq!(log.rounds(), 2);
        let rounds: Vec<_> = [9, 10, 15, 16, 24, 25].map(|at| log.round_of(at)).into();
        assert_eq!(rounds, [None, Some(0), Some(0), Some(1), Some(1), None]);
        let requests: Vec<_> = [9, 10, 11, 12, 15, 16, 17, 18, 19, 20]
            .map(|at| log.request_of(at))
            .into();
        assert_eq!(
            requests,
            [
                None,
                Some(0),
                Some(1),
                None,
                None,
                Some(2),
                Some(2),
                Some(3),
                Some(3),
                None
            ]
        );
        assert_eq!(log.requests_by_round(), [2, 2]);
        assert_eq!(
            log.endpoints(),
            [("", 1), ("shop#show", 2), ("shop#index", 1)]
        );
    }

    #[test]
    fn only_what_was_there_at_every_boundary_has_sizes() {
        let log = Log::read(LOG.as_bytes()).unwrap();
        assert_eq!(log.sizes_of(8192), None);
        assert_eq!(log.sizes_of(4096).unwrap().sizes, [100, 120, 140]);
    }

    #[test]
    fn a_line_of_another_kind_is_named() {
        let read = Log::read("[\"boundary\",1]\n{\"a\":1}\n".as_bytes());
        assert!(read.unwrap_err().to_string().starts_with("line 2: "));
        let read = Log::read("[\"limit\",1]\n".as_bytes())
            .unwrap_err()
            .to_string();
        assert_eq!(read, "line 1: \"limit\" is no line of a log");
    }
}
