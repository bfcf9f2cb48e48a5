//! The counters of an endpoint or of everything, each of them known or not measured.

use flight::{BUCKETS, Endpoint, Header, Histogram, Totals};

/// The counters in the file's order, and the field of the record by which the field table says whether they are measured.
pub(crate) const COUNTERS: [(&str, &str); flight::COUNTERS] = [
    ("requests", "wall_ns"),
    ("server_errors", "wall_ns"),
    ("queue_ns", "queue_ns"),
    ("queue_known", "queue_ns"),
    ("wall_ns", "wall_ns"),
    ("held_ns", "held_ns"),
    ("gvl_wait_ns", "gvl_wait_ns"),
    ("lock_wait_ns", "lock_wait_ns"),
    ("io_ns", "io_ns"),
    ("cpu_ns", "cpu_ns"),
    ("gc_ns", "gc_ns"),
    ("allocations", "allocations"),
    ("yields", "yields"),
    ("gc_own_ns", "gc_own_us"),
    ("gc_cpu_ns", "gc_cpu_us"),
    ("sql_ns", "sql_us"),
    ("sql_gvl_ns", "sql_gvl_us"),
    ("http_ns", "http_us"),
    ("http_gvl_ns", "http_gvl_us"),
    ("cache_ns", "cache_us"),
    ("cache_gvl_ns", "cache_gvl_us"),
    ("redis_ns", "redis_us"),
    ("redis_gvl_ns", "redis_gvl_us"),
    ("pool_ns", "pool_us"),
    ("pool_gvl_ns", "pool_gvl_us"),
    ("sql_count", "sql_count"),
    ("http_count", "http_count"),
    ("cache_count", "cache_count"),
    ("redis_count", "redis_count"),
    ("pool_count", "pool_us"),
    ("gc_count", "gc_count"),
    ("parse_ns", "parse_us"),
    ("write_ns", "write_us"),
    ("server_held_ns", "server_held_us"),
    ("server_gvl_wait_ns", "server_gvl_wait_us"),
    ("busy_sum", "busy_threads"),
    ("spans_known", "parse_us"),
    ("status_1xx", "status"),
    ("status_2xx", "status"),
    ("status_3xx", "status"),
    ("status_4xx", "status"),
    ("status_5xx", "status"),
    ("wall_up_to_75ms", "wall_ns"),
    ("wall_up_to_250ms", "wall_ns"),
];

/// The counters that agents before 0.1 have.
const FIRST: usize = 13;

pub(crate) type Buckets = [u64; BUCKETS];

/// Sums of what was measured; `None` where it was not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub counters: [Option<u64>; COUNTERS.len()],
    pub wall: Option<Buckets>,
    pub gvl_wait: Option<Buckets>,
    pub queue: Option<Buckets>,
    pub edged: Option<Edged>,
}

/// Wall times of processes that also count those of at most 75 and 250 ms. Older agents do not, and in a histogram with
/// these bounds their requests would be in some buckets and not in others: it is of the others' requests throughout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edged {
    pub wall: Buckets,
    pub wall_ns: u64,
}

/// The counters of times up to [`flight::EDGES_NS`].
pub(crate) const UP_TO: [&str; 2] = ["wall_up_to_75ms", "wall_up_to_250ms"];

impl Default for Row {
    fn default() -> Self {
        Self {
            counters: [None; COUNTERS.len()],
            wall: None,
            gvl_wait: None,
            queue: None,
            edged: None,
        }
    }
}

impl Row {
    pub fn of_totals(totals: &Totals, measured: &Measured) -> Self {
        let mut row = Self::default();
        for (at, (_, value)) in totals.named().into_iter().enumerate() {
            row.counters[at] = measured.counters[at].then_some(value);
        }
        row
    }

