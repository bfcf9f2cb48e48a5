//! The highest arrival rate that meets the objective, on a server that powerband starts or on one that runs already.
//! Which rate comes next is decided in `capacity`; what a violation rate proves, in `stats`.

mod answer;
mod figure;
mod lengths;
mod pages;
mod points;
mod search;
#[cfg(test)]
mod simulated;
mod station;
mod undecided;
mod violations;

pub(crate) use answer::{GROWS, doubt};
pub use answer::{answer, document};
pub(crate) use figure::figure;
pub use search::Curve;

use crate::bench::{Bench, Installation};
use crate::error::{Failure, Stopped};
use crate::generator::Generator;
use crate::idle_threads;
use crate::layout;
use crate::peers::{self, Peers};
use crate::progress::{Event, Watcher};
use crate::request::{Arm, Experiment};
use crate::sending::Sender;
use crate::spoiled;
use crate::trial::{self, Begun, Ended, Serving, WarmupLength};
use crate::{discard, flights};
use run::{LatencyObjective, Pinning, RateSearch, Settings};
use search::Question;
use station::{Agent, Station};
use std::path::Path;
use std::time::Duration;

/// Share of its capacity at which a server should get help.
pub const ADD_CAPACITY_AT: f64 = 0.8;

/// Connections of the closed loop on a server of which nothing else is known.
pub const CONNECTIONS: u32 = 64;
/// Longest warm-up before a search, as a share of its budget.
const WARMUP_SHARE: f64 = 0.1;
/// What a search gets at least, however long the start and the warm-up took, seconds.
const LEAST_SEARCH_S: f64 = lengths::LEAST_BUDGET_S / 2.0;

/// Least budget that a search is begun with.
pub const LEAST_BUDGET: Duration = Duration::from_secs(lengths::LEAST_BUDGET_S as u64);

/// A search on a server that powerband starts.
#[derive(Debug)]
pub struct Started<'a> {
    /// What it is started with.
    pub arm: &'a Arm,
    /// Folder of its log and flight files.
    pub folder: &'a Path,
    /// Cores of either side.
    pub pinning: Pinning,
    /// Time for everything, start and warm-up included.
    pub budget: Duration,
    /// Limit to keep.
    pub objective: LatencyObjective,
    /// Good answers per second of a closed loop, where trials have measured them.
    pub saturated_per_s: Option<f64>,
    /// Connections of that loop.
    pub connections: u32,
    /// Points wanted in addition to the search's own.
    pub curve: Curve,
    /// Rate that must surely meet the objective, or surely not.
    pub at_least: Option<f64>,
    /// Seed of requests and arrivals.
    pub seed: u64,
}

/// What `powerband capacity` is asked.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Limit to keep.
    pub objective: LatencyObjective,
    /// Time for everything.
    pub budget: Duration,
    /// Points wanted in addition to the search's own.
    pub curve: Curve,
    /// Rate of `--at-least`.
    pub at_least: Option<f64>,
}

/// What `powerband capacity` found, and on what.
#[derive(Debug)]
pub struct Found {
    /// The search.
    pub search: RateSearch,
    /// What the server was started with; `None` when it ran already.
    pub settings: Option<Settings>,
    /// Connections of the closed loop.
    pub connections: u32,
    /// How requests were sent.
    pub sending: run::Sending,
}

