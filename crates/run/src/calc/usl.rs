//! `calc usl`.

use serde::{Deserialize, Serialize};

/// The Universal Scalability Law, X(N) = g N / (1 + s (N - 1) + k N (N - 1)), fitted to measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Usl {
    /// g: throughput at N = 1.
    pub per_one: Estimate,
    /// s: contention, the share of the work that queues up.
    pub contention: Estimate,
    /// k: coherency, what every pair costs.
    pub coherency: Estimate,
    /// The N of the highest throughput, sqrt((1 - s) / k); absent when k = 0, and throughput never falls.
    pub peak: Option<Estimate>,
    /// The throughput there, at the estimated N.
    pub peak_throughput: Option<Estimate>,
    /// The N from which the interval of the peak begins, also where there is no peak.
    pub peak_not_below: f64,
    /// Standard deviation of the relative residuals: 0.05 is 5 %.
    pub scatter: f64,
    /// Measurements less parameters.
    pub freedom: u32,
    /// Confidence of the intervals: 0.95.
    pub confidence: f64,
    /// Whether s or k came out below 0 and was held there.
    pub held_at_0: bool,
    /// Each measurement with the fit.
    pub points: Vec<UslPoint>,
}

/// A value and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The least-squares estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end; absent when the measurements allow any.
    pub high: Option<f64>,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UslPoint {
    /// N.
    pub n: f64,
    /// Throughput as measured.
    pub measured: f64,
    /// Throughput by the fit.
    pub fitted: f64,
    /// Measured / fitted - 1.
    pub off: f64,
    /// Measured / (g N): 1 when nothing is lost.
    pub efficiency: f64,
}
