//! The end of `tune`: the highest rate that meets the objective, of the baseline and of what is recommended.
//!
//! A search is taken or left whole: one that an interruption broke off is made again, one that was finished stays in
//! the document.

use super::reach::{failures, out_of_reach};
use crate::budget;
use crate::error::Stopped;
use crate::procedure::Procedure;
use crate::progress::Event;
use crate::rates::ADD_CAPACITY_AT;
use crate::rates::{Curve, GROWS, LEAST_BUDGET, Started, doubt, figure};
use crate::request::Arm;
use run::{Answer, ArmRates, Document, LatencyObjective, RateEnding, RatePurpose, RateSearch};
use small_sort::SmallSort;
use std::time::Duration;

/// Time that a search takes in addition to its trials, seconds: start, warm-up and stop.
const AROUND_S: f64 = 10.0;

/// Measures what time is left for, and says it in the verdict.
pub fn measure(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    winner: Option<&Arm>,
) -> Result<(), Stopped> {
    let document = &procedure.store.document;
    let Some(objective) = document.plan.objective.latency else {
        let why = "no latency objective was given (--slo)";
        procedure.store.document.rates_skipped = Some(why.to_owned());
        return Ok(());
    };
    if let Some(why) = failures(document) {
        let document = &mut procedure.store.document;
        if let Some(verdict) = &mut document.verdict {
            verdict.sentence = format!("{} {why}.", verdict.sentence);
        }
        document.rates_skipped = Some(
            "more requests fail, at any rate, than may be over the limit (see the answer)"
                .to_owned(),
        );
        return Ok(());
    }
    if let Some(why) = out_of_reach(document) {
        let document = &mut procedure.store.document;
        document.rates_skipped = Some(format!("{why}; powerband capacity measures lower rates"));
        say_out_of_reach(document, &why);
        return Ok(());
    }
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
    let mut open: Vec<&Arm> = arms.iter().collect();
    open.retain(|arm| !found(&procedure.store.document, arm));
    while let Some(next) = open.first().copied() {
        let budget_s = procedure.store.document.plan.budget_s.unwrap_or(0.0);
        let left_s = budget_s - procedure.elapsed_s();
        let Some(share) = share(left_s, open.len(), arms.len()) else {
            procedure.store.document.rates_skipped = Some(too_short(next, left_s));
            break;
        };
        // Where one search fits and not two, it is that of the configuration that is advised.
        let arm = match share.searches < open.len() {
            true => open.pop().unwrap_or(next),
            false => open.remove(0),
        };
        let share_s = share.seconds;
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
    let place = |rates: &ArmRates| arms.iter().position(|arm| arm.name == rates.arm);
    procedure.store.document.rates.small_sort_by_key(place);
    let said = sentence(&procedure.store.document.rates, objective);
    let document = &mut procedure.store.document;
    if let (Some(said), Some(verdict)) = (said, &mut document.verdict) {
        verdict.sentence = format!("{} {said}", verdict.sentence);
    }
    lower_headroom(document);
    Ok(())
}

/// Capacity is added before the objective is missed, which it is at lower rates than the most that is answered.
fn lower_headroom(document: &mut Document) {
    let Some(verdict) = &mut document.verdict else {
        return;
    };
    let rates = document.rates.iter();
    let mut mine = rates.filter(|rates| Some(&rates.arm) == verdict.arm.as_ref());
    let met_per_s = mine.find_map(|rates| rates.search.met_per_s);
    if let (Some(met_per_s), Some(room)) = (met_per_s, &mut verdict.headroom) {
        room.add_capacity_at_per_s = room.add_capacity_at_per_s.min(ADD_CAPACITY_AT * met_per_s);
    }
}

/// In the answer where it is about limits, and before all that a reader must know.
fn say_out_of_reach(document: &mut Document, why: &str) {
    if let Some(verdict) = &mut document.verdict
        && matches!(verdict.answer, Answer::NoneMeets | Answer::Undecided)
    {
        verdict.sentence = format!("{} A likely reason: {why}.", verdict.sentence);
    }
    document.warnings.insert(0, why.to_owned());
}

/// How the time that is left is used.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    searches: usize,
    /// Of each search.
    seconds: f64,
}

