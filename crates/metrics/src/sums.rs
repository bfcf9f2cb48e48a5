//! What the processes of an application have counted.

use std::collections::BTreeMap;

use flight::{Endpoint, Header, PoolSample, Snapshot, Totals};

use crate::row::{Measured, Row, measures, sum};

/// What an endpoint is asked for with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Request,
    Job,
}

pub(crate) const OTHER: &str = "(other)";
const JOB: &str = "job ";

/// What a process counts outside its requests, by the names of the contract.
pub(crate) const PROCESS: [&str; 7] = [
    "faults",
    "clock_skew",
    "endpoints_lost",
    "gc_runs",
    "gc_pause_ns",
    "gc_cpu_ns",
    "starts",
];

/// Sums over processes, since their files were made, and over files that were removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    pub(crate) endpoints: BTreeMap<(Kind, String), Row>,
    pub(crate) totals: Row,
    pub(crate) process: [Option<u64>; PROCESS.len()],
}

/// What is true at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Live processes.
    pub processes: u64,
    /// What the servers of live processes are set to run.
    pub processes_expected: u64,
    /// The most threads that serve in live processes, where known.
    pub threads: Option<u64>,
    /// Resident memory of live processes; the caller's to find out.
    pub resident_bytes: Option<u64>,
    /// What live processes are, each kind once, and what those of a kind agree on.
    pub servers: BTreeMap<ServerInfo, Sizes>,
    /// Requests that they serve.
    pub in_flight: u64,
    /// Files that could not be read.
    pub unreadable: u64,
    /// Live processes without a flight file, by the name of the error.
    pub unrecorded: BTreeMap<String, u64>,
    /// By the pool's number.
    pub pools: BTreeMap<u16, Pool>,
}

/// What a live process is: the labels of the family `server_info`, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerInfo {
    pub server: String,
    pub version: String,
    pub ruby: String,
    pub jit: String,
    pub allocator: String,
    pub agent: String,
    pub arm: String,
}

impl ServerInfo {
    pub(crate) fn of(header: &Header) -> Self {
        let name = &header.server.name;
        let (server, version) = name.split_once(' ').unwrap_or((name, ""));
        Self {
            server: server.to_owned(),
            version: version.to_owned(),
            ruby: header.ruby_version.clone(),
            jit: header.about.jit.clone(),
            allocator: header.about.allocator.clone(),
            agent: header.agent_version.clone(),
            arm: header.about.arm.clone(),
        }
    }

    pub(crate) fn labels(&self) -> [(&'static str, &str); 7] {
        [
            ("server", &self.server),
            ("version", &self.version),
            ("ruby", &self.ruby),
            ("jit", &self.jit),
            ("allocator", &self.allocator),
            ("agent", &self.agent),
            ("arm", &self.arm),
        ]
    }
}

/// The last labels of the family `server_info`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// `None` where it is not known, or processes do not agree.
    pub threads: Option<u64>,
    pub workers: Option<u64>,
}

impl Sizes {
    pub(crate) fn labels(&self) -> [(&'static str, String); 2] {
        let text = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
        [
            ("threads", text(self.threads)),
            ("workers", text(self.workers)),
        ]
    }

    fn agreed(self, other: Self) -> Self {
        Self {
            threads: self.threads.filter(|_| self.threads == other.threads),
            workers: self.workers.filter(|_| self.workers == other.workers),
        }
    }
}

/// A connection pool, over live processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pool {
    pub size: u64,
    pub busy: u64,
    pub idle: u64,
    pub dead: u64,
    pub waiting: u64,
}

