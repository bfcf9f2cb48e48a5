//! Verdicts of made-up fleets.

use super::*;
use crate::join::{Slice, Tail, Unit};
use crate::label::Label;
use run::production::State;

const FILE: &str = "name = 'a'\nstarts = 2026-12-01T00:00:00Z\nlasts = '1h'\nperiod = '1h'\nlooks = 2\nslice = '1m'\n\
                    [[arm]]\nname = 'three'\n[[arm]]\nname = 'five'\nshare = '50%'\nenvironment = { A = 1 }\n\
                    [guardrails]\nerrors = '1%'\np99 = '+20%'\nmemory = '+15%'\nrestarts = 100\n";

/// What differs in the second arm, as factors.
#[derive(Clone, Copy)]
struct Made {
    units: usize,
    time: f64,
    rate: f64,
    errors: f64,
    memory: f64,
    p99: f64,
    restarts: f64,
}

const SAME: Made = Made {
    units: 20,
    time: 1.0,
    rate: 1.0,
    errors: 0.0,
    memory: 1.0,
    p99: 1.0,
    restarts: 0.0,
};

fn fleet(experiment: &Experiment, made: Made) -> Fleet {
    let units = (0..made.units).map(|number| {
        let arm = number % 2;
        let factor = |of: f64| if arm == 1 { of } else { 1.0 };
        // Units and slices have different levels.
        let noise = |slice: usize| 1.0 + 0.02 * ((number * 7 + slice * 5) % 11) as f64;
        let slices = (0..60).map(|index| {
            let requests = 600.0 * factor(made.rate) * (1.0 + 0.3 * (index as f64 / 9.0).sin());
            Slice {
                index,
                requests,
                errors: requests * factor(made.errors) * if arm == 1 { 1.0 } else { 0.001 },
                response_s: requests * 0.05 * factor(made.time) * noise(index),
                queue_s: Some(0.0),
                gvl_wait_s: Some(requests * 0.002),
                memory_bytes: Some(3e8 * factor(made.memory) * noise(0)),
            }
        });
        let tails = (1..=60).map(|until| {
            let slow = if factor(made.p99) > 1.0 {
                [80.0, 20.0]
            } else {
                [100.0, 0.0]
            };
            Tail {
                until,
                counts: vec![noise(until), slow[0], slow[1], 0.0],
            }
        });
        Unit {
            instance: format!("10.0.0.{number}:3000"),
            label: Label {
                arm: experiment.arms[arm].name.clone(),
                digest: experiment.short_digest(),
                period: 0,
                halted: None,
            },
            arm,
            from: 0,
            slices: slices.collect(),
            left_out: Vec::new(),
            tails: tails.collect(),
            restarts: vec![(9, 1.0), (19, arm as f64 * made.restarts)],
        }
    });
    Fleet {
        units: units.collect(),
        bounds: vec![0.016, 0.128, 0.512, f64::INFINITY],
        ..Fleet::default()
    }
}

fn judged(made: Made, minutes: i64) -> Document {
    let experiment = crate::read(FILE).unwrap();
    let asked = Asked {
        now_s: experiment.starts_s + minutes * 60,
        version: "0.1.0".to_owned(),
        prometheus: "http://127.0.0.1:9090".to_owned(),
        halted: Vec::new(),
    };
    judge(&experiment, &fleet(&experiment, made), &asked)
}

#[test]
fn an_arm_that_is_faster_is_better() {
    let document = judged(Made { time: 0.88, ..SAME }, 60);
    let one = &document.comparisons[0];
    assert_eq!(one.verdict, Verdict::Better, "{}", document.sentence);
    assert!(
        document
            .sentence
            .starts_with("Five is better: mean response time -1"),
        "{}",
        document.sentence
    );
    assert!(
        document.sentence.ends_with("look 2 of 2, the last."),
        "{}",
        document.sentence
    );
    assert_eq!(document.next_look_at, None);
    assert!(
        document
            .guardrails
            .iter()
            .all(|one| one.state == State::Holds),
        "{:?}",
        document.guardrails
    );
    let [three, five] = &document.arms[..] else {
        panic!()
    };
    assert_eq!((three.draws, five.instances, five.share), (10, 10, 0.5));
    assert!((five.gvl_wait_ms.unwrap() - 2.0).abs() < 1e-9);
    assert!((five.response_ms.unwrap() / three.response_ms.unwrap() - 0.88).abs() < 0.02);
}

