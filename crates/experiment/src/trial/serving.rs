//! A server for as long as it is measured: hooks around it, its start, its warm-up, what it really runs with, its end.

use super::drive::Driver;
use super::{pages, start};
use crate::bench::Bench;
use crate::error::Failure;
use crate::flights;
use crate::generator::Generator;
use crate::pod::Pod;
use crate::progress::{Event, Watcher};
use crate::request::Arm;
use load::{HangingPage, Target, TlsOptions};
use run::{Beside, Pinning, Warmup};
use servers::Running;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What is started, and how it is warmed up.
#[derive(Debug, Clone)]
pub struct Serving<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// How long it is warmed up.
    pub warmup: WarmupLength,
    /// Connections of the closed loop.
    pub connections: u32,
    /// Response time beyond which a request is late.
    pub limit: Option<Duration>,
    /// Seed of requests and arrivals.
    pub seed: u64,
    /// Cores of either side.
    pub pinning: Pinning,
    /// Folder of its log and flight files.
    pub folder: PathBuf,
    /// Whether the agent keeps the course of every request, for the simulator.
    pub bursts: bool,
}

/// Lengths of a warm-up.
#[derive(Debug, Clone, Copy)]
pub struct WarmupLength {
    /// Of all of it, at most.
    pub longest: Duration,
    /// Of a slice; the last few of them must be alike.
    pub slice: Duration,
}

impl WarmupLength {
    /// Before windows of this length, seconds.
    pub fn before(window_s: f64, longest_s: f64) -> WarmupLength {
        WarmupLength {
            longest: Duration::from_secs_f64(longest_s),
            slice: Duration::from_secs_f64((window_s / 8.0).clamp(0.3, 1.0)),
        }
    }
}

/// What is known of the beginning, however it ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Begun {
    /// Seconds until the server answered.
    pub boot_s: Option<f64>,
    /// The warm-up.
    pub warmup: Option<Warmup>,
    /// What else was waited for.
    pub beside: Beside,
}

/// What became of the work, and of the hook after it.
#[derive(Debug)]
pub struct Ended<T> {
    result: Result<T, Failure>,
    after: Result<(), Failure>,
}

impl<T> Ended<T> {
    /// Work that counts only when the hook after it succeeded.
    pub fn with_its_hook(self) -> Result<T, Failure> {
        self.result.and_then(|value| self.after.map(|()| value))
    }

    /// What the work gave stands even when the hook after it fails: why it failed comes with it.
    pub fn whatever_its_hook_did(self) -> Result<(T, Option<String>), Failure> {
        let value = self.result?;
        let failed = match self.after {
            Err(Failure::Fatal(why) | Failure::Trial(why)) => Some(why),
            Ok(()) | Err(Failure::Interrupted) => None,
        };
        Ok((value, failed))
    }
}

