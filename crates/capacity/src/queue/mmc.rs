//! M/M/c: Poisson arrivals, exponential service, c servers (Erlang 1917).

use super::law::{Law, Wait};
use super::{Answer, Queue};

/// The sum ends at a term of this share of it: the later ones are smaller.
const IGNORED: f64 = 1e-20;

/// Erlang's B: the probability that all of `servers` are busy when no request can
/// wait, at `offered` erlangs. 1 / B is the sum of c (c - 1) … (c - k + 1) / a^k
/// for k from 0 to c. At most some 40 √c of these terms matter, so that a damaged
/// count of servers takes no time. All are positive, so that nothing cancels.
/// A sum beyond the largest number means that B is 0.
pub fn erlang_b(servers: u32, offered: f64) -> f64 {
    1.0 / inverse_b(servers, offered).0
}

/// 1 / B, and how many terms were added.
fn inverse_b(servers: u32, offered: f64) -> (f64, u32) {
    let (mut term, mut sum, mut terms) = (1.0, 1.0, 1);
    for idle in (1..=servers).rev() {
        let ratio = f64::from(idle) / offered;
        term *= ratio;
        sum += term;
        terms += 1;
        if sum.is_infinite() || (ratio < 1.0 && term < IGNORED * sum) {
            break;
        }
    }
    (sum, terms)
}

/// Erlang's C: the probability that a request has to wait, below saturation.
pub fn erlang_c(servers: u32, offered: f64) -> f64 {
    let b = erlang_b(servers, offered);
    b / (1.0 - offered / f64::from(servers) * (1.0 - b))
}

