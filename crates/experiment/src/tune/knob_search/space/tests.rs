use super::*;
use crate::server_kind::ServerKind;

fn settings(workers: u16, threads: u16, preload: bool) -> Settings {
    Settings {
        workers,
        threads,
        preload,
    }
}

fn knob(name: &str, values: &[&str]) -> SearchKnob {
    SearchKnob {
        name: name.to_owned(),
        values: values.iter().map(|v| (*v).to_owned()).collect(),
        usual: false,
    }
}

#[test]
fn points_are_arms_and_what_means_nothing_is_forbidden() {
    let knobs = vec![
        knob("malloc_arena_max", &["2"]),
        knob("allocator", &["jemalloc", "tcmalloc"]),
        knob("warmup", &["on"]),
    ];
    let candidates = vec![settings(2, 3, true), settings(2, 5, true)];
    let searched = Searched::of(
        settings(0, 5, false),
        candidates,
        Named::default(),
        knobs,
        &[],
    )
    .unwrap();
    assert_eq!(
        searched.arm(&searched.space.baseline()).to_string(),
        "single × 5 threads"
    );
    let point = searched.point(settings(2, 3, true)).unwrap();
    let with = point.with(SETTINGS + 2, 1);
    assert_eq!(
        searched.arm(&with).to_string(),
        "2 workers × 3 threads, preloaded, warmup=on"
    );
    // glibc's arenas mean nothing to another allocator, and single mode preloads nothing.
    let both = with.with(SETTINGS, 1).with(SETTINGS + 1, 2);
    assert!(searched.space.allows(&with) && !searched.space.allows(&both));
    let single = searched.space.baseline().with(PRELOAD, 1);
    assert!(!searched.space.allows(&single));
    assert_eq!((searched.screened(), searched.most_concurrency()), (2, 10));
    let knobs = vec![
        knob("malloc_conf", &["narenas:2"]),
        knob("allocator", &["jemalloc"]),
    ];
    let searched = Searched::of(
        settings(0, 5, false),
        Vec::new(),
        Named::default(),
        knobs,
        &[],
    )
    .unwrap();
    let conf = searched.space.baseline().with(SETTINGS, 1);
    assert!(!searched.space.allows(&conf));
    assert!(searched.space.allows(&conf.with(SETTINGS + 1, 1)));
}

#[test]
fn what_a_ruby_does_not_take_is_not_tried_with_it() {
    let apart = |ruby: Option<&str>, knob: &str, value: &str| RejectedValue {
        ruby: ruby.map(str::to_owned),
        knob: knob.to_owned(),
        value: value.to_owned(),
        what: String::new(),
    };
    let knobs = vec![
        knob("warmup", &["on"]),
        knob("ruby", &["/opt/3.1/ruby", "/opt/3.4/ruby"]),
        knob("thread_timeslice", &["50ms"]),
    ];
    let apart = [
        apart(Some("/opt/3.1/ruby"), "warmup", "on"),
        apart(Some("/opt/3.1/ruby"), "thread_timeslice", "50ms"),
        apart(None, "thread_timeslice", "50ms"),
    ];
    let searched = Searched::of(
        settings(0, 5, false),
        Vec::new(),
        Named::default(),
        knobs,
        &apart,
    )
    .unwrap();
    let (warmup, ruby, slice) = (SETTINGS, SETTINGS + 1, SETTINGS + 2);
    let today = searched.space.baseline();
    for (set, allowed) in [
        (vec![(warmup, 1)], true),
        (vec![(warmup, 1), (ruby, 1)], false),
        (vec![(warmup, 1), (ruby, 2)], true),
        (vec![(slice, 1)], false),
        (vec![(slice, 1), (ruby, 1)], false),
        (vec![(slice, 1), (ruby, 2)], true),
    ] {
        let point = set.iter().fold(today.clone(), |point, &(factor, level)| {
            point.with(factor, level)
        });
        assert_eq!(searched.space.allows(&point), allowed, "{set:?}");
    }
    // A screen runs today's Ruby, which has the one and not the other.
    let how = |factor: usize| searched.space.factors[factor].how;
    assert_eq!((how(warmup), how(slice)), (How::Screened, How::Raced));
}

#[test]
fn what_no_ruby_takes_is_not_searched() {
    let apart = |ruby: Option<&str>, value: &str| RejectedValue {
        ruby: ruby.map(str::to_owned),
        knob: "warmup".to_owned(),
        value: value.to_owned(),
        what: String::new(),
    };
    let left = |knobs: &[SearchKnob], apart: &[RejectedValue]| {
        let left = taken_by_a_ruby(knobs.to_vec(), apart);
        let shown = |knob: &SearchKnob| format!("{}={}", knob.name, knob.values.join(","));
        left.iter().map(shown).collect::<Vec<_>>().join(" ")
    };
    let alone = [knob("warmup", &["on"]), knob("yjit", &["on"])];
    assert_eq!(left(&alone, &[]), "warmup=on yjit=on");
    assert_eq!(left(&alone, &[apart(None, "on")]), "yjit=on");
    let two = [knob("warmup", &["off", "on"]), knob("ruby", &["3.4"])];
    let by_today = apart(None, "on");
    assert_eq!(left(&two, &[by_today]), "warmup=off,on ruby=3.4");
    let by_both = [apart(None, "on"), apart(Some("3.4"), "on")];
    assert_eq!(left(&two, &by_both), "warmup=off ruby=3.4");
}

