//! Fleets whose truth is known, as Prometheus would show them: how often equal arms are called different, and how often a planted
//! difference is found.
//!
//! ```sh
//! cargo run --release -p powerband-fleet --example simulated -- [FLEETS, 200] [SEED, 7]
//! ```

#![allow(clippy::print_stdout, reason = "a program of the benchmarks")]

use fleet::{
    Answered, Asked, Experiment, Family, Gathered, Query, Series, draw, join, judge, queries,
};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_pcg::Pcg64;
use run::production::Verdict;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

const UNITS: usize = 20;
const FILE: &str = "starts = 2026-12-01T00:00:00Z\nlasts = '3d'\nperiod = '6h'\nslice = '5m'\n\
                    [[arm]]\nname = 'today'\n[[arm]]\nname = 'other'\nshare = '50%'\nenvironment = { A = 1 }\n";
/// Spread of the units' own levels: nodes and neighbours.
const OF_UNIT: f64 = 0.05;
/// Of each start: memory layout, which caches are warm.
const OF_START: f64 = 0.03;
/// Of each slice, with three degrees of freedom.
const OF_SLICE: f64 = 0.06;
/// How much of a slice's noise the next one keeps.
const KEPT: f64 = 0.7;
/// Probability that a unit is started again within a slice, outside of the daily deployment.
const RESTART: f64 = 0.004;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        arguments
            .next()
            .and_then(|one| one.parse().ok())
            .unwrap_or(default)
    };
    let (fleets, seed) = (number(200), number(7));
    println!("{fleets} fleets of {UNITS} units over 3 days, 10 looks, seed {seed}.\n");
    println!(
        "| true change | called better | called worse | without a false verdict | last interval holds the truth | no answer | promised power |"
    );
    println!("|---|---|---|---|---|---|---|");
    for change in [0.0, 0.03, 0.05, -0.05] {
        let mut all = Tally::default();
        for number in 0..fleets {
            all.add(
                &outcome(seed.wrapping_mul(1_000_003).wrapping_add(number), change),
                change,
            );
        }
        let share = |count: u64| format!("{:.1} %", 100.0 * count as f64 / fleets as f64);
        let promised = match change == 0.0 {
            true => "".to_owned(),
            false => format!(
                "{:.1} %",
                100.0 * all.promised / f64::max(all.judged as f64, 1.0)
            ),
        };
        println!(
            "| {:+.0} % | {} | {} | {} | {} | {} | {promised} |",
            change * 100.0,
            share(all.better),
            share(all.worse),
            share(fleets - all.wrong),
            share(all.covered),
            share(fleets - all.judged),
        );
    }
}

#[derive(Default)]
struct Tally {
    better: u64,
    worse: u64,
    wrong: u64,
    covered: u64,
    judged: u64,
    promised: f64,
}

impl Tally {
    fn add(&mut self, one: &Outcome, change: f64) {
        self.better += u64::from(one.better);
        self.worse += u64::from(one.worse);
        self.wrong += u64::from((one.better && change >= 0.0) || (one.worse && change <= 0.0));
        if let Some((low, high, detectable)) = one.last {
            self.judged += 1;
            self.covered += u64::from((low..=high).contains(&(1.0 + change)));
            self.promised += power(change.abs(), detectable);
        }
    }
}

/// Power for a change where 80 % is promised for another, by the normal distribution: 2.05 and 0.84 standard deviations.
fn power(change: f64, detectable: f64) -> f64 {
    let z = (2.054 + 0.842) * (change.ln_1p() / detectable.ln_1p()) - 2.054;
    let draws = 4_000;
    let mut generator = Pcg64::seed_from_u64(1);
    let below = (0..draws).filter(|_| {
        let drawn: f64 = StandardNormal.sample(&mut generator);
        drawn < z
    });
    below.count() as f64 / f64::from(draws)
}

struct Outcome {
    better: bool,
    worse: bool,
    /// The interval of the last look, and what it promises to find.
    last: Option<(f64, f64, f64)>,
}

/// All looks at one fleet.
fn outcome(seed: u64, change: f64) -> Outcome {
    let experiment = fleet::read(&format!("name = 'fleet {seed}'\n{FILE}")).unwrap();
    let slices = experiment.slices_before(experiment.ends_s());
    let units = simulated(&experiment, slices, seed, change);
    let mut gathered = Gathered::of(&experiment);
    for query in queries(&experiment, slices, "") {
        let series = units
            .iter()
            .flat_map(|unit| unit.answer(&query, &experiment));
        let answered = Answered {
            series: series.collect(),
            warnings: Vec::new(),
        };
        gathered.add(&query, answered);
    }
    let fleet = join(&experiment, gathered, slices);
    let mut outcome = Outcome {
        better: false,
        worse: false,
        last: None,
    };
    for look in 1..=experiment.looks {
        let asked = Asked {
            now_s: experiment.look_s(look),
            version: String::new(),
            prometheus: String::new(),
            halted: Vec::new(),
        };
        let document = judge(&experiment, &fleet, &asked);
        let one = &document.comparisons[0];
        outcome.better |= one.verdict == Verdict::Better;
        outcome.worse |= one.verdict == Verdict::Worse;
        let ratio = one
            .response_time
            .and_then(|ratio| Some((ratio.low?, ratio.high?)));
        outcome.last = ratio
            .zip(one.detectable)
            .map(|((low, high), detectable)| (low, high, detectable));
    }
    outcome
}

