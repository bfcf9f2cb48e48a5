//! What a model said of configurations before they were tried, and how that came out.

use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// What chose the candidates from the baseline's pilot; `tune` only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What predicted.
    pub kind: ModelKind,
    /// Why it was not the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The trace that was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<ModelTrace>,
    /// Every configuration of the search, as far as it was predicted.
    pub predictions: Vec<Foreseen>,
    /// The measurement from which on candidates came from measurements; absent while the predictions held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<Contradiction>,
    /// How the predictions came out, over the arms that were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<ModelScore>,
}

impl Model {
    /// What it said of these settings, preloaded or not.
    pub fn foreseen(&self, settings: Settings) -> Option<Foreseen> {
        let asked = (settings.workers, settings.threads);
        let mut predictions = self.predictions.iter();
        predictions
            .find(|p| (p.workers, p.threads) == asked)
            .copied()
    }
}

/// What predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// The requests of the pilot's trace, one by one (`docs/simulator.md`).
    Simulator,
    /// Mean value analysis of the pilot's profile (`docs/method.md`).
    Formulas,
}

/// The trace that was simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelTrace {
    /// Requests in it.
    pub requests: u64,
    /// Whether most of them have their recorded course; if not, a typical one of their totals.
    pub bursts: bool,
    /// Response times of the baseline that were predicted from its own arrivals, over those recorded, less one.
    pub self_check: ModelErrors,
}

/// Predicted over measured, less one: 0.05 is 5 % too much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelErrors {
    /// Of the mean.
    pub mean: f64,
    /// Of the median.
    pub p50: f64,
    /// Of the 99th percentile.
    pub p99: f64,
}

/// What was predicted of a configuration, before it was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Foreseen {
    /// Puma workers; 0 is single mode.
    pub workers: u16,
    /// Puma threads of each process.
    pub threads: u16,
    /// Requests per second at saturation.
    pub capacity_per_s: f64,
    /// p50 of the response time at the common rate, ms; of arms only, and not where they cannot carry that rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// p99 likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
}

/// A measurement that neither the error of the model nor the noise of the trials explains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Contradiction {
    /// The configuration.
    pub settings: Settings,
    /// Requests per second at saturation, as predicted.
    pub predicted_per_s: f64,
    /// Requests per second at saturation, as measured until then.
    pub measured_per_s: f64,
    /// The difference that would have been accepted, as a ratio less one (0.25 is 25 %).
    pub accepted: f64,
    /// The block of the race after which it was found.
    pub block: u32,
    /// Whether neighbours of the best measured configuration were tried from then on; not where no time, or none of them, was left.
    pub followed: bool,
    /// Where they were not: true when all of them had been tried before, false when no time was left; absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_tried: Option<bool>,
}

impl std::fmt::Display for Contradiction {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            to,
            "The model predicted {} for {}; {} were measured in the elimination rounds until then. {}",
            per_s(self.predicted_per_s),
            self.settings,
            per_s(self.measured_per_s),
            match (self.followed, self.all_tried) {
                (true, _) =>
                    "From then on candidates were chosen by measurements instead of predictions.",
                (false, Some(true)) =>
                    "No neighbour of the best measured configuration was tried from then on: all had been tried before.",
                (false, Some(false)) =>
                    "No neighbour of the best measured configuration was tried: the time was too short.",
                (false, None) => "No neighbour of the best measured configuration was tried.",
            }
        )
    }
}

fn per_s(rate: f64) -> String {
    match rate {
        rate if rate >= 100.0 => format!("{rate:.0}/s"),
        rate => format!("{rate:.1}/s"),
    }
}

/// How predictions came out. Errors are means of |predicted / measured - 1|.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelScore {
    /// Arms with a prediction and a capacity.
    pub arms: u32,
    /// Of the capacity.
    pub capacity: f64,
    /// Of the p50 at the common rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// Of the p99 at the common rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// Pairs of arms whose capacities were measured to differ by over 5 %.
    pub pairs: u32,
    /// Those of them that were predicted in the right order.
    pub pairs_in_order: u32,
}
