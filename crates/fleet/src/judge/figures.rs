//! Plain figures of each arm, without a judgement.

use super::quantile::quantile;
use crate::experiment::Experiment;
use crate::join::{Fleet, Slice, Unit};
use run::production::Arm;
use std::collections::BTreeSet;

pub(super) fn arms(experiment: &Experiment, fleet: &Fleet, slices: usize) -> Vec<Arm> {
    let arms = experiment.arms.iter().enumerate();
    arms.map(|(place, arm)| {
        // Draws of a halted arm ran the first arm and are in no comparison.
        let ours = fleet.units.iter();
        let ours = ours
            .filter(|unit| unit.arm == place && unit.label.halted.is_none() && unit.from <= slices);
        of_units(
            &arm.name,
            arm.share,
            &ours.collect::<Vec<_>>(),
            &fleet.bounds,
            slices,
        )
    })
    .collect()
}

fn of_units(name: &str, share: f64, units: &[&Unit], bounds: &[f64], slices: usize) -> Arm {
    let within = || {
        units
            .iter()
            .flat_map(|unit| &unit.slices)
            .filter(|slice| slice.index < slices)
    };
    let requests: f64 = within().map(|slice| slice.requests).sum();
    let of_requests = |seconds: f64| (requests > 0.0).then(|| seconds / requests);
    let ms = |seconds: f64| of_requests(seconds).map(|mean| mean * 1e3);
    let known_ms = |part: fn(&Slice) -> Option<f64>| {
        let known = within().filter_map(|slice| Some((part(slice)?, slice.requests)));
        let (seconds, requests) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (requests > 0.0).then(|| seconds / requests * 1e3)
    };
    let left_out = units.iter().flat_map(|unit| &unit.left_out);
    let bytes = within().filter_map(|slice| slice.memory_bytes);
    let (bytes, samples) = bytes.fold((0.0, 0.0), |sum, one| (sum.0 + one, sum.1 + 1.0));
    let mut counts = vec![0.0; bounds.len()];
    for tail in units
        .iter()
        .flat_map(|unit| &unit.tails)
        .filter(|tail| tail.until <= slices)
    {
        for (sum, count) in counts.iter_mut().zip(&tail.counts) {
            *sum += count;
        }
    }
    let percentile = |share: f64| quantile(bounds, &counts, share).map(|seconds| seconds * 1e3);
    let instances: BTreeSet<&str> = units.iter().map(|unit| unit.instance.as_str()).collect();
    Arm {
        name: name.to_owned(),
        share,
        instances: instances.len() as u64,
        draws: units.len() as u64,
        slices: within().count() as u64,
        slices_left_out: left_out.filter(|slice| **slice < slices).count() as u64,
        requests: requests as u64,
        errors: of_requests(within().map(|slice| slice.errors).sum()),
        response_ms: ms(within().map(|slice| slice.response_s).sum()),
        p95_ms: percentile(0.95),
        p99_ms: percentile(0.99),
        // The sum is 0 if no request has X-Request-Start.
        queue_ms: known_ms(|slice| slice.queue_s).filter(|ms| *ms > 0.0),
        gvl_wait_ms: known_ms(|slice| slice.gvl_wait_s),
        memory_bytes: (samples > 0.0).then(|| bytes / samples),
    }
}