/// Starts the application as it is configured, or as `experiment.baseline` says, and measures it.
pub fn of_application(
    experiment: &Experiment,
    installation: &Installation,
    folder: &Path,
    wanted: &Wanted,
    watcher: &dyn Watcher,
) -> Result<Found, Stopped> {
    let spoiled = spoiled::tell(watcher);
    let (found, refused) = peers::watched(experiment, watcher, |peers| {
        of_started(experiment, installation, folder, wanted, peers)
    });
    let mut found = refused.map_or(found, Err)?;
    let warnings = &mut found.search.warnings;
    for warning in spoiled {
        // Another run may have been under way before and meanwhile.
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    Ok(found)
}

fn of_started(
    experiment: &Experiment,
    installation: &Installation,
    folder: &Path,
    wanted: &Wanted,
    peers: &Peers<'_>,
) -> Result<Found, Stopped> {
    let watcher: &dyn Watcher = peers;
    let before = watcher.elapsed();
    let bench = Bench::set_up(experiment, installation, folder, peers)?;
    let configured = experiment
        .baseline
        .or_else(|| bench.own.configured_settings());
    let arm = Arm::of(configured.unwrap_or(experiment.kind.defaults()));
    watcher.on(Event::Note(format!("server: {}", arm.settings)));
    let connections = experiment.kind.clients(arm.settings.concurrency());
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut search = of_arm(
        &bench,
        Started {
            arm: &arm,
            folder: &folder,
            pinning: layout::asked(experiment.generator_core),
            budget: wanted
                .budget
                .saturating_sub(watcher.elapsed().saturating_sub(before)),
            objective: wanted.objective,
            saturated_per_s: None,
            connections,
            curve: wanted.curve.clone(),
            at_least: wanted.at_least,
            seed: experiment.seed,
        },
        watcher,
    )?;
    search.warnings.extend(bench.sender.caveats());
    search.warnings.extend(bench.host.warnings(watcher));
    Ok(Found {
        search,
        settings: Some(arm.settings),
        connections,
        sending: bench.sender.sending(),
    })
}

/// Measures a server that runs already.
pub fn of_server(
    target: &load::Target,
    experiment: &Experiment,
    wanted: &Wanted,
    watcher: &dyn Watcher,
) -> Result<Found, Stopped> {
    let mut allowed = experiment.allow_remote.iter();
    if let load::Address::Tcp(at) = target.address()
        && !target.is_local()
        && !allowed.any(|remote| remote.resolve().is_ok_and(|found| found.contains(at)))
    {
        return Err(Stopped::Configuration(format!(
            "{target} is not a loopback address; pass --allow-remote {at} if that server may be loaded"
        )));
    }
    let sender = Sender::new(experiment);
    let station = Station {
        generator: Generator {
            target: target.clone(),
            workload: &experiment.workload,
            timeout: experiment.timeout,
            limit: Some(wanted.objective.limit()),
            allow_remote: true,
            cores: &[],
            server: None,
            watcher,
            sender: &sender,
        },
        server_cores: 0.0,
        agent: None,
    };
    let question = |hung| Question {
        objective: wanted.objective,
        seed: experiment.seed,
        budget: wanted.budget,
        saturated_per_s: None,
        connections: CONNECTIONS as usize,
        hung,
        curve: wanted.curve.clone(),
        at_least: wanted.at_least,
    };
    let spoiled = spoiled::tell(watcher);
    let settled = station.generator.settle_https();
    let searched = settled.and_then(|hung| search::search(&station, &question(hung)));
    let mut search = searched.map_err(|failure| match failure {
        Failure::Trial(why) => Stopped::NoAnswer(format!("{target}: {why}")),
        failure => failure.into(),
    })?;
    search.warnings.extend(sender.caveats());
    search.warnings.extend(spoiled);
    Ok(Found {
        search,
        settings: None,
        connections: CONNECTIONS,
        sending: sender.sending(),
    })
}

/// Starts one configuration and measures it.
pub(crate) fn of_arm(
    bench: &Bench<'_>,
    asked: Started<'_>,
    watcher: &dyn Watcher,
) -> Result<RateSearch, Stopped> {
    let began = watcher.elapsed();
    let warmup_max_s = (WARMUP_SHARE * asked.budget.as_secs_f64()).clamp(2.0, 30.0);
    let serving = Serving {
        arm: asked.arm,
        warmup: WarmupLength::before(warmup_max_s, warmup_max_s),
        connections: asked.connections,
        limit: Some(asked.objective.limit()),
        seed: asked.seed,
        pinning: asked.pinning.clone(),
        folder: asked.folder.to_owned(),
        bursts: false,
    };
    let cores = host::cores::available().map_or(1.0, |cores| cores.effective);
    let server_cores = match asked.pinning.server_cores.len() {
        0 => cores,
        pinned => pinned as f64,
    };
    let mut begun = Begun::default();
    let searched = trial::with_server(bench, &serving, watcher, &mut begun, |driver| {
        let station = Station {
            generator: driver.generator().clone(),
            server_cores,
            agent: agent(bench, &serving),
        };
        let spent = watcher.elapsed().saturating_sub(began);
        let left = asked.budget.saturating_sub(spent);
        let question = Question {
            objective: asked.objective,
            seed: asked.seed,
            budget: left.max(Duration::from_secs_f64(LEAST_SEARCH_S)),
            saturated_per_s: asked.saturated_per_s,
            connections: asked.connections as usize,
            hung: None,
            curve: asked.curve.clone(),
            at_least: asked.at_least,
        };
        search::search(&station, &question)
    });
    discard::discard(asked.folder, bench.experiment);
    let (mut search, hook_failed) = searched.and_then(Ended::whatever_its_hook_did)?;
    search.warnings.extend(hook_failed);
    Ok(search)
}

/// Where kept connections may keep requests from threads.
fn agent(bench: &Bench<'_>, serving: &Serving<'_>) -> Option<Agent> {
    let kept = bench.sender.sending().keep_alive && idle_threads::reach_puma(bench.experiment);
    kept.then(|| Agent {
        flight_dir: serving.folder.join(flights::FOLDER),
        settings: serving.arm.settings,
    })
}
