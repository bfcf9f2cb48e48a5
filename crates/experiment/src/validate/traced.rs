//! The one trace that everything is predicted from: the server at its own configuration, with the course of its requests
//! recorded, under Poisson arrivals.

use super::cold::{self, Half, Loops};
use super::window::{Seen, Traffic, drive, kinds};
use super::{LEAST_REQUESTS, Question};
use crate::bench::Bench;
use crate::error::{Failure, Stopped};
use crate::progress::{Event, Watcher};
use crate::room;
use crate::trial::{Begun, Ended, Serving, with_server};
use crate::{discard, flights};
use host::Cores;
use predict::{Application, Cold, ColdMeasured, Machine, Selection};
use run::validation;
use run::{Settings, Warmup};
use std::path::Path;
use std::time::Duration;

/// Requests that a process keeps in full: the whole trace at any rate that a Rails application reaches.
pub const RING: u32 = 131_072;

/// For so long everything that the server's own threads do is recorded, too: what accepting takes is learnt from that.
const EVENTS: Duration = Duration::from_secs(10);

/// What is known after the trace.
#[derive(Debug)]
pub struct Traced {
    pub application: predict::Bench,
    pub cores: Cores,
    /// CPU time of each request outside the server: the generator's and the services'.
    pub outside: Duration,
    /// As the generator sends.
    pub keep_alive: bool,
    /// Which request of the workload each was, where that is known.
    pub kinds: Option<Vec<u32>>,
    pub document: validation::Trace,
    pub versions: std::collections::BTreeMap<String, String>,
    pub warnings: Vec<String>,
    /// From starting the server to its first window, seconds.
    pub start_s: f64,
}

impl Traced {
    /// The machine that the server has when so many requests come.
    pub fn machine(&self, rate_per_s: f64) -> Machine {
        machine(&self.cores, self.outside, rate_per_s, self.keep_alive)
    }
}

fn machine(cores: &Cores, outside: Duration, rate_per_s: f64, keep_alive: bool) -> Machine {
    const PERIOD_NS: u64 = 100_000_000;
    let all = cores.affinity.len() as f64;
    let quota = cores.quota.filter(|quota| *quota < all);
    Machine {
        cores: (all - rate_per_s * outside.as_secs_f64()).max(0.1),
        quota: quota.map(|quota| capacity::sim::Quota {
            quota_ns: (quota * PERIOD_NS as f64) as u64,
            period_ns: PERIOD_NS,
        }),
        keep_alive: Some(keep_alive),
    }
}

