//! `calc queue`.

use serde::{Deserialize, Serialize};

/// Requests that arrive, and servers that take one each from a common queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Arrivals per second; absent when only an objective was given.
    pub rate_per_s: Option<f64>,
    /// Mean service time, ms.
    pub service_ms: f64,
    /// Squared coefficient of variation of the service time: 0 constant, 1 exponential.
    pub service_scv: f64,
    /// The same of the times between arrivals: 1 is Poisson.
    pub arrival_scv: f64,
    /// Servers.
    pub servers: u32,
    /// What the servers can do at most, per second: servers / service time.
    pub most_per_s: f64,
    /// Servers busy at once on average, at `rate_per_s` (Little): the offered load in erlangs.
    pub offered: Option<f64>,
    /// Share of the time in which a server is busy, at `rate_per_s`.
    pub utilisation: Option<f64>,
    /// The formula to believe for these figures.
    pub believed: QueueModel,
    /// What each formula says at `rate_per_s`; empty without one.
    pub answers: Vec<QueueAnswer>,
    /// The latency objective and the rate that just meets it; absent when none was given.
    pub objective: Option<QueueObjective>,
    /// The believed formula at other rates.
    pub rates: Vec<QueueRate>,
}

/// A formula of queueing theory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QueueModel {
    /// M/M/c (Erlang C): Poisson arrivals, exponential service; exact.
    Mmc,
    /// M/G/1 (Pollaczek and Khinchine): Poisson arrivals, one server, gamma service; exact.
    Mg1,
    /// Processor sharing: all are served at once; exact for Poisson arrivals, means only.
    Sharing,
    /// G/G/c (Allen and Cunneen): an approximation.
    Ggc,
}

/// What one formula says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueueAnswer {
    /// Which.
    pub model: QueueModel,
    /// Whether the figures given are what it assumes. M/M/c is shown with others when they are not.
    pub fits: bool,
    /// Probability that a request has to wait; absent under sharing, where no request queues.
    pub delayed: Option<f64>,
    /// Mean time in the queue, ms; absent under sharing.
    pub wait_ms: Option<f64>,
    /// Mean time from arrival to answer, ms.
    pub response_ms: f64,
    /// Requests in the queue on average (Little); absent under sharing.
    pub in_queue: Option<f64>,
    /// Requests in queue and service on average (Little).
    pub in_system: f64,
    /// Percentiles; none under sharing.
    pub percentiles: Vec<QueuePercentile>,
}

/// What a part of the requests does not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueuePercentile {
    /// Which, e.g. 99.
    pub percentile: f64,
    /// Time in the queue, ms.
    pub wait_ms: f64,
    /// Time from arrival to answer, ms.
    pub response_ms: f64,
}

/// A latency objective on the response time, and what it allows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueueObjective {
    /// Which percentile, e.g. 99.
    pub percentile: f64,
    /// The limit, ms.
    pub limit_ms: f64,
    /// The knee: the highest rate that meets it, per second; absent when none does.
    pub knee_per_s: Option<f64>,
    /// Share of the time in which a server is then busy.
    pub knee_utilisation: Option<f64>,
    /// Whether it is met at `rate_per_s`; absent without one.
    pub met: Option<bool>,
}

/// The believed formula at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueueRate {
    /// Arrivals per second.
    pub rate_per_s: f64,
    /// Share of the time in which a server is busy.
    pub utilisation: f64,
    /// Mean time in the queue, ms.
    pub wait_ms: f64,
    /// Mean time from arrival to answer, ms.
    pub response_ms: f64,
    /// The percentiles.
    pub percentiles: Vec<QueuePercentile>,
}
