use super::*;

fn read(text: &str, requests: Option<u64>) -> Result<Vec<Limit>, String> {
    let mut problems = Vec::new();
    let limits = limits(&[text.to_owned()], requests, &mut problems);
    if problems.is_empty() {
        return Ok(limits);
    }
    Err(problems.iter().map(|p| format!("{p}\n")).collect())
}

#[test]
fn limits_are_read_with_their_units() {
    let limits = read(
        "p99=250ms, p99.9=1s,max=2s,errors=0.1%,min-throughput=90/s",
        None,
    )
    .unwrap();
    let expected = [
        (Measure::Percentile(99.0), 250.0),
        (Measure::Percentile(99.9), 1000.0),
        (Measure::Max, 2000.0),
        (Measure::Errors, 0.001),
        (Measure::MinThroughput, 90.0),
    ];
    let found: Vec<_> = limits.iter().map(|l| (l.measure, l.limit)).collect();
    assert_eq!(found.len(), expected.len());
    for ((measure, limit), (wanted, value)) in found.iter().zip(expected) {
        assert_eq!(*measure, wanted);
        assert!((limit - value).abs() < 1e-9, "{limit} is not {value}");
    }
}

#[test]
fn a_limit_may_be_of_one_page() {
    let given =
        "GET /plain:p99=1s,errors=0%,GET /a,b:c:max=2s, search:errors=1%,GET /s?q=1,2:p99=1s";
    let found = read(given, Some(10));
    let found: Vec<_> = found
        .unwrap()
        .into_iter()
        .map(|l| (l.endpoint, l.measure))
        .collect();
    let page = |name: &str| Some(name.to_owned());
    assert_eq!(
        found,
        [
            (page("GET /plain"), Measure::Percentile(99.0)),
            (None, Measure::Errors),
            (page("GET /a,b:c"), Measure::Max),
            (page("search"), Measure::Errors),
            (page("GET /s?q=1,2"), Measure::Percentile(99.0)),
        ]
    );
    let wrong = read(":p99=1s,GET /:min-throughput=5/s,GET /:fast=1s,GET /", None).unwrap_err();
    assert_eq!(wrong.lines().count(), 3, "{wrong}");
    assert!(wrong.contains("GET /cart:p99=250ms"), "{wrong}");
}

#[test]
fn what_is_no_limit_is_reported_all_at_once() {
    let wrong = "p99=250,errors=,q99=1s,p100=1s,errors=101%,min-throughput=0,p99";
    let said = read(wrong, None).unwrap_err();
    assert_eq!(said.lines().count(), 7, "{said}");
    assert!(said.contains("such as p99=250ms"), "{said}");
}

/// So many requests over a second, of so many.
fn slow(over: u64, of: u64) -> Outcome {
    let mut outcome = Outcome::empty();
    outcome.counts.scheduled = of;
    outcome.response.record_n(2_000_000, over).unwrap();
    outcome.response.record_n(1_000, of - over).unwrap();
    outcome
}

#[test]
fn of_few_requests_so_many_may_be_slow_that_the_limit_is_surely_exceeded() {
    let judged = |over, of, limit| {
        let limits = read(limit, None).unwrap();
        limits[0].judge(&slow(over, of), &Doubts::default())
    };
    let fails = judged(30, 60, "p99=1s");
    assert_eq!(fails.outcome, AssertionOutcome::Fails, "{fails:?}");
    assert!(
        fails.sentence.contains("30 of 60 requests") && fails.sentence.contains("at most 1 %"),
        "{fails:?}"
    );
    // P(3 or more of 60 at 1 %) is 0.022, of 2 or more 0.12.
    for (over, outcome) in [
        (0, AssertionOutcome::Unknown),
        (2, AssertionOutcome::Unknown),
        (3, AssertionOutcome::Fails),
    ] {
        assert_eq!(judged(over, 60, "p99=1s").outcome, outcome, "{over}");
    }
    let unknown = judged(0, 0, "p99=1s");
    assert_eq!(unknown.outcome, AssertionOutcome::Unknown);
    assert!(unknown.sentence.contains("too few"), "{unknown:?}");
}

#[test]
fn what_fails_is_said_by_what_may_be() {
    let said = |limit| {
        read(limit, None).unwrap()[0]
            .judge(&slow(200, 1_000), &Doubts::default())
            .sentence
    };
    let far = said("p99=1ms");
    assert!(far.contains("2000.9 ms, 2001 times the limit"), "{far}");
    let near = said("p99=1s");
    assert!(near.contains("1000.9 ms (100 %) over"), "{near}");
    let mut failed = slow(0, 1_000);
    failed.errors.status_5xx = 200;
    let said = read("errors=0.1%", None).unwrap()[0].judge(&failed, &Doubts::default());
    assert!(
        said.sentence
            .contains("200 of 1,000 requests failed (20.000 %), at most 0.1 % may"),
        "{said:?}"
    );
}

#[test]
fn few_requests_that_the_generator_delayed_decide_nothing() {
    let mut late = slow(30, 60);
    late.lateness.record_n(1_900_000, 30).unwrap();
    let limits = read("p99=1s", None).unwrap();
    let unknown = limits[0].judge(&late, &Doubts::default());
    assert_eq!(unknown.outcome, AssertionOutcome::Unknown, "{unknown:?}");
    assert!(unknown.sentence.contains("generator"), "{unknown:?}");
}

#[test]
fn a_doubt_turns_the_outcome_that_it_is_about_into_unknown_and_no_other() {
    let said = |why: &str| Some(why.to_owned());
    let judged =
        |limit, doubts: &Doubts| read(limit, None).unwrap()[0].judge(&slow(30, 300), doubts);
    let of_holding = Doubts {
        of_holding: said("it redirects"),
        ..Doubts::default()
    };
    let unknown = judged("p50=1s", &of_holding);
    assert_eq!(unknown.outcome, AssertionOutcome::Unknown);
    assert_eq!(unknown.sentence, "p50=1s unknown: 1.0 ms, but it redirects");
    assert_eq!(
        judged("p99=1s", &of_holding).outcome,
        AssertionOutcome::Fails
    );
    let of_failing = Doubts {
        of_failing: said("the load generator was late"),
        ..Doubts::default()
    };
    let outcomes = |doubts| ["p50=1s", "p99=1s"].map(|limit| judged(limit, doubts).outcome);
    let (holds, unknown) = (AssertionOutcome::Holds, AssertionOutcome::Unknown);
    assert_eq!(outcomes(&of_failing), [holds, unknown]);
    let of_all = Doubts {
        of_all: said("the run was interrupted"),
        ..Doubts::default()
    };
    assert_eq!(outcomes(&of_all), [unknown, unknown]);
}

#[test]
fn a_percentile_that_the_requests_cannot_show_is_refused_beforehand() {
    assert!(read("p99=1s", Some(100)).is_ok());
    let said = read("p99=1s", Some(99)).unwrap_err();
    assert!(said.contains("send at least 100"), "{said}");
}

#[test]
fn a_page_that_the_workload_does_not_have_is_refused_with_those_that_it_has() {
    let limits = read("GET /nope:p99=1s,GET /:p99=1s,errors=0%", None).unwrap();
    let problems = unknown_pages(&limits, &["GET /", "POST /login"]);
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "--assert = \"GET /nope:p99=1s\": no request has this name; name one of: GET /, POST /login"
        ]
    );
}
