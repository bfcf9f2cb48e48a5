//! Predictions scored against what servers really do: one trace at one configuration, and from it what others would do;
//! then those, each in servers of its own, under arrivals that the simulator is given too.
//!
//! A block holds every held-out configuration once, in random order. Each is one server start and warm-up, a closed loop
//! (its capacity) and an open loop at each load, these in random order, too.

mod cold;
mod pinned;
mod points;
mod progress;
mod scored;
mod scores;
mod traced;
mod window;

use crate::bench::{Bench, Installation};
use crate::described;
use crate::error::{Failure, Stopped};
use crate::idle_threads::{self, Waited};
use crate::layout;
use crate::peers::{self, Peers};
use crate::progress::{Event, Watcher};
use crate::request::{Arm, Experiment};
use crate::room;
use crate::trial::{Begun, Ended, Serving, WarmupLength, with_server};
use crate::{discard, flights, spoiled};
use capture::mix64;
use points::{Grid, Lengths};
use predict::{Kinds, OfferedLoad, Point, PredictError};
use progress::ValidationProgress;
use run::Settings;
use run::validation::{Document, SCHEMA, Trial};
use scored::Predicted;
use std::path::{Path, PathBuf};
use std::time::Duration;
use traced::Traced;
use window::Traffic;

/// Requests of a trace, at least: the predictor takes no fewer than 500.
const LEAST_REQUESTS: f64 = 700.0;
/// Longest warm-up, seconds.
const WARMUP_S: f64 = 20.0;
/// Waiting for a server to be quiet, and its end, seconds.
const SETTLING_S: f64 = 3.0;
/// Other traces that might have been, of which the intervals are made.
const DRAWS: u32 = 20;
/// Requests of a simulated closed loop: its mean is then good to about a percent.
const CLOSED_REQUESTS: usize = 10_000;

/// What is to be predicted and tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Rates, as shares of each configuration's predicted capacity.
    pub loads: Vec<f64>,
    /// How often each configuration is measured.
    pub blocks: u32,
    /// Length of a window.
    pub window: Duration,
    /// Length of the trace.
    pub trace: Duration,
    /// Rate of the trace, as a share of what a closed loop shows, unless the experiment has a rate.
    pub trace_load: f64,
}

/// Traces, predicts, measures and scores.
///
/// # Errors
/// A server that cannot be started or traced; a trace from which nothing can be predicted; an interruption before the first
/// window was scored.
pub fn validate(
    experiment: &Experiment,
    installation: &Installation,
    folder: &Path,
    question: &Question,
    started_at: &str,
    watcher: &dyn Watcher,
) -> Result<Document, Stopped> {
    let (document, refused) = peers::watched(experiment, watcher, |peers| {
        validated(
            experiment,
            installation,
            folder,
            question,
            started_at,
            peers,
        )
    });
    refused.map_or(document, Err)
}

fn validated(
    experiment: &Experiment,
    installation: &Installation,
    folder: &Path,
    question: &Question,
    started_at: &str,
    peers: &Peers<'_>,
) -> Result<Document, Stopped> {
    let watcher: &dyn Watcher = peers;
    // Before anything of ours keeps the machine busy.
    let host = described::host_of_run();
    let spoiled = spoiled::tell(watcher);
    room::check_trace(experiment, folder, traced::RING, watcher)?;
    let mut bench = Bench::set_up(experiment, installation, folder, peers)?;
    let configured = experiment
        .baseline
        .or_else(|| bench.own.configured_settings());
    let settings = configured.unwrap_or(Settings::PUMA_DEFAULT);
    let cores = host::cores::available().map_or(1.0, |cores| cores.effective);
    let grid = Grid {
        workers: experiment.workers.clone(),
        threads: experiment.threads.clone(),
    };
    let points = points::held_out(settings, cores, grid).map_err(Stopped::Configuration)?;
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let held_out = points.len() as u32 * question.blocks;
    let mut progress = ValidationProgress::new(watcher, question, held_out);
    progress.tell(&format!(
        "{}, each in {}",
        run::counted(points.len(), "configuration"),
        run::counted(question.blocks, "block")
    ));
    progress.step(&format!("tracing {settings}"));
    let kept = Kept::of(settings, experiment, question, folder.join("trace"));
    make(&kept.folder)?;
    let tracing = Serving {
        bursts: true,
        ..kept.serving()
    };
    let traced = traced::trace(&mut bench, &tracing, question, watcher)?;
    progress.traced(traced.start_s);
    let mut seen = Measured::default();
    let measured = blocks(
        &bench,
        question,
        &points,
        &folder,
        &traced,
        &mut progress,
        &mut seen,
    );
    let Measured { trials, waited } = seen;
    let mut warnings = [traced.warnings.clone(), bench.sender.warnings(), spoiled].concat();
    match measured {
        Ok(()) => {}
        Err(Stopped::Interrupted) if !trials.is_empty() => {
            warnings.push("interrupted: fewer blocks than were to be".to_owned());
        }
        Err(stopped) => return Err(stopped),
    }
    if bench.sender.sending().keep_alive && idle_threads::reach_puma(experiment) {
        warnings.extend(idle_threads::sentence(waited));
    }
    let unmeasured = trials
        .iter()
        .filter_map(|t| t.refused.as_deref().map(|why| (t, why)));
    warnings
        .extend(unmeasured.map(|(t, why)| format!("{}, {}: {why}", t.settings, window_words(t))));
    let cells = scores::cells(&trials);
    let scores = scores::scores(&trials, &cells);
    let sentence = scores::sentence(&scores, settings, &cells);
    Ok(Document {
        schema: SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: String::new(),
        started_at: started_at.to_owned(),
        elapsed_s: watcher.elapsed().as_secs_f64(),
        seed: experiment.seed,
        host,
        versions: traced.versions,
        app_dir: experiment.app_dir.display().to_string(),
        workload: described::workload(experiment),
        sending: Some(bench.sender.sending()),
        trace: traced.document,
        window_s: question.window.as_secs_f64(),
        blocks: question.blocks,
        exit_code: if sentence.is_some() { 0 } else { 3 },
        sentence: sentence
            .unwrap_or_else(|| "No window counts, so that nothing was scored.".to_owned()),
        trials,
        cells,
        scores,
        warnings,
    })
}

