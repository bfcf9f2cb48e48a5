//! M/G/1: Poisson arrivals, one server, any service time (Pollaczek 1930,
//! Khinchine 1932). The mean asks for the first two moments alone; quantiles take
//! the service time for gamma.

use super::law::{Law, Wait};
use super::{Answer, Queue};

/// The formula for the queue's first server and Poisson arrivals.
pub fn mg1(queue: &Queue) -> Answer {
    let busy = queue.utilisation();
    let wait_s = busy / (1.0 - busy) * queue.service_s * (1.0 + queue.service_scv) / 2.0;
    let wait = Wait::OneServer {
        rate_per_s: queue.rate_per_s,
    };
    let law = Law::new(wait, queue.service_s, queue.service_scv);
    Answer::new(queue, busy, wait_s, law)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::mmc;
    use proptest::prelude::*;

    fn queue(utilisation: f64, scv: f64) -> Queue {
        let queue = Queue::new(utilisation, 1.0, 1).unwrap();
        queue.varying(1.0, scv).unwrap()
    }

    /// rho = 4/5: M/D/1 waits 4/5 / (1/5) / 2 = 2, half of M/M/1.
    #[test]
    fn means_by_hand() {
        assert!((mg1(&queue(0.8, 0.0)).wait_s - 2.0).abs() < 1e-12);
        assert!((mg1(&queue(0.8, 1.0)).wait_s - 4.0).abs() < 1e-12);
        assert!((mg1(&queue(0.8, 4.0)).wait_s - 10.0).abs() < 1e-12);
    }

    #[test]
    fn exponential_service_is_mm1_to_its_quantiles() {
        for utilisation in [0.1, 0.5, 0.9, 0.99] {
            let (ours, exact) = (mg1(&queue(utilisation, 1.0)), mmc(&queue(utilisation, 1.0)));
            assert!((ours.wait_s / exact.wait_s - 1.0).abs() < 1e-12);
            for share in [0.5, 0.9, 0.99, 0.999] {
                let (a, b) = (
                    ours.response_quantile_s(share),
                    exact.response_quantile_s(share),
                );
                assert!((a / b - 1.0).abs() < 1e-4, "{utilisation} {share}: {a} {b}");
                let (a, b) = (ours.wait_quantile_s(share), exact.wait_quantile_s(share));
                assert!(
                    (a - b).abs() < 1e-4 * b.max(1.0),
                    "{utilisation} {share}: {a} {b}"
                );
            }
        }
    }

    /// Erlang's formula for a constant service time of 1: P(W <= t) = (1 - rho)
    /// times the sum over whole j up to t of (-x)^j / j! e^x, x = rho (t - j). Its
    /// terms cancel, so it is for small t only.
    fn constant_within(rho: f64, t: f64) -> f64 {
        let term = |j: i32| {
            let x = rho * (t - f64::from(j));
            let factorial: f64 = (1..=j).map(f64::from).product();
            (-x).powi(j) / factorial * x.exp()
        };
        (1.0 - rho) * (0..=t.floor() as i32).map(term).sum::<f64>()
    }

    /// The law has an edge at each multiple of the service time; it costs the
    /// series digits there.
    #[test]
    fn constant_service_as_erlang_has_it() {
        for rho in [0.3, 0.7, 0.9] {
            let answer = mg1(&queue(rho, 0.0));
            for t in [0.1, 0.5, 0.99, 1.0, 1.5, 2.0, 3.3, 7.0, 10.5] {
                let (ours, exact) = (answer.wait_beyond(t), 1.0 - constant_within(rho, t));
                assert!((ours - exact).abs() < 2e-5, "{rho} {t}: {ours} {exact}");
                assert!((answer.response_beyond(t + 1.0) - ours).abs() < 1e-6);
            }
            assert_eq!(answer.response_beyond(0.999), 1.0);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn tails_fall_and_their_area_is_the_mean(rho in 0.05_f64..0.95, scv in 0.05_f64..8.0) {
            let answer = mg1(&queue(rho, scv));
            prop_assert!((answer.wait_beyond(0.0) - rho).abs() < 1e-12);
            let step = answer.response_s / 50.0;
            let tails: Vec<f64> = (0..3000).map(|k| answer.response_beyond(f64::from(k) * step)).collect();
            prop_assert!(tails.windows(2).all(|w| w[1] <= w[0] + 1e-6));
            let area: f64 = tails.windows(2).map(|w| (w[0] + w[1]) / 2.0 * step).sum();
            prop_assert!((area / answer.response_s - 1.0).abs() < 0.02, "{} {}", area, answer.response_s);
        }
    }
}