#[test]
fn what_starts_after_a_halt_is_not_compared() {
    let experiment = crate::read(FILE).unwrap();
    let mut fleet = fleet(&experiment, SAME);
    // Of 20 units, the last six start at the halt, and one more draws the halted arm.
    for unit in &mut fleet.units[14..] {
        unit.from = 30;
    }
    let mut drawn = fleet.units[1].clone();
    drawn.instance = "10.0.0.99:3000".to_owned();
    drawn.from = 30;
    fleet.units.push(drawn);
    let asked = Asked {
        now_s: experiment.ends_s(),
        version: String::new(),
        prometheus: String::new(),
        halted: Vec::new(),
    };
    let draws = |fleet: &Fleet| {
        let document = judge(&experiment, fleet, &asked);
        let ratio = document.comparisons[0].request_rate.unwrap();
        (ratio.draws_of_first, ratio.draws)
    };
    assert_eq!(draws(&fleet), (10, 11));
    let last = fleet.units.last_mut().unwrap();
    last.label.arm = "three".to_owned();
    last.label.halted = Some("five".to_owned());
    assert_eq!(draws(&fleet), (7, 7));
    let document = judge(&experiment, &fleet, &asked);
    assert!(
        document.notes[0].starts_with(
            "1 draw of a halted arm ran three and is used only for the check of the shares;"
        ),
        "{:?}",
        document.notes
    );
}

#[test]
fn figures_of_what_is_known() {
    let experiment = crate::read(FILE).unwrap();
    let mut fleet = fleet(&experiment, SAME);
    let asked = Asked {
        now_s: experiment.look_s(1),
        version: String::new(),
        prometheus: String::new(),
        halted: Vec::new(),
    };
    for unit in fleet.units.iter_mut().filter(|unit| unit.arm == 1) {
        unit.left_out = vec![29, 30];
        for slice in &mut unit.slices {
            slice.queue_s = (slice.index == 3).then_some(slice.requests * 0.004);
        }
    }
    let arms = judge(&experiment, &fleet, &asked).arms;
    let slices = |arm: usize| (arms[arm].slices, arms[arm].slices_left_out);
    assert_eq!((slices(0), slices(1)), ((300, 0), (300, 10)));
    // A sum of zero is that of an agent whom no proxy tells.
    assert_eq!(arms[0].queue_ms, None);
    assert!((arms[1].queue_ms.unwrap() - 4.0).abs() < 1e-9);
}

#[test]
fn a_reason_of_several_arms_is_said_once() {
    let more = "[[arm]]\nname = 'seven'\nshare = '20%'\nenvironment = { A = 2 }\n[guardrails]";
    let experiment = crate::read(&FILE.replace("50%", "20%").replace("[guardrails]", more));
    let experiment = experiment.unwrap();
    let refused = |why: [&str; 2]| {
        let all = [1, 2].map(|arm| compare::refused(&experiment, arm, why[arm - 1]));
        sentence(&experiment, &all, 2, None)
    };
    assert_eq!(
        refused(["the shares are odd", "the shares are odd"]),
        "Five, seven: not judged: the shares are odd."
    );
    assert_eq!(
        refused(["this", "that"]),
        "Five: not judged: this. seven: not judged: that."
    );
}

#[test]
fn a_p_has_as_many_digits_as_it_needs() {
    let shown = [0.00005, 0.0001, 0.00123, 0.0425, 0.5].map(shown_p);
    assert_eq!(
        shown,
        [
            "p < 0.0001",
            "p = 0.0001",
            "p = 0.001",
            "p = 0.043",
            "p = 0.50"
        ]
    );
}

