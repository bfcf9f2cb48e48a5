//! What is asked of `predict`: text in, checked values out, or everything that is wrong with it.

use crate::args::PredictArgs;
use crate::commands::calc::given::{Given, number, whole};
use ::predict::{Objective, Selection, WhatIf};
use capacity::sim::Quota;
use capacity::{Config, Observation};
use experiment::config::{Asked, Problem, parse_latency, parse_rate, parse_size, parse_whole};

/// The kernel's period of a CPU quota, unless it was changed.
const PERIOD_NS: u64 = 100_000_000;
const MOST_COUNT: u32 = 256;
const MOST_RATES: usize = 16;

/// What is asked, checked.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub selection: Selection,
    pub rates_per_s: Option<Vec<f64>>,
    pub processes: Option<Vec<u16>>,
    pub threads: Option<Vec<u16>>,
    pub objective: Option<Objective>,
    pub memory_bytes: Option<u64>,
    pub measured_memory: Vec<Observation>,
    pub what_if: WhatIf,
    pub cores: f64,
    pub quota: Option<Quota>,
    pub requests: usize,
    pub seed: u64,
}

impl Wanted {
    pub fn read(args: &PredictArgs) -> Result<Self, Vec<Problem>> {
        let mut given = Given::default();
        let (sizes, experiment) = (&args.validation, &args.validation.experiment);
        let args = &args.prediction;
        let rates_per_s = given.optional(&experiment.rate, "--rate", rates);
        let processes = given.optional(&sizes.workers, "--workers", |a| counts(a, 0));
        let threads = given.optional(&sizes.threads, "--threads", |a| counts(a, 1));
        let objective = match &args.objective {
            Some(_) => given.optional(&args.objective, "--objective", parse_latency),
            None => given.optional(&experiment.slo, "--slo", parse_latency),
        };
        let memory_bytes = match &args.memory {
            Some(_) => given.optional(&args.memory, "--memory", parse_size),
            None => given.optional(&experiment.max_memory, "--max-memory", parse_size),
        };
        let measured = &args.measured_memory;
        let measured_memory = given.optional(measured, "--measured-memory", observations);
        let what_if = given.optional(&args.what_if, "--what-if", what_if);
        let of_cores = |a: &Asked| number(a, 0.01, 4096.0, "of cores from 0.01 to 4096");
        let cores = given.optional(&args.cores, "--cores", of_cores);
        let quota = given.optional(&args.quota, "--quota", of_cores);
        let requests = given.optional(&args.requests, "--requests", |a| {
            whole(a, 500, 1_000_000, "requests")
        });
        let seed = given.optional(&experiment.seed, "--seed", |a| {
            parse_whole(a, 0, u64::MAX, "a seed")
        });
        let last = given.optional(&args.last, "--last", last_ns);
        let since = given.optional(&args.since, "--since", instant_ns);
        let until_ns = given.optional(&args.until, "--until", instant_ns);
        let here = host::cores::available();
        let (cores, quota_cores) = match (cores, here) {
            (Some(cores), _) => (cores, quota),
            (None, Ok(here)) => (here.affinity.len() as f64, quota.or(here.quota)),
            (None, Err(error)) => {
                given.problems.push(Problem::with(
                    format!("this machine's cores cannot be counted: {error}"),
                    "give those that the server has, such as --cores 4",
                ));
                (1.0, quota)
            }
        };
        if !given.problems.is_empty() {
            return Err(given.problems);
        }
        Ok(Self {
            selection: Selection {
                since_ns: last.or(since),
                until_ns,
                application: args.application.clone(),
                ..Selection::default()
            },
            rates_per_s,
            processes,
            threads,
            objective: objective.map(|objective| Objective {
                percentile: objective.percentile,
                limit_ms: objective.limit_ms,
            }),
            memory_bytes,
            measured_memory: measured_memory.unwrap_or_default(),
            what_if: what_if.unwrap_or_default(),
            cores,
            quota: quota_cores.map(|cores| Quota {
                quota_ns: (cores * PERIOD_NS as f64).round() as u64,
                period_ns: PERIOD_NS,
            }),
            requests: requests.unwrap_or(5_000) as usize,
            seed: seed.unwrap_or(1),
        })
    }
}

fn part(asked: &Asked, text: &str) -> Asked {
    Asked::new(text.trim(), asked.origin.clone())
}

/// `50,100/s`.
fn rates(asked: &Asked) -> Result<Vec<f64>, Problem> {
    let found: Result<Vec<f64>, Problem> = asked
        .text
        .split(',')
        .map(|text| parse_rate(&part(asked, text)))
        .collect();
    let found = found?;
    match found.len() {
        ..=MOST_RATES => Ok(found),
        many => Err(Problem::of(
            asked,
            format_args!("{many} rates are too many to read"),
            format!("give at most {MOST_RATES}"),
        )),
    }
}

