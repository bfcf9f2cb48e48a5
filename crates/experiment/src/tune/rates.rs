//! The end of `tune`: the highest rate that meets the objective, of the baseline and of what is recommended.
//!
//! A search is taken or left whole: one that an interruption broke off is made again, one that was finished stays in
//! the document.

use crate::budget;
use crate::error::Stopped;
use crate::procedure::Procedure;
use crate::progress::Event;
use crate::rates::{self, Curve, LEAST_BUDGET, Started, figure};
use crate::request::Arm;
use run::{ArmRates, Document, LatencyObjective, RateEnding, RateSearch};
use std::time::Duration;

/// Time that a search takes beside itself, seconds: start, warm-up and stop.
const AROUND_S: f64 = 10.0;

/// Measures what time is left for, and says it in the verdict.
pub fn measure(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    winner: Option<&Arm>,
) -> Result<(), Stopped> {
    let document = &procedure.store.document;
    let Some(objective) = document.plan.objective.latency else {
        let why = "no latency objective was given (--slo), so no rate was searched that meets it";
        procedure.store.document.rates_skipped = Some(why.to_owned());
        return Ok(());
    };
    let named = document.verdict.as_ref().and_then(|v| v.arm.clone());
    let chosen = winner.filter(|winner| Some(&winner.name) == named.as_ref());
    let mut arms = vec![baseline.clone()];
    arms.extend(chosen.filter(|chosen| *chosen != baseline).cloned());
    let found = |document: &Document, arm: &Arm| document.rates.iter().any(|r| r.arm == arm.name);
    procedure.store.document.rates_skipped = None;
    procedure
        .store
        .document
        .rates
        .retain(|r| arms.iter().any(|a| a.name == r.arm));
    // Whatever becomes of the searches, the verdict is on disk.
    procedure.save()?;
    for (index, arm) in arms.iter().enumerate() {
        if found(&procedure.store.document, arm) {
            continue;
        }
        let budget_s = procedure.store.document.plan.budget_s.unwrap_or(0.0);
        let left_s = budget_s - procedure.elapsed_s();
        let kept_s = budget::kept_for_search(budget_s) / arms.len() as f64;
        let share_s = (left_s / (arms.len() - index) as f64).min(kept_s);
        if share_s < LEAST_BUDGET.as_secs_f64() + AROUND_S {
            procedure.store.document.rates_skipped = Some(format!(
                "no time was left to search the highest rate that meets the objective on {}: {:.0} s, and a search \
                 takes {:.0} s; a longer --budget has room for it, and so has powerband capacity",
                arm,
                share_s.max(0.0),
                LEAST_BUDGET.as_secs_f64() + AROUND_S,
            ));
            break;
        }
        match search(procedure, arm, objective, share_s) {
            Ok(search) => {
                procedure.store.document.rates.push(ArmRates {
                    arm: arm.name.clone(),
                    called: (!arm.overlay.is_empty()).then(|| arm.to_string()),
                    settings: arm.settings,
                    search,
                });
                procedure.save()?;
            }
            Err(stopped) => {
                procedure.store.document.rates_skipped = Some(skipped(arm, stopped)?);
                break;
            }
        }
    }
    let said = sentence(&procedure.store.document.rates, objective);
    if let (Some(said), Some(verdict)) = (said, &mut procedure.store.document.verdict) {
        verdict.sentence = format!("{} {said}", verdict.sentence);
    }
    Ok(())
}

/// Why there is no rate. The verdict stands without it, whatever failed; only an interruption ends the run.
fn skipped(arm: &Arm, stopped: Stopped) -> Result<String, Stopped> {
    if matches!(stopped, Stopped::Interrupted) {
        return Err(stopped);
    }
    Ok(format!(
        "the highest rate of {} was not found: {}",
        arm,
        super::first_line(&stopped.to_string())
    ))
}

fn search(
    procedure: &Procedure<'_>,
    arm: &Arm,
    objective: LatencyObjective,
    budget_s: f64,
) -> Result<RateSearch, Stopped> {
    let document = &procedure.store.document;
    let plan = &document.plan;
    procedure.watcher.on(Event::Note(format!(
        "searching the highest rate that meets p{} = {:.0} ms: {}",
        objective.percentile, objective.limit_ms, arm
    )));
    let folder = procedure.store.folder();
    let folder = folder.trial_dir(&format!("rates-{}", arm.name))?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let known = document.arms.iter().find(|a| a.name == arm.name);
    let search = rates::of_arm(
        procedure.bench,
        Started {
            arm,
            folder: &folder,
            pinning: plan.pinning.clone(),
            budget: Duration::from_secs_f64(budget_s - AROUND_S / 2.0),
            objective,
            saturated_per_s: known.and_then(|a| a.capacity_per_s),
            connections: plan.connections,
            curve: Curve::None,
            seed: document.seed,
        },
        procedure.watcher,
    )?;
    // What there is of it would be taken for all of it after --resume.
    if procedure.watcher.cancelled() {
        return Err(Stopped::Interrupted);
    }
    Ok(search)
}

