//! The simulator on what the pilot's last trial recorded.

use crate::flights;
use crate::procedure::Procedure;
use capacity::Config;
use predict::{
    Application, Bench, LEAST_REQUESTS, Machine, OfferedLoad, Point, PredictError, Prediction,
    Selection,
};
use run::{Foreseen, Model, ModelErrors, ModelKind, ModelTrace, Trial};
use std::path::Path;

/// Requests of a trace that suffice for a mean; a p99 wants [`LEAST_REQUESTS`].
const LEAST_FOR_MEANS: usize = 100;
/// Requests per thread in which a saturated server is simulated. The same number before them fills it.
const ROUNDS: usize = 20;
/// At least and at most, for a configuration.
const FEWEST: usize = 1_000;
const MOST: usize = 20_000;
/// Requests at random moments that suffice for a latency.
const AT_RANDOM: usize = 6_000;

/// The application as the pilot saw it, on this machine.
#[derive(Debug)]
pub struct Simulator {
    bench: Bench,
    seed: u64,
}

impl Simulator {
    /// Of the pilot's last trial that counts; or why not.
    pub fn of_pilot(procedure: &Procedure<'_>) -> Result<Simulator, String> {
        let pilot = procedure.pilot();
        let trial = pilot.last().ok_or("no trial of the pilot counts")?;
        let folder = procedure.store.folder().trial_dir(&trial.id);
        let folder = folder.map_err(|e| e.to_string())?.join(flights::FOLDER);
        let application = traced(&folder, trial)?;
        let document = &procedure.store.document;
        let saturation = trial.saturation.as_ref();
        let share = saturation.map_or(0.0, |w| w.generator_cpu);
        let cores = document.server_cores();
        let machine = Machine {
            cores: match document.plan.pinning.generator_cores.len() {
                0 => (cores - share).max(0.1),
                _ => cores,
            },
            quota: None,
            // As a trial's generator has it.
            keep_alive: Some(procedure.experiment.keep_alive),
        };
        let bench = Bench::new(application, machine).map_err(unusable)?;
        let seed = document.seed;
        Ok(Simulator { bench, seed })
    }

    /// What becomes of these configurations under saturation.
    pub fn model(&self, configs: &[Config]) -> Result<Model, String> {
        let predictions = configs.iter().map(|at| {
            Ok(Foreseen {
                workers: at.workers,
                threads: at.threads,
                capacity_per_s: self.capacity(*at)?,
                p50_ms: None,
                p99_ms: None,
            })
        });
        let predictions = predictions.collect::<Result<_, PredictError>>();
        let error = self.bench.self_check().error();
        Ok(Model {
            kind: ModelKind::Simulator,
            reason: None,
            trace: Some(ModelTrace {
                requests: self.bench.application().traced().requests as u64,
                bursts: self.bench.application().has_bursts(),
                self_check: ModelErrors {
                    mean: error.mean_ms,
                    p50: error.p50_ms,
                    p99: error.p99_ms,
                },
            }),
            predictions: predictions.map_err(|e| e.to_string())?,
            contradiction: None,
            score: None,
        })
    }

    /// Requests per second when twice as many clients as threads ask again and again: the second half of the simulation,
    /// which neither begins with an empty server nor, but for what the first half had too, ends with one.
    fn capacity(&self, at: Config) -> Result<f64, PredictError> {
        let threads = usize::from(at.processes()) * usize::from(at.threads);
        let requests = (ROUNDS * threads).clamp(FEWEST, MOST);
        let span_s = |requests: usize| -> Result<f64, PredictError> {
            let offered = OfferedLoad::Closed {
                connections: u32::try_from(2 * threads).unwrap_or(u32::MAX),
                requests,
            };
            let throughput = self.predict(at, &offered)?.figures.throughput_per_s;
            Ok(requests as f64 / throughput.max(f64::MIN_POSITIVE))
        };
        Ok(requests as f64 / (span_s(2 * requests)? - span_s(requests)?))
    }

    /// Fills in the latency at a rate, unless the configuration cannot carry it.
    pub fn foresee_latency(&self, foreseen: &mut Foreseen, rate_per_s: f64) {
        let at = Config {
            workers: foreseen.workers,
            threads: foreseen.threads,
        };
        let offered = OfferedLoad::Poisson {
            rate_per_s,
            requests: AT_RANDOM,
        };
        let found = self.predict(at, &offered).ok();
        if let Some(prediction) = found.filter(|p| !p.is_saturated()) {
            foreseen.p50_ms = Some(prediction.figures.p50_ms);
            let enough = self.bench.application().traced().requests >= LEAST_REQUESTS;
            foreseen.p99_ms = enough.then_some(prediction.figures.p99_ms);
        }
    }

    fn predict(&self, at: Config, offered: &OfferedLoad) -> Result<Prediction, PredictError> {
        let point = Point {
            processes: at.processes(),
            threads: at.threads,
        };
        self.bench.predict(point, offered, self.seed)
    }
}

/// The requests of the latency window, or, where they are too few for a p99, those of both windows. The warm-up's are
/// none of an application that is warm.
fn traced(folder: &Path, trial: &Trial) -> Result<Application, String> {
    let files = flight::find(folder).map_err(|e| e.to_string())?;
    let (Some(saturation), Some(objective)) = (&trial.saturation, &trial.objective) else {
        return Err(
            "the last trial of today's settings in the pilot measured no latency, or no full load"
                .to_owned(),
        );
    };
    let mut arrivals: Vec<u64> = flight::read_dir(folder)
        .map_err(|e| e.to_string())?
        .into_iter()
        .filter_map(|(_, snapshot)| snapshot.ok())
        .flat_map(|snapshot| snapshot.records)
        .filter(|record| !record.job)
        .map(|record| record.arrival_wall_ns)
        .collect();
    arrivals.sort_unstable();
    let of_latency = objective.requests as usize;
    let of_both = of_latency + saturation.requests as usize;
    let newest = match of_latency >= LEAST_REQUESTS {
        true => of_latency,
        false => of_both,
    };
    let selection = Selection {
        since_ns: arrivals.iter().rev().nth(newest.saturating_sub(1)).copied(),
        until_ns: None,
        application: None,
        least: LEAST_FOR_MEANS,
    };
    let application = Application::read(&files, &selection).map_err(unusable)?;
    let cpu_ns = saturation.cpu_ms_per_request * 1e6 * application.traced().requests as f64;
    Ok(application.with_process_cpu(cpu_ns as u64))
}

/// Why a pilot gives no simulator, with the flag that a user of `tune` has.
#[expect(clippy::needless_pass_by_value, reason = "map_err gives it")]
fn unusable(error: PredictError) -> String {
    let remedy = match error {
        PredictError::TooFew { .. } => {
            " in the two windows of a pilot trial together; longer windows (--window) hold more"
        }
        PredictError::Saturated { .. } => "; a lower --rate would avoid it",
        _ => "",
    };
    error.reason() + remedy
}
