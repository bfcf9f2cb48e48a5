//! What the page of `tune` adds below its tables: why a configuration was tried, and what is to be changed by hand.

use crate::run_page::{page, sample};
use crate::support::flat;

#[test]
fn more_processes_than_cores_have_their_reason() {
    let mut document = sample("tune");
    let heading = "Why more processes than cores were tried";
    assert!(!page(&document).contains(heading));
    let profile = document.profile.as_mut().unwrap();
    (profile.io_ms, profile.held_ms) = (15.0, 5.0);
    let fate = |most| {
        format!(
            "the best prediction (more processes than 2 cores: {most}/s predicted, at most 50/s with 2 processes); won the \
             elimination rounds"
        )
    };
    (document.arms[0].fate, document.arms[1].fate) = (fate(60), fate(55));
    let said = flat(&page(&document));
    let reason = "while a request waits for I/O (75 % of its time without its waits for the GVL and for locks), its process may \
                  leave a core idle that another process can use; each process costs memory and context switches";
    let listed = format!(
        "{heading} - {reason} - single × 1 thread: 60/s predicted, at most 50/s with 2 processes - single × 4 threads: 55/s"
    );
    assert!(said.contains(&listed), "{said}");
    document.plan.pinning.server_cores = vec![0];
    document.plan.pinning.generator_cores = vec![1];
    let pinned = flat(&page(&document));
    let cores =
        "- the server has 1 core here, since the generator has 1 of the host's; while a request";
    assert!(pinned.contains(cores), "{pinned}");
    document.profile.as_mut().unwrap().io_ms = 0.2;
    let said = flat(&page(&document));
    assert!(
        said.contains("for only 4 % of their time (without waits for the GVL and for locks), so little is expected of it"),
        "{said}"
    );
}

#[test]
fn a_limit_that_is_broken_has_its_figure_once() {
    let mut document = sample("tune");
    let heading = "Limits that are broken";
    assert!(!page(&document).contains(heading));
    let why = "10.0 % of its requests took longer than 250 ms, 1 % may";
    let today = &mut document.arms[0];
    (today.feasible, today.broken) = (run::Feasibility::Breaks, Some(why.to_owned()));
    let listed = format!("{heading} - single × 1 thread: {why}");
    let said = flat(&page(&document));
    assert!(said.contains(&listed), "{said}");
    // Where its figure is better than the answer's, the list of these says why it is not the answer.
    document.arms[0].capacity_per_s = Some(1e6);
    let said = flat(&page(&document));
    assert!(!said.contains(heading), "{said}");
    assert_eq!(said.matches(why).count(), 1, "{said}");
}

#[test]
fn a_share_over_the_limit_says_whether_requests_failed() {
    let mut document = sample("tune");
    let name = document.arms[1].name.clone();
    document.arms[1].violation_rate = Some(0.1);
    document.arms[1].violation_interval = Some((0.05, 0.15));
    document.verdict.as_mut().unwrap().settings = document.arms[1].settings;
    document.verdict.as_mut().unwrap().answer = run::Answer::Change;
    let late = flat(&page(&document));
    assert!(
        late.contains(" took longer than 500 ms (1.00 % allowed)"),
        "{late}"
    );
    assert!(!late.contains("failed or took"), "{late}");
    let mut trials = document.trials.iter_mut().filter(|t| t.arm == name);
    let window = trials.find_map(|t| t.objective.as_mut()).unwrap();
    window.errors = 3;
    let failed = flat(&page(&document));
    assert!(
        failed.contains(" failed or took longer than 500 ms"),
        "{failed}"
    );
}

#[test]
fn changes_that_no_diff_holds_are_listed() {
    let mut document = sample("tune");
    let verdict = document.verdict.as_mut().unwrap();
    assert!(!verdict.changes.is_empty());
    verdict.by_hand = vec!["start the server with MALLOC_ARENA_MAX=2".to_owned()];
    let with_diffs = flat(&page(&document));
    let heading = "What the diffs do not do, to set or check by hand";
    let listed = |heading: &str| format!("{heading} - start the server with MALLOC_ARENA_MAX=2");
    assert!(with_diffs.contains(&listed(heading)), "{with_diffs}");
    document.verdict.as_mut().unwrap().changes.clear();
    let alone = flat(&page(&document));
    let heading = "What to change by hand";
    assert!(alone.contains(&listed(heading)), "{alone}");
}

