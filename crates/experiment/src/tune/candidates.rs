//! Which configurations enter the race: the model scores every feasible one from the baseline's profile, and the
//! few worth trying stay.

use crate::error::Stopped;
use crate::procedure::Procedure;
use crate::request::Arm;
use capacity::{Config, Demand, Grid, MemoryLimit, Observation};
use run::{Document, Profile, Settings};

/// Share of the machine's memory that a candidate may be predicted to need.
const USABLE_MEMORY: f64 = 0.85;

/// A candidate and what the model says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entrant {
    /// The arm.
    pub arm: Arm,
    /// Throughput that the model predicts at saturation, per second.
    pub predicted_per_s: Option<f64>,
    /// Why it is worth trying.
    pub because: &'static str,
}

/// The entrants, most promising first, without the baseline.
pub fn choose(procedure: &Procedure<'_>) -> Result<Vec<Entrant>, Stopped> {
    let experiment = procedure.bench.experiment;
    let document = &procedure.store.document;
    let plan = &document.plan;
    let Some(profile) = &document.profile else {
        return Err(Stopped::NoAnswer(
            "the agent could not split the baseline's request time (no request of it was recorded, fibers serve it, or another tool took the GVL's hooks), so nothing can be predicted; compare configurations by hand with powerband compare".to_owned(),
        ));
    };
    let demand = demand(profile)?;
    let cores = server_cores(document);
    let seen: Vec<Observation> = procedure
        .pilot()
        .iter()
        .filter_map(|t| t.memory.as_ref())
        .map(|m| Observation {
            config: config(plan.baseline),
            pss_bytes: m.pss_bytes as f64,
        })
        .collect();
    let model = capacity::fit(&seen).ok();
    // Whatever the user allows, a candidate that would make this machine swap is no candidate.
    let usable = (document.host.memory_bytes as f64 * USABLE_MEMORY) as u64;
    let limit_bytes = plan
        .objective
        .max_memory_bytes
        .map_or(usable, |limit| limit.min(usable));
    let limit = model
        .as_ref()
        .filter(|_| limit_bytes > 0)
        .map(|model| MemoryLimit {
            model,
            limit_bytes: limit_bytes as f64,
        });
    let grid = Grid {
        threads: experiment.threads.clone(),
        workers: experiment.workers.clone(),
    };
    let most = (plan.arms as usize).saturating_sub(1);
    let scored = capacity::score(&demand, cores, limit, &grid).map_err(|e| {
        Stopped::NoAnswer(format!("the baseline's profile cannot be modelled: {e}"))
    })?;
    let useful = profile.useful_threads;
    let entrants: Vec<Entrant> = capacity::candidates(scored, useful, config(plan.baseline), most)
        .into_iter()
        .map(|candidate| Entrant {
            arm: Arm::of(settings(candidate.config, plan.baseline)),
            predicted_per_s: Some(candidate.throughput),
            because: why(candidate.why),
        })
        .collect();
    if entrants.is_empty() {
        return Err(Stopped::Configuration(
            "no other configuration fits the knobs and limits given; widen --threads, --workers or --max-memory".to_owned(),
        ));
    }
    Ok(entrants)
}

/// What one request asks of the server. All CPU time of the process tree beyond native code counts as GVL time:
/// Puma's own parsing and writing needs the GVL too, and happens outside the agent's span.
pub fn demand(profile: &Profile) -> Result<Demand, Stopped> {
    let native_ms = (profile.cpu_ms - profile.held_ms).max(0.0);
    let held_ms = (profile.tree_cpu_ms - native_ms).max(profile.cpu_ms.min(profile.held_ms));
    let io_ms = (profile.io_ms - native_ms).max(0.0);
    Demand::new(held_ms / 1e3, io_ms / 1e3, native_ms / 1e3)
        .map_err(|e| Stopped::NoAnswer(format!("the baseline's profile cannot be modelled: {e}")))
}

/// Throughput that the model predicts for these settings.
pub fn predict(document: &Document, settings: Settings) -> Option<f64> {
    let demand = demand(document.profile.as_ref()?).ok()?;
    capacity::predict(&demand, server_cores(document), config(settings))
        .ok()
        .map(|p| p.throughput)
}

/// Cores that the server may use.
fn server_cores(document: &Document) -> f64 {
    match document.plan.pinning.server_cores.len() {
        0 => document.host.effective_cores,
        pinned => document.host.effective_cores.min(pinned as f64),
    }
}

fn config(settings: Settings) -> Config {
    Config {
        workers: settings.workers,
        threads: settings.threads,
    }
}

/// A cluster preloads as the baseline does; from single mode it does what Puma does by default: preload.
fn settings(config: Config, baseline: Settings) -> Settings {
    let preload = config.workers > 0 && (baseline.preload || baseline.workers == 0);
    Settings {
        workers: config.workers,
        threads: config.threads,
        preload,
    }
}

fn why(why: capacity::Why) -> &'static str {
    match why {
        capacity::Why::Predicted => "smallest near the predicted best",
        capacity::Why::UsefulThreads => "as many threads as its waiting suggests",
        capacity::Why::FewerThreads => "fewer threads, in case the waiting is for a lock",
        capacity::Why::MoreThreads => "more threads, in case requests wait longer",
        capacity::Why::OtherProcesses => "another number of processes",
    }
}
