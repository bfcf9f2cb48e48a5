//! G/G/c: any arrivals, any service, c servers, by the approximation of Allen
//! and Cunneen (Allen 1990): the wait of M/M/c times the mean of the two squared
//! coefficients of variation. Exact for M/M/c and for the mean of M/G/1; near
//! saturation it tends to what is exact (Kingman 1961, Köllerström 1974).
//! `docs/calc.md` has how far off it was elsewhere.

use super::law::{Law, Wait};
use super::{Answer, Queue, erlang_c, mmc};

/// The approximation. Quantiles assume that waiting requests wait for an
/// exponential time, which holds far out and near saturation.
pub fn ggc(queue: &Queue) -> Answer {
    let wait_s = mmc(queue).wait_s * (queue.arrival_scv + queue.service_scv) / 2.0;
    // Constant arrivals and constant service below saturation never meet.
    let delayed = match wait_s > 0.0 {
        true => erlang_c(queue.servers, queue.offered()),
        false => 0.0,
    };
    let ahead_per_s = match delayed > 0.0 {
        true => delayed / wait_s,
        false => 1.0,
    };
    let wait = Wait::Exponential {
        delayed,
        ahead_per_s,
    };
    let law = Law::new(wait, queue.service_s, queue.service_scv);
    Answer::new(queue, delayed, wait_s, law)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::mg1;
    use proptest::prelude::*;

    #[test]
    fn nothing_varies_and_nobody_waits() {
        let queue = Queue::new(90.0, 0.02, 2)
            .unwrap()
            .varying(0.0, 0.0)
            .unwrap();
        let answer = ggc(&queue);
        assert_eq!((answer.wait_s, answer.delayed), (0.0, 0.0));
        assert!((answer.response_quantile_s(0.99) - 0.02).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn is_exact_where_theory_is(
            servers in 1_u32..20, utilisation in 0.05_f64..0.95, scv in 0.0_f64..10.0,
        ) {
            let queue = Queue::new(utilisation * f64::from(servers), 1.0, servers).unwrap();
            prop_assert!((ggc(&queue).wait_s / mmc(&queue).wait_s - 1.0).abs() < 1e-12);
            let (a, b) = (ggc(&queue).response_quantile_s(0.99), mmc(&queue).response_quantile_s(0.99));
            prop_assert!((a / b - 1.0).abs() < 1e-6);
            let one = Queue::new(utilisation, 1.0, 1).unwrap().varying(1.0, scv).unwrap();
            prop_assert!((ggc(&one).wait_s - mg1(&one).wait_s).abs() < 1e-9);
        }
    }
}