/// Starts a server, warms it up and hands it over; ends it and runs the hooks around it.
pub fn with_server<T>(
    bench: &Bench<'_>,
    serving: &Serving<'_>,
    watcher: &dyn Watcher,
    begun: &mut Begun,
    work: impl FnOnce(&Driver<'_>) -> Result<T, Failure>,
) -> Result<Ended<T>, Failure> {
    let (before, after) = (
        bench.experiment.before_trial.as_deref(),
        bench.experiment.after_trial.as_deref(),
    );
    let (place, folder) = (bench.place(serving.arm), &serving.folder);
    let began = Instant::now();
    start::hook(bench, place, before, "before_trial", folder, watcher)?;
    begun.beside.hooks_s = began.elapsed().as_secs_f64();
    let result = in_its_pod(bench, serving, watcher, begun, work);
    // Whatever before_trial set up is taken down on every way out, also when the user has stopped the run.
    let began = Instant::now();
    let after = start::hook_to_its_end(bench, place, after, folder, watcher);
    begun.beside.hooks_s += began.elapsed().as_secs_f64();
    Ok(Ended { result, after })
}

/// The pod is there before the server and goes after it.
fn in_its_pod<T>(
    bench: &Bench<'_>,
    serving: &Serving<'_>,
    watcher: &dyn Watcher,
    begun: &mut Begun,
    work: impl FnOnce(&Driver<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let pod = Pod::of(&serving.arm.overlay).map_err(Failure::Fatal)?;
    let pod = pod.as_ref();
    let result = served(bench, serving, pod, watcher, begun, work);
    // A trial in which the kernel killed a process fails, even if the server went on to answer.
    match (result, pod.and_then(Pod::killed)) {
        (Ok(_), Some(killed)) => Err(Failure::Trial(killed)),
        (Err(Failure::Trial(why)), Some(killed)) => {
            Err(Failure::Trial(format!("{killed} ({why})")))
        }
        (result, _) => result,
    }
}

fn served<T>(
    bench: &Bench<'_>,
    serving: &Serving<'_>,
    pod: Option<&Pod>,
    watcher: &dyn Watcher,
    begun: &mut Begun,
    work: impl FnOnce(&Driver<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let server = start::server(bench, serving, pod, watcher, begun)?;
    // What it has connected to while it started is known before the first request of ours.
    if bench.peers.look() {
        return Err(Failure::Interrupted);
    }
    let generator = Generator {
        target: target(&server)?,
        workload: &bench.experiment.workload,
        timeout: bench.experiment.timeout,
        limit: serving.limit,
        allow_remote: false,
        cores: &serving.pinning.generator_cores,
        server: Some(&server),
        watcher,
        sender: &bench.sender,
    };
    let settled = generator.settle_https();
    let driver = Driver::new(generator, &server, serving, pod);
    let result = settled
        .and_then(|hung| warmed_up(bench, &driver, serving, watcher, begun, hung.as_ref()))
        .and_then(|()| work(&driver));
    let died = server.alive().err().map(|died| died.to_string());
    begun.beside.draining_s = driver.drained_s();
    drop(driver);
    // A connection that the server keeps is seen here even where the host was too busy for a look meanwhile.
    let refused = bench.peers.look();
    let ending = Instant::now();
    server.stop();
    begun.beside.ending_s = ending.elapsed().as_secs_f64();
    match (result, died) {
        _ if refused => Err(Failure::Interrupted),
        (Err(Failure::Trial(_)), Some(died)) => Err(Failure::Trial(died)),
        (result, _) => result,
    }
}

/// Where clients ask; a proxy in front of the server may speak TLS.
fn target(server: &Running) -> Result<Target, Failure> {
    let Some(certificate) = server.certificate() else {
        return Ok(server.addr().into());
    };
    let tls = TlsOptions {
        cacert: Some(certificate.to_owned()),
        ..TlsOptions::default()
    };
    let url = format!("{}://{}/", server.scheme(), server.addr());
    let target = Target::from_url(&url, &tls);
    target
        .map(|(target, _)| target)
        .map_err(|e| Failure::Trial(e.to_string()))
}

fn warmed_up(
    bench: &Bench<'_>,
    driver: &Driver<'_>,
    serving: &Serving<'_>,
    watcher: &dyn Watcher,
    begun: &mut Begun,
    hung: Option<&HangingPage>,
) -> Result<(), Failure> {
    watcher.on(Event::Phase("warming up"));
    let (warmup, outcome) = driver.warm_up()?;
    begun.warmup = Some(warmup);
    answers(driver, &outcome, hung)?;
    let recorded = serving.folder.join(flights::FOLDER);
    start::not_taken(bench, driver.server(), &recorded, serving.arm, driver.pod())
        .map_or(Ok(()), |why| Err(Failure::Trial(why)))
}

/// A server that answers nothing, or a workload with a broken page, is not worth measuring.
fn answers(
    driver: &Driver<'_>,
    warm_up: &load::Outcome,
    hung: Option<&HangingPage>,
) -> Result<(), Failure> {
    pages::answer_after(hung, warm_up, "while warming up", Some(driver.server()))?;
    if warm_up.counts.ok > 0 {
        return Ok(());
    }
    let why = warm_up
        .first_error
        .as_deref()
        .unwrap_or("no request was answered in time");
    Err(Failure::Trial(format!(
        "not one good answer while warming up: {why}; ask these paths by hand, or change the workload"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_that_fails_afterwards_takes_no_result_away_where_it_is_not_wanted() {
        let ended = |result| Ended {
            result,
            after: Err(Failure::Fatal("exit status 3".to_owned())),
        };
        let (value, why) = ended(Ok(7)).whatever_its_hook_did().unwrap();
        assert_eq!((value, why.as_deref()), (7, Some("exit status 3")));
        assert!(matches!(
            ended(Err(Failure::Interrupted)).whatever_its_hook_did(),
            Err(Failure::Interrupted)
        ));
        assert!(matches!(
            ended(Ok(7)).with_its_hook(),
            Err(Failure::Fatal(_))
        ));
        assert!(matches!(
            ended(Err(Failure::Interrupted)).with_its_hook(),
            Err(Failure::Interrupted)
        ));
    }
}
