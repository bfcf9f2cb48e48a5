use super::*;
use crate::drift::{NoAnswer, drift_query, drift_rules};
use run::drift::Figure;
use run::{Answer, EndpointProfile};

const SAMPLE: &str = include_str!("../../../../../contract/samples/run/tune.json");

fn sample() -> run::Document {
    serde_json::from_str(SAMPLE).unwrap()
}

fn asked() -> DriftAsked {
    DriftAsked {
        read_at: "2026-12-01T00:00:00Z".to_owned(),
        version: "0.1.0".to_owned(),
        prometheus: "http://127.0.0.1:9090".to_owned(),
        matchers: "job=\"shop\"".to_owned(),
        period_s: 86_400,
        notes: Vec::new(),
    }
}

fn judged(assumptions: &Assumptions, values: &[Option<f64>]) -> Document {
    let answers = values.iter().map(|now| ("sum(up)".to_owned(), *now));
    drift(assumptions, answers.collect(), asked())
}

fn figures(checked: &[Checked], holds: Option<bool>) -> Vec<Figure> {
    let found = checked.iter().filter(|one| one.holds == holds);
    found.map(|one| one.figure).collect()
}

#[test]
fn a_fleet_as_the_run_assumed_holds_and_each_difference_is_named() {
    let assumptions = Assumptions::of(&sample()).unwrap();
    let as_assumed: Vec<Option<f64>> = assumptions
        .all
        .iter()
        .map(|one| Some(one.assumed))
        .collect();
    let held = judged(&assumptions, &as_assumed);
    assert_eq!(
        figures(&held.assumptions, Some(true)).len(),
        assumptions.all.len()
    );
    let run = &assumptions.run;
    assert_eq!(
        held.sentence,
        format!("What {run} assumed holds (7 of 7 figures). There is no reason to measure again.")
    );
    for at in 0..assumptions.all.len() {
        let one = assumptions.all[at];
        for (now, holds) in [
            (Some(one.high * 1.001 + 0.001), Some(false)),
            (
                one.low.map(|low| low * 0.999 - 0.001),
                one.low.map(|_| false),
            ),
            (Some(one.high), Some(true)),
            (None, None),
        ] {
            let mut values = as_assumed.clone();
            values[at] = now;
            let document = judged(&assumptions, &values);
            assert_eq!(document.assumptions[at].holds, holds, "{one:?} {now:?}");
            let names = document.sentence.contains(one.figure.label());
            assert_eq!(names, holds == Some(false), "{}", document.sentence);
        }
    }
}

#[test]
fn the_sentence_names_figures_as_the_page_does() {
    let assumptions = Assumptions::of(&sample()).unwrap();
    let (run, settings) = (&assumptions.run, assumptions.settings);
    let sentence = |changed: &[(Figure, Option<f64>)]| {
        let values = assumptions.all.iter().map(|one| {
            let changed = changed.iter().find(|(figure, _)| *figure == one.figure);
            changed.map_or(Some(one.assumed), |(_, now)| *now)
        });
        judged(&assumptions, &values.collect::<Vec<_>>()).sentence
    };
    assert_eq!(
        sentence(&[(Figure::IoShare, Some(0.0)), (Figure::Settings, Some(2.0))]),
        format!(
            "The fleet differs from what {run} assumed: I/O, of I/O and GVL held; instances with other settings. \
             powerband tune --since {run} finds out whether {settings} is still right."
        )
    );
    for (unknown, rest) in [
        (
            &[Figure::Rate][..],
            "(6 of 7 figures); 1 other figure cannot be checked, because Prometheus has no series of it.",
        ),
        (
            &[Figure::Rate, Figure::Memory],
            "(5 of 7 figures); 2 other figures cannot be checked, because Prometheus has no series of them.",
        ),
    ] {
        let unknown: Vec<(Figure, Option<f64>)> = unknown.iter().map(|one| (*one, None)).collect();
        let expected =
            format!("What {run} assumed holds {rest} There is no reason to measure again.");
        assert_eq!(sentence(&unknown), expected);
    }
}

