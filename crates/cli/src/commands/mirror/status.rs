//! Counts and comparison over HTTP: `/metrics` for Prometheus, `/status.json` for other programs, `/livez` and `/readyz` for
//! probes.

mod metrics;

use super::kept::Shelf;
use super::written::Written;
use crate::listener::{Admitted, Answer, Bound, Listener, Question, refused};
use mirror::{Counts, OpenFiles, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FLAG: &str = "--status";

/// Where counts are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusPage {
    pub address: SocketAddr,
    /// Names that the Host header of a request may have, in addition to `localhost` and its addresses.
    pub hosts: Vec<String>,
}

/// What `/status.json` says.
#[derive(Debug, Serialize)]
struct Status<'a> {
    version: &'static str,
    counts: Snapshot,
    descriptors: Descriptors,
    /// The recording and the log of pairs, as far as there are any.
    written: &'a BTreeMap<&'static str, Written>,
    comparison: Option<&'a run::duplex::Document>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Descriptors {
    open: Option<u64>,
    /// `None`: any number.
    limit: Option<u64>,
}

/// Where what is shown comes from.
pub struct Shown {
    pub counts: Arc<Counts>,
    pub shelf: Arc<Shelf>,
    pub open_files: OpenFiles,
}

impl Shown {
    fn descriptors(&self) -> Descriptors {
        Descriptors {
            open: mirror::open_now(),
            limit: self.open_files.limit(),
        }
    }
}

/// A status page that does not answer yet.
#[derive(Debug)]
pub struct Reserved {
    bound: Bound,
    wanted: StatusPage,
}

/// A status page, until it is dropped.
#[derive(Debug)]
pub struct Serving {
    listener: Listener,
    ready: Arc<AtomicBool>,
}

impl Reserved {
    /// Listens where the page is wanted.
    ///
    /// # Errors
    /// The address is in use, or is not this machine's.
    pub fn new(wanted: StatusPage) -> Result<Reserved, String> {
        let bound = Bound::new(wanted.address).map_err(|e| refused(FLAG, wanted.address, &e))?;
        Ok(Reserved { bound, wanted })
    }

    /// Answers from now on, and is ready.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn serve(self, shown: Shown) -> Result<Serving, String> {
        let ready = Arc::new(AtomicBool::new(true));
        let page = Page {
            shown,
            ready: ready.clone(),
        };
        let admitted = Admitted {
            hosts: self.wanted.hosts.clone(),
            refusal: "this page answers to its own address and to localhost; allow another name with --status-host\n",
        };
        let listener = self
            .bound
            .serve(admitted, move |question| page.answer(question))
            .map_err(|e| refused(FLAG, self.wanted.address, &e))?;
        Ok(Serving { listener, ready })
    }
}

impl Serving {
    /// From now on `/readyz` says that the mirror ends.
    pub fn not_ready(&self) {
        self.ready.store(false, Ordering::Release);
    }

    /// With the port that was chosen where none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }
}

/// What is shown.
struct Page {
    shown: Shown,
    ready: Arc<AtomicBool>,
}

impl Page {
    fn answer(&self, question: &Question<'_>) -> Answer {
        match question.path() {
            "/metrics" => {
                let counts = self.shown.counts.snapshot();
                let kept = self.shown.shelf.ask();
                let metrics = metrics::text(&counts, &kept, self.shown.descriptors());
                Answer::of("text/plain; version=0.0.4", metrics)
            }
            "/status.json" | "/" => {
                let kept = self.shown.shelf.ask();
                let status = Status {
                    version: env!("CARGO_PKG_VERSION"),
                    counts: self.shown.counts.snapshot(),
                    descriptors: self.shown.descriptors(),
                    written: &kept.written,
                    comparison: kept.comparison.as_ref(),
                };
                let json = serde_json::to_string_pretty(&status).unwrap_or_default();
                Answer::of("application/json", json + "\n")
            }
            "/livez" => Answer::plain("200 OK", "ok\n"),
            "/readyz" if self.ready.load(Ordering::Acquire) => Answer::plain("200 OK", "ok\n"),
            "/readyz" => Answer::plain("503 Service Unavailable", "the mirror is ending\n"),
            _ => Answer::plain(
                "404 Not Found",
                "there are /metrics, /status.json, /livez and /readyz\n",
            ),
        }
    }
}
