//! The processor time of a verdict on a large fleet: from the text of Prometheus' answers to the document, on one thread.
//!
//! ```sh
//! cargo run --release -p powerband-fleet --example large -- [UNITS, 10000] [DAYS, 30]
//! ```
//!
//! The answers are made up while it runs, and the time for that is not counted. Units are started again daily under the same name, so that
//! each day is another draw.

#![allow(clippy::print_stdout, reason = "a program of the benchmarks")]

use fleet::{Asked, Experiment, Family, Gathered, Query, draw, join, judge, queries, series};
use std::fmt::Write;
use std::time::Duration;

const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;
/// Of the histogram of the metrics.
const BOUNDS: usize = 19;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: i64| {
        let given = arguments.next().and_then(|one| one.parse().ok());
        given.unwrap_or(default)
    };
    let (units, days) = (number(10_000), number(30));
    let text = format!(
        "name = 'large'\nunit = 'host'\nstarts = 2026-12-01T00:00:00Z\nlasts = '{days}d'\nperiod = '1d'\nslice = '1h'\n\
         [[arm]]\nname = 'today'\n[[arm]]\nname = 'other'\nshare = '50%'\nenvironment = {{ A = 1 }}\n\
         [guardrails]\nerrors = '1%'\np99 = '+50%'\nmemory = '+15%'\nrestarts = 4\n"
    );
    let experiment = fleet::read(&text).expect("a file without problems");
    let slices = experiment.slices_before(experiment.ends_s());
    let fleet = Fleet::of(&experiment, units, days);
    let mut gathered = Gathered::of(&experiment);
    let (mut bytes, mut reading, mut body) = (0, Duration::ZERO, String::new());
    for query in queries(&experiment, slices, "") {
        fleet.answer(&query, &experiment, &mut body);
        bytes += body.len();
        let begun = cpu();
        let answered = series(&body, query.span).expect("an answer");
        gathered.add(&query, answered);
        reading += cpu() - begun;
    }
    let held = resident_mib();
    let begun = cpu();
    let joined = join(&experiment, gathered, slices);
    let joining = cpu() - begun;
    let begun = cpu();
    let asked = Asked {
        now_s: experiment.ends_s(),
        version: String::new(),
        prometheus: String::new(),
        halted: Vec::new(),
    };
    let document = judge(&experiment, &joined, &asked);
    let judging = cpu() - begun;
    let of_arms = document.arms.iter().map(|arm| (arm.draws, arm.requests));
    let (draws, requests) = of_arms.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{}", document.sentence);
    println!(
        "| units | days | slices | draws | requests | answers | read | joined | judged | together | memory after reading | most |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    println!(
        "| {units} | {days} | {slices} | {draws} | {requests} | {} MB | {:.1} s | {:.1} s | {:.1} s | {:.1} s | {held} MiB | {} MiB |",
        bytes / 1_000_000,
        reading.as_secs_f64(),
        joining.as_secs_f64(),
        judging.as_secs_f64(),
        (reading + joining + judging).as_secs_f64(),
        most_mib(),
    );
}

/// Of this process: the clock says more where other programs run.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or_default())
}

fn of_status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or_default() / 1_024
}

fn resident_mib() -> u64 {
    of_status("VmRSS:")
}

fn most_mib() -> u64 {
    of_status("VmHWM:")
}

/// The arm of each unit on each day.
struct Fleet {
    units: i64,
    arms: Vec<Vec<usize>>,
}

impl Fleet {
    fn of(experiment: &Experiment, units: i64, days: i64) -> Fleet {
        let arms = (0..units).map(|unit| {
            let drawn = (0..days).map(|day| draw(experiment, &name(unit), day as u64).arm);
            drawn.collect()
        });
        Fleet {
            units,
            arms: arms.collect(),
        }
    }

    fn answer(&self, query: &Query, experiment: &Experiment, body: &mut String) {
        body.clear();
        body.push_str(r#"{"status":"success","data":{"resultType":"matrix","result":["#);
        let mut first = true;
        let mut begin = |body: &mut String, labels: &str| {
            let comma = if first { "" } else { "," };
            first = false;
            let _ = write!(body, r#"{comma}{{"metric":{{{labels}}},"values":["#);
        };
        let span = query.span;
        let instants = || (span.from_s..=span.to_s).step_by(span.step_s as usize);
        for unit in 0..self.units {
            let instance = format!(r#""instance":"{}""#, name(unit));
            let day = |at_s: i64| {
                let day = ((at_s - experiment.starts_s) / DAY_S) as usize;
                day.min(self.arms[unit as usize].len() - 1)
            };
            match query.family {
                Family::Arms => {
                    for one in day(span.from_s)..=day(span.to_s) {
                        let arm = &experiment.arms[self.arms[unit as usize][one]].name;
                        let digest = experiment.short_digest();
                        begin(body, &format!(r#"{instance},"arm":"{arm}:{digest}:{one}""#));
                        let there = instants().filter(|at_s| day(*at_s) == one);
                        values(body, there.map(|at_s| (at_s, 1.0)));
                    }
                }
                Family::Buckets => {
                    for bound in 0..BOUNDS {
                        let le = match bound + 1 == BOUNDS {
                            true => "+Inf".to_owned(),
                            false => (0.000_256 * f64::from(1_u32 << bound)).to_string(),
                        };
                        begin(body, &format!(r#"{instance},"le":"{le}""#));
                        let share = (bound as f64 / 9.0).min(1.0);
                        values(
                            body,
                            instants().map(|at_s| {
                                (at_s, (counted(unit, at_s, experiment) * share).floor())
                            }),
                        );
                    }
                }
                Family::Starts => {
                    begin(body, &instance);
                    values(body, instants().map(|at_s| (at_s, 5.0 * day(at_s) as f64)));
                }
                Family::Memory => {
                    begin(body, &instance);
                    values(
                        body,
                        instants()
                            .map(|at_s| (at_s, 4e8 + 1e5 * f64::from(mixed(unit, at_s) % 97))),
                    );
                }
                family => {
                    begin(body, &instance);
                    let each = match family {
                        Family::Requests => 1.0,
                        Family::Errors => 0.000_1,
                        Family::Duration => 0.05,
                        _ => 0.002,
                    };
                    let scatter = |at_s: i64| {
                        if family == Family::Duration {
                            f64::from(mixed(unit, at_s) % 31)
                        } else {
                            0.0
                        }
                    };
                    values(
                        body,
                        instants().map(|at_s| {
                            (at_s, counted(unit, at_s, experiment) * each + scatter(at_s))
                        }),
                    );
                }
            }
        }
        body.push_str("]}}");
    }
}

fn name(unit: i64) -> String {
    format!("shop-7d9f6c5b48-{unit:05}")
}

/// Two requests a second, by an instant.
fn counted(unit: i64, at_s: i64, experiment: &Experiment) -> f64 {
    let since = at_s - experiment.starts_s + HOUR_S;
    2.0 * since as f64 + f64::from(mixed(unit, at_s) % 50)
}

/// Numbers that look like chance.
fn mixed(unit: i64, at_s: i64) -> u32 {
    let mut mixed = (unit as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (at_s as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    mixed ^= mixed >> 31;
    (mixed.wrapping_mul(0x94d0_49bb_1331_11eb) >> 40) as u32
}

fn values(body: &mut String, points: impl Iterator<Item = (i64, f64)>) {
    let mut comma = "";
    for (at_s, value) in points {
        let _ = write!(body, r#"{comma}[{at_s},"{value}"]"#);
        comma = ",";
    }
    body.push_str("]}");
}
