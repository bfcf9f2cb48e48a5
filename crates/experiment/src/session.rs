//! One run from its first document to its last.

mod asked;
mod configured;
mod fitted;
pub(crate) mod known;

use crate::bench::{Bench, Installation};
use crate::budget;
use crate::config::{self, Problem, Request};
use crate::described::{host_of_run, workload};
use crate::error::Stopped;
use crate::judge;
use crate::layout;
use crate::peers::{self, Peers};
use crate::procedure::Procedure;
use crate::progress::{Event, Watcher};
use crate::request::{Experiment, Goal};
use crate::run_key::RunKey;
use crate::sending::Sender;
use crate::store::Store;
use crate::{arms, command_runs, spoiled, tune};
use asked::{asked, changed};
use configured::{as_configured, configured, without_preload, without_workers};
use fitted::{Fitted, before_pilot, fitted};
use run::{Age, Document, Folder, Plan, SCHEMA, SdSource, State};
use std::collections::BTreeMap;
use std::path::Path;

/// Two-sided error rate of the deciding comparison.
const ALPHA: f64 = 0.05;

/// Turns a merged request into the experiment of a new run, or names all that is wrong, a budget in which nothing can be decided
/// included. A run that goes on keeps its own budget.
pub fn resolve_new(
    request: Request,
    goal: Goal,
    fallback_seed: u64,
) -> Result<Experiment, Vec<Problem>> {
    let (mut experiment, mut problems) = config::collected(request, goal, fallback_seed);
    experiment.known = known::read(&experiment);
    problems.extend(fitted(&experiment).err());
    match problems.is_empty() {
        true => Ok(experiment),
        false => Err(problems),
    }
}

/// Makes the run folder of a new run; refuses a budget in which nothing can be decided.
pub fn begin(experiment: &Experiment, started_at: &str, id: &str) -> Result<Store, Stopped> {
    let plan = plan(experiment)?;
    let folder = Folder::create(&experiment.runs_dir, id)?;
    let path = folder.path().to_owned();
    // A disk without room for the first document has none for the rest.
    first_document(experiment, plan, folder, started_at, id).inspect_err(|_| {
        let _ = std::fs::remove_dir_all(path);
    })
}

fn first_document(
    experiment: &Experiment,
    plan: Plan,
    folder: Folder,
    started_at: &str,
    id: &str,
) -> Result<Store, Stopped> {
    let key = RunKey::create(&folder)?;
    let document = Document {
        schema: SCHEMA.to_owned(),
        id: id.to_owned(),
        kind: experiment.goal.kind(),
        state: State::Running,
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: started_at.to_owned(),
        elapsed_s: 0.0,
        resumed_at_s: None,
        seed: experiment.seed,
        host: host_of_run(),
        versions: BTreeMap::new(),
        asked: asked(experiment, &key),
        plan,
        profile: None,
        model: None,
        calibration: None,
        command: command_runs::asked_for(experiment),
        trials: Vec::new(),
        comparisons: Vec::new(),
        memory: Vec::new(),
        latency: Vec::new(),
        pages: Vec::new(),
        assertions: Vec::new(),
        arms: Vec::new(),
        rates: Vec::new(),
        fleet: None,
        rates_skipped: None,
        search: None,
        known: experiment.known.clone(),
        since: experiment
            .since
            .as_ref()
            .map(|earlier| earlier.since.clone()),
        proof: experiment.proof.clone(),
        verdict: None,
        warnings: Vec::new(),
    };
    Ok(Store::create(folder, document)?)
}

/// Opens a run that was interrupted; refuses when what is asked differs from what was measured.
pub fn resume(experiment: &mut Experiment, folder: &Path) -> Result<Store, Stopped> {
    let folder = Folder::open(folder)?;
    let before = folder.read()?;
    if before.is_failed_empty() {
        return Err(Stopped::Configuration(format!(
            "{} cannot go on: it failed before anything was measured; start a new run",
            before.id
        )));
    }
    let mut store = Store::resume(folder)?;
    if !store.is_empty() {
        store.note_load(host_of_run().load_average);
    }
    let document = &store.document;
    experiment.seed = document.seed;
    if !store.is_empty() && matches!(experiment.goal, Goal::Tune) {
        experiment.baseline = Some(document.plan.baseline);
    }
    let key = RunKey::read(store.folder())?;
    let began = store.folder().key_written();
    if let Some(changed) = changed(&document.asked, experiment, &key, !store.is_empty(), began) {
        return Err(Stopped::Configuration(format!(
            "{} cannot go on: {changed}, or start a new run",
            document.id
        )));
    }
    if store.is_empty() {
        store.document.asked = asked(experiment, &key);
    }
    let document = &store.document;
    if document.state == State::Done {
        return Ok(store);
    }
    if document.command.is_some() {
        return Err(Stopped::Configuration(format!(
            "{} cannot go on: runs of a command are not resumed; start a new run, of fewer --blocks where time is short",
            document.id
        )));
    }
    // It may be raised. The plan was made for the time that it has, and a shorter one leaves no less to measure.
    if let (Some(budget), Goal::Tune) = (experiment.budget, &experiment.goal) {
        let own_s = store.document.plan.budget_s.unwrap_or(0.0);
        store.document.plan.budget_s = Some(own_s.max(budget.as_secs_f64()));
    }
    Ok(store)
}