/// `1..4` or `1,2,4`; 0 workers are Puma's single mode, one process.
fn counts(asked: &Asked, least: u32) -> Result<Vec<u16>, Problem> {
    let one = |text: &str| {
        whole(
            &part(asked, text),
            least,
            MOST_COUNT,
            "processes or threads",
        )
    };
    let mut found: Vec<u16> = Vec::new();
    for text in asked.text.split(',') {
        let (from, to) = match text.split_once("..") {
            Some((from, to)) => (one(from)?, one(to.trim_start_matches('='))?),
            None => (one(text)?, one(text)?),
        };
        if from > to {
            return Err(Problem::of(
                asked,
                "the range ends before it begins",
                "give the lower number first, such as 1..4",
            ));
        }
        found.extend((from..=to).map(|count| count.max(1) as u16));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// `2x3=610MiB,4x3=1.1GiB`.
fn observations(asked: &Asked) -> Result<Vec<Observation>, Problem> {
    let remedy = "write processes x threads and what they used, such as 2x3=610MiB";
    let one = |text: &str| {
        let (size, memory) = text
            .split_once('=')
            .ok_or_else(|| Problem::of(asked, "no memory is named", remedy))?;
        let (processes, threads) = size
            .split_once('x')
            .ok_or_else(|| Problem::of(asked, "no processes x threads", remedy))?;
        let count = |text: &str| whole(&part(asked, text), 1, MOST_COUNT, "processes or threads");
        Ok(Observation {
            config: Config {
                workers: count(processes)? as u16,
                threads: count(threads)? as u16,
            },
            pss_bytes: parse_size(&part(asked, memory))? as f64,
        })
    };
    asked.text.split(',').map(one).collect()
}

/// `io=2x,cpu=0.8x,traffic=2x,cores=+1`.
fn what_if(asked: &Asked) -> Result<WhatIf, Problem> {
    let remedy = "ask such as io=2x, cpu=0.8x, traffic=2x or cores=+1, several with commas between";
    let mut found = WhatIf::default();
    for text in asked.text.split(',') {
        let Some((what, change)) = text.trim().split_once('=') else {
            return Err(Problem::of(asked, "nothing is said to change", remedy));
        };
        let change = change.trim();
        let factor = || {
            let number = change.strip_suffix('x').and_then(|n| n.parse::<f64>().ok());
            let sound = number.filter(|n| (0.01..=100.0).contains(n));
            sound.ok_or_else(|| {
                Problem::of(
                    asked,
                    format_args!("{change:?} is no factor from 0.01x to 100x"),
                    remedy,
                )
            })
        };
        match what.trim() {
            "io" => found.io = factor()?,
            "cpu" => found.cpu = factor()?,
            "traffic" => found.traffic = factor()?,
            "cores" => found.cores = cores(asked, change, remedy)?,
            other => {
                return Err(Problem::of(
                    asked,
                    format_args!("{other:?} cannot be supposed"),
                    remedy,
                ));
            }
        }
    }
    Ok(found)
}

/// `+1`, `-0.5`: without a sign it would look like a number of cores.
fn cores(asked: &Asked, change: &str, remedy: &str) -> Result<f64, Problem> {
    let number = change.parse::<f64>().ok();
    let sound = number.filter(|n| n.abs() <= 4096.0 && change.starts_with(['+', '-']));
    sound.ok_or_else(|| {
        Problem::of(
            asked,
            format_args!("{change:?} is no number of cores more (+1) or fewer (-1)"),
            remedy,
        )
    })
}

fn last_ns(asked: &Asked) -> Result<u64, Problem> {
    let length = experiment::config::parse_duration(asked)?;
    let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    Ok(super::super::inspect::now_ns().saturating_sub(length_ns))
}

fn instant_ns(asked: &Asked) -> Result<u64, Problem> {
    let at: jiff::Timestamp = asked.text.trim().parse().map_err(|e| {
        Problem::of(
            asked,
            e,
            "give an instant with its zone, such as 2025-11-21T16:00:00Z",
        )
    })?;
    Ok(u64::try_from(at.as_nanosecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Asked {
        Asked::new(text, "--flag")
    }

    #[test]
    fn ranges_and_lists_of_counts() {
        assert_eq!(counts(&asked("1..4"), 1), Ok(vec![1, 2, 3, 4]));
        assert_eq!(counts(&asked("0, 4,2..=3"), 0), Ok(vec![1, 2, 3, 4]));
        for wrong in ["", "4..1", "0", "1..300", "two", "1,,2", "-1"] {
            assert!(counts(&asked(wrong), 1).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_may_be_supposed() {
        let all = what_if(&asked("io=2x, cpu=0.8x,traffic=3x,cores=-1")).unwrap();
        assert_eq!(
            (all.io, all.cpu, all.traffic, all.cores),
            (2.0, 0.8, 3.0, -1.0)
        );
        for wrong in [
            "", "io", "io=2", "io=-2x", "io=0x", "cpu=NaNx", "cores=3", "cores=+x", "disk=2x",
            "io=1e9x", "io=2x,,",
        ] {
            assert!(what_if(&asked(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_that_was_seen() {
        let found = observations(&asked("2x3=610MiB,4x3=1GiB")).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[1].config.workers, found[1].config.threads), (4, 3));
        assert_eq!(found[1].pss_bytes, f64::from(1 << 30));
        for wrong in ["2x3", "2=1GiB", "2x3=1", "0x3=1GiB"] {
            assert!(observations(&asked(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_in_any_number_that_can_be_read() {
        assert_eq!(rates(&asked("50, 100/s")), Ok(vec![50.0, 100.0]));
        assert!(rates(&asked("50,-1")).is_err() && rates(&asked("inf")).is_err());
        assert!(rates(&asked(&["1"; 17].join(","))).is_err());
    }
}
