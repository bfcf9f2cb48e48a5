//! Sequences with a session: what a workload says of them. Each virtual user
//! goes through a session's requests in order, with cookies of its own, a row
//! of a data file, and values captured from earlier answers. Who is at which
//! step while a run is under way is `session/users.rs`.

pub(crate) mod capture;
pub(crate) mod data;
mod html;
pub(crate) mod jar;
pub(crate) mod pattern;
pub(crate) mod users;

use std::ops::Range;
use std::sync::Arc;

use capture::Capture;
use data::Data;
use pattern::Pattern;

/// A sequence of requests that virtual users go through.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Session {
    pub(crate) name: String,
    /// How often its requests are sent, relative to those of others.
    pub(crate) weight: f64,
    /// Virtual users in the open loop.
    pub(crate) users: Option<usize>,
    /// Its requests, as indices into the workload's.
    pub(crate) steps: Range<usize>,
    /// One row a session.
    pub(crate) data: Option<Arc<Data>>,
    /// How many names its captures fill.
    pub(crate) captures: usize,
}

/// What is to be done anew for each sending of a request, and with its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recipe {
    pub(crate) path: Pattern,
    pub(crate) headers: Vec<(String, Pattern)>,
    pub(crate) body: Body,
    pub(crate) captures: Vec<Capture>,
    /// Statuses that are expected; none: all below 400.
    pub(crate) expected: Vec<u16>,
    /// Of a request outside sessions: one row a request.
    pub(crate) data: Option<Arc<Data>>,
    /// Index of the session that it is a step of.
    pub(crate) session: Option<usize>,
}

/// A body before its values are known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Fixed(Vec<u8>),
    Text(Pattern),
    /// Names and values, sent URL-encoded.
    Form(Vec<(String, Pattern)>),
}

impl Body {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Body::Fixed(bytes) if bytes.is_empty())
    }
}

impl Recipe {
    /// Do its bytes differ from one sending to the next?
    pub(crate) fn varies(&self) -> bool {
        self.session.is_some() || self.data.is_some()
    }
}
