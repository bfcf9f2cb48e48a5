//! What a simulated server did.

/// The response time of a request that was refused: an error is a violation
/// with infinite latency.
pub const REFUSED_NS: u64 = u64::MAX;

/// What came of the requests. Sums are over all requests that were answered,
/// and of all that their threads did, after the answer as well.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    pub answered: u64,
    pub refused: u64,
    /// From the start to the last answer or refusal.
    pub span_ns: u64,
    /// In the order of arrival, from the arrival to the answer, the network
    /// included; [`REFUSED_NS`] for those that were refused.
    pub response_ns: Vec<u64>,
    /// From arrival to the moment a thread begins to serve: the socket's
    /// backlog, the acceptor, the pool's queue.
    pub queue_ns: u64,
    /// Serving threads ready to run, waiting for the GVL (hand-over included).
    pub gvl_wait_ns: u64,
    /// Serving threads with the GVL or native work, waiting for a core or for
    /// the quota's next period.
    pub core_wait_ns: u64,
    /// Waiting for stations.
    pub station_wait_ns: u64,
    /// Waiting for I/O, as lengthened.
    pub io_ns: u64,
    /// CPU time of all threads, the server's own included.
    pub cpu_ns: u64,
    /// Stretches of serving threads that [`super::Overheads::hand_over_cpu_ns`]
    /// lengthened, or would have if it were not 0; each counts as the part of a
    /// core that was idle.
    pub cold_hand_overs: f64,
    /// Likewise of [`super::Overheads::wake_cpu_ns`].
    pub cold_wakes: f64,
    /// The part of `cpu_ns` that the two took.
    pub cold_ns: u64,
    /// The part of the span in which a process' GVL was held, mean over processes.
    pub gvl_utilisation: f64,
    /// CPU time over what the cores, or the quota where it is less, could give.
    pub core_utilisation: f64,
    /// The part of the span in which no place of the busiest station was free,
    /// mean over processes.
    pub station_utilisation: f64,
    /// The part of the span in which a serving thread had a request, mean over threads.
    pub thread_utilisation: f64,
}

impl Outcome {
    /// Answers per second over the whole span.
    #[must_use]
    pub fn throughput_per_s(&self) -> f64 {
        match self.span_ns {
            0 => 0.0,
            ns => self.answered as f64 * 1e9 / ns as f64,
        }
    }

    /// Mean response time of what was answered, in seconds.
    #[must_use]
    pub fn mean_response_s(&self) -> f64 {
        let answered = self.response_ns.iter().filter(|&&ns| ns != REFUSED_NS);
        let sum: u128 = answered.map(|&ns| u128::from(ns)).sum();
        match self.answered {
            0 => 0.0,
            count => sum as f64 / count as f64 / 1e9,
        }
    }
}