/// The time that one of so many open searches of `all` gets; `None` where not even one fits.
fn share(left_s: f64, open: usize, all: usize) -> Option<Share> {
    let least_s = least_s();
    let fitting = open.min((left_s / least_s).max(0.0) as usize);
    (fitting > 0).then(|| Share {
        searches: fitting,
        seconds: (left_s / fitting as f64).min(budget::most_for_search() / all as f64),
    })
}

/// Seconds that a search takes at least.
pub fn least_s() -> f64 {
    LEAST_BUDGET.as_secs_f64() + AROUND_S
}

fn too_short(arm: &Arm, left_s: f64) -> String {
    format!(
        "a search for the highest rate of {arm} takes {:.0} s or more, but {}; give a longer --budget, or ask powerband capacity",
        least_s(),
        budget::left(left_s),
    )
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
        "searching the highest rate that meets {objective}: {arm}"
    )));
    let folder = procedure.store.folder();
    let folder = folder.trial_dir(&format!("rates-{}", arm.name))?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let known = document.arms.iter().find(|a| a.name == arm.name);
    let search = procedure.trials.highest_rate(
        Started {
            arm,
            folder: &folder,
            pinning: plan.pinning.clone(),
            budget: Duration::from_secs_f64(budget_s - AROUND_S / 2.0),
            objective,
            saturated_per_s: known.and_then(|a| a.capacity_per_s),
            connections: plan.connections,
            curve: Curve::None,
            at_least: None,
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

/// "The highest rate that met p99 ≤ 250 ms: 61 requests a second with … (95 % sure: 55 to 66), 94 with …".
fn sentence(rates: &[ArmRates], objective: LatencyObjective) -> Option<String> {
    let kept = objective.to_string();
    let doubted = rates.iter().filter_map(|of| {
        let why = doubt(&of.search)?;
        Some(format!(
            " The rate with {} may be too high: {why}.",
            of.words()
        ))
    });
    let doubted: String = doubted.collect();
    // The last one is the recommendation's, or the baseline's if only that was found.
    let plan_for = rates.last().and_then(|of| {
        let rate = figure(of.search.plan_for_per_s?);
        Some(format!(
            " Plan for at most {rate} with {} (80 % of that): {GROWS}.",
            of.words()
        ))
    });
    let doubted = doubted + &plan_for.unwrap_or_default();
    match rates {
        [before, after] => {
            let (before_said, after_said) = (said(before)?, said(after)?);
            let has_range = |of: &ArmRates| of.search.low_per_s.zip(of.search.high_per_s).is_some();
            let told_apart = if apart(&before.search, &after.search) {
                ""
            } else if has_range(before) && has_range(after) {
                " These two rates were found one after the other, and their intervals overlap: which configuration is better, the \
                 deciding comparison says."
            } else {
                " These two rates were found one after the other, and not both with an interval: which configuration is better, the \
                 deciding comparison says."
            };
            Some(format!(
                "Highest rate that met {kept}, in requests a second: {before_said}; {after_said}.{told_apart}{doubted}"
            ))
        }
        [only] => Some(format!(
            "Highest rate that met {kept}, in requests a second: {}.{doubted}",
            said(only)?
        )),
        _ => None,
    }
}

/// What a rate rests on that was not decided.
fn undecided(search: &RateSearch, met_per_s: f64) -> String {
    let full = search.trials.iter().filter(|trial| {
        trial.purpose != RatePurpose::Bracket
            && trial.refused.is_none()
            && (trial.asked_per_s / met_per_s - 1.0).abs() < 1e-3
    });
    match full.count() {
        0 => "from short windows only".to_owned(),
        full => format!("from {} only", run::counted(full, "full-length window")),
    }
}

/// What a search may be quoted with; nothing where it found nothing.
fn said(of: &ArmRates) -> Option<String> {
    let (search, with) = (&of.search, of.words());
    if let Some(why) = &search.out_of_reach {
        return Some(format!("none with {with}, since {why}"));
    }
    let Some(met) = search.met_per_s else {
        let broke = search
            .broke_per_s
            .filter(|_| search.ending == RateEnding::NotEven);
        return broke.map(|broke| format!("less than {} with {with}", figure(broke)));
    };
    let rate = figure(met);
    // Without an interval, the rate is not a lower bound.
    let least = match search.low_per_s {
        Some(_) => format!("{rate} or more"),
        None => format!("about {rate}"),
    };
    let rate = match search.ending {
        _ if !search.decided => format!("about {rate} with {with} ({})", undecided(search, met)),
        RateEnding::Found | RateEnding::NotEven => format!("{rate} with {with}"),
        RateEnding::Broken => format!("{rate} with {with}, until it failed"),
        RateEnding::AtLeast => format!("{least} with {with} (no higher rate could be sent)"),
        RateEnding::OutOfTime => format!("{least} with {with} (the time ran out)"),
        RateEnding::GeneratorLate => {
            format!("{least} with {with} (the load generator was too late)")
        }
        RateEnding::Interrupted => format!("{least} with {with} (interrupted)"),
    };
    let interval = search.low_per_s.zip(search.high_per_s);
    Some(interval.map_or_else(
        || rate.clone(),
        |(low, high)| format!("{rate} (95 % sure: {} to {})", figure(low), figure(high)),
    ))
}

/// Whether the interval of one lies wholly beyond the other's; an open one never does.
fn apart(one: &RateSearch, other: &RateSearch) -> bool {
    let beyond = |low: Option<f64>, high: Option<f64>| low.zip(high).is_some_and(|(l, h)| l > h);
    beyond(one.low_per_s, other.high_per_s) || beyond(other.low_per_s, one.high_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{OBJECTIVE, rates};

    fn told(rates: &[ArmRates]) -> String {
        sentence(rates, OBJECTIVE).unwrap()
    }

    #[test]
    fn capacity_is_added_before_the_objective_is_missed() {
        let mut document = crate::sample::document("tune");
        let arm = document.arms[1].name.clone();
        document.verdict.as_mut().unwrap().arm = Some(arm.clone());
        let room = |document: &Document| {
            let verdict = document.verdict.as_ref().unwrap();
            verdict.headroom.as_ref().unwrap().add_capacity_at_per_s
        };
        let before = room(&document);
        for (met, expected) in [(2.0 * before, before), (before / 2.0, 0.4 * before)] {
            let found = rates(4, RateEnding::Found, met, None);
            document.rates = vec![ArmRates {
                arm: arm.clone(),
                ..found
            }];
            lower_headroom(&mut document);
            assert!((room(&document) / expected - 1.0).abs() < 1e-9, "{met}");
        }
    }

    #[test]
    fn an_undecided_rate_says_what_it_rests_on() {
        let mut of = rates(5, RateEnding::OutOfTime, 61.0, None);
        of.search.decided = false;
        let short = "about 61 with single × 5 threads (from short windows only)";
        of.search.trials.clear();
        assert!(told(&[of.clone()]).contains(short));
        let mut trial = crate::sample::document("tune").rates[0].search.trials[0].clone();
        (trial.purpose, trial.asked_per_s) = (RatePurpose::Decide, 61.0);
        of.search.trials = vec![trial.clone()];
        let full = "about 61 with single × 5 threads (from 1 full-length window only)";
        assert!(told(&[of.clone()]).contains(full));
        trial.purpose = RatePurpose::Bracket;
        of.search.trials = vec![trial];
        assert!(told(&[of]).contains(short));
    }

    #[test]
    fn rates_are_told_apart_by_their_intervals_alone() {
        let before = rates(5, RateEnding::Found, 61.0, Some((55.0, 66.0)));
        let far = rates(3, RateEnding::Found, 94.0, Some((88.0, 101.0)));
        let said = told(&[before.clone(), far]);
        assert_eq!(
            said,
            "Highest rate that met p99 ≤ 250 ms, in requests a second: 61 with single × 5 threads (95 % sure: 55 to 66); 94 with \
             single × 3 threads (95 % sure: 88 to 101)."
        );
        let near = rates(3, RateEnding::Found, 94.0, Some((65.0, 101.0)));
        assert!(told(&[before.clone(), near]).contains("the deciding comparison says"));
        let open = rates(3, RateEnding::Found, 94.0, None);
        assert!(told(&[before, open]).contains("the deciding comparison says"));
    }

    #[test]
    fn a_lower_rate_to_plan_for_follows_the_highest() {
        let before = rates(5, RateEnding::Found, 61.0, None);
        let mut after = rates(3, RateEnding::Found, 94.0, None);
        after.search.plan_for_per_s = Some(75.2);
        let said = told(&[before.clone(), after.clone()]);
        assert!(
            said.ends_with(&format!(
                " Plan for at most 75.2 with single × 3 threads (80 % of that): {GROWS}."
            )),
            "{said}"
        );
        assert!(!told(&[after, before]).contains("Plan for"));
    }

    #[test]
    fn a_bound_is_no_fact() {
        let said_of = |ending| told(&[rates(5, ending, 61.0, None)]);
        assert!(said_of(RateEnding::Found).contains(": 61 with single × 5 threads."));
        assert!(
            said_of(RateEnding::OutOfTime)
                .contains("about 61 with single × 5 threads (the time ran out)")
        );
        let bounded = told(&[rates(5, RateEnding::OutOfTime, 61.0, Some((55.0, 66.0)))]);
        assert!(bounded.contains("61 or more with single × 5 threads (the time ran out)"));
        assert!(
            said_of(RateEnding::Broken).contains("61 with single × 5 threads, until it failed")
        );
        let late = said_of(RateEnding::GeneratorLate);
        assert!(
            late.contains("(the load generator was too late)") && !late.contains("ran out"),
            "{late}"
        );
        assert!(!late.contains("too high"), "{late}");
        let mut doubted = rates(5, RateEnding::Found, 61.0, None);
        doubted.search.doubted_per_s = Some(50.0);
        let said = told(&[doubted]);
        assert!(
            said.contains("single × 5 threads may be too high: a window at 50 requests a second"),
            "{said}"
        );
        let mut rough = rates(5, RateEnding::OutOfTime, 61.0, None);
        rough.search.decided = false;
        assert!(told(std::slice::from_ref(&rough)).contains("about 61"));
        rough.search.met_per_s = None;
        assert_eq!(sentence(std::slice::from_ref(&rough), OBJECTIVE), None);
        rough.search.ending = RateEnding::NotEven;
        assert!(told(&[rough]).contains("less than 65.9"));
    }

    #[test]
    fn a_rate_that_nothing_meets_is_none_with_the_reason() {
        let mut broken = rates(5, RateEnding::NotEven, 2.0, None);
        broken.search.met_per_s = None;
        broken.search.out_of_reach = Some("GET /broken failed".to_owned());
        let found = rates(3, RateEnding::Found, 94.0, None);
        let said = told(&[broken.clone(), found]);
        assert!(
            said.contains(": none with single × 5 threads, since GET /broken failed; 94 with"),
            "{said}"
        );
        let alone = told(&[broken]);
        assert!(!alone.contains("2.16"), "{alone}");
    }

    /// Forty seconds each: where both fit both are searched, where one does it is, and no time that is left is kept back.
    #[test]
    fn the_time_that_is_left_is_used_and_the_figures_are_said() {
        assert_eq!(share(39.0, 2, 2), None);
        assert_eq!(share(-5.0, 1, 2), None);
        let one = Share {
            searches: 1,
            seconds: 79.0,
        };
        assert_eq!(share(79.0, 2, 2), Some(one));
        let both = Share {
            searches: 2,
            seconds: 50.0,
        };
        assert_eq!(share(100.0, 2, 2), Some(both));
        assert_eq!(share(1e6, 2, 2).unwrap().seconds, 450.0);
        let arm = Arm::of(rates(5, RateEnding::Found, 1.0, None).settings);
        let said = too_short(&arm, 12.4);
        assert!(
            said.contains("takes 40 s or more, but only 12 s of the budget were left; give"),
            "{said}"
        );
        let said = too_short(&arm, -3.0);
        assert!(
            said.contains("or more, but the budget was used up; give"),
            "{said}"
        );
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
