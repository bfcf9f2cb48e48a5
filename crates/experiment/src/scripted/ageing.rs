//! Ageing: which memory is compared, what ageing costs, and arms that are too slow for it.

use super::{MIB, Script, compared, conducted, measured, resumed, scratch, threads, tuned, typed};
use crate::error::Stopped;
use crate::request::{Arm, Experiment};
use run::{Age, Aged, Document, Feasibility, LateCourse, Trial, UsageSample};

impl Script {
    /// What an arm's server holds after so many requests.
    fn held_bytes(&self, arm: &Arm, requests: u64) -> u64 {
        Script::pss_bytes(arm.settings) + (self.keeps)(arm, requests)
    }

    /// Drives a server on from so many requests to its age, as a trial does.
    pub(super) fn age(&self, age: Age, answered: u64, per_s: f64, arm: &Arm) -> Aged {
        let seconds = age.requests.saturating_sub(answered) as f64 / per_s;
        let reaches = age.most_s.is_none_or(|most_s| seconds <= most_s);
        let at = |share: u64| {
            let requests = age.requests * share / 20;
            UsageSample {
                at_s: requests as f64 / per_s,
                requests: Some(requests),
                rss_bytes: self.held_bytes(arm, requests),
                pss_bytes: Some(self.held_bytes(arm, requests)),
                cpu_s: 0.0,
            }
        };
        if reaches {
            self.pass(seconds);
        }
        Aged {
            requests: if reaches { age.requests } else { answered },
            seconds: if reaches { seconds } else { 0.0 },
            pss_bytes: reaches.then(|| self.held_bytes(arm, age.requests)),
            process_bytes: reaches.then_some(60 * MIB),
            why_not: (!reaches).then(|| "too slow".to_owned()),
            samples: match reaches {
                true => (1..=20).map(at).collect(),
                false => Vec::new(),
            },
        }
    }
}

/// 4 ms with the GVL and 12 ms of I/O: one thread answers 62 a second, three 187.
fn application(keeps: fn(&Arm, u64) -> u64) -> Script {
    Script {
        keeps,
        ..Script::of(4.0, 12.0)
    }
}

/// Three threads against two, aged to 20,000 requests.
fn aged(budget: Option<&str>) -> Experiment {
    compared(5, &[threads(3), threads(2)], |request| {
        request.age = typed("20k-requests");
        request.budget = budget.and_then(typed);
    })
}

/// Within the windows both hold the same; two threads hold 200 MiB more after 10,000 requests.
fn later(arm: &Arm, requests: u64) -> u64 {
    match arm.name == "w0t2" {
        true => 200 * MIB * requests.saturating_sub(5_000).min(5_000) / 5_000,
        false => 0,
    }
}

fn ageing_s(document: &Document) -> Vec<f64> {
    let aged = |trial: &Trial| Some(trial.memory.as_ref()?.aged.as_ref()?.seconds);
    document.trials.iter().filter_map(aged).collect()
}

#[test]
fn memory_is_compared_at_the_age_and_not_after_the_windows() {
    let without = measured(
        &application(later),
        &compared(5, &[threads(3), threads(2)], |_| ()),
    );
    let with = measured(&application(later), &aged(None));
    assert!(
        (without.memory[0].ratio - 1.0).abs() < 0.02,
        "{:?}",
        without.memory
    );
    assert!(with.memory[0].ratio > 2.0, "{:?}", with.memory);
    let arm = with.arms[1].aged.as_ref().unwrap();
    assert_eq!((arm.trials, arm.not_aged), (6, 0));
    assert_eq!(arm.late_growth.unwrap().course, LateCourse::Flat);
    let fits = |row: usize| {
        with.arms[row]
            .aged
            .as_ref()
            .unwrap()
            .fits
            .unwrap()
            .processes
    };
    assert!(fits(0) > fits(1));
    assert_eq!(ageing_s(&with).len(), with.trials.len());
    assert_eq!(with.arms[0].capacity_per_s, without.arms[0].capacity_per_s);
}

/// The windows' memory keeps the limit, the aged one does not.
#[test]
fn a_limit_is_one_of_the_aged_memory() {
    let limited = |age: Option<&str>| {
        let experiment = compared(5, &[threads(3), threads(2)], |request| {
            request.age = age.and_then(typed);
            request.max_memory = typed("250MiB");
        });
        measured(&application(later), &experiment).arms[1].feasible
    };
    assert_eq!(limited(None), Feasibility::Meets);
    assert_eq!(limited(Some("20k")), Feasibility::Breaks);
}

#[test]
fn the_run_keeps_its_budget_with_the_ageing_in_it() {
    let budget_s = 2_700.0;
    let script = application(later);
    let document = measured(&script, &aged(Some("45m")));
    let ageing_s: f64 = ageing_s(&document).iter().sum();
    assert!(ageing_s > 0.3 * budget_s, "{ageing_s}");
    assert!(script.clock_s() < budget_s, "{}", script.clock_s());
    assert_eq!(document.plan.blocks, 6);

    let script = application(later);
    let experiment = tuned(5, |request| {
        request.age = typed("5k");
        request.budget = typed("40m");
    });
    let document = measured(&script, &experiment);
    assert!(script.clock_s() < 2_400.0, "{}", script.clock_s());
    assert!(document.verdict.is_some());
}

