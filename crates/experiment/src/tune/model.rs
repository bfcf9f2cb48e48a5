//! What the candidates are chosen by: the simulator on the pilot's trace, or, where there is none that it can use, the
//! formulas on the pilot's profile. The document holds what was predicted, so that a resumed run chooses the same.

mod demand;
mod score;
mod simulator;

pub use demand::{config, demand};
pub use score::score;

use crate::error::Stopped;
use crate::procedure::Procedure;
use crate::progress::Event;
use capacity::{Config, Grid};
use run::{Document, Foreseen, Model, ModelKind, Settings};
pub use simulator::Simulator;

/// Predicts the points of the grid, and those that a path through it may cross, unless an earlier sitting has. What predicted
/// them, where that was the simulator.
pub fn predict_grid(
    procedure: &mut Procedure<'_>,
    grid: &Grid,
) -> Result<Option<Simulator>, Stopped> {
    if procedure.store.document.model.is_some() {
        return Ok(None);
    }
    let configs = points(&procedure.store.document, grid)?;
    procedure
        .watcher
        .on(Event::Preparing("simulating configurations"));
    let simulated = Simulator::of_pilot(procedure)
        .and_then(|simulator| Ok((simulator.model(&configs)?, Some(simulator))));
    let (model, simulator) = match simulated {
        Ok(simulated) => simulated,
        Err(reason) => {
            procedure.watcher.on(Event::Note(format!(
                "the simulator cannot be used, so formulas choose the candidates: {reason}"
            )));
            let model = formulas(&procedure.store.document, &configs, reason)?;
            (model, None)
        }
    };
    procedure.store.document.model = Some(model);
    procedure.save()?;
    Ok(simulator)
}

/// Adds what the arms will answer within at the common rate, where the simulator can predict it: `known`, or after a
/// resumption one that is made again.
pub fn predict_latency(
    procedure: &mut Procedure<'_>,
    known: Option<Simulator>,
    arms: &[Settings],
) -> Result<(), Stopped> {
    let document = &procedure.store.document;
    let simulated = |model: &Model| model.kind == ModelKind::Simulator;
    let (Some(model), Some(rate)) = (
        document.model.clone().filter(simulated),
        document.plan.rate_per_s,
    ) else {
        return Ok(());
    };
    // The pilot's files may be gone by the time that a run is resumed; its predictions are not.
    let Some(simulator) = known.or_else(|| Simulator::of_pilot(procedure).ok()) else {
        return Ok(());
    };
    let mut predictions = model.predictions.clone();
    let arms: Vec<Config> = arms.iter().map(|settings| config(*settings)).collect();
    for foreseen in &mut predictions {
        let (workers, threads) = (foreseen.workers, foreseen.threads);
        if arms.contains(&Config { workers, threads }) && foreseen.p50_ms.is_none() {
            simulator.foresee_latency(foreseen, rate);
        }
    }
    procedure.store.document.model = Some(Model {
        predictions,
        ..model
    });
    procedure.save()
}

/// What the model says of these settings.
pub fn foreseen(document: &Document, settings: Settings) -> Option<Foreseen> {
    match &document.model {
        Some(model) => model.foreseen(settings),
        None => formula(document, config(settings)).ok(),
    }
}

/// The grid, and what differs from one of its points in the baseline's workers or threads.
fn points(document: &Document, grid: &Grid) -> Result<Vec<Config>, Stopped> {
    let baseline = config(document.plan.baseline);
    let of_grid = grid
        .configs(document.server_cores())
        .map_err(|e| Stopped::NoAnswer(format!("no configuration can be predicted: {e}")))?;
    let crossing = of_grid.iter().flat_map(|at| {
        let workers = [at.workers, baseline.workers];
        workers.into_iter().flat_map(move |workers| {
            [at.threads, baseline.threads].map(|threads| Config { workers, threads })
        })
    });
    let mut all: Vec<Config> = crossing.chain([baseline]).collect();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn formulas(document: &Document, configs: &[Config], reason: String) -> Result<Model, Stopped> {
    let predictions = configs.iter().map(|at| formula(document, *at));
    Ok(Model {
        kind: ModelKind::Formulas,
        reason: Some(reason),
        trace: None,
        predictions: predictions.collect::<Result<_, _>>()?,
        contradiction: None,
        score: None,
    })
}

fn formula(document: &Document, at: Config) -> Result<Foreseen, Stopped> {
    let not_modelled = |why: String| {
        Stopped::NoAnswer(format!("the baseline's profile cannot be modelled: {why}"))
    };
    let profile = document
        .profile
        .as_ref()
        .ok_or_else(|| not_modelled("there is none".to_owned()))?;
    let predicted = capacity::predict(&demand(profile)?, document.server_cores(), at)
        .map_err(|e| not_modelled(e.to_string()))?;
    Ok(Foreseen {
        workers: at.workers,
        threads: at.threads,
        capacity_per_s: predicted.throughput,
        p50_ms: None,
        p99_ms: None,
    })
}
