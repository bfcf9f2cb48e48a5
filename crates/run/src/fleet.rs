//! How many servers a total rate needs: arithmetic on what one was measured to carry.

use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// All servers together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// What they are to carry, requests per second.
    pub total_rate_per_s: f64,
    /// What one costs, in whatever unit and period were meant; absent when it was not given.
    pub server_cost: Option<f64>,
    /// What one server's rate is taken from; the same for all, or they could not be compared.
    pub basis: FleetBasis,
    /// What it takes with each configuration: what runs today first, then what is recommended.
    pub servers: Vec<ServersNeeded>,
}

/// What one server's rate is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FleetBasis {
    /// The highest rate that met the latency objective.
    Objective,
    /// 80 % of its capacity, where no rate was searched.
    Capacity,
}

/// Servers that one configuration needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServersNeeded {
    /// Name of the arm.
    pub arm: String,
    /// The arm in words.
    pub called: String,
    /// Its threads, workers and preloading.
    pub settings: Settings,
    /// What one server carries, per second.
    pub each_per_s: f64,
    /// The total over that, rounded up.
    pub servers: u32,
    /// The total over what one surely carries, rounded up; absent where that is not known.
    pub surely: Option<u32>,
    /// What they cost together; absent without the cost of one.
    pub cost: Option<f64>,
}