/// What servers of held-out configurations did.
#[derive(Debug, Default)]
struct Measured {
    trials: Vec<Trial>,
    /// Of the closed loops.
    waited: Vec<Waited>,
}

/// Which of a configuration's windows a warning is about.
fn window_words(trial: &Trial) -> String {
    let load = match trial.load {
        Some(share) => format!("{:.0} % load", share * 100.0),
        None => "closed loop".to_owned(),
    };
    format!("{load} in block {}", trial.block)
}

fn blocks(
    bench: &Bench<'_>,
    question: &Question,
    points: &[Settings],
    folder: &Path,
    traced: &Traced,
    progress: &mut ValidationProgress<'_>,
    measured: &mut Measured,
) -> Result<(), Stopped> {
    let orders = stats::block_orders(
        points.len(),
        question.blocks as usize,
        bench.experiment.seed,
    );
    for (block, order) in (1..).zip(orders) {
        for nth in order {
            if progress.watcher.cancelled() {
                return Err(Stopped::Interrupted);
            }
            let settings = points[nth];
            progress.step(&format!("block {block}/{}: {settings}", question.blocks));
            let place = Place {
                block,
                nth: nth as u32,
                settings,
            };
            let found = server(
                bench,
                question,
                place,
                folder,
                traced,
                progress.watcher,
                measured,
            );
            progress.server_done();
            found?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Place {
    block: u32,
    /// Of the configuration among all.
    nth: u32,
    settings: Settings,
}

impl Place {
    fn trial(self, load: Option<f64>) -> Trial {
        Trial {
            block: self.block,
            settings: self.settings,
            load,
            rate_per_s: None,
            refused: None,
            marks: Vec::new(),
            requests: 0,
            utilisation: 0.0,
            predicted: None,
            measured: None,
            error: None,
            predicted_parts: None,
            measured_parts: None,
        }
    }
}

/// One server of a held-out configuration: its windows in an order of their own.
fn server(
    bench: &Bench<'_>,
    question: &Question,
    place: Place,
    folder: &Path,
    traced: &Traced,
    watcher: &dyn Watcher,
    measured: &mut Measured,
) -> Result<(), Stopped> {
    let arm = Arm::of(place.settings);
    let folder = folder
        .join("trials")
        .join(format!("block{}-{}", place.block, arm.name));
    make(&folder)?;
    let kept = Kept::of(place.settings, bench.experiment, question, folder);
    let serving = kept.serving();
    let flight_dir = serving.folder.join(flights::FOLDER);
    let seed = mixed(serving.seed, place.block, place.nth);
    let closed = capacity(traced, place.settings, serving.connections).map_err(no_answer)?;
    let capacity_per_s = closed.prediction.figures.throughput_per_s;
    let loads = question.loads.iter().copied().map(Some);
    let windows: Vec<Option<f64>> = std::iter::once(None).chain(loads).collect();
    let order = stats::block_orders(windows.len(), 1, seed).swap_remove(0);
    let mut begun = Begun::default();
    let before = measured.trials.len();
    let result = with_server(bench, &serving, watcher, &mut begun, |driver| {
        for nth in order {
            let load = windows[nth];
            let traffic = match load {
                None => Traffic::Closed {
                    connections: serving.connections,
                },
                Some(load) => Traffic::Open {
                    rate_per_s: load * capacity_per_s,
                    seed: mixed(seed, 1, nth as u32),
                },
            };
            watcher.on(Event::Phase(match load {
                None => "closed loop",
                Some(_) => "open loop",
            }));
            let seen = window::drive(driver, &flight_dir, &traffic, question.window, serving.seed)?;
            if load.is_none() {
                let split = flights::split(&seen.flight, true);
                let seconds = seen.outcome.window().as_secs_f64();
                measured
                    .waited
                    .extend(Waited::of(place.settings, &split, seconds));
            }
            let mut trial = place.trial(load);
            let predicted = match &traffic {
                Traffic::Closed { .. } => Ok(closed.clone()),
                Traffic::Open { rate_per_s, .. } => {
                    trial.rate_per_s = Some(*rate_per_s);
                    let due_ns = traffic.due_ns(question.window);
                    open(
                        bench,
                        traced,
                        place.settings,
                        *rate_per_s,
                        due_ns,
                        serving.seed,
                    )
                }
            };
            let predicted = predicted.map_err(|e| Failure::Fatal(e.to_string()))?;
            let trial = scored::score(trial, &seen, &predicted, seed);
            watcher.on(Event::Scored { trial: &trial });
            measured.trials.push(trial);
        }
        Ok(())
    });
    if let Some(warmup) = begun.warmup.filter(|warmup| !warmup.steady) {
        let mark = format!("not flat after {:.0} s of warm-up", warmup.seconds);
        measured.trials[before..]
            .iter_mut()
            .for_each(|trial| trial.marks.push(mark.clone()));
    }
    discard::discard(&serving.folder, bench.experiment);
    match result.and_then(Ended::with_its_hook) {
        Ok(()) => Ok(()),
        // The others go on.
        Err(Failure::Trial(why)) => {
            let mut trial = place.trial(None);
            trial.refused = Some(why);
            watcher.on(Event::Scored { trial: &trial });
            measured.trials.push(trial);
            Ok(())
        }
        Err(failure) => Err(failure.into()),
    }
}

/// What a closed loop would show, with what the generator leaves of the machine at that rate.
fn capacity(
    traced: &Traced,
    settings: Settings,
    connections: u32,
) -> Result<Predicted, PredictError> {
    let offered = OfferedLoad::Closed {
        connections,
        requests: CLOSED_REQUESTS,
    };
    let point = points::point(settings);
    let mut rate_per_s = 0.0;
    // The rate takes from the cores, and the cores from the rate: twice is enough where that is a few per cent.
    for _ in 0..2 {
        let bench = traced.application.on(traced.machine(rate_per_s));
        rate_per_s = bench.predict(point, &offered, 0)?.figures.throughput_per_s;
    }
    let bench = traced.application.on(traced.machine(rate_per_s));
    let (prediction, within) = bench.predict_within(point, &offered, 0, DRAWS)?;
    Ok(Predicted { prediction, within })
}

/// What these arrivals would be answered, each as the very request that it was.
fn open(
    bench: &Bench<'_>,
    traced: &Traced,
    settings: Settings,
    rate_per_s: f64,
    due_ns: Vec<u64>,
    sequence: u64,
) -> Result<Predicted, PredictError> {
    let workload = &bench.experiment.workload;
    let of_trial = window::kinds(workload, sequence, due_ns.len());
    let kinds = of_trial.zip(traced.kinds.clone());
    let trial = predict::Trial {
        arrivals_ns: due_ns,
        kinds: kinds.map(|(trial, traced)| Kinds { trial, traced }),
    };
    let point: Point = points::point(settings);
    let machine = traced.machine(rate_per_s);
    let found = traced
        .application
        .on(machine)
        .predict_trial(point, &trial, 0, DRAWS);
    found.map(|(prediction, within)| Predicted { prediction, within })
}

/// What a serving borrows, and what all of them have in common.
struct Kept {
    arm: Arm,
    connections: u32,
    warmup: WarmupLength,
    seed: u64,
    folder: PathBuf,
}

impl Kept {
    fn of(
        settings: Settings,
        experiment: &Experiment,
        question: &Question,
        folder: PathBuf,
    ) -> Kept {
        Kept {
            arm: Arm::of(settings),
            connections: 2 * settings.concurrency(),
            warmup: WarmupLength::before(question.window.as_secs_f64(), WARMUP_S),
            seed: experiment.seed,
            folder,
        }
    }

    fn serving(&self) -> Serving<'_> {
        Serving {
            arm: &self.arm,
            warmup: self.warmup,
            connections: self.connections,
            limit: None,
            seed: self.seed,
            pinning: layout::shared("the server has every core"),
            folder: self.folder.clone(),
            bursts: false,
        }
    }
}

fn make(folder: &Path) -> Result<(), Stopped> {
    std::fs::create_dir_all(folder).map_err(|e| {
        let shown = folder.display();
        Stopped::Configuration(format!(
            "cannot create {shown}: {e}; name another folder with --runs"
        ))
    })
}

fn no_answer(error: PredictError) -> Stopped {
    Stopped::NoAnswer(error.to_string())
}

/// Seeds that have nothing to do with each other.
fn mixed(seed: u64, block: u32, nth: u32) -> u64 {
    mix64(seed ^ u64::from(block) << 32 ^ u64::from(nth) ^ 0x9e37_79b9_7f4a_7c15)
}
