//! The simulator against queueing theory. Tolerances are stated next to each
//! comparison; the seeds are fixed, so that a test that passes passes for ever.

use super::MS;
use capacity::sim::{Arrivals, Discipline, Outcome, Scenario, Station, Step, Work, simulate};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

const SERVICE_MS: f64 = 10.0;

/// Exponential times of this mean.
struct Exponential(Pcg64);

impl Exponential {
    fn ns(&mut self, mean_ms: f64) -> u64 {
        let part: f64 = Exp1.sample(&mut self.0);
        (part * mean_ms * 1e6) as u64
    }
}

fn exponential(seed: u64) -> Exponential {
    Exponential(Pcg64::seed_from_u64(seed))
}

fn requests(count: usize, mut steps: impl FnMut() -> Vec<Step>) -> Work {
    let mut work = Work::new();
    (0..count).for_each(|_| work.push(0, steps()));
    work
}

fn poisson(work: &Work, scenario: &Scenario, per_s: f64) -> Outcome {
    let requests = work.len();
    simulate(work, scenario, &Arrivals::Poisson { per_s, requests }, 11).expect("simulated")
}

fn alone(processes: u16, cores: f64) -> Scenario {
    Scenario {
        discipline: Discipline::OnePerProcess,
        ..Scenario::new(processes, 1, cores)
    }
}

fn quantile_ms(outcome: &Outcome, p: f64) -> f64 {
    let mut sorted = outcome.response_ns.clone();
    sorted.sort_unstable();
    sorted[(p * sorted.len() as f64) as usize] as f64 / 1e6
}

fn mean_ms(outcome: &Outcome) -> f64 {
    outcome.mean_response_s() * 1e3
}

#[track_caller]
fn within(simulated: f64, exact: f64, tolerance: f64) {
    let off = simulated / exact - 1.0;
    assert!(
        off.abs() <= tolerance,
        "simulated {simulated}, exact {exact}: {:.2} % off, {} % allowed",
        off * 100.0,
        tolerance * 100.0
    );
}

/// The mean and the quantiles of the response time, which is exponential with
/// mean S / (1 - rho): within 3 %, at 70 % utilisation.
#[test]
fn one_server_with_exponential_service() {
    let mut random = exponential(1);
    let work = requests(300_000, || vec![Step::Held(random.ns(SERVICE_MS))]);
    let mean = SERVICE_MS / 0.3;
    for scenario in [alone(1, 1.0), Scenario::new(1, 1, 1.0)] {
        let outcome = poisson(&work, &scenario, 70.0);
        within(mean_ms(&outcome), mean, 0.03);
        for (p, logarithm) in [(0.5, 2.0_f64), (0.95, 20.0), (0.99, 100.0)] {
            within(quantile_ms(&outcome, p), mean * logarithm.ln(), 0.03);
        }
        within(outcome.core_utilisation, 0.7, 0.01);
        within(outcome.gvl_utilisation, 0.7, 0.01);
        within(outcome.thread_utilisation, 0.7, 0.01);
    }
}

/// Pollaczek and Khinchine: W = rho S / 2 (1 - rho); and Crommelin (1932) for
/// the distribution of the wait, P(W <= x) = (1 - rho) sum over k <= x/S of
/// (lambda (kS - x))^k / k! exp(-lambda (kS - x)): the share of waits within
/// each x to 0.5 per cent points, at 70 %.
#[test]
fn one_server_with_constant_service() {
    let work = requests(300_000, || vec![Step::Held(10 * MS)]);
    let outcome = poisson(&work, &alone(1, 1.0), 70.0);
    let wait_ms = outcome.queue_ns as f64 / 1e6 / outcome.answered as f64;
    within(wait_ms, 0.7 * SERVICE_MS / 0.6, 0.03);
    for x in [1.0, 5.0, 10.0, 25.0, 50.0, 80.0] {
        let mut exact = 0.0;
        let mut factorial = 1.0;
        for k in 0..=(x / SERVICE_MS) as i32 {
            factorial *= f64::from(k.max(1));
            let part = 0.07 * (f64::from(k) * SERVICE_MS - x);
            exact += 0.3 * part.powi(k) / factorial * (-part).exp();
        }
        let limit = ((SERVICE_MS + x) * 1e6) as u64;
        let within_x = outcome.response_ns.iter().filter(|&&ns| ns <= limit);
        let simulated = within_x.count() as f64 / outcome.answered as f64;
        assert!(
            (simulated - exact).abs() < 0.005,
            "{x}: {simulated} {exact}"
        );
    }
}

/// Erlang's C: the chance to wait, by his recursion for B.
fn erlang_c(servers: u32, offered: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
    let utilisation = offered / f64::from(servers);
    blocked / (1.0 - utilisation * (1.0 - blocked))
}

