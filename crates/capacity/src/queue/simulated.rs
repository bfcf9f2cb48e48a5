//! The formulas against a simulation of a few lines each, judged by the
//! simulation's own error. Seeds are fixed.

use super::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Gamma};
use rand_pcg::Pcg64;

const BATCHES: usize = 40;

/// Times with a mean and a squared coefficient of variation: gamma.
fn draw(mean: f64, scv: f64, rng: &mut Pcg64) -> f64 {
    if scv == 0.0 {
        return mean;
    }
    Gamma::new(1.0 / scv, mean * scv).unwrap().sample(rng)
}

/// Waits and response times of requests one after the other: each takes the
/// server that is free first.
fn first_come(queue: &Queue, requests: usize, seed: u64) -> Vec<(f64, f64)> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut free = vec![0.0_f64; queue.servers() as usize];
    let mut now = 0.0;
    let request = |_| {
        now += draw(1.0 / queue.rate_per_s(), queue.arrival_scv(), &mut rng);
        let service = draw(queue.service_s(), queue.service_scv(), &mut rng);
        let first = (0..free.len()).reduce(|a, b| if free[b] < free[a] { b } else { a });
        let server = &mut free[first.unwrap()];
        let wait = (*server - now).max(0.0);
        *server = now + wait + service;
        (wait, wait + service)
    };
    let all: Vec<(f64, f64)> = (0..requests).map(request).collect();
    all[requests / 20..].to_vec()
}

/// Response times when all are served at once.
fn shared(queue: &Queue, requests: usize, seed: u64) -> Vec<f64> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut under_way: Vec<(f64, f64)> = Vec::new();
    let (mut now, mut times) = (0.0, Vec::new());
    let mut next = draw(1.0 / queue.rate_per_s(), queue.arrival_scv(), &mut rng);
    while times.len() < requests {
        let pace = (f64::from(queue.servers()) / under_way.len() as f64).min(1.0);
        let least = under_way.iter().map(|r| r.1).fold(f64::INFINITY, f64::min);
        let ends = now + least / pace;
        let until = ends.min(next);
        under_way
            .iter_mut()
            .for_each(|r| r.1 -= (until - now) * pace);
        now = until;
        if ends <= next {
            let done = under_way
                .iter()
                .position(|r| r.1 <= 1e-12)
                .unwrap_or_else(|| {
                    let least = |a: usize, b: usize| {
                        if under_way[b].1 < under_way[a].1 {
                            b
                        } else {
                            a
                        }
                    };
                    (0..under_way.len()).reduce(least).unwrap()
                });
            times.push(now - under_way.swap_remove(done).0);
        } else {
            under_way.push((now, draw(queue.service_s(), queue.service_scv(), &mut rng)));
            next = now + draw(1.0 / queue.rate_per_s(), queue.arrival_scv(), &mut rng);
        }
    }
    times[requests / 20..].to_vec()
}

/// Mean and its standard error, from the means of batches that are long enough
/// to be nearly independent.
fn estimate(values: &[f64]) -> (f64, f64) {
    let size = values.len() / BATCHES;
    let means: Vec<f64> = values
        .chunks_exact(size)
        .map(|batch| batch.iter().sum::<f64>() / size as f64)
        .collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn queue(utilisation: f64, servers: u32, arrival_scv: f64, service_scv: f64) -> Queue {
    let queue = Queue::new(utilisation * f64::from(servers), 1.0, servers).unwrap();
    queue.varying(arrival_scv, service_scv).unwrap()
}

/// Four standard errors: one test in ten thousand fails by chance, and with
/// fixed seeds none does.
fn assert_near(what: &str, formula: f64, values: &[f64]) {
    let (mean, error) = estimate(values);
    assert!(
        (formula - mean).abs() <= 4.0 * error + 1e-9,
        "{what}: formula {formula}, simulation {mean} ± {error}"
    );
    assert!(
        error < 0.1 * mean.max(1e-3),
        "{what}: too little was simulated: {mean} ± {error}"
    );
}

#[test]
fn exact_formulas_hold_in_the_simulation() {
    let cases = [
        (Model::Mmc, queue(0.7, 1, 1.0, 1.0)),
        (Model::Mmc, queue(0.7, 4, 1.0, 1.0)),
        (Model::Mg1, queue(0.7, 1, 1.0, 0.0)),
        (Model::Mg1, queue(0.7, 1, 1.0, 0.3)),
        (Model::Mg1, queue(0.6, 1, 1.0, 3.0)),
    ];
    for (seed, (model, queue)) in cases.into_iter().enumerate() {
        let answer = queue.answer(model).unwrap();
        let seen = first_come(&queue, 400_000, seed as u64);
        let of = |f: fn(&(f64, f64)) -> f64| seen.iter().map(f).collect::<Vec<f64>>();
        let what = format!("{model:?} {queue:?}");
        assert_near(&what, answer.wait_s, &of(|r| r.0));
        assert_near(&what, answer.response_s, &of(|r| r.1));
        for share in [0.5, 0.95] {
            let limits = [
                answer.wait_quantile_s(share),
                answer.response_quantile_s(share),
            ];
            let beyond = |values: Vec<f64>, limit: f64| -> Vec<f64> {
                values
                    .iter()
                    .map(|v| f64::from(u8::from(*v > limit)))
                    .collect()
            };
            // A wait of 0 has a probability of its own.
            let late = if limits[0] > 0.0 {
                1.0 - share
            } else {
                answer.delayed
            };
            assert_near(&what, late, &beyond(of(|r| r.0), limits[0]));
            assert_near(&what, 1.0 - share, &beyond(of(|r| r.1), limits[1]));
        }
    }
}

/// Constant and very uneven work take as long on average: the sharing formula
/// asks for the mean alone.
#[test]
fn sharing_does_not_ask_how_the_work_is_distributed() {
    for (seed, (servers, scv)) in [(1, 0.0), (1, 3.0), (2, 0.0), (2, 3.0)]
        .into_iter()
        .enumerate()
    {
        let queue = queue(0.7, servers, 1.0, scv);
        let seen = shared(&queue, 300_000, seed as u64);
        assert_near(&format!("{queue:?}"), sharing(&queue).response_s, &seen);
    }
}

/// How far the approximation is off, as `docs/calc.md` says.
#[test]
fn allen_and_cunneen_err_by_as_much_as_is_said() {
    let mut worst = 0.0_f64;
    for servers in [1, 4] {
        for utilisation in [0.7, 0.9] {
            for arrival in [0.3, 1.0, 2.0] {
                for service in [0.3, 1.0, 2.0] {
                    let queue = queue(utilisation, servers, arrival, service);
                    let seen = first_come(&queue, 300_000, 7);
                    let waits: Vec<f64> = seen.iter().map(|r| r.0).collect();
                    let (mean, error) = estimate(&waits);
                    let off = ggc(&queue).wait_s / mean - 1.0;
                    let (low, high) = match (arrival == 1.0, utilisation > 0.8) {
                        (true, _) => (-0.06, 0.06),
                        (false, true) => (-0.20, 0.20),
                        (false, false) => (-0.30, 0.60),
                    };
                    let chance = 3.0 * error / mean;
                    assert!(
                        (low - chance..=high + chance).contains(&off),
                        "c={servers} rho={utilisation} ca2={arrival} cs2={service}: {off:+.3} ± {chance:.3}"
                    );
                    worst = worst.max(off.abs());
                }
            }
        }
    }
    assert!(
        worst > 0.3,
        "the errors that the page tells of are gone: {worst}"
    );
}
