//! The knee as people need it: not a visible bend in a curve, but the
//! highest rate that still meets an objective.

use super::{Model, Queue};

/// Where the objective is just met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    pub rate_per_s: f64,
    /// Part of the time that each server is then busy.
    pub utilisation: f64,
}

/// The highest rate at which the part `share` (in 0..1) of the requests is
/// answered within `limit_s`, to a millionth of what the servers can do; `None`
/// when even a single request is too slow too often. `queue`'s own rate does not
/// matter.
pub fn knee(queue: &Queue, model: Model, share: f64, limit_s: f64) -> Option<Knee> {
    let most_per_s = queue.most_per_s();
    let meets = |part: f64| {
        let answer = queue
            .at(part * most_per_s)
            .ok()
            .and_then(|q| q.answer(model));
        answer.is_some_and(|a| a.response_beyond(limit_s) <= 1.0 - share + 1e-12)
    };
    let (mut low, mut high) = (1e-6, 1.0);
    if !meets(low) {
        return None;
    }
    while high - low > 1e-6 {
        let middle = (low + high) / 2.0;
        if meets(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(Knee {
        rate_per_s: low * most_per_s,
        utilisation: low,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M/M/1: P(R > t) = e^(-(mu - lambda) t), so lambda = mu - ln(100) / t.
    #[test]
    fn one_server_by_hand() {
        let queue = Queue::new(1.0, 0.02, 1).unwrap();
        let found = knee(&queue, Model::Mmc, 0.99, 0.25).unwrap();
        let exact = 50.0 - 100_f64.ln() / 0.25;
        assert!((found.rate_per_s - exact).abs() < 1e-3, "{found:?} {exact}");
        assert!((found.utilisation - exact / 50.0).abs() < 1e-5);
    }

    #[test]
    fn what_is_too_slow_alone_has_no_knee() {
        let queue = Queue::new(1.0, 0.02, 4).unwrap();
        assert_eq!(knee(&queue, Model::Mmc, 0.99, 0.05), None);
        let constant = queue.varying(1.0, 0.0).unwrap();
        assert_eq!(knee(&constant, Model::Ggc, 0.99, 0.019), None);
        assert!(knee(&constant, Model::Ggc, 0.99, 0.021).is_some());
    }

    /// At the rate that is found the quantile is the limit, for every formula.
    #[test]
    fn the_quantile_there_is_the_limit() {
        for (model, servers, scv) in [
            (Model::Mmc, 4, 1.0),
            (Model::Mg1, 1, 3.0),
            (Model::Mg1, 1, 0.2),
            (Model::Ggc, 3, 2.0),
        ] {
            let queue = Queue::new(1.0, 0.02, servers)
                .unwrap()
                .varying(1.0, scv)
                .unwrap();
            let found = knee(&queue, model, 0.95, 0.2).unwrap();
            let answer = queue.at(found.rate_per_s).unwrap().answer(model).unwrap();
            let p95 = answer.response_quantile_s(0.95);
            assert!((p95 / 0.2 - 1.0).abs() < 1e-3, "{model:?}: {p95}");
        }
    }
}
