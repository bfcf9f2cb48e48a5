//! `calc pool`.

use serde::{Deserialize, Serialize};

/// The database connections of an application, at most: pools open them as they are needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Web processes on all hosts.
    pub web: PoolFleet,
    /// Job processes on all hosts.
    pub jobs: PoolFleet,
    /// Threads of each process's async-query executor.
    pub async_threads: u32,
    /// Connections of consoles, migrations and monitoring.
    pub others: u32,
    /// Part of the processes that are there twice while a deploy overlaps, 0 to 1.
    pub deploy_overlap: f64,
    /// Web, jobs and others, between deploys.
    pub running: u64,
    /// What a deploy adds while it overlaps.
    pub deploy: u64,
    /// All of it.
    pub most: u64,
    /// The server's limit; absent when it was not given.
    pub limit: Option<PoolLimit>,
    /// The pool as `database.yml` has it today, for each process; absent when it was not given.
    pub present_pool: Option<u32>,
    /// Connections that work at once, by Little's law; absent without a rate and a time.
    pub busy: Option<PoolBusy>,
    /// Whether a pooler in front of the database is needed.
    pub pooler: bool,
    /// What belongs into files, with the changes that a pooler asks for.
    pub files: Vec<PoolFile>,
}

/// Processes of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PoolFleet {
    /// Processes.
    pub processes: u32,
    /// Threads of each.
    pub threads: u32,
    /// Connections that each one's pool must hold: its threads, and with an executor its threads and one more.
    pub pool: u64,
    /// Of all together.
    pub connections: u64,
}

/// The database server's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PoolLimit {
    /// `max_connections`.
    pub max_connections: u32,
    /// Of these, kept for administrators.
    pub reserved: u32,
    /// What is left for the application.
    pub usable: u32,
    /// What is still free between deploys; negative where it is short.
    pub free_running: i64,
    /// What is still free while a deploy overlaps.
    pub free_deploying: i64,
}

/// Connections that work at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PoolBusy {
    /// Transactions per second.
    pub rate_per_s: f64,
    /// Mean time of a transaction, ms.
    pub time_ms: f64,
    /// Busy on average: rate x time.
    pub mean: f64,
    /// So many suffice 99.9 % of the time.
    pub enough: u32,
}

/// Lines for a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PoolFile {
    /// Its name, e.g. `config/database.yml`.
    pub name: String,
    /// The lines.
    pub lines: Vec<String>,
}
