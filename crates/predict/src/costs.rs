//! What the server and the kernel add to the requests' own steps.

use crate::recorded::Request;
use crate::server_overhead::ServerOverhead;
use crate::{Cold, ProcessTrace, Server, calibrated, front, hand_over};

/// Where a cost is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// From the events of the server's own threads.
    Events,
    /// From the CPU time of the server's processes, which the caller measured.
    ProcessCpu,
    /// Nothing says it: as measured of a trivial application.
    Assumed,
}

/// What the server and the kernel add to the requests' own steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    pub accept_ns: u64,
    pub reactor_ns: u64,
    pub front: Known,
    /// `None`: not measured, and taken as 0.
    pub hand_over_ns: Option<u64>,
    /// What it costs that threads move between cores; `None`: not measured, and in the requests' steps as it was in the trace.
    pub cold: Option<Cold>,
    /// What a request waits before a thread begins with it although nothing else is served, the acceptor's work included.
    pub way_in_ns: Option<u64>,
    /// What the serving thread does outside the application: the mean of what each request has as steps of its own.
    pub server_ns: u64,
    /// Whether it is known from traces where the serving thread gives the GVL up meanwhile.
    pub around_learnt: bool,
    /// Whether clients keep their connections, where a trace of all threads shows it.
    pub kept: Option<bool>,
}

pub(crate) fn costs(
    server: &Server,
    processes: &[ProcessTrace],
    taken: &[Request],
) -> (Costs, ServerOverhead) {
    let events = processes.iter().flat_map(|p| [&p.trace, &p.bursts]);
    let found = events.flatten().flat_map(hand_over::hand_overs);
    let hand_over_ns = hand_over::typical_ns(found.collect());
    let traces = || processes.iter().filter_map(|p| p.trace.as_ref());
    let seen = front::from_traces(traces());
    let calibrated = calibrated::of(server);
    let records = processes.iter().flat_map(|p| &p.flight.records);
    let records = records.filter(|record| !record.job);
    let (accept_ns, reactor_ns, from) = match seen {
        Some(front) => (front.accept_ns, front.reactor_ns, Known::Events),
        None => (calibrated.accept_ns, calibrated.reactor_ns, Known::Assumed),
    };
    let count = taken.len().max(1) as u64;
    let mean = |of: fn(&Request) -> u64| taken.iter().map(of).sum::<u64>() / count;
    let learnt = ServerOverhead::learnt(traces());
    let around_learnt = learnt.is_some();
    let overhead = learnt.unwrap_or_else(|| match calibrated.around {
        Some(around) => {
            let address_ns = around.address_ns(
                mean(|request| request.parse_ns),
                mean(|request| request.server_ns),
                mean(|request| request.server_wait_ns),
            );
            around.with_address(address_ns)
        }
        None => {
            let parse_ns = mean(|request| request.parse_ns.min(request.server_ns));
            let server_ns = mean(|request| request.server_ns);
            ServerOverhead::plain(parse_ns, server_ns - parse_ns)
        }
    });
    let costs = Costs {
        accept_ns,
        reactor_ns,
        front: from,
        hand_over_ns,
        cold: None,
        way_in_ns: front::way_in_ns(records),
        server_ns: mean(|request| request.server_ns),
        around_learnt,
        kept: seen.map(|front| front.kept),
    };
    (costs, overhead)
}
