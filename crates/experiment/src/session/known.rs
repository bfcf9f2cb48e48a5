//! What earlier runs of the same application on the same machine showed. It sets the plan and the order of the candidates; the
//! comparison that decides is measured anew.

use super::asked::is_of_same_application;
use crate::described::host_of_run;
use crate::noise;
use crate::request::{Experiment, Goal};
use crate::run_key::RunKey;
use run::{Document, Feasibility, Known, KnownArm, KnownNoise, Trial};
use stats::{Scatter, summary};

/// Runs that are used: the newest know most of today's application and machine.
const MOST_USED: usize = 3;

/// What the folder of runs knows; `None` where no run there is alike, and where none is to be used.
pub fn read(experiment: &Experiment) -> Option<Known> {
    let may_use = experiment.earlier_runs
        && matches!(experiment.goal, Goal::Tune)
        && experiment.workload_command.is_none();
    if !may_use {
        return None;
    }
    let host = host_of_run();
    let measured = run::runs::newest_measured(&experiment.runs_dir, &host);
    let alike = measured.filter_map(|(folder, document)| {
        let key = RunKey::read(&folder).ok()?;
        let is_alike = document.plan.app_dir == experiment.app_dir.display().to_string()
            && is_of_same_application(&document.asked, experiment, &key);
        is_alike.then_some(document)
    });
    let documents: Vec<Document> = alike.take(MOST_USED).collect();
    of(&documents, experiment)
}

/// What these runs know, the newest first.
pub fn of(documents: &[Document], experiment: &Experiment) -> Option<Known> {
    let seen = documents
        .iter()
        .map(|document| noise::of_trials(&document.trials));
    let noise = seen.fold(Scatter::default(), Scatter::and).noise_in(1.0);
    let trials = || documents.iter().flat_map(|document| &document.trials);
    let around: Vec<f64> = trials().filter_map(Trial::around_windows_s).collect();
    (!documents.is_empty()).then(|| Known {
        runs: documents
            .iter()
            .map(|document| document.id.clone())
            .collect(),
        noise: noise.map(|noise| KnownNoise {
            sd_log_ratio: noise.sd,
            freedom: noise.freedom.unwrap_or(0),
        }),
        around_windows_s: summary::median(&around),
        arms: documents
            .iter()
            .flat_map(|document| arms(document, experiment))
            .collect(),
    })
}

/// What a run measured of threads and workers alone.
fn arms<'d>(
    document: &'d Document,
    experiment: &'d Experiment,
) -> impl Iterator<Item = KnownArm> + 'd {
    let same_limits = document.plan.objective == experiment.objective;
    let rows = document
        .arms
        .iter()
        .filter(|arm| arm.environment.is_empty());
    rows.filter_map(move |arm| {
        Some(KnownArm {
            run: document.id.clone(),
            settings: arm.settings,
            capacity_per_s: arm.capacity_per_s.filter(|per_s| *per_s > 0.0)?,
            breaks: same_limits && arm.feasible == Feasibility::Breaks,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::tuned;

    #[test]
    fn a_run_of_tune_knows_noise_costs_and_configurations() {
        let document = crate::sample::document("tune");
        let experiment = tuned(1, |_| ());
        let known = of(std::slice::from_ref(&document), &experiment).unwrap();
        assert_eq!(known.runs, std::slice::from_ref(&document.id));
        assert!(known.noise.unwrap().freedom >= 5, "{known:?}");
        assert!(known.around_windows_s.unwrap() > 0.0);
        let measured = document
            .arms
            .iter()
            .filter(|arm| arm.capacity_per_s.is_some());
        assert_eq!(known.arms.len(), measured.count());
        // The sample has a limit, and what is asked now has none.
        assert!(known.arms.iter().all(|arm| !arm.breaks));
        assert_eq!(of(&[], &experiment), None);
    }
}
