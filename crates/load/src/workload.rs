//! What is asked of the server: weighted requests and sessions, a recording's
//! in their order. Where they are read from is `workload_file.rs`, what the
//! bytes look like `template.rs`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use crate::session::pattern::names;
use crate::session::{Recipe, Session};

/// Most distinct request names; each keeps up to seven histograms of 184 KiB.
pub const MAX_NAMES: usize = 256;

/// Keeps the place in a recording apart from other draws.
const PLACE: u64 = 0x091a_ce00;

/// One kind of request and how often it is sent. Where it has `{{names}}`, path,
/// headers and body are as written, before values are filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What results are grouped by; several requests may share one.
    /// Defaults to the method and the path without its query.
    pub name: String,
    /// An HTTP method token, as sent.
    pub method: String,
    /// Origin form: path and query, percent-encoded.
    pub path: String,
    /// Relative frequency, above zero; a session's weight is shared evenly by
    /// its requests.
    pub weight: f64,
    /// Sent in this order, in addition to those that the generator sets itself.
    pub headers: Vec<(String, String)>,
    /// Sent with `Content-Length` when not empty.
    pub body: Vec<u8>,
    /// Sent as `Host` in place of the target's.
    pub host: Option<String>,
    /// Status of the answer in the recording that this is of, where it says so.
    pub recorded_status: Option<u16>,
}

impl Request {
    /// GET and HEAD: safe to send to a server whose data matter.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// May be sent again when a reused connection turns out to be closed
    /// (RFC 9110 §9.2.2).
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        matches!(
            self.method.as_str(),
            "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE"
        )
    }
}

/// One thing wrong with a workload: where, what was found, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {value}: {remedy}")]
pub struct WorkloadProblem {
    /// The key, as `request[2].path`, counted from 1.
    pub key: String,
    /// What was found there.
    pub value: String,
    /// What to write instead.
    pub remedy: String,
}

/// A checked, non-empty list of requests, some of which may belong to sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Those of sessions come last, session by session.
    requests: Vec<Request>,
    /// As many as requests; `None`: always the same bytes, and any answer.
    recipes: Vec<Option<Recipe>>,
    sessions: Vec<Session>,
    /// Of a recording: which comes when. `None`: dealt by weight.
    order: Option<Arc<[u32]>>,
    /// Of each of these, on which connection it came, counted from 0.
    connections: Option<Arc<[u32]>>,
    /// Where the order is begun: at its beginning, or at a place that the seed draws.
    begun_anywhere: bool,
}

impl Workload {
    pub(crate) fn new(
        requests: Vec<Request>,
        recipes: Vec<Option<Recipe>>,
        sessions: Vec<Session>,
    ) -> Self {
        Self {
            requests,
            recipes,
            sessions,
            order: None,
            connections: None,
            begun_anywhere: false,
        }
    }

    /// Checked requests that come in an order of their own: indices into them.
    pub(crate) fn in_order(requests: Vec<Request>, order: Arc<[u32]>) -> Self {
        Self {
            recipes: vec![None; requests.len()],
            requests,
            sessions: Vec::new(),
            order: Some(order),
            connections: None,
            begun_anywhere: false,
        }
    }

    /// Of a recording: the connection that each of its requests came on, as many as there are requests. Replayed as
    /// they came, those of one connection go one after another on one connection of their own. Changes nothing where
    /// the numbers are not as many as the requests.
    #[must_use]
    pub fn on_connections(mut self, connections: impl IntoIterator<Item = u64>) -> Self {
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut dense = Vec::new();
        for connection in connections {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            dense.push(*known.entry(connection).or_insert(next));
        }
        if self
            .order
            .as_ref()
            .is_some_and(|order| order.len() == dense.len())
        {
            self.connections = Some(dense.into());
        }
        self
    }

    /// Of a recording: begins each run at a place of it that the run's seed draws, and goes round at its end, so that
    /// many short windows see all of it.
    #[must_use]
    pub fn begun_anywhere(mut self) -> Self {
        self.begun_anywhere = true;
        self
    }

    /// The place at which a run with this seed begins the order.
    pub(crate) fn begins_at(&self, seed: u64) -> usize {
        let length = self.order.as_ref().map_or(0, |order| order.len() as u64);
        if !self.begun_anywhere || length == 0 {
            return 0;
        }
        let drawn = Pcg64::seed_from_u64(seed ^ PLACE).next_u64();
        usize::try_from(drawn % length).unwrap_or(0)
    }

    /// Of each request in the order of a recording, its connection, counted from 0.
    #[must_use]
    pub fn connections(&self) -> Option<&Arc<[u32]>> {
        self.connections.as_ref()
    }

    /// The order of a recording: indices into [`Workload::requests`], begun
    /// again at its end. `None`: requests are dealt by weight from the seed.
    #[must_use]
    pub fn order(&self) -> Option<&Arc<[u32]>> {
        self.order.as_ref()
    }

    /// The requests, in the file's order, those of sessions last; never empty.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The path of the first GET or HEAD that has no `{{names}}` in it: fit to
    /// ask whether the server answers.
    #[must_use]
    pub fn plain_path(&self) -> Option<&str> {
        self.requests
            .iter()
            .find(|request| request.is_safe() && names(&request.path).is_empty())
            .map(|request| request.path.as_str())
    }

    /// Are there any sessions? Their users are made anew in each run.
    #[must_use]
    pub fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    pub(crate) fn recipe(&self, request: usize) -> Option<&Recipe> {
        self.recipes[request].as_ref()
    }

    pub(crate) fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// The requests outside sessions come first; so many are they.
    pub(crate) fn outside_sessions(&self) -> usize {
        self.sessions
            .first()
            .map_or(self.requests.len(), |session| session.steps.start)
    }

    /// Of each request outside sessions, then of each session.
    pub(crate) fn weights(&self) -> impl Iterator<Item = f64> {
        let outside = &self.requests[..self.outside_sessions()];
        outside
            .iter()
            .map(|request| request.weight)
            .chain(self.sessions.iter().map(|session| session.weight))
    }

    /// Methods other than GET and HEAD, each once, in order of appearance: the
    /// caller refuses these unless the user allowed them.
    #[must_use]
    pub fn unsafe_methods(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for request in self.requests.iter().filter(|r| !r.is_safe()) {
            if !found.contains(&request.method.as_str()) {
                found.push(&request.method);
            }
        }
        found
    }

    /// The distinct names, in order of appearance.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let names = self.requests.iter().map(|request| request.name.as_str());
        names.filter(|name| seen.insert(*name)).collect()
    }
}