#[test]
fn between_two_looks_the_answer_does_not_change() {
    let made = Made { time: 0.95, ..SAME };
    let answers = [30, 41, 59].map(|minutes| judged(made, minutes));
    let [first, others @ ..] = &answers;
    for other in others {
        assert_eq!(first.comparisons, other.comparisons);
        assert_eq!(first.arms, other.arms);
        assert_eq!(first.sentence, other.sentence);
    }
    assert_eq!(first.look.as_ref().unwrap().level, 0.001);
    let before = judged(made, 29);
    assert!(before.comparisons.is_empty());
    assert_eq!(
        before.sentence,
        "Not enough for an answer: the first of 2 looks is at 2026-12-01T00:30:00Z."
    );
}

#[test]
fn equal_arms_and_few_units() {
    let last = judged(SAME, 60);
    assert_eq!(last.comparisons[0].verdict, Verdict::NoDifference);
    assert_eq!(judged(SAME, 30).comparisons[0].verdict, Verdict::Undecided);
    assert!(
        judged(SAME, 30)
            .sentence
            .ends_with("Look 2 of 2 is at 2026-12-01T01:00:00Z.")
    );
    let few = judged(
        Made {
            units: 6,
            time: 0.5,
            ..SAME
        },
        60,
    );
    assert_eq!(few.comparisons[0].verdict, Verdict::NotEnough);
    assert!(
        few.sentence
            .contains("no result could have a p below 0.100"),
        "{}",
        few.sentence
    );
}

#[test]
fn other_traffic_and_other_shares_are_refused() {
    let coupled = judged(
        Made {
            time: 0.7,
            rate: 1.2,
            ..SAME
        },
        60,
    );
    assert_eq!(coupled.comparisons[0].verdict, Verdict::Refused);
    assert!(
        coupled.sentence.contains("least connections"),
        "{}",
        coupled.sentence
    );

    let experiment = crate::read(FILE).unwrap();
    let mut fleet = fleet(&experiment, Made { units: 40, ..SAME });
    fleet
        .units
        .retain(|unit| unit.arm == 0 || unit.instance.ends_with(".1:3000"));
    let asked = Asked {
        now_s: experiment.ends_s(),
        version: String::new(),
        prometheus: String::new(),
        halted: Vec::new(),
    };
    let document = judge(&experiment, &fleet, &asked);
    assert_eq!(document.comparisons[0].verdict, Verdict::Refused);
    assert_eq!(document.balance[0].passed, Some(false));
    assert!(
        document.sentence.contains("do not have the arms' shares"),
        "{}",
        document.sentence
    );
}

#[test]
fn each_guardrail_breaks_by_itself() {
    let state = |made: Made, figure: &str| {
        // Before the first look, too.
        let document = judged(made, 20);
        let found = document.guardrails.iter().find(|one| one.figure == figure);
        found.unwrap().state
    };
    for (made, figure) in [
        (
            Made {
                errors: 0.05,
                ..SAME
            },
            "errors",
        ),
        (Made { p99: 2.0, ..SAME }, "p99"),
        (
            Made {
                memory: 1.4,
                ..SAME
            },
            "memory",
        ),
        // Of ten units in twenty minutes: 34 restarts are 245 a unit and day, the first arm's 10 are 72.
        (
            Made {
                restarts: 2.4,
                ..SAME
            },
            "restarts",
        ),
    ] {
        for other in ["errors", "p99", "memory", "restarts"] {
            let expected = if other == figure {
                State::Broken
            } else {
                State::Holds
            };
            assert_eq!(state(made, other), expected, "{other} of {figure}");
        }
    }
    assert_eq!(
        state(
            Made {
                memory: 1.14,
                ..SAME
            },
            "memory"
        ),
        State::Unknown
    );
}

#[test]
fn restarts_that_the_first_arm_has_too_halt_nobody() {
    let experiment = crate::read(FILE).unwrap();
    let states = |of_first: f64, of_arm: f64| {
        let mut fleet = fleet(&experiment, SAME);
        for unit in &mut fleet.units {
            unit.restarts = vec![(5, if unit.arm == 0 { of_first } else { of_arm })];
        }
        restarts_of_arm(&experiment, &fleet)
    };
    let (state, sentence) = states(0.0, 1.0);
    assert_eq!(state, State::Broken);
    assert_eq!(
        sentence,
        "10 restarts of processes: 144.00 per unit and day, the first arm has 0.00; the limit is 100"
    );
    assert_eq!(states(0.0, 0.9).0, State::Unknown);
    assert_eq!(states(0.0, 0.6).0, State::Holds);
    assert_eq!(states(0.5, 1.0).0, State::Unknown);
    assert_eq!(states(0.4, 1.0).0, State::Broken);
}

