use super::*;

/// The baseline and the other arm of the sample.
fn arms(document: &Document) -> [Arm; 2] {
    [0, 1].map(|index: usize| Arm::of(document.arms[index].settings))
}

fn told(metric: Metric, outcome: Outcome, answer: Answer) -> String {
    let document = crate::sample::document("tune");
    let mut comparison = document.comparisons.last().unwrap().clone();
    (comparison.metric, comparison.outcome) = (metric, outcome);
    (comparison.ratio, comparison.blocks) = (0.6, 9);
    (comparison.low, comparison.high) = (Some(0.55), Some(0.65));
    let [today, other] = arms(&document);
    sentence(&document, answer, &today, &other, &comparison)
}

#[test]
fn less_of_what_was_asked_for_is_said_in_its_own_words() {
    let found = [
        (Metric::Memory, Outcome::Better, Answer::Change),
        (Metric::ResponseTime, Outcome::Better, Answer::Change),
        (Metric::Processes, Outcome::Equivalent, Answer::Keep),
        (Metric::Capacity, Outcome::Worse, Answer::Keep),
        (Metric::Memory, Outcome::Equivalent, Answer::Smaller),
    ]
    .map(|(metric, outcome, answer)| told(metric, outcome, answer));
    assert_eq!(
        found,
        [
            "Run single × 4 threads: it needs 40 % less memory than single × 1 thread (-45 to -35 %, 9 blocks).",
            "Run single × 4 threads: it answers 95 % of its requests within 40 % less time than single × 1 thread (-45 to \
             -35 %, 9 blocks).",
            "Keep single × 1 thread: the best alternative, single × 4 threads, runs no fewer processes (-45 to -35 %, 9 blocks).",
            "Keep single × 1 thread: the best alternative, single × 4 threads, answers 40 % fewer requests a second (-45 to -35 %, 9 blocks).",
            "Run single × 4 threads: it needs as much memory as single × 1 thread (-45 to -35 %, 9 blocks) and is smaller.",
        ]
    );
}

#[test]
fn an_undecided_answer_says_that_todays_settings_break_the_limits() {
    let mut document = crate::sample::document("tune");
    document.plan.objective.latency.as_mut().unwrap().limit_ms = 250.0;
    document.plan.rate_per_s = Some(29.4);
    let mut comparison = document.comparisons.last().unwrap().clone();
    let [today, other] = arms(&document);
    let names = [today.name.clone(), other.name.clone()];
    let mut said = |outcome, feasible: [Feasibility; 2]| {
        comparison.outcome = outcome;
        for arm in &mut document.arms {
            for (name, feasible) in names.iter().zip(feasible) {
                if arm.name == *name {
                    arm.feasible = feasible;
                }
            }
        }
        sentence(&document, Answer::Undecided, &today, &other, &comparison)
    };
    let (breaks, meets) = (Feasibility::Breaks, Feasibility::Meets);
    for outcome in [Outcome::Undecided, Outcome::Better] {
        let said = said(outcome, [breaks, breaks]);
        assert!(
            said.contains("single × 1 thread, today's settings, breaks a limit (p99 ≤ 250 ms"),
            "{said}"
        );
        assert!(
            said.contains("; single × 4 threads breaks one as well. That was at 29.4 requests a second; today's settings serve 42.0 at most."),
            "{said}"
        );
        assert!(!said.contains("not proven"), "{said}");
    }
    let only_today = said(Outcome::Better, [breaks, Feasibility::Unclear]);
    assert!(
        only_today.contains("today's settings, breaks a limit"),
        "{only_today}"
    );
    let none = said(Outcome::Undecided, [meets, meets]);
    assert!(!none.contains("today's settings"), "{none}");
}

/// To keep today's settings would be to keep what is proven to be late more often.
#[test]
fn a_limit_that_today_breaks_is_no_reason_to_keep_it() {
    let mut document = crate::sample::document("tune");
    document.plan.objective.latency = Some(run::LatencyObjective {
        percentile: 99.0,
        limit_ms: 250.0,
    });
    let mut comparison = document.comparisons.last().unwrap().clone();
    let [today, other] = arms(&document);
    document.arms[0].feasible = Feasibility::Breaks;
    document.arms[0].violation_rate = Some(0.0529);
    document.arms[0].violation_interval = Some((0.03, 0.08));
    let other_arm = &mut document.arms[1];
    (other_arm.feasible, other_arm.growth) = (Feasibility::Unclear, None);
    (other_arm.violation_rate, other_arm.violation_requests) = (Some(0.0), Some(1210));
    let mut answered = |outcome, high| {
        comparison.outcome = outcome;
        document.arms[1].violation_interval = Some((0.0, high));
        let (answer, code) = answer(&document, &today, &other, &comparison);
        let said = sentence(&document, answer, &today, &other, &comparison);
        ((answer, code), said)
    };
    let (found, said) = answered(Outcome::Better, 0.0121);
    assert_eq!(found, (Answer::Change, 0));
    assert!(
        said.contains("requests a second, 0.00 % of its requests take longer than 250 ms instead of 5.29 %. There is no proof yet that it keeps the limit: about 1,470 requests would prove it"),
        "{said}"
    );
    // Not surely less often, or not surely better.
    for (outcome, high) in [(Outcome::Better, 0.04), (Outcome::Undecided, 0.0121)] {
        let (found, said) = answered(outcome, high);
        assert_eq!(found, (Answer::Undecided, 3), "{said}");
    }
}

