//! What was predicted, as the document has it.

use super::ask::Wanted;
use super::memory::Fitted;
use super::words;
use ::predict::{Bench, Known, Question, Surveyed, WhatIf, smallest_enough};
use capacity::Config;
use run::predict::{
    Answer, Asked, AtObjective, Costs, CostsFrom, Document, Figures, Memory, Objective, Point,
    Rate, SCHEMA, SelfCheck, Size, Steps, Traced,
};
use std::path::PathBuf;

/// What was predicted, and what memory was fitted.
pub struct Found {
    pub points: Vec<Surveyed>,
    /// The traced configuration without what is supposed.
    pub today: Option<Surveyed>,
    pub memory: Option<Fitted>,
}

pub fn document(
    sources: &[PathBuf],
    bench: &Bench,
    wanted: &Wanted,
    question: &Question,
    found: &Found,
) -> Document {
    let Found {
        points: surveyed,
        today,
        memory,
    } = found;
    let described = |found: &Surveyed| point(found, memory.as_ref(), wanted.memory_bytes);
    let points: Vec<Point> = surveyed.iter().map(described).collect();
    let fits = |size: ::predict::Point| {
        let of = points.iter().find(|p| p.size == self::size(size));
        of.is_none_or(|point| point.fits != Some(false))
    };
    let check = bench.self_check();
    let failed = check.failed();
    let begin = match failed {
        true => None,
        false => smallest_enough(surveyed, question.objective.is_some(), fits),
    };
    let none_fits = !points.is_empty() && points.iter().all(|point| point.fits == Some(false));
    let none_meets = question.objective.is_some() && begin.is_none();
    let mut document = Document {
        schema: SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        sources: sources.iter().map(|s| s.display().to_string()).collect(),
        sentence: String::new(),
        traced: traced(bench),
        self_check: SelfCheck {
            recorded: figures(&check.recorded),
            predicted: figures(&check.predicted),
            error: figures(&check.error()),
            model_error: figures(&bench.model_error().0),
            most_apart: figures(&::predict::SelfCheck::most_apart()),
            failed,
            causes: bench.causes().iter().map(words::cause).collect(),
        },
        asked: asked(bench, wanted, question),
        today: today.as_ref().map(described),
        begin_with: begin.map(|found| size(found.point)),
        points,
        memory: memory.as_ref().map(|fitted| Memory {
            shared_bytes: fitted.model.shared_bytes as u64,
            per_process_bytes: fitted.model.per_worker_bytes as u64,
            per_thread_bytes: fitted.model.per_thread_bytes as u64,
            from: fitted.from.clone(),
        }),
        assumptions: bench
            .application()
            .assumptions()
            .iter()
            .map(ToString::to_string)
            .collect(),
        warnings: Vec::new(),
        exit_code: match failed {
            true => 3,
            false => u8::from(none_fits || none_meets),
        },
    };
    let connections_known =
        bench.machine().keep_alive.is_some() || bench.application().costs().kept.is_some();
    let around = words::assumptions(&document, connections_known);
    document.assumptions.extend(around);
    document.warnings = words::warnings(&document);
    document.sentence = words::sentence(&document);
    document
}

