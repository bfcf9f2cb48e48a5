//! The subject of an examination: a server that runs, or an application as a trial would start it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use run::Settings;

/// What to look at.
#[derive(Debug, Clone)]
pub struct Asked {
    pub version: String,
    /// RFC 3339.
    pub checked_at: String,
    /// A server that runs.
    pub pid: Option<u32>,
    /// An application as a trial would start it, or with `pid` where its files are.
    pub configured: Option<Configured>,
    pub config: Option<PathBuf>,
    /// Between the two readings of what changes.
    pub span: Duration,
}

/// An application as `powerband.toml` has it.
#[derive(Debug, Clone)]
pub struct Configured {
    pub folder: PathBuf,
    /// The environment's name, and where it is from.
    pub environment: String,
    pub environment_from: String,
    /// On top of this process's own; a trial's `RAILS_ENV` and `RACK_ENV` are the name.
    pub variables: BTreeMap<String, String>,
    /// `None` where the configuration names a start command, or another server than Puma.
    pub puma: Option<PumaConfig>,
    pub baseline: Option<(Settings, String)>,
}

/// Puma's configuration file, where one was named.
#[derive(Debug, Clone, Default)]
pub struct PumaConfig(pub Option<PathBuf>);