/// Starts the server, warms it up, and traces it.
pub fn trace(
    bench: &mut Bench<'_>,
    serving: &Serving<'_>,
    question: &Question,
    watcher: &dyn Watcher,
) -> Result<Traced, Stopped> {
    let cores = host::cores::available();
    let cores = cores.map_err(|e| Stopped::NoAnswer(e.to_string()))?;
    let own = bench.own.env.clone();
    bench
        .own
        .env
        .insert(room::RING_VARIABLE.to_owned(), RING.to_string());
    let flight_dir = serving.folder.join(flights::FOLDER);
    let mut begun = Begun::default();
    let result = with_server(bench, serving, watcher, &mut begun, |driver| {
        let given = bench.experiment.rate;
        let loops = match cold::can_move(serving.arm.settings.workers, &cores) {
            true => Some(cold::measure(
                driver,
                &flight_dir,
                serving,
                question,
                &cores,
                watcher,
            )?),
            false => None,
        };
        let saturated = match (given, &loops) {
            (Some(_), _) => None,
            (None, Some(Ok(loops))) => Some(loops.crowded_per_s),
            (None, _) => {
                watcher.on(Event::Phase("saturating, to know a rate"));
                let closed = Traffic::Closed {
                    connections: serving.connections,
                };
                let seen = drive(driver, &flight_dir, &closed, question.window, serving.seed)?;
                Some(seen.outcome.throughput_per_s())
            }
        };
        let rate_per_s = given
            .or(saturated.map(|x| x * question.trace_load))
            .unwrap_or(0.0);
        if rate_per_s <= 0.0 {
            let why = "nothing was answered before the trace; its log says why";
            return Err(Failure::Trial(why.to_owned()));
        }
        let least_s = LEAST_REQUESTS / rate_per_s;
        let length = question.trace.max(Duration::from_secs_f64(least_s));
        watcher.on(Event::Note(format!(
            "tracing {} at {rate_per_s:.1} a second for {:.0} s",
            serving.arm.settings,
            length.as_secs_f64()
        )));
        watcher.on(Event::Phase("tracing"));
        let events = crate::events::record(&flight_dir, EVENTS.min(length));
        events.map_err(|e| Failure::Trial(e.to_string()))?;
        let seed = super::mixed(serving.seed, 0, 0);
        let open = Traffic::Open { rate_per_s, seed };
        let seen = drive(driver, &flight_dir, &open, length, serving.seed)?;
        let rates = Rates {
            rate_per_s,
            saturated_per_s: saturated,
        };
        Ok((seen, rates, loops))
    });
    bench.own.env = own;
    let (seen, rates, loops) = result.and_then(Ended::with_its_hook)?;
    let found = Found {
        seen: &seen,
        rates,
        cores,
        loops: loops.as_ref().and_then(|loops| loops.as_ref().ok()),
    };
    let mut traced = read(bench, serving, &flight_dir, &found)?;
    discard::discard(&serving.folder, bench.experiment);
    if let Some(Err(why)) = loops {
        let unknown = "what it costs that threads move between cores is not known";
        traced.warnings.push(format!("trace: {unknown}: {why}"));
    }
    traced.warnings.extend(unsteady(begun.warmup.as_ref()));
    let warmed_s = begun.warmup.map_or(0.0, |warmup| warmup.seconds);
    traced.start_s = begun.boot_s.unwrap_or(0.0) + warmed_s + super::SETTLING_S;
    Ok(traced)
}

struct Rates {
    rate_per_s: f64,
    saturated_per_s: Option<f64>,
}

/// What the server showed.
struct Found<'a> {
    seen: &'a Seen,
    rates: Rates,
    cores: Cores,
    loops: Option<&'a Loops>,
}

fn read(
    bench: &Bench<'_>,
    serving: &Serving<'_>,
    flight_dir: &Path,
    found: &Found<'_>,
) -> Result<Traced, Stopped> {
    let Found { seen, cores, .. } = found;
    if let Some(why) = seen.broken() {
        return Err(Stopped::NoAnswer(format!("the trace says nothing: {why}")));
    }
    let no_answer = |why: &dyn std::fmt::Display| Stopped::NoAnswer(why.to_string());
    let files = flight::find(flight_dir).map_err(|e| no_answer(&e))?;
    let selection = Selection {
        // Warm-up and closed loop are over by then: every answer was awaited.
        since_ns: Some(seen.outcome.wall_started_ns),
        ..Selection::default()
    };
    let application = Application::read(&files, &selection).map_err(|e| no_answer(&e))?;
    let mut application = application.with_process_cpu(nanos(seen.server_cpu));
    let generator = seen.outcome.generator_cpu_per_request().unwrap_or_default();
    let completed = seen.outcome.counts.completed.max(1) as u32;
    let services = seen.services_cpu / completed;
    let outside = generator + services;
    let on = |rate_per_s: f64| machine(cores, outside, rate_per_s, bench.experiment.keep_alive);
    let traced_on = on(found.rates.rate_per_s);
    if let Some(loops) = found.loops {
        let measured = ColdMeasured {
            connections: serving.connections,
            crowded_on: on(loops.crowded_per_s),
            alone_on: on(loops.alone_per_s),
            beyond_ns: loops.halves.iter().map(beyond_ns).collect(),
        };
        application = application
            .with_cold_measured(traced_on, &measured)
            .map_err(|e| no_answer(&e))?;
    }
    let sent = seen.outcome.counts.scheduled as usize;
    let recorded = application.work().len();
    let marks = seen.marks().into_iter().chain(seen.late());
    let mut warnings: Vec<String> = marks.map(|mark| format!("trace: {mark}")).collect();
    // The nth request that the agent saw is the nth that was sent, where it saw them all.
    let kinds = kinds(&bench.experiment.workload, serving.seed, sent).filter(|_| recorded == sent);
    if kinds.is_none() {
        warnings.push(format!(
            "which request of the workload each one was is not known ({recorded} recorded, {sent} sent, or they belong to \
             sessions): predictions take them in the order of the trace"
        ));
    }
    let application = predict::Bench::new(application, traced_on).map_err(|e| no_answer(&e))?;
    let settings = serving.arm.settings;
    let document = document(&application, settings, found, (generator, services));
    Ok(Traced {
        versions: flights::versions(&flights::counters(flight_dir)),
        application,
        cores: cores.clone(),
        outside,
        keep_alive: bench.experiment.keep_alive,
        kinds,
        document,
        warnings,
        start_s: 0.0,
    })
}