fn traced(bench: &Bench) -> Traced {
    let traced = bench.application().traced();
    let patterns = bench.application().patterns();
    let costs = bench.application().costs();
    let us = |ns: u64| ns as f64 / 1e3;
    Traced {
        server: traced.server.name.clone(),
        ruby: traced.ruby.clone(),
        processes: traced.processes,
        threads: traced.threads,
        requests: traced.requests as u64,
        span_s: traced.span_s,
        rate_per_s: traced.rate_per_s,
        utilisation_gvl: traced.utilisation_gvl,
        utilisation_threads: traced.utilisation_threads,
        busy_cores: traced.busy_cores,
        in_service: traced.in_service,
        held_ms: traced.held_ms,
        io_ms: traced.io_ms,
        lock_wait_ms: traced.lock_wait_ms,
        gvl_wait_ms: traced.gvl_wait_ms,
        cpu_ms: traced.cpu_ms,
        queue_ms: traced.queue_ms,
        steps: Steps {
            own: patterns.own as u64,
            borrowed: patterns.borrowed as u64,
            typical: patterns.typical as u64,
        },
        costs: Costs {
            accept_us: us(costs.accept_ns),
            reactor_us: us(costs.reactor_ns),
            from: match costs.front {
                Known::Events => CostsFrom::Events,
                Known::ProcessCpu => CostsFrom::ProcessCpu,
                Known::Assumed => CostsFrom::Assumed,
            },
            way_in_us: costs.way_in_ns.map(us),
            server_us: us(costs.server_ns),
            hand_over_us: costs.hand_over_ns.map(us),
        },
    }
}

fn asked(bench: &Bench, wanted: &Wanted, question: &Question) -> Asked {
    let machine = bench.machine();
    let kept = bench.application().costs().kept;
    let what_if = wanted.what_if;
    Asked {
        rates_per_s: question.rates_per_s.clone(),
        rates_chosen: wanted.rates_per_s.is_none(),
        cores: machine.cores,
        quota_cores: machine
            .quota
            .map(|quota| quota.quota_ns as f64 / quota.period_ns as f64),
        keep_alive: machine.keep_alive.or(kept).unwrap_or(false),
        objective: question.objective.map(|objective| Objective {
            percentile: objective.percentile,
            limit_ms: objective.limit_ms,
        }),
        memory_bytes: wanted.memory_bytes,
        what_if: (what_if != WhatIf::default()).then_some(run::predict::WhatIf {
            io: what_if.io,
            cpu: what_if.cpu,
            traffic: what_if.traffic,
            cores: what_if.cores,
        }),
        requests: question.requests as u32,
        draws: question.draws,
        seed: question.seed,
    }
}

fn point(found: &Surveyed, memory: Option<&Fitted>, limit_bytes: Option<u64>) -> Point {
    let config = Config {
        workers: found.point.processes,
        threads: found.point.threads,
    };
    let memory_bytes = memory.map(|fitted| fitted.model.predict(config) as u64);
    Point {
        size: size(found.point),
        most_per_s: found.most_per_s,
        knee_per_s: found.knee_per_s,
        objective: found.objective.map(|at| AtObjective {
            rate_per_s: at.rate_per_s,
            low_per_s: at.low_per_s,
            high_per_s: at.high_per_s,
        }),
        add_at_per_s: found.add_at_per_s,
        memory_bytes,
        fits: memory_bytes
            .zip(limit_bytes)
            .map(|(own, limit)| own <= limit),
        rates: found
            .rates
            .iter()
            .map(|at| Rate {
                rate_per_s: at.rate_per_s,
                answer: at.answer.as_ref().map(|(found, within)| Answer {
                    figures: figures(&found.figures),
                    low: figures(&within.low),
                    high: figures(&within.high),
                    queue_ms: found.queue_ms,
                    gvl_wait_ms: found.gvl_wait_ms,
                    core_wait_ms: found.core_wait_ms,
                    cpu_ms: found.cpu_ms,
                    utilisation_gvl: found.utilisation_gvl,
                    utilisation_cores: found.utilisation_cores,
                    utilisation_threads: found.utilisation_threads,
                }),
                meets: at.meets,
            })
            .collect(),
    }
}

fn size(point: ::predict::Point) -> Size {
    Size {
        processes: point.processes,
        threads: point.threads,
    }
}

fn figures(found: &::predict::Figures) -> Figures {
    Figures {
        throughput_per_s: found.throughput_per_s,
        mean_ms: found.mean_ms,
        p50_ms: found.p50_ms,
        p95_ms: found.p95_ms,
        p99_ms: found.p99_ms,
    }
}