/// Both are late too often, one of them surely.
#[test]
fn today_s_settings_are_not_kept_for_being_less_surely_late() {
    let mut document = crate::sample::document("tune");
    let latency = document.plan.objective.latency.as_mut().unwrap();
    latency.limit_ms = 250.0;
    let allowed = latency.allowed_violation_rate();
    let mut comparison = document.comparisons.last().unwrap().clone();
    comparison.outcome = Outcome::Undecided;
    let [today, other] = arms(&document);
    document.arms[0].feasible = Feasibility::Unclear;
    document.arms[0].violation_rate = Some(allowed * 16.0);
    document.arms[0].violation_interval = Some((allowed / 2.0, allowed * 40.0));
    document.arms[1].feasible = Feasibility::Breaks;
    let answered = |document: &Document| answer(document, &today, &other, &comparison);
    assert_eq!(answered(&document), (Answer::Undecided, 3));
    let said = sentence(&document, Answer::Undecided, &today, &other, &comparison);
    for words in [
        "single × 4 threads breaks a limit",
        "is not proven: 16.0 %",
        "(0.5 % to 40.0 %)",
    ] {
        assert!(said.contains(words), "{said}");
    }
    document.arms[0].violation_rate = Some(allowed / 2.0);
    assert_eq!(answered(&document), (Answer::Keep, 0));
}

#[test]
fn requests_that_fail_are_no_limit_that_was_given() {
    let mut document = crate::sample::document("tune");
    let mut comparison = document.comparisons.last().unwrap().clone();
    (comparison.outcome, comparison.blocks) = (Outcome::Undecided, 9);
    comparison.not_comparable = Some("12.0 % of the requests failed".to_owned());
    let [today, other] = arms(&document);
    let said =
        |document: &Document, answer| sentence(document, answer, &today, &other, &comparison);
    assert_eq!(
        said(&document, Answer::Undecided),
        "Undecided: single × 4 threads cannot be compared with single × 1 thread: 12.0 % of the requests failed; \
         single × 1 thread stays until it is known why."
    );
    let answers = [Answer::NoneMeets, Answer::Change, Answer::Keep];
    for limited in [true, false] {
        document.plan.objective.latency = None;
        document.plan.objective.max_memory_bytes = limited.then_some(1 << 30);
        for answer in answers {
            let said = said(&document, answer);
            assert_eq!(said.contains("limit"), limited, "{said}");
        }
    }
}

#[test]
fn the_page_that_fails_most_is_named_where_nothing_answers() {
    let mut document = crate::sample::document("tune");
    document.plan.objective.latency = None;
    document.plan.objective.max_memory_bytes = None;
    let trials = document.trials.iter_mut();
    for window in trials.filter_map(|t| t.saturation.as_mut()) {
        window.errors = window.requests;
        window.endpoints.truncate(1);
        let page = &mut window.endpoints[0];
        (page.name, page.requests, page.failures) = ("GET /broken".to_owned(), 50, 10);
    }
    let said = none_meets(&document);
    assert!(
        said.contains("1 % failed; GET /broken failed in 20.0 % of its requests at full load ("),
        "{said}"
    );
}

/// As in a container, whose memory limit is the default of --max-memory.
#[test]
fn requests_that_fail_break_no_memory_limit() {
    let mut document = crate::sample::document("tune");
    let mut comparison = document.comparisons.last().unwrap().clone();
    (comparison.outcome, comparison.blocks) = (Outcome::Undecided, 9);
    document.plan.objective.max_memory_bytes = Some(1 << 40);
    let [today, other] = arms(&document);
    for trial in document.trials.iter_mut().filter(|t| t.arm == other.name) {
        if let Some(window) = &mut trial.saturation {
            window.errors = window.requests / 5;
        }
    }
    let kept = sentence(&document, Answer::Keep, &today, &other, &comparison);
    assert!(kept.ends_with("fails too many of its requests."), "{kept}");
    let left = sentence(&document, Answer::Change, &other, &today, &comparison);
    assert!(
        left.contains("of which single × 4 threads fails too many"),
        "{left}"
    );
}

#[test]
fn longer_windows_are_no_proof_where_memory_grows() {
    let mut document = crate::sample::document("tune");
    let mut comparison = document.comparisons.last().unwrap().clone();
    comparison.outcome = Outcome::Better;
    let [today, other] = arms(&document);
    let of_other = document.arms.iter_mut().find(|a| a.name == other.name);
    of_other.unwrap().feasible = Feasibility::Unclear;
    let said =
        |document: &Document| sentence(document, Answer::Undecided, &today, &other, &comparison);
    let steady = said(&document);
    assert!(
        steady.contains(
            "is not proven: 0.00 % of its 136 requests took longer, with 95 % confidence"
        ) && steady.ends_with("about 1,470 requests would prove it if none of them is late (--window 6s --budget 15m)."),
        "{steady}"
    );
    let of_other = document.arms.iter_mut().find(|a| a.name == other.name);
    of_other.unwrap().growth = Some(crate::sample::growth());
    let growing = said(&document);
    assert!(growing.contains("longer windows would not"), "{growing}");
}