/// Measures and judges until the verdict, an interruption or an honest refusal. The folder is true in any case.
pub fn conduct(
    experiment: &Experiment,
    mut store: Store,
    installation: &Installation,
    watcher: &dyn Watcher,
) -> (Store, Result<(), Stopped>) {
    if store.document.verdict.is_some() {
        return (store, Ok(()));
    }
    if let Some(kept) = store.kept() {
        watcher.on(Event::Note(kept));
    }
    if let Some(why) = other_budget(experiment, &store.document.plan) {
        watcher.on(Event::Note(why));
    }
    let scratch = store.folder().path().to_owned();
    match &store.document.command {
        Some(command) => {
            let planned = command_runs::planned(&store.document, command);
            watcher.on(Event::Note(planned));
        }
        None => watcher.on(Event::Planned {
            document: &store.document,
            because: "before anything is measured",
        }),
    }
    // The document says at the end what is left of the rest: the load of now is then this run's own.
    let found = spoiled::tell(watcher);
    let load = found
        .into_iter()
        .filter(|warning| warning.starts_with(host::checks::LOAD));
    store.document.warnings.extend(load);
    let ((store, result), refused) = peers::watched(experiment, watcher, |peers| {
        measure(experiment, store, installation, &scratch, peers)
    });
    match refused.map_or(result, Err) {
        Ok(()) => (store, Ok(())),
        Err(stopped) => fail(store, stopped, watcher),
    }
}

fn measure(
    experiment: &Experiment,
    mut store: Store,
    installation: &Installation,
    scratch: &Path,
    peers: &Peers<'_>,
) -> (Store, Result<(), Stopped>) {
    let watcher: &dyn Watcher = peers;
    let bench = match Bench::set_up(experiment, installation, scratch, peers) {
        Ok(bench) => bench,
        Err(stopped) => return (store, Err(stopped)),
    };
    for left_out in bench.arm_environments.left_out() {
        watcher.on(Event::Note(left_out.clone()));
        store.document.warnings.push(left_out);
    }
    let asked_nowhere = experiment.baseline.is_none()
        && experiment.workload_command.is_none()
        && matches!(experiment.goal, Goal::Tune);
    if asked_nowhere && store.document.trials.is_empty() && !store.resuming() {
        let (baseline, how) = configured(&bench.own, experiment.kind);
        store.document.plan.baseline = baseline;
        watcher.on(Event::Note(format!(
            "baseline: {baseline} ({how}; --baseline sets another)"
        )));
    }
    if store.document.command.is_none() {
        store.document.plan.server_command = bench.shown_words();
    }
    let arms = as_configured(experiment, &bench, watcher);
    if let Some(first) = arms.first() {
        store.document.plan.baseline = first.settings;
        store.document.plan.baseline_environment = bench.told(first);
    }
    let own = || bench.own.configured_settings();
    for unlike in [without_workers(&arms, own), without_preload(&arms, own)]
        .into_iter()
        .flatten()
    {
        watcher.on(Event::Note(unlike.clone()));
        store.document.warnings.push(unlike);
    }
    let commits = experiment.revisions.all.iter().map(|revision| {
        let name = format!("revision {}", revision.named);
        (name, revision.short_commit().to_owned())
    });
    store.document.versions.extend(commits);
    let mut procedure = Procedure::new(experiment, &bench, store, watcher);
    let result = match (&experiment.goal, &experiment.workload_command) {
        (Goal::Tune, Some(command)) => command_runs::tune(&mut procedure, &bench, command),
        (Goal::Tune, None) => tune::tune(&mut procedure),
        (Goal::Arms { .. }, Some(command)) => {
            command_runs::compare(&mut procedure, &bench, command, &arms)
        }
        (Goal::Arms { .. }, None) => arms::compare(&mut procedure, &arms),
    };
    let result = result.and_then(|()| procedure.end());
    if matches!(result, Err(Stopped::Interrupted)) {
        let found = procedure.host_warnings();
        spoiled::keep(&mut procedure.store.document.warnings, found);
    }
    (procedure.store, result)
}