#[test]
fn restarts_are_not_known_until_both_arms_have_slices() {
    let experiment = crate::read(FILE).unwrap();
    for without in [0, 1] {
        let mut fleet = fleet(&experiment, SAME);
        for unit in &mut fleet.units {
            unit.restarts = vec![(5, 10.0)];
            if unit.arm == without {
                unit.slices.clear();
            }
        }
        let (state, sentence) = restarts_of_arm(&experiment, &fleet);
        assert_eq!(state, State::Unknown, "{without}: {sentence}");
        assert_eq!(sentence, "no slices of both arms yet");
    }
}

/// The guardrail of restarts after ten minutes.
fn restarts_of_arm(experiment: &Experiment, fleet: &Fleet) -> (State, String) {
    let asked = Asked {
        now_s: experiment.starts_s + 600,
        version: String::new(),
        prometheus: String::new(),
        halted: Vec::new(),
    };
    let guardrails = judge(experiment, fleet, &asked).guardrails;
    let found = guardrails.into_iter().find(|one| one.figure == "restarts");
    let found = found.unwrap();
    (found.state, found.sentence)
}

/// A third group with the first arm's settings, of every third unit.
#[test]
fn a_holdout_that_differs_takes_every_answer_away() {
    let third = "[[arm]]\nname = 'same'\nshare = '33.33%'\nholdout = true\n[guardrails]";
    let text = FILE.replace("50%", "33.33%").replace("[guardrails]", third);
    let experiment = crate::read(&text).unwrap();
    assert!(experiment.arms[2].is_holdout && experiment.arms[2].environment.is_empty());
    let judged = |of_holdout: f64| {
        let mut fleet = fleet(&experiment, Made { units: 60, ..SAME });
        for (number, unit) in fleet.units.iter_mut().enumerate() {
            unit.arm = number % 3;
            unit.label.arm.clone_from(&experiment.arms[unit.arm].name);
            for slice in &mut unit.slices {
                slice.requests = 600.0;
                let noise = 1.0 + 0.02 * ((number * 7 + slice.index * 5) % 11) as f64;
                slice.response_s = 30.0 * noise * [1.0, 0.7, of_holdout][unit.arm];
            }
        }
        let asked = Asked {
            now_s: experiment.ends_s(),
            version: String::new(),
            prometheus: String::new(),
            halted: Vec::new(),
        };
        judge(&experiment, &fleet, &asked)
    };
    let fair = judged(1.0);
    let verdicts = |document: &Document| -> Vec<Verdict> {
        document.comparisons.iter().map(|one| one.verdict).collect()
    };
    assert_eq!(verdicts(&fair), [Verdict::Better, Verdict::NoDifference]);
    assert!(
        fair.sentence
            .contains("same has the settings of three, and no difference is found"),
        "{}",
        fair.sentence
    );
    let check = fair
        .balance
        .iter()
        .find(|check| check.name == "holdout")
        .unwrap();
    assert_eq!(check.passed, Some(true));
    assert!(fair.guardrails.iter().all(|one| one.arm == "five"));

    let unfair = judged(1.3);
    assert_eq!(verdicts(&unfair), [Verdict::Refused, Verdict::Refused]);
    assert!(
        unfair.sentence.starts_with("Five, same: not judged: same has the settings of three, and its mean response time differs: +30"),
        "{}",
        unfair.sentence
    );
    assert_eq!(unfair.balance.last().unwrap().passed, Some(false));
}

#[test]
fn warnings_of_prometheus_are_notes() {
    let experiment = crate::read(FILE).unwrap();
    let mut warned = fleet(&experiment, SAME);
    assert!(
        !notes::notes(&experiment, &warned)
            .concat()
            .contains("warns")
    );
    warned.warnings.insert("store eu2: no answer".to_owned());
    let notes = notes::notes(&experiment, &warned);
    assert!(notes.contains(
        &"Prometheus warns, so units or slices may be missing: store eu2: no answer.".to_owned()
    ));
}