#[test]
fn keep_without_a_deciding_comparison_says_what_it_rests_on() {
    let mut document = sample("tune");
    let verdict = document.verdict.as_mut().unwrap();
    verdict.answer = run::Answer::Keep;
    verdict.settings = document.arms[0].settings;
    let rests = "This rests on 2 elimination rounds:";
    assert!(!flat(&page(&document)).contains("elimination round:"));
    document.comparisons.clear();
    document.trials.retain(|t| t.stage != run::Stage::Confirm);
    for trial in &mut document.trials {
        (trial.stage, trial.block) = (run::Stage::Race, 2);
    }
    let said = flat(&page(&document));
    assert!(said.contains(rests), "{said}");
}

#[test]
fn the_rate_of_the_latency_windows_has_its_source() {
    let mut document = sample("tune");
    document.plan.rate_per_s = Some(42.0);
    document.plan.rate_from_per_s = None;
    assert!(!flat(&page(&document)).contains("in the pilot"));
    document.plan.rate_from_per_s = Some(60.0);
    let said = flat(&page(&document));
    let source = "Latency: 42.0 requests a second at random moments (Poisson), 70 % of 60.0 a second, the least that today's \
                  settings answered at full load in the first trials (the pilot).";
    assert!(said.contains(source), "{said}");
}

#[test]
fn the_time_of_a_run_names_the_search_that_is_a_part_of_it() {
    let mut document = sample("tune");
    let words = ", and the 25 windows of the search for the highest rate, in";
    assert!(flat(&page(&document)).contains(words));
    document.rates.clear();
    assert!(flat(&page(&document)).contains("each a fresh start of the server, in"));
}

#[test]
fn a_highest_rate_below_that_of_the_latency_windows_is_explained() {
    let mut document = sample("tune");
    let arm = &mut document.arms[1];
    (arm.violation_rate, arm.violation_interval) = (Some(0.0), Some((0.0, 0.01)));
    let (name, settings) = (arm.name.clone(), arm.settings);
    document.plan.rate_per_s = Some(111.0);
    let met = |met: f64| {
        let text = r#"{"objective":{"percentile":99.0,"limit_ms":500.0},"ending":"found","decided":true,"confidence":0.95,
                       "curve":[],"trials":[],"took_s":1.0,"warnings":[]}"#;
        let mut search: serde_json::Value = serde_json::from_str(text).unwrap();
        search["met_per_s"] = met.into();
        run::ArmRates {
            called: None,
            arm: name.clone(),
            settings,
            search: serde_json::from_value(search).unwrap(),
        }
    };
    document.rates = vec![met(120.0)];
    assert!(!flat(&page(&document)).contains("plan with the lower"));
    document.rates = vec![met(105.0)];
    let said = flat(&page(&document));
    assert!(
        said.contains("kept the limit at 111/s, above the 105/s found here"),
        "{said}"
    );
}

#[test]
fn an_answer_whose_medians_give_another_change_says_why() {
    let mut document = sample("tune");
    let why = "The change is the typical one within a block; the figures before it are medians of all blocks";
    assert!(!flat(&page(&document)).contains(why));
    document.arms[1].capacity_per_s = Some(190.0);
    let said = flat(&page(&document));
    let throughput = "Throughput 190/s at most, 42.0/s with today's settings: +293 % (+288 to +298), 9 blocks. The change";
    assert!(said.contains(throughput) && said.contains(why), "{said}");
}

/// The windows of the search for the highest rate do not count for the limit in the comparison.
#[test]
fn a_limit_that_is_not_proven_has_what_the_search_showed() {
    let mut document = sample("tune");
    let shown = "met the limit up to 165/s (95 % confidence)";
    let unknown = "Whether p99 ≤ 500 ms is kept at that rate is not known";
    let said = flat(&page(&document));
    assert!(said.contains(shown) && !said.contains(unknown), "{said}");
    for rates in &mut document.rates {
        rates.search.low_per_s = None;
    }
    let said = flat(&page(&document));
    assert!(
        !said.contains(shown) && said.contains("the search for the highest rate does not count"),
        "{said}"
    );
    document.rates.clear();
    let said = flat(&page(&document));
    assert!(
        said.contains(unknown) && !said.contains("does not count here"),
        "{said}"
    );
}
