//! Time without traffic inside a trace: from a look at the server until the load began, or between two loads. Rates and
//! utilisations are of the time in which requests came.

use crate::recorded::Request;

/// A pause of fewer mean distances between arrivals is chance, and so is a shorter one.
const MEAN_DISTANCES: u64 = 20;
const LEAST_NS: u64 = 1_000_000_000;

/// Time that was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Idle {
    pub pauses: usize,
    pub ns: u64,
}

/// Moves what came after a pause to one mean distance after what came before it. `all` are in the order of arrival. In a pause
/// nothing is in service, so that no request meets another that it had not met.
pub(crate) fn without_idle(all: &mut [Request]) -> Idle {
    let mut idle = Idle::default();
    // Each pause that is left out makes the mean distance shorter, and shorter pauses visible.
    loop {
        let found = shortened(all);
        if found.pauses == 0 {
            return idle;
        }
        idle.pauses += found.pauses;
        idle.ns += found.ns;
    }
}

fn shortened(all: &mut [Request]) -> Idle {
    let mut idle = Idle::default();
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return idle;
    };
    let distances = (all.len() as u64 - 1).max(1);
    let mean_ns = (last.arrival_ns - first.arrival_ns) / distances;
    let pause_ns = (MEAN_DISTANCES * mean_ns).max(LEAST_NS);
    let mut answered_ns = first.arrival_ns + first.response_ns;
    for request in all.iter_mut().skip(1) {
        let nothing_ns = request.arrival_ns.saturating_sub(answered_ns);
        answered_ns = answered_ns.max(request.arrival_ns + request.response_ns);
        if nothing_ns > pause_ns {
            idle.pauses += 1;
            idle.ns += nothing_ns - mean_ns;
        }
        request.arrival_ns -= idle.ns;
    }
    idle
}
