//! Which configurations enter the race: the model scores every feasible one from the baseline's profile, and the
//! few worth trying stay.

use super::candidate::CandidateArm;
use super::model::{self, config};
use super::{known, since};
use crate::error::Stopped;
use crate::judge;
use crate::procedure::Procedure;
use crate::request::Arm;
use capacity::{Candidate, Config, Grid, MemoryLimit, MemoryModel, Observation, Scored, Small};
use run::{Document, Least, Plan, Settings};

const NOTHING_FITS: &str = "no other configuration fits the knobs and limits given; widen --threads, --workers or --max-memory";

/// The candidates, most promising first, without the baseline.
pub fn choose(procedure: &mut Procedure<'_>) -> Result<Vec<CandidateArm>, Stopped> {
    if procedure.experiment.kind.has_fibers() {
        return unpredicted(procedure);
    }
    if procedure.store.document.profile.is_none() {
        return Err(Stopped::NoAnswer(
            "the agent could not split the baseline's request time (no request of it was recorded, fibers serve it, or another tool took the GVL's hooks), so nothing can be predicted; compare configurations by hand with powerband compare".to_owned(),
        ));
    }
    let grid = grid(procedure)?;
    let simulator = model::predict_grid(procedure, &grid)?;
    let memory = memory_model(procedure);
    let document = &procedure.store.document;
    let plan = &document.plan;
    let limit = memory.as_ref().and_then(|model| limit(document, model));
    let scored = scored(document, &grid, limit)?;
    let useful = document.profile.as_ref().map_or(1.0, |p| p.useful_threads);
    let most = (plan.arms as usize).saturating_sub(1);
    let chosen = chosen(plan, &scored, useful, most);
    let cores = document.server_cores();
    let chosen = capacity::cores_before_more(chosen, &scored, cores, config(plan.baseline), most);
    let chosen = chosen.into_iter().map(|candidate| CandidateArm {
        arm: Arm::of(settings(candidate.config, plan.baseline)),
        because: why(candidate.why),
    });
    let candidates = with_earlier(procedure, chosen.collect(), most)?;
    let arms: Vec<Settings> = candidates.iter().map(|e| e.arm.settings).collect();
    let arms = [arms, vec![plan.baseline]].concat();
    model::predict_latency(procedure, simulator, &arms)?;
    Ok(candidates)
}

/// The candidates with those of the earlier run that `--since` names, or of all that are known; refused where there is nothing to try.
fn with_earlier(
    procedure: &Procedure<'_>,
    chosen: Vec<CandidateArm>,
    most: usize,
) -> Result<Vec<CandidateArm>, Stopped> {
    let document = &procedure.store.document;
    let fits = |settings| may_be_tried(procedure, settings) && fits(procedure, settings);
    let candidates = match &procedure.experiment.since {
        Some(earlier) => since::candidates(earlier, document, chosen, fits, most),
        None => known::candidates(document, chosen, fits, most),
    };
    match candidates.is_empty() && procedure.experiment.knobs.is_empty() {
        true => Err(Stopped::Configuration(NOTHING_FITS.to_owned())),
        false => Ok(candidates),
    }
}

/// Whether the server can have these settings of another run, and the user allows them.
fn may_be_tried(procedure: &Procedure<'_>, settings: Settings) -> bool {
    let experiment = procedure.experiment;
    let today = procedure.store.document.plan.baseline;
    let kind = experiment.kind;
    let allowed = |asked: &Option<Vec<u16>>, value: u16| {
        asked.as_ref().is_none_or(|all| all.contains(&value))
    };
    let has_settings = match kind.has_threads() {
        true => allowed(&experiment.threads, settings.threads),
        false => settings.threads == today.threads && settings.workers > 0,
    };
    let preloads = settings.workers == 0
        || kind
            .preloads()
            .is_none_or(|always| settings.preload == always);
    has_settings && preloads && allowed(&experiment.workers, settings.workers)
}