#[test]
fn the_sample_has_every_figure_with_its_limits() {
    let document = sample();
    let all = Assumptions::of(&document).unwrap().all;
    let profile = document.profile.unwrap();
    let of = |figure: Figure| *all.iter().find(|one| one.figure == figure).unwrap();
    assert_eq!(all.len(), 7);
    assert_eq!((of(Figure::Mix).assumed, of(Figure::Mix).high), (0.0, 0.2));
    let held = of(Figure::Held);
    assert_eq!(held.low, Some(0.75 * profile.held_ms));
    // 20.3 ms of I/O and 2.1 ms with the GVL.
    let io = of(Figure::IoShare);
    assert!(
        (io.assumed - 0.906).abs() < 0.001 && (io.assumed - io.low.unwrap() - 0.1).abs() < 1e-9
    );
    assert_eq!(io.high, 1.0);
    assert!((of(Figure::LockWait).high - 0.05 * (profile.held_ms + profile.io_ms)).abs() < 1e-9);
    // In single mode the server is the process.
    assert_eq!(of(Figure::Rate).high, 132.0);
    assert_eq!(of(Figure::Memory).high, 1.5 * of(Figure::Memory).assumed);
}

#[test]
fn a_worker_has_its_part_of_the_rate_and_endpoints_beyond_twenty_are_expected() {
    let mut document = sample();
    document.verdict.as_mut().unwrap().settings.workers = 4;
    let profile = document.profile.as_mut().unwrap();
    let first = profile.endpoints[0].clone();
    profile.endpoints = (0..25)
        .map(|n| EndpointProfile {
            name: format!("a#{n}"),
            requests: 4,
            ..first.clone()
        })
        .collect();
    profile.endpoints.push(EndpointProfile {
        name: "job Mail".to_owned(),
        requests: 1_000,
        ..first
    });
    let assumptions = Assumptions::of(&document).unwrap();
    let of = |figure: Figure| {
        *assumptions
            .all
            .iter()
            .find(|one| one.figure == figure)
            .unwrap()
    };
    assert_eq!(of(Figure::Rate).high, 33.0);
    assert!((of(Figure::Mix).assumed - 0.2).abs() < 1e-9);
    assert!(
        assumptions
            .mix
            .iter()
            .all(|(name, share)| name != "job Mail" && *share == 0.04)
    );
}

#[test]
fn a_run_without_an_answer_is_refused() {
    let mut document = sample();
    document.verdict.as_mut().unwrap().answer = Answer::Undecided;
    assert_eq!(Assumptions::of(&document), Err(NoAnswer::Undecided));
    document.profile = None;
    document.verdict.as_mut().unwrap().answer = Answer::Keep;
    assert_eq!(Assumptions::of(&document), Err(NoAnswer::NotRecorded));
    document.kind = run::Kind::Compare;
    assert_eq!(Assumptions::of(&document), Err(NoAnswer::Kind("compare")));
}

#[test]
fn names_of_endpoints_cannot_leave_their_string() {
    let mut document = sample();
    document.profile.as_mut().unwrap().endpoints[0].name = "GET /a\"\\b$1\n".to_owned();
    let assumptions = Assumptions::of(&document).unwrap();
    let query = drift_query(Figure::Mix, &assumptions, "job=\"shop\"", "1h");
    assert!(
        query.contains(r#""endpoint", "GET /a\"\\b$$1\n", "", "")"#),
        "{query}"
    );
    assert!(
        query.contains("powerband_endpoint_requests_total{job=\"shop\"}[1h]"),
        "{query}"
    );
}

#[test]
fn each_assumption_has_a_rule_with_the_command() {
    let assumptions = Assumptions::of(&sample()).unwrap();
    let rules = drift_rules(&assumptions, "");
    let alerts = rules
        .lines()
        .filter(|line| line.contains("alert: ConfigurationDrift"));
    assert_eq!(alerts.count(), assumptions.all.len());
    for one in &assumptions.all {
        let label = format!("figure: {}}}", one.figure.name());
        assert_eq!(rules.matches(&label).count(), 1, "{label}");
    }
    let command = format!("powerband tune --since {}", assumptions.run);
    assert_eq!(rules.matches(&command).count(), assumptions.all.len());
}