/// Both remedies that are named hold six blocks.
#[test]
fn a_budget_without_room_for_the_ageing_is_refused_with_both_remedies() {
    let asked = |age: &str, budget: &str| {
        let experiment = compared(5, &[threads(3), threads(2)], |request| {
            (request.age, request.budget) = (typed(age), typed(budget));
        });
        conducted(&application(later), &experiment, scratch().path())
    };
    let (document, result) = asked("1M", "10m");
    let Err(Stopped::Configuration(said)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(document.trials.len(), 1);
    assert_eq!(
        ageing_s(&document),
        [0.0],
        "the pilot did not age for hours"
    );
    assert!(
        said.starts_with("a test = \"10m\": with --age a trial answers 1,000,000 requests"),
        "{said}"
    );
    let after = |words: &str| -> String {
        let at = said.find(words).unwrap_or_else(|| panic!("{said}")) + words.len();
        said[at..]
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect()
    };
    let fewer = after("an --age of at most ");
    let result = asked(&fewer, "10m").1;
    assert!(result.is_ok(), "{said}: {result:?}");
    let result = asked("1M", &after("give --budget ")).1;
    assert!(result.is_ok(), "{said}: {result:?}");
}

#[test]
fn an_arm_that_is_too_slow_does_not_eat_the_budget_and_has_no_aged_memory() {
    let script = application(later);
    let experiment = compared(5, &[threads(3), threads(1)], |request| {
        request.age = typed("20k");
        request.budget = typed("45m");
    });
    let document = measured(&script, &experiment);
    assert!(script.clock_s() < 2_700.0, "{}", script.clock_s());
    let slow = document.arms[1].aged.as_ref().unwrap();
    assert_eq!((slow.trials, slow.not_aged), (0, 6));
    assert_eq!(slow.why_not.as_deref(), Some("too slow"));
    assert_eq!((slow.late_growth, slow.fits), (None, None));
    assert_eq!(document.arms[1].pss_bytes, None);
    assert_eq!(document.memory, []);
    // Without a budget it has the time.
    let experiment = compared(5, &[threads(3), threads(1)], |request| {
        request.age = typed("20k");
    });
    let document = measured(&application(later), &experiment);
    assert_eq!(document.arms[1].aged.as_ref().unwrap().trials, 6);
}

#[test]
fn a_run_that_was_broken_off_comes_to_the_same_and_not_with_another_age() {
    let whole = measured(&application(later), &aged(Some("45m")));
    for after in [0, 1, 6] {
        let runs = scratch();
        let script = Script {
            stopped_after: Some(after),
            ..application(later)
        };
        let (_, result) = conducted(&script, &aged(Some("45m")), runs.path());
        assert!(matches!(result, Err(Stopped::Interrupted)), "{result:?}");
        let (document, result) = resumed(&application(later), &aged(Some("45m")), runs.path());
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(document.memory, whole.memory, "after {after}");
        assert_eq!(document.plan.age, whole.plan.age, "after {after}");
    }
    let runs = scratch();
    let script = Script {
        stopped_after: Some(3),
        ..application(later)
    };
    conducted(&script, &aged(None), runs.path()).1.unwrap_err();
    let mut other = Experiment {
        age: Some(30_000),
        runs_dir: runs.path().to_owned(),
        ..aged(None)
    };
    let Err(refused) = crate::session::resume(&mut other, &runs.path().join("run")) else {
        panic!("another age was taken");
    };
    assert!(
        refused
            .to_string()
            .contains("--age has changed since (20000 requests then, 30000 requests now)"),
        "{refused}"
    );
}

#[test]
fn a_rehearsal_ages_nothing() {
    let experiment = compared(5, &[threads(3), threads(2)], |request| {
        request.age = typed("1M");
        request.rehearse = typed("true");
    });
    let document = measured(&application(later), &experiment);
    assert_eq!(document.plan.age, None);
    assert!(ageing_s(&document).is_empty());
}

/// The simulator reads what it recorded.
#[test]
fn the_last_trial_of_the_pilot_is_not_aged() {
    let experiment = tuned(3, |request| {
        request.age = typed("20k-requests");
        request.budget = typed("2h");
    });
    let document = measured(&application(later), &experiment);
    let pilot = document
        .trials
        .iter()
        .filter(|t| t.stage == run::Stage::Pilot);
    let is_aged = |trial: &Trial| trial.memory.as_ref()?.aged.as_ref()?.pss_bytes;
    let aged: Vec<bool> = pilot.map(|trial| is_aged(trial).is_some()).collect();
    assert_eq!(aged, [true, false]);
}
