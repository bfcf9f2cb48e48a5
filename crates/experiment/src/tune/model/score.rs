//! How the predictions came out.

use run::{ArmSummary, ModelScore};

/// Capacities further apart than this, as a ratio less one, are truly in an order.
const APART: f64 = 0.05;

/// Of the arms that have both a prediction and a capacity; `None` of none.
pub fn score(arms: &[ArmSummary]) -> Option<ModelScore> {
    let capacities: Vec<(f64, f64)> = arms
        .iter()
        .filter_map(|arm| Some((arm.predicted_per_s?, arm.capacity_per_s?)))
        .collect();
    let p50 = arms.iter().map(|a| (a.predicted_p50_ms, a.p50_ms));
    let p99 = arms.iter().map(|a| (a.predicted_p99_ms, a.p99_ms));
    let order = stats::ranking(&capacities, APART);
    Some(ModelScore {
        arms: capacities.len() as u32,
        capacity: mean_error(capacities.iter().copied())?,
        p50: mean_error(p50.filter_map(both)),
        p99: mean_error(p99.filter_map(both)),
        pairs: order.pairs as u32,
        pairs_in_order: order.right as u32,
    })
}

fn both((predicted, measured): (Option<f64>, Option<f64>)) -> Option<(f64, f64)> {
    predicted.zip(measured)
}

fn mean_error(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let errors: Vec<f64> = pairs
        .filter(|(_, measured)| *measured > 0.0)
        .map(|(predicted, measured)| (predicted / measured - 1.0).abs())
        .collect();
    stats::summary::mean(&errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_means_of_what_was_measured() {
        let error = mean_error([(110.0, 100.0), (90.0, 100.0), (1.0, 0.0)].into_iter());
        assert!((error.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(mean_error(std::iter::empty()), None);
        assert_eq!(score(&[]), None);
    }
}
