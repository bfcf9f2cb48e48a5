//! `capture info`: what a file holds, counted in one pass.

use super::{name, open};
use crate::args::CaptureInfoArgs;
use crate::{Failure, output};
use ::capture::{Exchange, Format, Source};
use hdrhistogram::Histogram;
use jiff::Timestamp;
use run::capture::{Bytes, Count, Damage, Document, Endpoint, Latency, Origin, SCHEMA, Slice};
use small_sort::SmallSort;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Kinds of requests that are distinguished; the others are counted together.
const MOST_NAMES: usize = 1_000;
/// Slices of the course.
const SLICES: u64 = 60;
const NS_PER_S: u64 = 1_000_000_000;
/// An hour, in µs: slower answers count as that.
const HIGHEST_US: u64 = 3_600_000_000;

/// `powerband capture info`.
pub fn info(args: &CaptureInfoArgs) -> Result<u8, Failure> {
    let mut source = open(&args.file, &args.kafka)?;
    let mut counted = Counted::new();
    for record in source.by_ref() {
        let record = record
            .map_err(|e| Failure::no_answer(format!("{}: {e}; copy it anew", name(&args.file))))?;
        counted.add(&record);
    }
    let document = counted.document(&args.file.display().to_string(), &source);
    if args.json {
        output::json(&document)?;
    } else {
        let limit = args.limit.unwrap_or(report::USUAL_ENDPOINTS);
        output::print(&report::capture_page(&document, limit, output::style()))?;
    }
    Ok(0)
}

/// What has been seen so far.
struct Counted {
    requests: u64,
    answered: u64,
    first_ns: u64,
    last_ns: u64,
    /// Of each second since the clock's beginning: how many requests.
    seconds: BTreeMap<u64, u64>,
    connections: HashSet<u64>,
    methods: HashMap<String, u64>,
    statuses: HashMap<u16, u64>,
    endpoints: HashMap<String, OfEndpoint>,
    latency: Histogram<u64>,
    bytes: Bytes,
    bodies_left_out: u64,
}

struct OfEndpoint {
    requests: u64,
    /// Whole or not.
    answers: u64,
    errors: u64,
    latency: Histogram<u64>,
}

/// Figures of two digits take 40 KiB, and there may be thousands of them.
fn histogram(digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_US, digits).expect("the bounds are constants")
}

impl Counted {
    fn new() -> Self {
        Self {
            requests: 0,
            answered: 0,
            first_ns: u64::MAX,
            last_ns: 0,
            seconds: BTreeMap::new(),
            connections: HashSet::new(),
            methods: HashMap::new(),
            statuses: HashMap::new(),
            endpoints: HashMap::new(),
            latency: histogram(3),
            bytes: Bytes::default(),
            bodies_left_out: 0,
        }
    }

    fn add(&mut self, exchange: &Exchange) {
        self.requests += 1;
        self.first_ns = self.first_ns.min(exchange.at_ns);
        self.last_ns = self.last_ns.max(exchange.at_ns);
        *self.seconds.entry(exchange.at_ns / NS_PER_S).or_default() += 1;
        if exchange.connection > 0 {
            self.connections.insert(exchange.connection);
        }
        count(&mut self.methods, &exchange.method);
        let kept = exchange.body.len() as u64;
        self.bytes.request_bodies = self
            .bytes
            .request_bodies
            .saturating_add(exchange.body_bytes);
        self.bytes.request_bodies_kept += kept;
        self.bodies_left_out += u64::from(kept != exchange.body_bytes);
        let mut kind = ::capture::name_of(&exchange.method, &exchange.target);
        if self.endpoints.len() >= MOST_NAMES && !self.endpoints.contains_key(&kind) {
            load::OTHER.clone_into(&mut kind);
        }
        let endpoint = self.endpoints.entry(kind).or_insert_with(|| OfEndpoint {
            requests: 0,
            answers: 0,
            errors: 0,
            latency: histogram(2),
        });
        endpoint.requests += 1;
        if let Some(answer) = &exchange.answer {
            self.answered += u64::from(answer.complete);
            *self.statuses.entry(answer.status).or_default() += 1;
            self.bytes.answer_bodies = self.bytes.answer_bodies.saturating_add(answer.body_bytes);
            endpoint.answers += 1;
            endpoint.errors += u64::from(answer.status >= 500);
            if answer.complete {
                let us = (answer.took_ns / 1_000).max(1);
                endpoint.latency.saturating_record(us);
                self.latency.saturating_record(us);
            }
        }
    }