/// The formula, whatever the queue's variation is said to be.
pub fn mmc(queue: &Queue) -> Answer {
    let delayed = erlang_c(queue.servers, queue.offered());
    // Waiting requests wait for an exponential time: the rate at which the
    // servers together get ahead of the arrivals.
    let ahead_per_s = f64::from(queue.servers) / queue.service_s - queue.rate_per_s;
    let wait = Wait::Exponential {
        delayed,
        ahead_per_s,
    };
    let law = Law::new(wait, queue.service_s, 1.0);
    Answer::new(queue, delayed, delayed / ahead_per_s, law)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use proptest::prelude::*;

    /// Erlang C in fractions, from the weights of the chain: a^n / n! below c,
    /// and a^c / c! / (1 - a/c) for all that is not.
    fn in_fractions(servers: i64, numerator: i64, denominator: i64) -> BigRational {
        let whole = |n: i64| BigRational::from_integer(n.into());
        let a = BigRational::new(numerator.into(), denominator.into());
        let (mut weight, mut below) = (whole(1), whole(0));
        for n in 1..=servers {
            below += weight.clone();
            weight = weight * a.clone() / whole(n);
        }
        let busy = weight / (whole(1) - a / whole(servers));
        busy.clone() / (below + busy)
    }

    fn value(fraction: &BigRational) -> f64 {
        // 18 digits, so that the division of two long integers is exact enough.
        let scaled = fraction * BigRational::from_integer(10_i64.pow(18).into());
        scaled.to_integer().to_string().parse::<f64>().unwrap() / 1e18
    }

    /// By hand: c = 2, a = 1: weights 1, 1, and 1/2 / (1 - 1/2) = 1: C = 1/3.
    #[test]
    fn by_hand() {
        assert!((erlang_c(2, 1.0) - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(in_fractions(2, 1, 1), BigRational::new(1.into(), 3.into()));
        assert!((erlang_b(2, 1.0) - 0.2).abs() < 1e-15);
        // Rate 50 a second, 20 ms, two servers: a = 1, W = C / (2/0.02 - 50).
        let answer = mmc(&Queue::new(50.0, 0.02, 2).unwrap());
        assert!((answer.wait_s - 1.0 / 150.0).abs() < 1e-15);
        assert!((answer.in_system - 4.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn agrees_with_exact_fractions() {
        for (servers, numerator, denominator) in [
            (1, 4, 5),
            (2, 8, 5),
            (4, 16, 5),
            (8, 15, 2),
            (30, 29, 1),
            (100, 97, 1),
            (3, 1, 10),
        ] {
            let exact = value(&in_fractions(servers, numerator, denominator));
            let ours = erlang_c(servers as u32, numerator as f64 / denominator as f64);
            assert!(
                (ours / exact - 1.0).abs() < 1e-12,
                "{servers}: {ours} {exact}"
            );
        }
    }

    /// The usual recursion over servers.
    fn by_recursion(servers: u32, offered: f64) -> f64 {
        (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b))
    }

    #[test]
    fn any_number_of_servers_takes_no_time() {
        let most = u32::MAX;
        assert_eq!(erlang_b(most, 1.0), 0.0);
        // At a = c it tends to √(2 / (π c)).
        let c = f64::from(most);
        let limit = (2.0 / (std::f64::consts::PI * c)).sqrt();
        assert!((erlang_b(most, c) / limit - 1.0).abs() < 1e-4);
        assert!((erlang_b(most, 1e3 * c) - 0.999).abs() < 1e-6);
        assert_eq!((erlang_b(0, 0.0), erlang_b(3, 0.0)), (1.0, 0.0));
        for load in [1e-9, 0.5, 0.9999, 1.0, 1.0001, 2.0, 1e9] {
            let (_, terms) = inverse_b(most, load * c);
            assert!(f64::from(terms) < 50.0 * c.sqrt(), "{load}: {terms}");
        }
    }

    /// The states of the chain one by one, as many as matter: their mean is L.
    fn mean_by_chain(queue: &Queue) -> f64 {
        let (mut weight, mut sum, mut mean) = (1.0, 0.0, 0.0);
        for n in 1..200_000_u32 {
            sum += weight;
            mean += f64::from(n - 1) * weight;
            weight *= queue.offered() / f64::from(n.min(queue.servers()));
        }
        mean / sum
    }

    /// M/M/1: the response time is exponential with the mean 1 / (mu - lambda).
    #[test]
    fn one_server_has_an_exponential_response() {
        let answer = mmc(&Queue::new(40.0, 0.02, 1).unwrap());
        assert!((answer.response_s - 0.1).abs() < 1e-12);
        for t in [0.0, 0.01, 0.1, 0.7] {
            assert!((answer.response_beyond(t) - (-10.0 * t).exp()).abs() < 1e-12);
            assert!((answer.wait_beyond(t) - 0.8 * (-10.0 * t).exp()).abs() < 1e-12);
        }
        assert!((answer.response_quantile_s(0.99) - 100_f64.ln() / 10.0).abs() < 1e-7);
    }

    proptest! {
        #[test]
        fn agrees_with_the_recursion(servers in 0_u32..20_000, load in 0.0_f64..3.0) {
            let offered = load * f64::from(servers);
            let (ours, naive) = (erlang_b(servers, offered), by_recursion(servers, offered));
            prop_assert!((ours - naive).abs() <= 1e-10 * naive + 1e-300, "{} {}", ours, naive);
        }

        #[test]
        fn agrees_with_the_chain_and_keeps_its_bounds(
            servers in 1_u32..40, utilisation in 0.01_f64..0.98, service in 0.001_f64..10.0,
        ) {
            let rate = utilisation * f64::from(servers) / service;
            let queue = Queue::new(rate, service, servers).unwrap();
            let answer = mmc(&queue);
            prop_assert!((answer.in_system / mean_by_chain(&queue) - 1.0).abs() < 1e-6);
            prop_assert!((0.0..=1.0).contains(&answer.delayed));
            // The mean is the area under the tail; here by the trapezium.
            let step = answer.response_s / 200.0;
            let area: f64 = (0..20_000)
                .map(|k| f64::from(k) * step)
                .map(|t| (answer.response_beyond(t) + answer.response_beyond(t + step)) / 2.0 * step)
                .sum();
            prop_assert!((area / answer.response_s - 1.0).abs() < 1e-3, "{} {}", area, answer.response_s);
            // One server that is c times as fast does better than c servers.
            let fast = mmc(&Queue::new(rate, service / f64::from(servers), 1).unwrap());
            prop_assert!(fast.response_s <= answer.response_s * (1.0 + 1e-9));
            prop_assert!(answer.delayed <= fast.delayed * (1.0 + 1e-9));
        }
    }
}