fn document(
    bench: &predict::Bench,
    settings: Settings,
    found: &Found<'_>,
    (generator, services): (Duration, Duration),
) -> validation::Trace {
    let application = bench.application();
    let traced = application.traced();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    validation::Trace {
        settings,
        rate_per_s: found.rates.rate_per_s,
        seconds: found.seen.outcome.window().as_secs_f64(),
        requests: traced.requests as u64,
        with_bursts: application.patterns().own as u64,
        saturated_per_s: found.rates.saturated_per_s,
        utilisation_gvl: traced.utilisation_gvl,
        utilisation_threads: traced.utilisation_threads,
        cores: found.cores.effective,
        generator_ms: ms(generator),
        services_ms: ms(services),
        accept_ms: application.costs().accept_ns as f64 / 1e6,
        moving: found.loops.map(|loops| moving(application, loops)),
        recorded: super::scored::figures(&bench.self_check().recorded),
        predicted: super::scored::figures(&bench.self_check().predicted),
        assumptions: application
            .assumptions()
            .iter()
            .map(ToString::to_string)
            .collect(),
    }
}

/// What a request takes beyond one of a server that cannot move: in a busy loop, and alone.
fn beyond_ns(half: &Half) -> [f64; 2] {
    let pinned_s = half.pinned.as_secs_f64();
    [half.crowded, half.alone].map(|cpu| (cpu.as_secs_f64() - pinned_s) * 1e9)
}

fn moving(application: &Application, loops: &Loops) -> validation::Moving {
    let mean_ms = |of: fn(&Half) -> Duration| {
        let sum_s: f64 = loops.halves.iter().map(|half| of(half).as_secs_f64()).sum();
        sum_s * 1e3 / loops.halves.len() as f64
    };
    let ms = |ns: u64| ns as f64 / 1e6;
    let cost = |cold: &Cold| validation::MovingCost {
        hand_over_ms: ms(cold.hand_over_ns),
        wake_ms: ms(cold.wake_ns),
    };
    validation::Moving {
        crowded_ms: mean_ms(|half| half.crowded),
        pinned_ms: mean_ms(|half| half.pinned),
        alone_ms: mean_ms(|half| half.alone),
        cost: cost(&application.costs().cold.unwrap_or_default()),
        of_halves: application.cold_draws().iter().map(cost).collect(),
    }
}

fn unsteady(warmup: Option<&Warmup>) -> Option<String> {
    let warmup = warmup.filter(|warmup| !warmup.steady)?;
    Some(format!(
        "trace: latency, CPU per request or memory was not flat after {:.0} s of warm-up",
        warmup.seconds
    ))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_works_outside_the_server_leaves_it_less_of_the_cores() {
        let cores = |quota| Cores {
            affinity: vec![0, 1],
            quota,
            effective: 2.0,
        };
        let outside = Duration::from_micros(500);
        let found = machine(&cores(None), outside, 200.0, false);
        assert!((found.cores - 1.9).abs() < 1e-12 && found.quota.is_none());
        let limited = machine(&cores(Some(1.5)), outside, 0.0, false);
        assert_eq!(limited.cores, 2.0);
        assert_eq!(
            limited.quota.map(|q| (q.quota_ns, q.period_ns)),
            Some((150_000_000, 100_000_000))
        );
        assert!(machine(&cores(Some(4.0)), outside, 1e9, false).cores > 0.0);
    }
}