/// Four servers at 80 %: the mean wait C S / (c - a) within 4 %, and the share
/// that waits longer than x, C exp(-(c - a) x / S), to 0.7 per cent points:
/// as processes on cores of their own, as threads that wait for I/O, and as a
/// pool of four places before which threads wait.
#[test]
fn four_servers_with_exponential_service() {
    let mut random = exponential(2);
    let times: Vec<u64> = (0..300_000).map(|_| random.ns(SERVICE_MS)).collect();
    let each = |steps: fn(u64) -> Vec<Step>| {
        let mut times = times.iter();
        requests(times.len(), || times.next().map_or(vec![], |&ns| steps(ns)))
    };
    let pool = Scenario {
        stations: vec![4],
        ..Scenario::new(1, 400, 1.0)
    };
    let place = Station(0);
    let pooled = move |ns| vec![Step::Acquire(place), Step::Io(ns), Step::Release(place)];
    let mut pooled_times = times.iter();
    let cases = [
        (each(|ns| vec![Step::Held(ns)]), alone(4, 4.0)),
        (each(|ns| vec![Step::Io(ns)]), Scenario::new(1, 4, 1.0)),
        (
            requests(times.len(), || {
                pooled_times.next().map_or(vec![], |&ns| pooled(ns))
            }),
            pool,
        ),
    ];
    let waits = erlang_c(4, 3.2);
    for (work, scenario) in cases {
        let outcome = poisson(&work, &scenario, 320.0);
        let waited_ns = outcome.queue_ns + outcome.station_wait_ns;
        let wait_ms = waited_ns as f64 / 1e6 / outcome.answered as f64;
        within(wait_ms, waits * SERVICE_MS / 0.8, 0.04);
        for x in [0.0, 5.0, 20.0, 50.0] {
            let longer = outcome.response_ns.iter().zip(&times);
            let longer = longer.filter(|&(&ns, &own)| ns - own > (x * 1e6) as u64);
            let simulated = longer.count() as f64 / outcome.answered as f64;
            let exact = waits * (-0.8 * x / SERVICE_MS).exp();
            assert!(
                (simulated - exact).abs() < 0.007,
                "{x}: {simulated} {exact}"
            );
        }
    }
}

/// The GVL as one server: bursts of many threads, in whatever order, wait as
/// long on average as those of one: M/M/1 within 3 %.
#[test]
fn threads_at_one_gvl() {
    let mut random = exponential(3);
    let work = requests(300_000, || vec![Step::Held(random.ns(SERVICE_MS))]);
    let outcome = poisson(&work, &Scenario::new(1, 200, 4.0), 70.0);
    within(mean_ms(&outcome), SERVICE_MS / 0.3, 0.03);
    within(outcome.gvl_utilisation, 0.7, 0.01);
}

/// Processor sharing: the mean is S / (1 - rho) whatever the distribution of S,
/// and x / (1 - rho) for a request of x (Kleinrock 1967): within 3 %. Half
/// of them need 2 ms, half 18.
#[test]
fn processes_share_a_core() {
    let mut random = exponential(8);
    let times: Vec<u64> = (0..300_000)
        .map(|_| if random.ns(1.0) > 693_147 { 18 } else { 2 } * MS)
        .collect();
    let mut next = times.iter();
    let work = requests(times.len(), || vec![Step::Held(*next.next().unwrap_or(&1))]);
    let outcome = poisson(&work, &alone(400, 1.0), 70.0);
    within(mean_ms(&outcome), SERVICE_MS / 0.3, 0.03);
    for own_ms in [2, 18] {
        let of = outcome.response_ns.iter().zip(&times);
        let of = of.filter(|&(_, &own)| own == own_ms * MS);
        let of: Vec<f64> = of.map(|(&ns, _)| ns as f64 / 1e6).collect();
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        within(mean, own_ms as f64 / 0.3, 0.03);
    }
    let waited_ms = outcome.core_wait_ns as f64 / 1e6 / outcome.answered as f64;
    within(waited_ms, SERVICE_MS / 0.3 - SERVICE_MS, 0.04);
}

/// Ten machines that run for 60 ms and one man who repairs them in 10, both
/// exponential: throughput within 1 %, the mean time with the man within 2 %.
/// P0 by the product form, sum over n of N! / (N - n)! (S / Z)^n.
#[test]
fn machines_and_a_repairman() {
    let (machines, think_ms) = (10_u32, 60.0);
    let mut random = exponential(4);
    let work = requests(300_000, || vec![Step::Held(random.ns(SERVICE_MS))]);
    let arrivals = Arrivals::Closed {
        connections: machines,
        think_ns: 60 * MS,
        requests: work.len(),
    };
    let mut term = 1.0;
    let mut sum = 1.0;
    for broken in 0..machines {
        term *= f64::from(machines - broken) * SERVICE_MS / think_ms;
        sum += term;
    }
    let per_ms = (1.0 - 1.0 / sum) / SERVICE_MS;
    let response_ms = f64::from(machines) / per_ms - think_ms;
    for scenario in [alone(1, 1.0), Scenario::new(1, 1, 1.0)] {
        let outcome = simulate(&work, &scenario, &arrivals, 5).expect("simulated");
        within(outcome.throughput_per_s(), per_ms * 1e3, 0.01);
        within(mean_ms(&outcome), response_ms, 0.02);
    }
}

/// Eight processes that share a core and wait for I/O, in a closed loop: a
/// product-form network, so that mean value analysis is exact, for constant
/// times, too. Throughput within 1 %.
#[test]
fn a_closed_network_by_mean_value_analysis() {
    let mut random = exponential(6);
    let mixed = requests(200_000, || {
        vec![
            Step::Held(random.ns(4.0)),
            Step::Io(20 * MS),
            Step::Held(random.ns(4.0)),
        ]
    });
    let station = capacity::Station { demand_s: 0.008 };
    for population in [2, 4, 8] {
        let exact = capacity::solve(&[station], 0.02, population);
        let arrivals = Arrivals::Closed {
            connections: u32::from(population),
            think_ns: 0,
            requests: mixed.len(),
        };
        let outcome = simulate(&mixed, &alone(8, 1.0), &arrivals, 7).expect("simulated");
        within(outcome.throughput_per_s(), exact.throughput, 0.01);
        within(mean_ms(&outcome), exact.response_s * 1e3, 0.01);
    }
}