/// Ends a run without its verdict, with the reason in its document.
pub(crate) fn fail(
    mut store: Store,
    stopped: Stopped,
    watcher: &dyn Watcher,
) -> (Store, Result<(), Stopped>) {
    let interrupted = matches!(stopped, Stopped::Interrupted);
    store.document.state = if interrupted {
        State::Interrupted
    } else {
        State::Failed
    };
    if !interrupted {
        store.document.warnings.push(stopped.to_string());
    }
    // The first reason is the one to report: a folder that cannot be written has usually caused it.
    let _ = store.save(watcher.elapsed().as_secs_f64());
    (store, Err(stopped))
}

fn plan(experiment: &Experiment) -> Result<Plan, Stopped> {
    let Fitted { shape, budget_s } =
        fitted(experiment).map_err(|problem| Stopped::Configuration(problem.to_string()))?;
    let age = experiment.age.filter(|_| !experiment.rehearse);
    let age = age.map(|requests| Age {
        requests,
        // The only trial of the pilot of the others is not aged.
        most_s: budget_s
            .filter(|_| matches!(experiment.goal, Goal::Tune))
            .map(|budget_s| budget::most_ageing_s(budget_s, before_pilot(experiment))),
    });
    let baseline = match &experiment.goal {
        Goal::Arms { arms, .. } => arms[0].settings,
        Goal::Tune => experiment.baseline.unwrap_or(experiment.kind.defaults()),
    };
    Ok(Plan {
        app_dir: experiment.app_dir.display().to_string(),
        server_command: Vec::new(),
        environment: experiment.environment.clone(),
        workload: match experiment.workload_command {
            Some(_) => Vec::new(),
            None => workload(experiment),
        },
        baseline,
        // Known once it is known what the machine has.
        baseline_environment: Vec::new(),
        objective: experiment.objective.clone(),
        cgroup_memory_bytes: experiment.cgroup_memory_bytes,
        margin: experiment.margin,
        alpha: ALPHA,
        budget_s,
        blocks: shape.blocks,
        arms: shape.arms as u32,
        race_blocks: shape.race_blocks,
        finalists: Some(shape.finalists),
        connections: experiment.clients(baseline.concurrency()),
        rate_per_s: experiment.rate,
        rate_from_per_s: None,
        timing: shape.timing,
        detectable: judge::foreseen(
            shape.blocks,
            ALPHA,
            stats::EqualArms::default(),
            0.0,
            SdSource::Default,
            experiment.seed,
        ),
        age,
        pinning: layout::shared("not yet measured"),
        // What the first server wants is known once it has been asked.
        sending: experiment
            .workload_command
            .is_none()
            .then(|| Sender::new(experiment).sending()),
    })
}

/// Why the budget that a resumed run is asked is not the one that counts; `None` where it is, or none is asked.
fn other_budget(experiment: &Experiment, plan: &Plan) -> Option<String> {
    let asked_s = experiment.budget?.as_secs_f64();
    if experiment.workload_command.is_some() || experiment.rehearse {
        return None;
    }
    let own = match plan.budget_s {
        Some(budget_s) if budget_s == asked_s => return None,
        Some(budget_s) => format!(
            "the run's own budget of {} counts",
            budget::written(budget_s)
        ),
        None => "the run was started without a budget, and its windows stay".to_owned(),
    };
    Some(format!(
        "{} is not used: {own}",
        budget::named(experiment.budget_asked.as_deref())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Asked;
    use crate::scripted::{tuned, typed};

    fn asked(budget: Option<Asked>) -> Experiment {
        tuned(5, |request| request.budget = budget)
    }

    #[test]
    fn a_resumed_run_says_that_a_shorter_budget_is_not_used() {
        let begun = |budget: &str| asked(typed(budget));
        let plan = plan(&begun("20m")).unwrap();
        assert_eq!(other_budget(&begun("20m"), &plan), None);
        assert_eq!(other_budget(&asked(None), &plan), None);
        assert_eq!(
            other_budget(&begun("5m"), &plan).unwrap(),
            "a test = \"5m\" is not used: the run's own budget of 20m counts"
        );
        let without = Plan {
            budget_s: None,
            ..plan
        };
        let said = other_budget(&begun("5m"), &without).unwrap();
        assert!(said.contains("started without a budget"), "{said}");
    }
}