/// Numbers of processes of a server of which nothing can be predicted: those that were asked for, else as many as cores, then
/// others around that.
fn unpredicted(procedure: &Procedure<'_>) -> Result<Vec<CandidateArm>, Stopped> {
    let document = &procedure.store.document;
    let cores = document.server_cores().floor().clamp(1.0, 128.0) as u16;
    let around = vec![cores, 2 * cores, cores / 2, cores / 4, 1];
    let counts = procedure.experiment.workers.clone().unwrap_or(around);
    let baseline = document.plan.baseline;
    let most = (document.plan.arms as usize).saturating_sub(1);
    let mut found: Vec<CandidateArm> = Vec::new();
    for workers in counts {
        let settings = Settings {
            workers,
            ..baseline
        };
        let arm = Arm::of(settings);
        let is_new = settings != baseline && !found.iter().any(|one| one.arm == arm);
        if workers > 0 && is_new && found.len() < most && fits(procedure, settings) {
            let because = "another number of processes; nothing predicts a server of fibers";
            found.push(CandidateArm { arm, because });
        }
    }
    with_earlier(procedure, found, most)
}

/// What may be tried: what was asked for, else as much as the application can use.
fn grid(procedure: &Procedure<'_>) -> Result<Grid, Stopped> {
    let experiment = procedure.experiment;
    let document = &procedure.store.document;
    let workers = experiment.workers.clone();
    if experiment.kind.has_threads() {
        return Ok(Grid {
            threads: experiment.threads.clone(),
            workers,
        });
    }
    let useful = document.profile.as_ref().map_or(1.0, |p| p.useful_threads);
    Grid::of_processes(workers, document.server_cores(), useful)
        .map_err(|e| Stopped::NoAnswer(format!("no configuration can be predicted: {e}")))
}

/// All that may be tried within the memory that there may be.
pub fn points(procedure: &Procedure<'_>) -> Result<Vec<Settings>, Stopped> {
    let document = &procedure.store.document;
    let configs = configs(document, &grid(procedure)?)?;
    let settings = configs
        .into_iter()
        .map(|at| settings(at, document.plan.baseline));
    Ok(settings.filter(|at| fits(procedure, *at)).collect())
}

/// The points worth a trial for what is wanted.
fn chosen(plan: &Plan, scored: &[Scored], useful: f64, most: usize) -> Vec<Candidate> {
    let baseline = config(plan.baseline);
    let small = match plan.objective.least {
        Some(Least::Memory) => Some(Small::Memory),
        Some(Least::Processes) => Some(Small::Processes),
        // What carries the most is busy with the least at any rate.
        Some(Least::Latency) | None => None,
    };
    let rate_per_s = plan.rate_per_s.unwrap_or(0.0);
    small
        .map(|small| capacity::smallest_for(scored, rate_per_s, small, baseline, most))
        .filter(|smallest| !smallest.is_empty())
        .unwrap_or_else(|| capacity::candidates(scored.to_vec(), useful, baseline, most))
}

/// The grid's points within the limit, as earlier runs and the model have them.
fn scored(
    document: &Document,
    grid: &Grid,
    limit: Option<MemoryLimit<'_>>,
) -> Result<Vec<Scored>, Stopped> {
    let expected = known::Expected::of(document);
    let scored = configs(document, grid)?.into_iter().filter_map(|at| {
        let judged = limit.map(|limit| limit.judge(at));
        let expected_per_s = expected.per_s(settings(at, document.plan.baseline))?;
        judged.is_none_or(|(_, fits)| fits).then_some(Scored {
            config: at,
            throughput: expected_per_s,
            memory_bytes: judged.map(|(bytes, _)| bytes),
        })
    });
    Ok(scored.collect())
}

fn configs(document: &Document, grid: &Grid) -> Result<Vec<Config>, Stopped> {
    let configs = grid.configs(document.server_cores());
    configs.map_err(|e| Stopped::NoAnswer(format!("no configuration can be predicted: {e}")))
}

/// Whether the model says that these settings keep within the memory that there may be.
pub fn fits(procedure: &Procedure<'_>, settings: Settings) -> bool {
    let memory = memory_model(procedure);
    let limit = memory
        .as_ref()
        .and_then(|model| limit(&procedure.store.document, model));
    limit.is_none_or(|limit| limit.judge(config(settings)).1)
}

fn memory_model(procedure: &Procedure<'_>) -> Option<MemoryModel> {
    let baseline = config(procedure.store.document.plan.baseline);
    let seen: Vec<Observation> = procedure
        .pilot()
        .iter()
        .filter_map(|t| t.memory.as_ref()?.compared_bytes())
        .map(|pss_bytes| Observation {
            config: baseline,
            pss_bytes: pss_bytes as f64,
        })
        .collect();
    capacity::fit(&seen).ok()
}