#[test]
fn what_was_named_is_searched_though_the_model_proposes_something_else() {
    let named = Named {
        workers: &[0, 2],
        threads: &[1, 5],
        ..Named::default()
    };
    let candidates = vec![settings(2, 3, true)];
    let searched = Searched::of(settings(0, 3, false), candidates, named, Vec::new(), &[]).unwrap();
    assert_eq!(searched.most_concurrency(), 10);
    assert_eq!(
        (searched.workers, searched.threads),
        (vec![0, 2], vec![1, 3, 5])
    );
}

/// A quarter less of it, at least a fifth and at most three tenths.
#[test]
fn a_step_is_reported_for_the_metric_that_was_asked_for() {
    let step = search::Step {
        factor: SETTINGS,
        from: 0,
        to: 1,
        ratio: Some(1.0 / 0.75),
        low: Some(1.0 / 0.8),
        high: Some(1.0 / 0.7),
        blocks: 6,
        kept: true,
    };
    let (ratio, low, high) = brought(&step, Metric::Memory);
    for (found, expected) in [(ratio, 0.75), (low, 0.7), (high, 0.8)] {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}");
    }
    assert_eq!(
        brought(&step, Metric::Capacity),
        (step.ratio, step.low, step.high)
    );
}

/// In the table of knobs, and of each configuration.
#[test]
fn a_limit_that_is_broken_is_named() {
    let mut document = crate::sample::document("tune");
    document.plan.objective.latency = Some(run::LatencyObjective {
        percentile: 99.0,
        limit_ms: 250.0,
    });
    document.plan.objective.max_memory_bytes = None;
    let broken = &document.arms[1];
    let (name, settings) = (broken.name.clone(), broken.settings);
    let today = document.arms[0].settings;
    let knobs = vec![knob("malloc_arena_max", &["2"])];
    let searched = Searched::of(today, vec![settings], Named::default(), knobs, &[]).unwrap();
    let effect = |document: &mut Document| {
        searched.note(document, 9, 9);
        let outcome = outcome(&searched, Found::BreaksALimit);
        searched.found(document, &outcome, 1.0);
        document.search.as_ref().unwrap().effects[0].found.clone()
    };
    assert_eq!(effect(&mut document), "breaks a limit (p99 ≤ 250 ms)");
    let fate = Fate {
        point: searched.point(settings).unwrap(),
        stage: search::Stage::Race,
        end: End::BreaksALimit,
    };
    for trial in document.trials.iter_mut().filter(|t| t.arm == name) {
        if let Some(window) = &mut trial.objective {
            window.violations = Some(window.requests);
        }
    }
    let said = searched.fate(&fate, &document);
    let expected = "breaks a limit: 100.0 % of its 136 requests took longer than 250 ms, 1 % may (elimination)";
    assert_eq!(said, expected);
    document.trials.clear();
    let said = searched.fate(&fate, &document);
    assert_eq!(said, "breaks a limit (p99 ≤ 250 ms) (elimination)");
    document.plan.objective.latency = None;
    assert_eq!(effect(&mut document), "its requests fail");
}

fn outcome(searched: &Searched, found: Found) -> Outcome {
    Outcome {
        winner: searched.space.baseline(),
        claim: search::Claim::BaselineBest,
        comparison: None,
        winner_standing: None,
        baseline_standing: None,
        effects: vec![Effect {
            factor: SETTINGS,
            score: None,
            log_throughput: None,
            log_memory: None,
            log_latency: None,
            found,
        }],
        steps: Vec::new(),
        fates: Vec::new(),
        trials: 0,
        trials_of: Vec::new(),
        left_out: Vec::new(),
    }
}

#[test]
fn a_server_that_always_preloads_is_searched_with_nothing_else() {
    let today = settings(2, 1, true);
    let knobs = vec![knob("malloc_arena_max", &["2"])];
    let of = |kind| {
        let found = Searched::of(today, Vec::new(), Named::default(), knobs.clone(), &[]);
        let mut space = found.unwrap().space;
        space.forbidden.extend(without_choice(kind));
        let today = space.baseline();
        (space.allows(&today), space.allows(&today.with(PRELOAD, 0)))
    };
    assert_eq!(of(ServerKind::Pitchfork), (true, false));
    assert_eq!(of(ServerKind::Unicorn), (true, true));
}
