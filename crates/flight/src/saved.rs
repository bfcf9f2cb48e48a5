//! What a document has kept of a flight file, without the file.

use crate::endpoint::Endpoint;
use crate::field::{Field, Unit};
use crate::header::{About, Header, Layout, Server, State};
use crate::origin::Origin;
use crate::snapshot::{Skipped, Snapshot};
use crate::totals::Totals;

impl Header {
    /// A header without a file, to be filled in from a saved document. `counts_further` is what
    /// [`Header::counts_further`] then says.
    #[must_use]
    pub fn without_file(counts_further: bool, ring_capacity: u32) -> Self {
        let (totals_size, endpoint_size) = match counts_further {
            true => (
                Layout::TOTALS_FURTHER as usize + Totals::FURTHER_SIZE,
                Endpoint::WIDE_SIZE,
            ),
            false => (Totals::SIZE, Endpoint::SIZE),
        };
        Self {
            version: 1,
            state: State::Closed,
            pid: 0,
            parent_pid: 0,
            start_ticks: 0,
            created_wall_ns: 0,
            created_mono_ns: 0,
            server: Server {
                name: String::new(),
                workers: None,
                min_threads: None,
                max_threads: None,
                preload: None,
                worker_index: None,
            },
            ruby_version: String::new(),
            framework: String::new(),
            agent_version: String::new(),
            app_root: String::new(),
            gvl_hook: false,
            fiber_scheduler: false,
            locked: false,
            origin: None,
            counts_statuses: false,
            counts_edges: false,
            about: About::default(),
            variables: None,
            heap: None,
            collections: None,
            locks: None,
            flags: 0,
            written: 0,
            faults: 0,
            clock_skew: 0,
            endpoints_lost: 0,
            in_flight: 0,
            collector: None,
            pool_written: 0,
            trace_request: 0,
            fields: Vec::new(),
            layout: Layout {
                totals_size: totals_size as u32,
                endpoint_size: endpoint_size as u32,
                ring_capacity,
                ..Layout::default()
            },
        }
    }
}

impl Field {
    /// A measured field of a header without a file.
    #[must_use]
    pub fn without_file(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            offset: 0,
            size: 0,
            unit: Unit::None,
            measured: true,
        }
    }
}

impl Origin {
    /// From what a document has of it; `None` where a part is zero or the boot is no UUID.
    #[must_use]
    pub fn from_document(pid_namespace: u64, boot_id: &str) -> Option<Self> {
        Self::recorded(pid_namespace, crate::origin::boot_id(boot_id)?)
    }

    /// The boot as a document has it: 32 hexadecimal digits.
    #[must_use]
    pub fn boot(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.boot_id))
    }
}

impl Snapshot {
    /// The counters of a document: without records and samples of pools.
    #[must_use]
    pub fn of_counters(header: Header, totals: Totals, endpoints: Vec<Endpoint>) -> Self {
        Self {
            header,
            totals,
            endpoints,
            records: Vec::new(),
            pool_samples: Vec::new(),
            log: None,
            locks: None,
            skipped: Skipped::default(),
        }
    }
    /// Leaves in the counters what was added since `before` was read from the same file; never below zero. Records and
    /// samples of pools stay as they are.
    pub fn subtract(&mut self, before: &Self) {
        let (header, earlier) = (&mut self.header, &before.header);
        let take = |mine: &mut u64, theirs: u64| *mine = mine.saturating_sub(theirs);
        take(&mut header.faults, earlier.faults);
        take(&mut header.clock_skew, earlier.clock_skew);
        take(&mut header.endpoints_lost, earlier.endpoints_lost);
        if let (Some(mine), Some(theirs)) = (&mut header.collector, earlier.collector) {
            take(&mut mine.runs, theirs.runs);
            take(&mut mine.pause_ns, theirs.pause_ns);
            take(&mut mine.cpu_ns, theirs.cpu_ns);
        }
        self.totals = self.totals.since(&before.totals);
        for lock in self.locks.iter_mut().flatten() {
            let earlier = before.locks.iter().flatten();
            if let Some(old) = earlier.into_iter().find(|l| l.row == lock.row) {
                *lock = lock.since(old);
            }
        }
        for endpoint in &mut self.endpoints {
            if let Some(old) = before.endpoints.iter().find(|e| e.name == endpoint.name) {
                *endpoint = endpoint.since(old);
            }
        }
    }
}
