//! From arguments to a plan: every value checked, all problems reported at once.

use super::assertions::{self, Limit};
use super::found::Found;
use super::mode::{mode, warm};
use super::{requests, target};
use crate::args::LoadArgs;
use experiment::config::{
    Asked, Problem, Recording, parse_duration, parse_headers, parse_latency, parse_whole,
};
use experiment::sending::sending;
use load::{Arrivals, Mode, Plan, Spacing, Think};
use run::LatencyObjective;
use run::load as document;
use std::time::Duration;

/// What will be done.
#[derive(Debug)]
pub struct Order {
    /// The measured load.
    pub plan: Plan,
    /// Load before it that is not counted.
    pub warmup: Option<Plan>,
    /// What the response times are held against.
    pub objective: Option<LatencyObjective>,
    /// Limits not to be exceeded.
    pub limits: Vec<Limit>,
    /// The same for the document.
    pub asked: document::Asked,
    /// What is to be known of a recording.
    pub notes: Vec<String>,
}

/// Checks everything. `share`: of a topic, what this generator sends of it.
pub fn order(
    args: &LoadArgs,
    fallback_seed: u64,
    share: Option<Recording>,
) -> Result<Order, Vec<Problem>> {
    let of_topic = share.is_some();
    let mut found = Found::default();
    let target = found.take(target::target(&args.target));
    let path = target.as_ref().map_or("/", |(_, path)| path);
    let mut requested = match requests::requested(&args.requested, path, share) {
        Ok(requested) => Some(requested),
        Err(problems) => {
            found.problems.extend(problems);
            None
        }
    };
    let given = args.requested.header.iter();
    let given: Vec<Asked> = given.map(|h| Asked::new(h.clone(), "--header")).collect();
    let headers = match parse_headers(&given) {
        Ok(headers) => Some(headers),
        Err(problems) => {
            found.problems.extend(problems);
            None
        }
    };
    let seed = found
        .given(&args.requested.seed, "--seed", |a| {
            parse_whole(a, 0, (1 << 53) - 1, "a seed")
        })
        .unwrap_or(fallback_seed);
    let warmup = found.given(&args.warmup, "--warmup", parse_duration);
    let timeout = found.given(&args.target.timeout, "--timeout", parse_duration);
    let spin = found.given(&args.spin, "--spin", parse_spin);
    let objective = found.given(&args.slo, "--slo", parse_latency);
    let instants_ns = requested.as_mut().and_then(|r| r.instants_ns.take());
    let mode = mode(args, instants_ns, seed, &mut found);
    let requests = mode.as_ref().and_then(|(_, stop)| stop.requests);
    let limits = assertions::limits(&args.asserted.assert, requests, &mut found.problems);
    // Other generators may have the pages that a share of a topic lacks.
    if let Some(requested) = requested.as_ref().filter(|_| !of_topic) {
        let names = requested.workload.names();
        found
            .problems
            .extend(assertions::unknown_pages(&limits, &names));
    }
    let (Some((target, _)), Some(requested), Some((mode, stop)), Some(headers), true) =
        (target, requested, mode, headers, found.problems.is_empty())
    else {
        return Err(found.problems);
    };
    let mut plan = Plan::new(target, requested.workload, mode, stop);
    plan.seed = seed;
    // A replay sends on connections as they were recorded.
    let as_recorded = matches!(
        &plan.mode,
        Mode::Open {
            arrivals: Arrivals::Recorded { .. },
            ..
        }
    ) && plan.workload.connections().is_some();
    plan.keep_alive = args.target.kept.asked().unwrap_or(as_recorded);
    plan.headers = headers;
    plan.allow_remote = args.target.allow_remote;
    plan.send_request_start = !args.requested.no_request_start;
    plan.objective = objective.map(|o| Duration::from_secs_f64(o.limit_ms / 1e3));
    plan.spin = spin.unwrap_or(Duration::ZERO);
    if let Some(timeout) = timeout {
        plan.timeout = timeout;
        plan.drain = timeout;
    }
    let asked = asked(args, &plan, requested.name, warmup);
    Ok(Order {
        warmup: warmup.map(|length| warm(&plan, length)),
        plan,
        objective,
        limits,
        asked,
        notes: requested.notes,
    })
}

/// Polling for longer than the timer is ever late only burns a core.
fn parse_spin(asked: &Asked) -> Result<Duration, Problem> {
    let spin = parse_duration(asked)?;
    if spin > Duration::from_millis(10) {
        return Err(Problem::of(
            asked,
            "longer than a timer is ever late",
            "give at most 10ms, such as 200us",
        ));
    }
    Ok(spin)
}

fn asked(
    args: &LoadArgs,
    plan: &Plan,
    workload: String,
    warmup: Option<Duration>,
) -> document::Asked {
    let open = match &plan.mode {
        Mode::Open { arrivals, .. } => Some(arrivals),
        Mode::Closed { .. } => None,
    };
    let spacing = |arrivals: &Arrivals| match arrivals {
        Arrivals::Recorded { .. } => "recorded",
        Arrivals::Profile {
            spacing: Spacing::Even,
            ..
        } => "constant",
        Arrivals::Profile { .. } => "poisson",
    };
    let think = match plan.mode {
        Mode::Closed {
            think: Think::Constant(time) | Think::Exponential { mean: time },
            ..
        } => Some(time),
        _ => None,
    };
    document::Asked {
        url: args.target.url().to_owned(),
        workload,
        mode: match open {
            Some(_) => document::Mode::Open,
            None => document::Mode::Closed,
        },
        rate: args.rate.clone(),
        arrivals: open.map(|arrivals| spacing(arrivals).to_owned()),
        speed: open.and_then(|arrivals| match arrivals {
            Arrivals::Recorded { speed, .. } => Some(*speed),
            Arrivals::Profile { .. } => None,
        }),
        mean_rate_per_s: open.map(Arrivals::rate),
        connections: plan.mode.connections() as u64,
        think_ms: think.map(|time| time.as_secs_f64() * 1e3),
        requests: plan.stop.requests,
        duration_s: plan.stop.after.map(|d| d.as_secs_f64()),
        warmup_s: warmup.map(|d| d.as_secs_f64()),
        timeout_ms: plan.timeout.as_secs_f64() * 1e3,
        sending: sending(plan.keep_alive, &plan.headers, false),
        replay_host: args.requested.replay_host,
        seed: plan.seed,
    }
}