fn limit<'a>(document: &Document, model: &'a MemoryModel) -> Option<MemoryLimit<'a>> {
    // Whatever the user allows, a candidate that would make this machine swap is no candidate.
    let usable = judge::usable_bytes(document);
    let asked = document.plan.objective.max_memory_bytes;
    let limit_bytes = asked.map_or(usable, |limit| limit.min(usable));
    (limit_bytes > 0).then_some(MemoryLimit {
        model,
        limit_bytes: limit_bytes as f64,
    })
}

/// A cluster preloads as the baseline does; from single mode it does what Puma does by default: preload.
fn settings(config: Config, baseline: Settings) -> Settings {
    let preload = config.workers > 0 && (baseline.preload || baseline.workers == 0);
    Settings {
        workers: config.workers,
        threads: config.threads,
        preload,
    }
}

/// Why a candidate was tried, and why with more processes than cores where it has more.
pub fn reason(document: &Document, candidate: &CandidateArm) -> String {
    match beyond_cores(document, candidate.arm.settings) {
        Some(beyond) => format!("{} ({beyond})", candidate.because),
        None => candidate.because.to_owned(),
    }
}

/// That it has more processes than cores, and what is predicted of that. The page gives the general reason once.
fn beyond_cores(document: &Document, settings: Settings) -> Option<String> {
    let cores = document.server_cores();
    let full = cores.floor().max(1.0) as u32;
    if settings.processes() <= full {
        return None;
    }
    let because = match cores == 1.0 {
        true => "more processes than 1 core".to_owned(),
        false => format!("more processes than {cores} cores"),
    };
    let predictions = document.model.iter().flat_map(|model| &model.predictions);
    let most = |processes: u32| {
        let of = predictions
            .clone()
            .filter(|p| u32::from(p.workers.max(1)) == processes);
        of.map(|p| p.capacity_per_s).reduce(f64::max)
    };
    let compared = most(full).zip(model::foreseen(document, settings));
    Some(match compared {
        Some((with_full, own)) => {
            let own = own.capacity_per_s;
            let doubt = match own < with_full {
                true => "; tried since predictions can be wrong",
                false => "",
            };
            format!(
                "{because}: {own:.0}/s predicted, at most {with_full:.0}/s with {full} process{}{doubt}",
                if full == 1 { "" } else { "es" }
            )
        }
        None => because,
    })
}

fn why(why: capacity::Why) -> &'static str {
    match why {
        capacity::Why::Predicted => {
            "the smallest within 3 % of the highest throughput that the model predicts"
        }
        capacity::Why::UsefulThreads => "as many threads as its waiting suggests",
        capacity::Why::FewerThreads => "fewer threads, in case the waiting is for a lock",
        capacity::Why::MoreThreads => "more threads, in case requests wait longer",
        capacity::Why::OtherProcesses => "another number of processes",
        capacity::Why::Smallest => "the smallest that should serve the rate",
        capacity::Why::AsManyAsCores => "as many processes as cores, before more are tried",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Foreseen, Model, ModelKind};

    fn document() -> Document {
        let mut document = crate::sample::document("tune");
        document.plan.pinning.server_cores.clear();
        document.host.effective_cores = 2.0;
        let profile = document.profile.as_mut().unwrap();
        (profile.held_ms, profile.io_ms) = (5.0, 15.0);
        let foreseen = |workers, threads, capacity_per_s| Foreseen {
            workers,
            threads,
            capacity_per_s,
            p50_ms: None,
            p99_ms: None,
        };
        document.model = Some(Model {
            kind: ModelKind::Formulas,
            reason: None,
            trace: None,
            predictions: vec![
                foreseen(2, 3, 240.0),
                foreseen(2, 5, 300.0),
                foreseen(3, 3, 330.0),
                foreseen(3, 1, 250.0),
            ],
            contradiction: None,
            score: None,
        });
        document
    }

    #[test]
    fn more_processes_than_cores_have_a_reason() {
        let said = |workers, threads| {
            let arm = Arm::of(Settings {
                workers,
                threads,
                preload: true,
            });
            let because = "another number of processes";
            reason(&document(), &CandidateArm { arm, because })
        };
        assert_eq!(
            said(3, 3),
            "another number of processes (more processes than 2 cores: 330/s predicted, at most 300/s with 2 processes)"
        );
        assert!(
            said(3, 1).ends_with(
                "2 cores: 250/s predicted, at most 300/s with 2 processes; tried since predictions can be wrong)"
            ),
            "{}",
            said(3, 1)
        );
        assert_eq!(said(2, 3), "another number of processes");
    }
}
