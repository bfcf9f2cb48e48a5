//! Open or closed loop: when requests start, and when the run is over.

use super::found::Found;
use crate::args::LoadArgs;
use experiment::config::{Asked, Problem, parse_duration, parse_whole};
use load::{Arrivals, DEFAULT_MAX_CONNECTIONS, Mode, Plan, Profile, Spacing, Stop, Think};
use std::path::PathBuf;
use std::time::Duration;

/// Keeps the arrivals of the warm-up apart from those that are measured.
const WARMUP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The default duration.
const DURATION: Duration = Duration::from_secs(10);

/// The loop and its end. `instants_ns` are a recording's.
pub fn mode(
    args: &LoadArgs,
    instants_ns: Option<Vec<u64>>,
    seed: u64,
    found: &mut Found,
) -> Option<(Mode, Stop)> {
    let requests = found.given(&args.requests, "-n", |a| {
        parse_whole(a, 1, u64::MAX, "requests")
    });
    let after = found.given(&args.duration, "--duration", parse_duration);
    let mut stop = Stop { after, requests };
    let number = |a: &Asked| parse_whole(a, 1, 60_000, "connections").map(|n| n as usize);
    let connections = found.given(&args.connections, "-c", number);
    let most = found.given(&args.max_connections, "--max-connections", number);
    let think = found.given(&args.think, "--think", parse_duration);
    excluded(args, found);
    let arrivals = if args.requested.replay.is_some() {
        replayed(args, instants_ns, found)?
    } else if let Some(rate) = &args.rate {
        scheduled(args, rate, &mut stop, seed, found)?
    } else {
        if stop == Stop::default() {
            stop.after = Some(DURATION);
        }
        let closed = Mode::Closed {
            connections: connections.unwrap_or(1),
            think: think.map_or(Think::None, Think::Constant),
        };
        return Some((closed, stop));
    };
    let open = Mode::Open {
        arrivals,
        max_connections: most.unwrap_or(DEFAULT_MAX_CONNECTIONS),
    };
    Some((open, stop))
}

/// What belongs to another loop than the one that is asked for.
fn excluded(args: &LoadArgs, found: &mut Found) {
    let replay = args.requested.replay.is_some();
    let toml = |file: &PathBuf| file.extension().is_some_and(|e| e == "toml");
    let recording = replay || args.requested.workload.as_ref().is_some_and(|f| !toml(f));
    let replay_host = args.requested.replay_host;
    let open = replay || args.rate.is_some();
    let of_closed = "it is for clients that wait for their answers, without --rate or --replay";
    let of_open = "it belongs to --rate";
    let checks = [
        (
            args.requested.amplify.is_some() && !replay,
            "--amplify",
            "it belongs to --replay",
            "name a recording with --replay, or give a higher --rate",
        ),
        (
            args.connections.is_some() && open,
            "-c",
            of_closed,
            "leave it out; connections are opened as they are needed, up to --max-connections",
        ),
        (
            args.think.is_some() && open,
            "--think",
            of_closed,
            "leave it out, or the rate",
        ),
        (
            args.max_connections.is_some() && !open,
            "--max-connections",
            of_open,
            "give -c for the number of clients",
        ),
        (
            args.arrivals.is_some() && (!open || replay),
            "--arrivals",
            of_open,
            "leave it out, or give a rate",
        ),
        (
            replay && args.rate.is_some(),
            "--rate",
            "a recording comes as it came",
            "change its --speed, or give it as --workload",
        ),
        (
            args.requested.speed.is_some() && !replay,
            "--speed",
            "it belongs to --replay",
            "name a recording with --replay, or leave it out",
        ),
        (
            replay_host && !recording,
            "--replay-host",
            "it belongs to a recording",
            "name one with --replay or --workload, or give --host NAME",
        ),
        (
            replay_host && args.target.host.is_some(),
            "--host",
            "--replay-host sends the recorded ones",
            "give one of the two",
        ),
    ];
    for (wrong, flag, why, remedy) in checks {
        found.meaningless(wrong, flag, why, remedy);
    }
}

fn replayed(args: &LoadArgs, instants_ns: Option<Vec<u64>>, found: &mut Found) -> Option<Arrivals> {
    let speed = found.given(&args.requested.speed, "--speed", parse_speed);
    let Some(instants_ns) = instants_ns else {
        if found.problems.is_empty() {
            found.problems.push(Problem::with(
                "--replay: the file does not say when its requests came",
                "give it as --workload, with --rate or -c",
            ));
        }
        return None;
    };
    Some(Arrivals::Recorded {
        offsets: instants_ns.into(),
        speed: speed.unwrap_or(1.0),
    })
}

fn scheduled(
    args: &LoadArgs,
    rate: &str,
    stop: &mut Stop,
    seed: u64,
    found: &mut Found,
) -> Option<Arrivals> {
    let spacing = match args.arrivals.as_deref().unwrap_or("poisson") {
        "poisson" => Some(Spacing::Poisson { seed }),
        "constant" => Some(Spacing::Even),
        other => {
            found.problems.push(Problem::of(
                &Asked::new(other, "--arrivals"),
                "no such spacing",
                "give poisson or constant",
            ));
            None
        }
    };
    // A profile with times of its own is as long as they are.
    let own = Profile::parse(rate, None).ok().and_then(|p| p.length());
    if *stop == Stop::default() {
        stop.after = Some(own.unwrap_or(DURATION));
    }
    let profile = Profile::parse(rate, stop.after).map_err(|e| {
        found.problems.push(Problem::with(
            format!("--rate = {rate:?}: {:?}", e.value),
            e.remedy,
        ));
    });
    Some(Arrivals::Profile {
        profile: profile.ok()?,
        spacing: spacing?,
    })
}

/// The same load for a while, with arrivals and an order of its own; of a schedule, its mean rate.
pub fn warm(plan: &Plan, length: Duration) -> Plan {
    let mut plan = plan.clone();
    plan.stop = Stop::after(length);
    plan.seed ^= WARMUP;
    if let Mode::Open { arrivals, .. } = &mut plan.mode {
        *arrivals = Arrivals::poisson(arrivals.rate(), plan.seed);
    }
    plan
}

/// `2x`, `0.5` or `10 x`.
fn parse_speed(asked: &Asked) -> Result<f64, Problem> {
    let text = asked.text.trim();
    let number = text.strip_suffix(['x', '×']).unwrap_or(text).trim();
    number
        .parse()
        .ok()
        .filter(|speed| (0.001..=1000.0).contains(speed))
        .ok_or_else(|| {
            Problem::of(
                asked,
                "no speed",
                "give a factor from 0.001x to 1000x, such as 2x",
            )
        })
}