/// "Searched one after the other, the highest rate that meets p99 = 250 ms is 61 (55 to 66) a second with … and 94 (88
/// to 101) with …": two searches that no block pairs, so that only intervals apart tell them apart.
fn sentence(rates: &[ArmRates], objective: LatencyObjective) -> Option<String> {
    let kept = format!("p{} = {} ms", objective.percentile, objective.limit_ms);
    let known = |of: &ArmRates| said(&of.search).map(|said| (of.words(), said));
    match rates {
        [before, after] => {
            let ((was, before_said), (is, after_said)) = (known(before)?, known(after)?);
            let told_apart = if apart(&before.search, &after.search) {
                ""
            } else {
                " That does not tell the two apart."
            };
            Some(format!(
                "Searched one after the other, the highest rate that meets {kept} is {before_said} a second with {was} \
                 and {after_said} with {is}.{told_apart}"
            ))
        }
        [only] => {
            let (settings, said) = known(only)?;
            Some(format!(
                "The highest rate at which {settings} meets {kept} is {said} a second."
            ))
        }
        _ => None,
    }
}

/// What a search may be quoted with; nothing where it found nothing.
fn said(search: &RateSearch) -> Option<String> {
    let Some(met) = search.met_per_s else {
        let broke = search
            .broke_per_s
            .filter(|_| search.ending == RateEnding::NotEven);
        return broke.map(|broke| format!("less than {}", figure(broke)));
    };
    let rate = figure(met);
    let rate = match search.ending {
        _ if !search.decided => format!("about {rate}"),
        RateEnding::Found => rate,
        RateEnding::Broken => format!("{rate} until it failed"),
        _ => format!("at least {rate}"),
    };
    let interval = search.low_per_s.zip(search.high_per_s);
    Some(interval.map_or_else(
        || rate.clone(),
        |(low, high)| format!("{rate} ({} to {})", figure(low), figure(high)),
    ))
}

/// Whether the interval of one lies wholly beyond the other's; an open one never does.
fn apart(one: &RateSearch, other: &RateSearch) -> bool {
    let beyond = |low: Option<f64>, high: Option<f64>| low.zip(high).is_some_and(|(l, h)| l > h);
    beyond(one.low_per_s, other.high_per_s) || beyond(other.low_per_s, one.high_per_s)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use run::Settings;

    const OBJECTIVE: LatencyObjective = LatencyObjective {
        percentile: 99.0,
        limit_ms: 250.0,
    };

    /// What a search of one process with so many threads may have come to.
    pub fn rates(threads: u16, ending: RateEnding, met: f64, ends: Option<(f64, f64)>) -> ArmRates {
        let settings = Settings {
            threads,
            workers: 0,
            preload: false,
        };
        ArmRates {
            arm: Arm::of(settings).name,
            called: None,
            settings,
            search: RateSearch {
                objective: OBJECTIVE,
                ending,
                met_per_s: Some(met),
                decided: true,
                broke_per_s: Some(1.08 * met),
                low_per_s: ends.map(|e| e.0),
                high_per_s: ends.map(|e| e.1),
                confidence: 0.95,
                saturated_per_s: None,
                curve: Vec::new(),
                trials: Vec::new(),
                took_s: 0.0,
                warnings: Vec::new(),
            },
        }
    }

    fn told(rates: &[ArmRates]) -> String {
        sentence(rates, OBJECTIVE).unwrap()
    }

    #[test]
    fn rates_are_told_apart_by_their_intervals_alone() {
        let before = rates(5, RateEnding::Found, 61.0, Some((55.0, 66.0)));
        let far = rates(3, RateEnding::Found, 94.0, Some((88.0, 101.0)));
        let said = told(&[before.clone(), far]);
        assert!(
            said.contains("is 61 (55 to 66) a second with") && said.contains("and 94 (88 to 101)")
        );
        assert!(!said.contains("apart"), "{said}");
        let near = rates(3, RateEnding::Found, 94.0, Some((65.0, 101.0)));
        assert!(told(&[before.clone(), near]).contains("does not tell the two apart"));
        let open = rates(3, RateEnding::Found, 94.0, None);
        assert!(told(&[before, open]).contains("does not tell the two apart"));
    }

    #[test]
    fn a_bound_is_no_fact() {
        let said_of = |ending| told(&[rates(5, ending, 61.0, None)]);
        assert!(said_of(RateEnding::Found).contains("is 61 a second"));
        assert!(said_of(RateEnding::OutOfTime).contains("at least 61"));
        assert!(said_of(RateEnding::Broken).contains("61 until it failed"));
        let mut rough = rates(5, RateEnding::OutOfTime, 61.0, None);
        rough.search.decided = false;
        assert!(told(std::slice::from_ref(&rough)).contains("about 61"));
        rough.search.met_per_s = None;
        assert_eq!(sentence(std::slice::from_ref(&rough), OBJECTIVE), None);
        rough.search.ending = RateEnding::NotEven;
        assert!(told(&[rough]).contains("less than 65.9"));
    }

    /// A port that is taken, a hook or a full disk takes no confirmed answer away; a signal ends the run.
    #[test]
    fn what_fails_skips_the_rates_and_no_more() {
        let arm = Arm::of(rates(5, RateEnding::Found, 1.0, None).settings);
        let why = skipped(
            &arm,
            Stopped::Configuration("port 3000 is taken".to_owned()),
        )
        .unwrap();
        assert!(why.contains("port 3000 is taken"));
        assert!(skipped(&arm, Stopped::Interrupted).is_err());
    }
}
