//! Response times as they are predicted, recorded and scored.

use serde::{Deserialize, Serialize};

/// Throughput and response times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Answers per second, until the last one.
    pub throughput_per_s: f64,
    /// Mean response time, ms.
    pub mean_ms: f64,
    /// Its median, ms, as the nearest rank; so are the others.
    pub p50_ms: f64,
    /// What 95 % do not exceed, ms.
    pub p95_ms: f64,
    /// What 99 % do not exceed, ms.
    pub p99_ms: f64,
}

impl Figures {
    /// Figure by figure.
    pub fn map(&self, with: impl Fn(f64) -> f64) -> Figures {
        Figures {
            throughput_per_s: with(self.throughput_per_s),
            mean_ms: with(self.mean_ms),
            p50_ms: with(self.p50_ms),
            p95_ms: with(self.p95_ms),
            p99_ms: with(self.p99_ms),
        }
    }

    /// Both, figure by figure.
    pub fn zip(&self, other: &Figures, with: impl Fn(f64, f64) -> f64) -> Figures {
        Figures {
            throughput_per_s: with(self.throughput_per_s, other.throughput_per_s),
            mean_ms: with(self.mean_ms, other.mean_ms),
            p50_ms: with(self.p50_ms, other.p50_ms),
            p95_ms: with(self.p95_ms, other.p95_ms),
            p99_ms: with(self.p99_ms, other.p99_ms),
        }
    }
}