impl Sums {
    /// Adds what a file has counted.
    pub fn add(&mut self, snapshot: &Snapshot) {
        let header = &snapshot.header;
        let measured = Measured::by(header);
        self.totals
            .add(&Row::of_totals(&snapshot.totals, &measured));
        let collector = header
            .collector
            .filter(|_| header.counts_further() && measures(header, "gc_ns"));
        let process = [
            Some(header.faults),
            Some(header.clock_skew),
            Some(header.endpoints_lost),
            collector.map(|c| c.runs),
            collector.map(|c| c.pause_ns),
            collector.map(|c| c.cpu_ns),
            Some(1),
        ];
        self.add_process(process);
        let used = || snapshot.endpoints.iter().filter(|e| e.totals.requests > 0);
        let others = || used().filter(|e| e.name != OTHER);
        let jobs_only = others().next().is_some() && others().all(|e| e.name.starts_with(JOB));
        // A server that has answered nothing yet says 0 and not nothing.
        self.row(Kind::Request, OTHER)
            .add(&Row::of_endpoint(&nothing(), &measured));
        for endpoint in used() {
            let (kind, name) = match endpoint.name.strip_prefix(JOB) {
                Some(class) => (Kind::Job, class),
                None if endpoint.name == OTHER && jobs_only => (Kind::Job, OTHER),
                None => (Kind::Request, endpoint.name.as_str()),
            };
            self.row(kind, name)
                .add(&Row::of_endpoint(endpoint, &measured));
        }
    }

    /// Adds other sums.
    pub fn merge(&mut self, other: &Self) {
        self.totals.add(&other.totals);
        self.add_process(other.process);
        for ((kind, name), row) in &other.endpoints {
            self.row(*kind, name).add(row);
        }
    }

    /// Whether a counter over everything is lower than it was: files were removed by hand.
    #[must_use]
    pub fn fell_below(&self, earlier: &Self) -> bool {
        let pairs = |sums: &Self| [sums.totals.counters.as_slice(), &sums.process].concat();
        let mut both = pairs(self).into_iter().zip(pairs(earlier));
        both.any(|(now, then)| now < then)
    }

    pub(crate) fn row(&mut self, kind: Kind, name: &str) -> &mut Row {
        self.endpoints.entry((kind, name.to_owned())).or_default()
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&str, &Row)> {
        let all = self.endpoints.iter();
        all.filter(move |((k, _), _)| *k == kind)
            .map(|((_, name), row)| (name.as_str(), row))
    }

    pub(crate) fn add_process(&mut self, more: [Option<u64>; PROCESS.len()]) {
        for (mine, theirs) in self.process.iter_mut().zip(more) {
            *mine = sum(*mine, theirs);
        }
    }
}

impl Gauges {
    pub(crate) fn add_server(&mut self, server: ServerInfo, sizes: Sizes) {
        let known = self.servers.entry(server).or_insert(sizes);
        *known = known.agreed(sizes);
    }

    /// Adds a live process and its pools, each in its newest state.
    pub(crate) fn add(
        &mut self,
        in_flight: u64,
        threads: Option<u64>,
        pools: &BTreeMap<u16, PoolSample>,
    ) {
        self.processes += 1;
        self.threads = sum(self.threads, threads);
        self.in_flight = self.in_flight.saturating_add(in_flight);
        for (number, sample) in pools {
            let pool = self.pools.entry(*number).or_default();
            pool.size += u64::from(sample.size);
            pool.busy += u64::from(sample.busy);
            pool.idle += u64::from(sample.idle);
            pool.dead += u64::from(sample.dead);
            pool.waiting += u64::from(sample.waiting);
        }
    }
}

fn nothing() -> Endpoint {
    Endpoint {
        index: 0,
        name: OTHER.to_owned(),
        totals: Totals::default(),
        wall: flight::Histogram::default(),
        gvl_wait: flight::Histogram::default(),
        queue: flight::Histogram::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_fall_where_one_counter_does() {
        let of = |requests, faults| {
            let mut sums = Sums::default();
            sums.totals.counters[0] = requests;
            sums.process[0] = faults;
            sums
        };
        let earlier = of(Some(7), Some(1));
        for (later, fell) in [
            (of(Some(7), Some(1)), false),
            (of(Some(9), Some(1)), false),
            (of(Some(6), Some(2)), true),
            (of(Some(9), Some(0)), true),
            (of(None, Some(1)), true),
        ] {
            assert_eq!(later.fell_below(&earlier), fell);
        }
        assert!(!earlier.fell_below(&Sums::default()));
    }
}
