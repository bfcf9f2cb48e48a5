//! Requests that wait for a thread while threads are idle: what kept connections do to Puma. At full load alone, where a thread is
//! idle only when it cannot be reached.

use crate::request::Experiment;
use crate::server_kind::ServerKind;
use run::{Settings, Split};

/// Threads that have a request for a smaller share of the time at full load are kept from work.
const IDLE_BELOW: f64 = 0.7;

/// What requests met in a closed loop, as the agent measured it.
#[derive(Debug, Clone, Copy)]
pub struct Waited {
    settings: Settings,
    /// Mean wait for a thread, and time in it, ms.
    queue_ms: f64,
    wall_ms: f64,
    /// The share of time that threads had a request.
    busy: f64,
}

impl Waited {
    /// `None` where no request was seen, or none had an arrival time.
    pub fn of(settings: Settings, split: &Split, seconds: f64) -> Option<Self> {
        let requests = split.requests.max(1) as f64;
        let threads_ms = seconds * 1e3 * f64::from(settings.concurrency());
        Some(Self {
            settings,
            queue_ms: split.queue_ms? / requests,
            wall_ms: split.wall_ms / requests,
            busy: split.wall_ms / threads_ms.max(f64::MIN_POSITIVE),
        })
    }
}

/// Whether clients' connections end at Puma: behind nginx they end there.
pub fn reach_puma(experiment: &Experiment) -> bool {
    experiment.kind == ServerKind::Puma && experiment.front.is_none()
}

/// Of those whose requests queued while threads were idle the longest queue, explained. Only where connections are kept.
pub fn sentence(all: impl IntoIterator<Item = Waited>) -> Option<String> {
    let Waited {
        settings,
        queue_ms,
        wall_ms,
        busy,
    } = all
        .into_iter()
        .filter(|waited| waited.queue_ms > waited.wall_ms && waited.busy < IDLE_BELOW)
        .max_by(|a, b| a.queue_ms.total_cmp(&b.queue_ms))?;
    Some(format!(
        "with {settings} a request waited {queue_ms:.0} ms for a thread, and took {wall_ms:.0} ms in it, while threads had a request \
         only {:.0} % of the time: connections are kept, and Puma lets a thread wait up to 0.2 s for the next request of a \
         connection while others queue; without --keep-alive each request has a new connection",
        busy * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(queue_ms: f64, wall_ms: f64, requests: u64) -> Option<Waited> {
        let settings = Settings {
            workers: 2,
            threads: 3,
            preload: false,
        };
        let split = Split {
            requests,
            wall_ms: wall_ms * requests as f64,
            held_ms: 0.0,
            gvl_wait_ms: 0.0,
            lock_wait_ms: None,
            io_ms: 0.0,
            cpu_ms: 0.0,
            queue_ms: Some(queue_ms * requests as f64),
        };
        Waited::of(settings, &split, 10.0)
    }

    #[test]
    fn the_longest_queue_beside_idle_threads_is_explained() {
        // Of 60 s of threads: 35 %.
        let idle = |queue_ms: f64| waited(queue_ms, 21.0, 1_000);
        let said = sentence([idle(63.0), idle(84.0)].into_iter().flatten()).unwrap();
        let parts = [
            "waited 84 ms for a thread, and took 21 ms",
            "only 35 % of the time",
            "0.2 s",
            "--keep-alive",
        ];
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(
            sentence(idle(20.0)),
            None,
            "they queue no longer than they take"
        );
        assert_eq!(
            sentence(waited(84.0, 50.0, 1_000)),
            None,
            "threads are busy"
        );
    }
}
