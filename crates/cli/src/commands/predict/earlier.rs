//! What runs in the folder of runs measured of the configurations that are predicted: a measurement says more than a prediction.

use ::predict::Application;
use run::predict::{Document, Size};
use run::{ArmSummary, Kind};
use std::path::Path;

/// Requests that are named.
const MOST_NAMED: usize = 3;

/// The newest run there of the traced application on this machine that measured the traced configuration and others of these.
pub fn sentence(document: &Document, application: &Application, runs: &Path) -> Option<String> {
    let root = application.processes().first()?.application.as_str();
    let host = experiment::host_of_run();
    run::runs::newest_measured(runs, &host).find_map(|(_, run)| {
        // Configurations of a check differ in their code.
        let is_alike = run.kind != Kind::Check
            && run.command.is_none()
            && flight::application_of(&run.plan.app_dir) == root;
        is_alike.then(|| compared(document, &run)).flatten()
    })
}

/// What a run measured of these configurations over the traced one, and what is predicted of it. The recording has the requests that
/// came, a run those that it was given.
fn compared(document: &Document, run: &run::Document) -> Option<String> {
    let of = |size: Size| {
        let is_of = |arm: &&ArmSummary| {
            let settings = arm.settings;
            let has_size = settings.processes() == u32::from(size.processes)
                && settings.threads == size.threads;
            has_size && arm.environment.is_empty()
        };
        run.arms.iter().find(is_of)?.capacity_per_s
    };
    let traced = Size {
        processes: document.traced.processes,
        threads: document.traced.threads,
    };
    let predicted = |size: Size| {
        let point = document.points.iter().find(|point| point.size == size);
        point.map(|point| point.most_per_s)
    };
    let (own, own_predicted) = (of(traced)?, predicted(traced)?);
    let others = document.points.iter().filter(|point| point.size != traced);
    let found: Vec<(Size, f64, f64)> = others
        .filter_map(|point| {
            let measured = of(point.size)? / own;
            Some((point.size, measured, point.most_per_s / own_predicted))
        })
        .collect();
    let error = |&(_, measured, predicted): &(Size, f64, f64)| (predicted / measured - 1.0).abs();
    let mean = found.iter().map(error).sum::<f64>() / found.len() as f64;
    let (size, measured, predicted) = *found
        .iter()
        .max_by(|one, other| error(one).total_cmp(&error(other)))?;
    let requests: Vec<&str> = run
        .plan
        .workload
        .iter()
        .map(|of| of.name.as_str())
        .collect();
    Some(format!(
        "{} measured the traced configuration and {} of the others at full load. It sent its own requests ({}) to the code of that time. Relative to the traced \
         configuration, their throughput differs from this prediction by {:.0} % on average. The largest difference is that of {}: \
         measured {measured:.2} times, predicted {predicted:.2} times. Where they differ, trust the measurement if the requests are alike.",
        run.id,
        found.len(),
        run::first_of(&requests, MOST_NAMED),
        100.0 * mean,
        super::words::words(size),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Settings;

    const PREDICTED: &[u8] = include_bytes!("../../../../../contract/samples/predict/mixed.json");
    const MEASURED: &[u8] = include_bytes!("../../../../../contract/samples/run/tune.json");

    #[test]
    fn a_run_of_these_configurations_is_held_against_the_predictions() {
        let mut document: Document = serde_json::from_slice(PREDICTED).unwrap();
        let mut run: run::Document = serde_json::from_slice(MEASURED).unwrap();
        let traced = document.points[0].size;
        (document.traced.processes, document.traced.threads) = (traced.processes, traced.threads);
        document.points[0].most_per_s = 100.0;
        document.points[1].most_per_s = 150.0;
        let settings = |size: Size| Settings {
            workers: size.processes,
            threads: size.threads,
            preload: true,
        };
        run.arms.truncate(2);
        let sizes = [traced, document.points[1].size];
        for ((arm, size), per_s) in run.arms.iter_mut().zip(sizes).zip([80.0, 96.0]) {
            arm.settings = settings(size);
            arm.environment.clear();
            arm.capacity_per_s = Some(per_s);
        }
        let said = compared(&document, &run).unwrap();
        assert!(
            said.starts_with(&format!(
                "{} measured the traced configuration and 1 of",
                run.id
            )),
            "{said}"
        );
        let names: Vec<&str> = run
            .plan
            .workload
            .iter()
            .map(|of| of.name.as_str())
            .collect();
        let own = format!("at full load. It sent its own requests ({}", names[0]);
        assert!(said.contains(&own), "{said}");
        assert!(
            said.contains("differs from this prediction by 25 % on average"),
            "{said}"
        );
        assert!(
            said.contains("measured 1.20 times, predicted 1.50 times"),
            "{said}"
        );
        run.arms.truncate(1);
        assert_eq!(compared(&document, &run), None);
        run.arms.clear();
        assert_eq!(compared(&document, &run), None);
    }
}
