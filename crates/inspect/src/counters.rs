//! The counters of a reading as a document, and back.

use crate::asked::Asked;
use crate::instant::{printable, rfc3339};
use crate::not_read::{refused, skipped};
use crate::process::{ended, state};
use flight::{
    Collector, Endpoint, Field, FlightFile, Header, Histogram, Origin, Skipped, Snapshot, State,
    Totals,
};
use run::counters::{self, Document, Process, SCHEMA};
use run::inspect::ProcessState;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Why a file is no counters document.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} is no file that powerband inspect --save wrote: {source}")]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{path} has the schema {found:?}; this powerband reads {SCHEMA:?}")]
    Schema { path: PathBuf, found: String },
}

/// The counters of these files, as a document. `asked.now_ns` is when the reading begins.
#[must_use]
pub fn saved(files: &[PathBuf], asked: &Asked) -> Document {
    let mut document = Document {
        schema: SCHEMA.to_owned(),
        powerband_version: asked.version.clone(),
        read_at: rfc3339(asked.now_ns),
        read_at_ns: asked.now_ns,
        sources: asked.sources.clone(),
        processes: Vec::new(),
        not_read: Vec::new(),
    };
    for path in files {
        match FlightFile::open(path).and_then(|file| file.snapshot()) {
            Ok(snapshot) => {
                // Of the ring nothing is saved, whole or not.
                let of_counters = Skipped {
                    endpoints_missing: snapshot.skipped.endpoints_missing,
                    ..Skipped::default()
                };
                document.not_read.extend(skipped(path, &of_counters));
                document.processes.push(process(path, &snapshot));
            }
            Err(error) => document.not_read.push(refused(path, &error)),
        }
    }
    document
}

/// Reads a counters document.
///
/// # Errors
/// When it cannot be read, or is none of this version.
pub fn read_saved(path: &Path) -> Result<Document, SavedError> {
    let shown = || path.to_owned();
    let bytes = std::fs::read(path).map_err(|source| SavedError::Io {
        path: shown(),
        source,
    })?;
    let not_json = |source| SavedError::Json {
        path: shown(),
        source,
    };
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(not_json)?;
    let found = value["schema"].as_str().unwrap_or_default();
    if found != SCHEMA {
        return Err(SavedError::Schema {
            path: shown(),
            found: found.to_owned(),
        });
    }
    serde_json::from_slice(&bytes).map_err(not_json)
}

fn process(path: &Path, snapshot: &Snapshot) -> Process {
    let header = &snapshot.header;
    let measured = header.fields.iter().filter(|field| field.measured);
    let used = snapshot.endpoints.iter().filter(|e| e.totals.requests > 0);
    Process {
        file: printable(&path.display().to_string()),
        pid: header.pid,
        start_ticks: header.start_ticks,
        pid_namespace: header.origin.map(|origin| origin.pid_namespace),
        boot_id: header.origin.map(|origin| origin.boot()),
        created_wall_ns: header.created_wall_ns,
        created_mono_ns: header.created_mono_ns,
        last_ended_ns: snapshot.records.iter().map(ended).max(),
        state: state(path, header),
        worker: header.server.worker_index,
        workers: header.server.workers,
        threads: header.server.max_threads,
        server: printable(&header.server.name),
        ruby: printable(&header.ruby_version),
        framework: printable(&header.framework),
        agent: printable(&header.agent_version),
        app_root: printable(&header.app_root),
        fibers: header.fiber_scheduler,
        measured: measured.map(|field| field.name.clone()).collect(),
        counts_further: header.counts_further(),
        counts_statuses: header.counts_statuses,
        counts_edges: header.counts_edges,
        arm: printable(&header.about.arm),
        ring: header.ring_capacity(),
        in_flight: header.in_flight,
        written: header.written,
        faults: header.faults,
        clock_skew: header.clock_skew,
        endpoints_lost: header.endpoints_lost,
        collector: header.collector.map(|of| counters::Collector {
            runs: of.runs,
            pause_ns: of.pause_ns,
            cpu_ns: of.cpu_ns,
        }),
        totals: named(&snapshot.totals),
        endpoints: used.map(endpoint).collect(),
    }
}

fn endpoint(endpoint: &Endpoint) -> counters::Endpoint {
    counters::Endpoint {
        name: endpoint.name.clone(),
        counters: named(&endpoint.totals),
        wall: buckets(&endpoint.wall),
        gvl_wait: buckets(&endpoint.gvl_wait),
        queue: buckets(&endpoint.queue),
    }
}

fn named(totals: &Totals) -> BTreeMap<String, u64> {
    let counted = totals.named().into_iter().filter(|(_, value)| *value > 0);
    counted
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn buckets(histogram: &Histogram) -> BTreeMap<u16, u64> {
    let counts = (0_u16..).zip(histogram.counts().iter().copied());
    counts.filter(|(_, count)| *count > 0).collect()
}

/// What a process of the document would have been read as from its file, without its requests.
pub fn restored(process: &Process) -> Snapshot {
    let mut header = Header::without_file(process.counts_further, process.ring);
    header.state = match process.state {
        ProcessState::Closed => State::Closed,
        _ => State::Live,
    };
    header.pid = process.pid;
    header.start_ticks = process.start_ticks;
    header.origin = process
        .pid_namespace
        .zip(process.boot_id.as_deref())
        .and_then(|(namespace, boot)| Origin::from_document(namespace, boot));
    header.created_wall_ns = process.created_wall_ns;
    header.created_mono_ns = process.created_mono_ns;
    header.server.worker_index = process.worker;
    header.server.workers = process.workers;
    header.server.max_threads = process.threads;
    header.server.name.clone_from(&process.server);
    header.ruby_version.clone_from(&process.ruby);
    header.framework.clone_from(&process.framework);
    header.agent_version.clone_from(&process.agent);
    header.app_root.clone_from(&process.app_root);
    header.fiber_scheduler = process.fibers;
    header.counts_statuses = process.counts_statuses;
    header.counts_edges = process.counts_edges;
    header.about.arm.clone_from(&process.arm);
    header.fields = process
        .measured
        .iter()
        .map(|name| Field::without_file(name))
        .collect();
    header.in_flight = process.in_flight;
    header.written = process.written;
    header.faults = process.faults;
    header.clock_skew = process.clock_skew;
    header.endpoints_lost = process.endpoints_lost;
    header.collector = process.collector.map(|of| Collector {
        runs: of.runs,
        pause_ns: of.pause_ns,
        cpu_ns: of.cpu_ns,
    });
    let endpoints = (0_u16..).zip(&process.endpoints);
    let endpoints = endpoints.map(|(index, of)| Endpoint {
        index,
        name: of.name.clone(),
        totals: totals(&of.counters),
        wall: histogram(&of.wall),
        gvl_wait: histogram(&of.gvl_wait),
        queue: histogram(&of.queue),
    });
    Snapshot::of_counters(header, totals(&process.totals), endpoints.collect())
}

fn totals(counters: &BTreeMap<String, u64>) -> Totals {
    let mut totals = Totals::default();
    for (name, value) in totals.named_mut() {
        *value = counters.get(name).copied().unwrap_or(0);
    }
    totals
}

fn histogram(buckets: &BTreeMap<u16, u64>) -> Histogram {
    let mut histogram = Histogram::default();
    for (bucket, count) in buckets {
        histogram.add(usize::from(*bucket), *count);
    }
    histogram
}