/// One instance: its counters at the end of each slice.
struct Unit {
    instance: String,
    arms: BTreeMap<String, Vec<usize>>,
    requests: Vec<f64>,
    seconds: Vec<f64>,
}

impl Unit {
    fn answer(&self, query: &Query, experiment: &Experiment) -> Vec<Series> {
        let first = ((query.span.from_s - experiment.starts_s) / experiment.slice_s) as usize;
        let last = ((query.span.to_s - experiment.starts_s) / experiment.slice_s) as usize;
        let series = |arm: Option<&str>, points: Vec<(usize, f64)>| {
            let mut labels = BTreeMap::from([("instance".to_owned(), self.instance.clone())]);
            labels.extend(arm.map(|arm| ("arm".to_owned(), arm.to_owned())));
            Series { labels, points }
        };
        let of = |values: &[f64]| {
            let within =
                (first..=last.min(values.len() - 1)).map(|step| (step - first, values[step]));
            vec![series(None, within.collect())]
        };
        match query.family {
            Family::Arms => {
                let arms = self.arms.iter().map(|(arm, steps)| {
                    let within = steps.iter().filter(|step| (first..=last).contains(*step));
                    series(Some(arm), within.map(|step| (step - first, 1.0)).collect())
                });
                arms.collect()
            }
            Family::Requests => of(&self.requests),
            Family::Duration => of(&self.seconds),
            Family::Errors => of(&vec![0.0; self.requests.len()]),
            _ => Vec::new(),
        }
    }
}

fn simulated(experiment: &Experiment, slices: usize, seed: u64, change: f64) -> Vec<Unit> {
    let mut random = Pcg64::seed_from_u64(seed);
    let tails = StudentT::new(3.0).unwrap();
    let normal = |random: &mut Pcg64, scale: f64| {
        let drawn: f64 = StandardNormal.sample(random);
        drawn * scale
    };
    let day_s = 86_400 / experiment.slice_s;
    (0..UNITS)
        .map(|number| {
            let name = format!("web-{number}");
            let own = normal(&mut random, OF_UNIT);
            let (mut noise, mut start, mut label, mut effect) = (0.0, 0.0, String::new(), 0.0);
            let mut unit = Unit {
                instance: format!("10.0.0.{number}:3000"),
                arms: BTreeMap::new(),
                requests: vec![0.0],
                seconds: vec![0.0],
            };
            for slice in 0..=slices {
                let in_day = slice as i64 % day_s;
                // The deployment goes from unit to unit.
                let deployed = in_day == day_s * 10 / 24 + number as i64 % 4;
                let fresh = slice == 0 || deployed || random.random_bool(RESTART);
                if fresh {
                    let now_s = experiment.starts_s + slice as i64 * experiment.slice_s;
                    let period = experiment
                        .period_at(now_s.min(experiment.ends_s() - 1))
                        .unwrap();
                    let drawn = draw(experiment, &name, period);
                    let arm = &experiment.arms[drawn.arm].name;
                    label = format!("{arm}:{}:{period}", experiment.short_digest());
                    effect = if drawn.arm == 1 { change.ln_1p() } else { 0.0 };
                    start = normal(&mut random, OF_START);
                }
                unit.arms.entry(label.clone()).or_default().push(slice);
                if slice == slices {
                    break;
                }
                let hour = (TAU * in_day as f64 / day_s as f64).sin();
                let heavy: f64 = tails.sample(&mut random);
                noise = KEPT * noise + OF_SLICE * heavy * (1.0 - KEPT * KEPT).sqrt();
                let requests =
                    (3_000.0 * (0.7 * hour).exp() * normal(&mut random, 0.02).exp()).round();
                let cold = if fresh { 0.3 } else { 0.0 };
                let time = 0.05 * (0.25 * hour + own + start + noise + cold + effect).exp();
                // A new container begins at zero.
                let (before, spent) = match fresh {
                    true => (0.0, 0.0),
                    false => (unit.requests[slice], unit.seconds[slice]),
                };
                unit.requests.push(before + requests);
                unit.seconds.push(spent + requests * time);
            }
            unit
        })
        .collect()
}
