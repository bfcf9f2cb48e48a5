//! The wait before the application that queueing theory gives (M/M/c), to compare with the measured one.

use crate::threads::{present, serves};
use capacity::queue::{Queue, mmc};
use run::inspect::{CalculatedQueue, Process, ProcessState, Traffic};

/// Of requests whose queue was measured.
pub fn calculated_queue(requests: &Traffic, processes: &[Process]) -> Option<CalculatedQueue> {
    requests.queue?;
    let rate_per_s = requests.rate_per_s?;
    let serving = || processes.iter().filter(|p| serves(p, "request"));
    let live = serving().filter(|p| p.state == ProcessState::Live).count();
    let count = if live > 0 { live } else { serving().count() };
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let servers = present(serving())?.saturating_mul(count).max(1);
    let service_ms = requests.wall.mean_ms;
    let queue = Queue::new(rate_per_s, service_ms / 1e3, servers);
    Some(CalculatedQueue {
        rate_per_s,
        service_ms,
        servers,
        wait_ms: queue.ok().map(|queue| 1e3 * mmc(&queue).wait_s),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_that_of_calc_queue() {
        let sample = include_str!("../../../contract/samples/inspect/wide.json");
        let document: run::inspect::Document = serde_json::from_str(sample).unwrap();
        let mut requests = document.requests.unwrap();
        requests.rate_per_s = Some(80.0);
        requests.wall.mean_ms = 20.0;
        let mut process = document.processes[0].clone();
        (process.state, process.threads) = (ProcessState::Live, Some(1));
        let two = [process.clone(), process];
        let found = calculated_queue(&requests, &two).unwrap();
        // M/M/2 at 80 % of its most: 0.64 / 0.36 of the service time.
        let wait_ms = 20.0 * 0.64 / 0.36;
        assert_eq!(found.servers, 2);
        assert!((found.wait_ms.unwrap() - wait_ms).abs() < 1e-9, "{found:?}");
        requests.rate_per_s = Some(100.0);
        let saturated = calculated_queue(&requests, &two).unwrap();
        assert_eq!(saturated.wait_ms, None);
        // A damaged file may say so; the answer takes no longer.
        let mut damaged = two[0].clone();
        damaged.threads = Some(u32::MAX);
        let found = calculated_queue(&requests, &[damaged]).unwrap();
        assert_eq!((found.servers, found.wait_ms), (u32::MAX, Some(0.0)));
        requests.queue = None;
        assert_eq!(calculated_queue(&requests, &two), None);
    }
}