    fn document(self, file: &str, source: &Source) -> Document {
        let timed = source.timed() && self.requests > 0;
        let span_ns = self.last_ns.saturating_sub(self.first_ns);
        let span_s = span_ns as f64 / 1e9;
        let began = timed.then(|| source.began_ns()).flatten();
        let began = began.and_then(|began| {
            let at = i128::from(began) + i128::from(self.first_ns);
            Timestamp::from_nanosecond(at).ok()
        });
        let busiest = self.seconds.values().max().copied().unwrap_or(0);
        let origin = (source.format() == Format::Capture).then(|| {
            let about = source.about();
            Origin {
                written_by: about.written_by.clone(),
                host: about.host.clone(),
                capture: about.capture.clone(),
                part: about.part,
                primary: about.primary.clone(),
                unredacted: about.unredacted.clone(),
            }
        });
        let damaged = source.damaged();
        let skipped = source.skipped();
        let statuses = self
            .statuses
            .iter()
            .map(|(status, n)| (status.to_string(), *n));
        Document {
            schema: SCHEMA.to_owned(),
            powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
            file: file.to_owned(),
            format: source.format().to_string(),
            origin,
            began_at: began.map(|at| at.to_string()),
            span_s: timed.then_some(span_s),
            requests: self.requests,
            answered: self.answered,
            connections: (!self.connections.is_empty()).then_some(self.connections.len() as u64),
            mean_rate_per_s: (timed && span_ns > 0).then(|| self.requests as f64 / span_s),
            highest_rate_per_s: timed.then_some(busiest as f64),
            course: if timed { self.course() } else { Vec::new() },
            methods: counts(self.methods.iter().map(|(name, n)| (name.clone(), *n))),
            statuses: counts(statuses),
            endpoints: self.endpoints(),
            latency: (!self.latency.is_empty()).then(|| {
                let at = |q| self.latency.value_at_quantile(q) as f64 / 1e3;
                Latency {
                    mean_ms: self.latency.mean() / 1e3,
                    p50_ms: at(0.5),
                    p90_ms: at(0.9),
                    p99_ms: at(0.99),
                    p999_ms: at(0.999),
                    max_ms: at(1.0),
                }
            }),
            bytes: self.bytes,
            bodies_left_out: self.bodies_left_out,
            damage: (damaged.count > 0).then(|| Damage {
                places: damaged.count,
                bytes: damaged.bytes,
                requests: damaged.records,
                first: damaged.first.iter().map(ToString::to_string).collect(),
            }),
            skipped: skipped.count,
            first_skipped: skipped
                .first
                .iter()
                .map(|s| format!("{}: {}", s.place, s.why))
                .collect(),
        }
    }

    /// Whole seconds, as many in each slice as make at most [`SLICES`].
    fn course(&self) -> Vec<Slice> {
        let (first, last) = (self.first_ns / NS_PER_S, self.last_ns / NS_PER_S);
        let step = (last - first) / SLICES + 1;
        let slices = (last - first) / step + 1;
        let mut requests = vec![0_u64; usize::try_from(slices).unwrap_or(0)];
        for (second, n) in &self.seconds {
            // At most SLICES, whatever the instants.
            requests[((second - first) / step) as usize] += n;
        }
        (0_u64..)
            .zip(requests)
            .map(|(index, requests)| Slice {
                at_s: (index * step) as f64,
                requests,
                rate_per_s: requests as f64 / step as f64,
            })
            .collect()
    }

    fn endpoints(&self) -> Vec<Endpoint> {
        let mut endpoints: Vec<Endpoint> = self
            .endpoints
            .iter()
            .map(|(name, of)| {
                let timed = !of.latency.is_empty();
                let at = |q| timed.then(|| of.latency.value_at_quantile(q) as f64 / 1e3);
                Endpoint {
                    name: name.clone(),
                    requests: of.requests,
                    share: of.requests as f64 / self.requests as f64,
                    error_share: (of.answers > 0).then(|| of.errors as f64 / of.answers as f64),
                    p50_ms: at(0.5),
                    p99_ms: at(0.99),
                }
            })
            .collect();
        endpoints.small_sort_by(|a, b| {
            b.requests
                .cmp(&a.requests)
                .then_with(|| a.name.cmp(&b.name))
        });
        endpoints
    }
}

fn count(counts: &mut HashMap<String, u64>, name: &str) {
    // A method is any token, and a file may be made up.
    let name = if counts.len() >= 64 && !counts.contains_key(name) {
        load::OTHER
    } else {
        name
    };
    match counts.get_mut(name) {
        Some(n) => *n += 1,
        None => drop(counts.insert(name.to_owned(), 1)),
    }
}

/// The most frequent first.
fn counts(counts: impl Iterator<Item = (String, u64)>) -> Vec<Count> {
    let mut all: Vec<(String, u64)> = counts.collect();
    all.small_sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let total: u64 = all.iter().map(|(_, n)| n).sum();
    let share = |n: u64| n as f64 / total as f64;
    let one = |(name, requests)| Count {
        name,
        requests,
        share: share(requests),
    };
    all.into_iter().map(one).collect()
}