    pub fn of_endpoint(endpoint: &Endpoint, measured: &Measured) -> Self {
        let buckets = |known: bool, histogram: &Histogram| known.then(|| *histogram.counts());
        Self {
            wall: buckets(measured.of("wall_ns"), &endpoint.wall),
            gvl_wait: buckets(measured.of("gvl_wait_ns"), &endpoint.gvl_wait),
            queue: buckets(measured.of("queue_ns"), &endpoint.queue),
            edged: measured.of(UP_TO[0]).then(|| Edged {
                wall: *endpoint.wall.counts(),
                wall_ns: endpoint.totals.wall_ns,
            }),
            ..Self::of_totals(&endpoint.totals, measured)
        }
    }

    /// A counter by its name in [`COUNTERS`].
    pub fn counter(&self, name: &str) -> Option<u64> {
        let at = COUNTERS.iter().position(|(counter, _)| *counter == name)?;
        self.counters[at]
    }

    pub fn requests(&self) -> u64 {
        self.counters[0].unwrap_or(0)
    }

    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counters.iter_mut().zip(other.counters) {
            *mine = sum(*mine, theirs);
        }
        add_buckets(&mut self.wall, other.wall.as_ref());
        add_buckets(&mut self.gvl_wait, other.gvl_wait.as_ref());
        add_buckets(&mut self.queue, other.queue.as_ref());
        match (&mut self.edged, &other.edged) {
            (Some(mine), Some(theirs)) => mine.add(theirs),
            (None, Some(theirs)) => self.edged = Some(theirs.clone()),
            (_, None) => {}
        }
    }
}

impl Edged {
    fn add(&mut self, other: &Self) {
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        for (count, more) in self.wall.iter_mut().zip(other.wall) {
            *count = count.saturating_add(more);
        }
    }
}

pub(crate) fn sum(mine: Option<u64>, theirs: Option<u64>) -> Option<u64> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => Some(mine.saturating_add(theirs)),
        (mine, theirs) => mine.or(theirs),
    }
}

fn add_buckets(mine: &mut Option<Buckets>, theirs: Option<&Buckets>) {
    let Some(theirs) = theirs else { return };
    for (count, more) in mine.get_or_insert([0; BUCKETS]).iter_mut().zip(theirs) {
        *count = count.saturating_add(*more);
    }
}

/// What a process measures.
#[derive(Debug)]
pub(crate) struct Measured {
    counters: [bool; COUNTERS.len()],
}

impl Measured {
    pub fn by(header: &Header) -> Self {
        let further = header.counts_further();
        // Agent 0.1 has no histogram of queue times, and a sum without its count is nothing.
        let there = |at: usize, name: &str| further || (at < FIRST && !name.starts_with("queue"));
        let mut at = 0;
        let counters = COUNTERS.map(|(name, field)| {
            let edges = !UP_TO.contains(&name) || header.counts_edges;
            let known = there(at, name) && measures(header, field) && edges;
            at += 1;
            known
        });
        Self { counters }
    }

    fn of(&self, name: &str) -> bool {
        let at = COUNTERS.iter().position(|(counter, _)| *counter == name);
        at.is_some_and(|at| self.counters[at])
    }
}

/// Which counters a process measures, in the order of [`Totals::named`].
#[must_use]
pub fn measured(header: &Header) -> [bool; COUNTERS.len()] {
    Measured::by(header).counters
}

/// Whether a field of the record says something. Under a fiber scheduler requests share a thread: its times belong to no single
/// request, and calls are not observed.
#[must_use]
pub fn measures(header: &Header, field: &str) -> bool {
    let of_fibers = ["wall_ns", "queue_ns", "busy_threads", "status"];
    (field != "status" || header.counts_statuses)
        && header.measures(field)
        && (!header.fiber_scheduler || of_fibers.contains(&field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_are_those_of_the_file_in_its_order() {
        let names = Totals::default().named().map(|(name, _)| name);
        assert_eq!(names, COUNTERS.map(|(name, _)| name));
    }
}
