//! The page of a run that was really measured, and of altered copies of it.

use crate::run_page::{self, holds, page, sample};
use run::{
    Answer, Document, Feasibility, Fleet, FleetBasis, Least, Metric, Model, ModelErrors, ModelKind,
    ModelScore, ModelTrace, Objective, Sending, ServersNeeded, SetVariable, Stage, State,
};

/// The sample of `tune` with figures that stay when the samples are measured anew.
fn tuned() -> Document {
    let mut document = sample("tune");
    document.plan.connections = 8;
    document.plan.sending = Some(Sending {
        keep_alive: true,
        headers: vec!["X-Key".to_owned()],
        forwarded_https: true,
    });
    document.plan.rate_per_s = Some(29.4);
    document.plan.detectable.effect = Some(0.027);
    let deciding = document.comparisons.last_mut().unwrap();
    (deciding.ratio, deciding.low, deciding.high) = (4.02, Some(3.95), Some(4.14));
    deciding.blocks = 9;
    let mut race = deciding.clone();
    race.stage = Stage::Race;
    document.comparisons.insert(0, race);
    document.arms[0].capacity_per_s = Some(42.0);
    let arm = &mut document.arms[1];
    (arm.capacity_per_s, arm.p99_ms) = (Some(170.0), Some(26.16));
    (arm.violation_rate, arm.violation_interval) = (Some(0.0), Some((0.0, 0.15)));
    arm.violation_requests = Some(3_000);
    (arm.pss_bytes, arm.failed) = (Some(26 << 20), 0);
    arm.growth_bytes_per_thousand = None;
    document.profile.as_mut().unwrap().useful_threads = 10.9;
    document
}

#[test]
fn a_change_is_distinguished_from_the_answer_to_the_details() {
    let document = tuned();
    let page = page(&document);
    holds(&page, &[&document.verdict.as_ref().unwrap().sentence]);
    assert!(page.starts_with("Run single × 4 threads: "), "{page}");
    holds(
        &page,
        &[
            "Throughput 170/s at most, 42.0/s with today's settings: +302 % (+295 to +314), 9 blocks",
            "Latency 99 % within 26.2 ms at 29.4/s; 0.00 % of 3,000 requests took longer than 500 ms (1.00 % allowed): not proven \
             (with 95 % confidence 0.00 % to 15.00 %)",
            "Memory 26 MiB of 2048 MiB allowed: kept",
            "8 clients, each of which sends its next request as soon as it is answered. Connections: kept (8). \
             X-Forwarded-Proto: https is sent, as a proxy",
            "(Rails: config.force_ssl). Headers: X-Key. Latency:",
            "29.4 requests a second at random moments (Poisson)",
            "Where a request spends its time today, at full load",
            "about 10 others can be waiting, so about 11 threads keep one process busy",
            "From today's settings to single × 4 threads, one change at a time",
            "% of the most that it answers.",
            "+threads 4, 4",
        ],
    );
    let rows: Vec<&str> = page.lines().filter(|l| l.starts_with("single ×")).collect();
    assert!(
        rows[0].ends_with("today") && rows[1].ends_with("chosen"),
        "{page}"
    );
    let style = report::Style {
        width: 100,
        colour: false,
    };
    let full = report::page_in_full(&document, style);
    let sections: Vec<usize> = [
        "\nWhat was tried\n",
        "\nHow it was measured\n",
        "\nThe deciding comparison\n",
        "\nHeadroom\n",
        "\nWhat to change\n",
        "\nBefore you believe it\n",
        "\nDetails\n",
        "\nelimination rounds, which prove nothing",
    ]
    .iter()
    .map(|title| {
        full.find(title)
            .unwrap_or_else(|| panic!("{title}:\n{full}"))
    })
    .collect();
    assert!(sections.is_sorted(), "{full}");
    holds(
        &full,
        &[
            "A run of 9 blocks can miss differences smaller than about 2.7 %. (It finds four in five differences of that size.)",
        ],
    );
    // What was found was not missed, and why each was tried is for experts.
    assert!(!page.contains("can miss"), "{page}");
    assert!(!page.contains("\nDetails\n"), "{page}");
    let mut unsearched = document;
    unsearched.rates.clear();
    holds(
        &run_page::page(&unsearched),
        &["(latency was checked at 29.4/s only)"],
    );
}

#[test]
fn servers_are_counted_for_today_and_for_what_is_recommended() {
    let mut document = tuned();
    let needed = |index: usize, servers: u32| ServersNeeded {
        arm: document.arms[index].name.clone(),
        called: document.arms[index].settings.to_string(),
        settings: document.arms[index].settings,
        each_per_s: 2_000.0 / f64::from(servers),
        servers,
        surely: Some(servers + 5),
        cost: Some(140.0 * f64::from(servers)),
    };
    document.fleet = Some(Fleet {
        total_rate_per_s: 2_000.0,
        server_cost: Some(140.0),
        basis: FleetBasis::Objective,
        servers: vec![needed(0, 41), needed(1, 16)],
    });
    holds(
        &page(&document),
        &[
            "Servers for 2,000 requests a second",
            "48.8 41 46 5,740",
            "125 16 21 2,240",
            "25 fewer, 3,500 of cost. The total over the highest rate that met the objective",
        ],
    );
    let fleet = document.fleet.as_mut().unwrap();
    (fleet.server_cost, fleet.basis) = (None, FleetBasis::Capacity);
    fleet.servers.truncate(1);
    fleet.servers[0].surely = None;
    let page = page(&document);
    holds(
        &page,
        &["The total over 80 % of what one answers at full load"],
    );
    let section = page.split("Servers for").nth(1).unwrap();
    let section = section.split("\n\n").next().unwrap();
    assert!(!section.contains("fewer") && !section.contains("cost"));
}

#[test]
fn what_was_measured_before_a_run_was_resumed_is_distinguished() {
    let mut document = tuned();
    let whole = page(&document);
    assert!(!whole.contains("sitting"), "{whole}");
    let earlier: Vec<f64> = document
        .trials
        .iter()
        .map(|t| t.started_s)
        .take(7)
        .collect();
    document.resumed_at_s = earlier
        .into_iter()
        .reduce(f64::max)
        .map(|last_s| last_s + 1.0);
    let at_s = document.resumed_at_s.unwrap();
    let counting = document.trials.iter().filter(|t| t.counts());
    let before = counting.filter(|t| t.started_s < at_s).count();
    assert!(before > 1, "{before}");
    let said = format!("over more than one sitting ({before} trials and ");
    holds(&page(&document), &[&said, " before the run was resumed)"]);
}

#[test]
fn the_change_stands_behind_what_was_asked_for() {
    let mut document = tuned();
    document.plan.objective.least = Some(Least::Memory);
    let deciding = document.comparisons.last_mut().unwrap();
    (deciding.metric, deciding.ratio) = (Metric::Memory, 0.6);
    (deciding.low, deciding.high) = (Some(0.55), Some(0.65));
    document.arms[0].pss_bytes = Some(52 << 20);
    let page = page(&document);
    holds(
        &page,
        &[
            "Throughput 170/s",
            "Memory 26 MiB of 2048 MiB allowed: kept, 52 MiB with today's settings: -40.0 % (-45.0 to -35.0), 9 blocks",
            "comparison memory verdict",
        ],
    );
    assert!(!page.contains("at most, 42.0/s today"), "{page}");
}

#[test]
fn a_limit_that_is_the_cgroups_says_so() {
    let mut document = tuned();
    document.plan.objective.max_memory_bytes = Some(460 << 20);
    document.plan.cgroup_memory_bytes = Some(512 << 20);
    let words = "Memory limit: 460 MiB, 90 % of the cgroup's limit of 512 MiB.";
    holds(&page(&document), &[words]);
    document.plan.cgroup_memory_bytes = None;
    assert!(!page(&document).contains("cgroup"));
}

#[test]
fn a_change_of_latency_says_of_which_percentile_it_is() {
    let mut document = tuned();
    document.plan.objective = Objective {
        latency: None,
        least: Some(Least::Latency),
        ..document.plan.objective
    };
    let deciding = document.comparisons.last_mut().unwrap();
    (deciding.metric, deciding.ratio) = (Metric::ResponseTime, 0.6);
    (deciding.low, deciding.high) = (Some(0.55), Some(0.65));
    document.arms[0].p99_ms = Some(52.0);
    holds(
        &page(&document),
        &[
            "99 % within 26.2 ms at 29.4/s, 52.0 ms with today's settings: p95 -40.0 % (-45.0 to -35.0), 9 blocks; no limit was given",
        ],
    );
}

#[test]
fn only_an_answer_that_names_a_configuration_speaks_of_its_room() {
    let mut document = tuned();
    let verdict = document.verdict.as_mut().unwrap();
    verdict.answer = Answer::Undecided;
    verdict.changes.clear();
    let page = page(&document);
    holds(
        &page,
        &["The best alternative, which is not recommended: its changes one at a time"],
    );
    let page = page.replace("were not chosen", "");
    for absent in ["% of the most that it answers", "Throughput  ", "chosen"] {
        assert!(!page.contains(absent), "{absent}:\n{page}");
    }
}

#[test]
fn long_reasons_show_their_first_line_and_every_limit_its_word() {
    let mut document = tuned();
    document.warnings = vec!["one reason\n  log line".to_owned()];
    let arm = &mut document.arms[1];
    arm.fate = "T* threads; failed: no boot; sorry\n  log line".to_owned();
    (arm.trials, arm.failed, arm.capacity_per_s) = (2, 1, None);
    arm.feasible = Feasibility::Breaks;
    document.verdict.as_mut().unwrap().answer = Answer::Keep;
    let page = page(&document);
    holds(
        &page,
        &[
            "failed: no boot; sorry",
            "- one reason",
            "2/3 broken failed",
            "Throughput 42.0/s at most; the best alternative, single × 4 threads, unknown: +302 %",
        ],
    );
    assert!(!page.contains("log line"), "{page}");
}

#[test]
fn without_a_limit_nothing_is_said_of_limits_in_the_table() {
    let mut document = tuned();
    document.plan.objective.latency = None;
    document.plan.objective.max_memory_bytes = None;
    let page = page(&document);
    let table = &page[page.find("What was tried").unwrap()..page.find("How it").unwrap()];
    for absent in ["limits", "over", "not proven"] {
        assert!(!table.contains(absent), "{absent}:\n{page}");
    }
    holds(&page, &["Memory 26 MiB, ", "9 blocks; no limit was given"]);
}

/// Memory of two arms has its interval and verdict; of an arm that was only raced it is said that it has none.
#[test]
fn memory_beside_memory_has_an_interval_or_claims_nothing() {
    let mut document = tuned();
    let mut deciding = document.comparisons.iter();
    let deciding = deciding.find(|c| c.stage == run::Stage::Confirm);
    let memory = run::Comparison {
        metric: run::Metric::Memory,
        outcome: run::Outcome::Worse,
        ratio: 1.2,
        low: Some(1.1),
        high: Some(1.3),
        ..deciding.unwrap().clone()
    };
    document.plan.objective.max_memory_bytes = None;
    document.memory = vec![memory];
    let page = page(&document);
    holds(&page, &["settings: +20.0 % (+10.0 to +30.0)", "more"]);
    let single = "The other configurations were not in this comparison";
    assert_eq!(page.contains(single), document.arms.len() > 2, "{page}");
}

#[test]
fn compare_speaks_of_a_baseline_and_tells_equal_arms_apart() {
    let mut document = sample("compare");
    holds(
        &page(&document),
        &["with the baseline, at full load", "better"],
    );
    document.arms[1].settings = document.arms[0].settings;
    let page_of_equals = page(&document);
    holds(&page_of_equals, &["single × 1 thread (again) against"]);
    assert!(page_of_equals.contains("(baseline)"), "{page_of_equals}");
    page(&sample("sweep"));
}

#[test]
fn what_a_configuration_sets_in_the_environment_stands_with_it() {
    let mut document = sample("compare");
    assert!(
        !page(&document).contains("sets in the environment"),
        "nothing is set there"
    );
    let set = |knob: &str, value: &str, variable: &str, holds: &str| SetVariable {
        knob: knob.to_owned(),
        value: value.to_owned(),
        variable: variable.to_owned(),
        holds: holds.to_owned(),
    };
    let arm = document.arms.last_mut().unwrap();
    arm.environment = vec![
        set(
            "allocator",
            "jemalloc",
            "LD_PRELOAD",
            "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
        ),
        set("env.API_KEY", "REDACTED", "API_KEY", "REDACTED"),
        set("gc.malloc_limit", "default", "RUBY_GC_MALLOC_LIMIT", ""),
    ];
    let page = page(&document);
    holds(
        &page,
        &[
            "What each configuration sets",
            "allocator=jemalloc",
            "API_KEY REDACTED",
            "RUBY_GC_MALLOC_LIMIT nothing",
        ],
    );
}

#[test]
fn a_calibration_says_what_it_was_and_what_follows() {
    let mut document = sample("compare");
    document.calibration = Some(run::Calibration {
        fitness: run::Fitness::Sound,
        settings: document.plan.baseline,
        blocks: 10,
        ratio: 1.004,
        low: 0.991,
        high: 1.016,
        p: 0.5,
        runs: 5,
        false_positives: 0,
        p_false_positives: 1.0,
        allowance: 0.0,
        sd_log_ratio: 0.02,
        sd_log_level: 0.062,
        second_over_first: 0.97,
        p_order: 0.01,
    });
    let sound = page(&document);
    holds(
        &sound,
        &[
            "Identical configurations",
            "+0.4 % (-0.9 to +1.6), 10 blocks. 0 of 5 runs of six blocks called the two different, no more than",
            "scatters by 1.4 %, from block to block by 6.2 %",
            "The second trial of a block came out -3.0 % against the first",
        ],
    );
    let calibration = document.calibration.as_mut().unwrap();
    (calibration.fitness, calibration.allowance) = (run::Fitness::Widened, 0.021);
    calibration.p_order = 0.4;
    let widened = page(&document);
    holds(
        &widened,
        &["every interval here is widened by 2.1 % on both sides"],
    );
    assert!(!widened.contains("The second trial"), "{widened}");
    document.calibration.as_mut().unwrap().fitness = run::Fitness::Refused;
    (document.verdict, document.state) = (None, State::Failed);
    let refused = page(&document);
    holds(&refused, &["Start a new run when the cause is found"]);
    assert!(!refused.contains("--resume"), "{refused}");
}

#[test]
fn the_rates_that_meet_the_objective_stand_in_a_table_and_a_missing_bound_is_a_dash() {
    let mut document = tuned();
    document.plan.objective.latency = Some(run::LatencyObjective {
        percentile: 99.0,
        limit_ms: 250.0,
    });
    let search = run::RateSearch {
        objective: document.plan.objective.latency.unwrap(),
        ending: run::RateEnding::Found,
        met_per_s: Some(61.0),
        decided: true,
        broke_per_s: Some(64.0),
        low_per_s: Some(55.5),
        high_per_s: None,
        confidence: 0.95,
        saturated_per_s: Some(80.0),
        saturated_connections: None,
        doubted_per_s: None,
        plan_for_per_s: None,
        at_least: None,
        curve: Vec::new(),
        redirects: Vec::new(),
        trials: Vec::new(),
        took_s: 45.0,
        out_of_reach: None,
        warnings: vec!["the server took 3 s to recover from 90/s".to_owned()],
    };
    document.rates = vec![run::ArmRates {
        called: None,
        arm: document.arms[0].name.clone(),
        settings: document.arms[0].settings,
        search,
    }];
    document.rates_skipped = Some("no time was left for the other".to_owned());
    let text = page(&document);
    holds(
        &text,
        &[
            "Highest rate that meets p99 ≤ 250 ms",
            "highest rate lowest rate 95 % sure: windows",
            "61.0 64.0 55.5 –",
            "took 3 s to recover",
            "A dash:",
            "Not searched further: no time was left for the other.",
        ],
    );
    document.rates.clear();
    holds(
        &page(&document),
        &["Not searched: no time was left for the other."],
    );
    document.rates_skipped = None;
    assert!(!page(&document).contains("Highest rate that meets"));
}

#[test]
fn predictions_stand_beside_what_came_and_are_scored() {
    let mut document = tuned();
    document.arms[0].predicted_per_s = Some(44.0);
    document.arms[1].predicted_per_s = Some(153.0);
    document.arms[1].predicted_p50_ms = Some(7.5);
    document.arms[1].predicted_p99_ms = None;
    document.model = Some(Model {
        kind: ModelKind::Simulator,
        reason: None,
        trace: Some(ModelTrace {
            requests: 812,
            bursts: true,
            self_check: ModelErrors {
                mean: 0.01,
                p50: -0.02,
                p99: 0.05,
            },
        }),
        predictions: Vec::new(),
        contradiction: None,
        score: Some(ModelScore {
            arms: 2,
            capacity: 0.074,
            p50: Some(0.05),
            p99: None,
            pairs: 1,
            pairs_in_order: 1,
        }),
    });
    holds(
        &page(&document),
        &[
            "Predicted and measured",
            "44.0",
            "153",
            "from 812 requests of the pilot (today's settings), each played back with its own times of running Ruby and of waiting",
            "Over 2 configurations, the mean error of these predictions was 7.4 % in throughput and 5.0 % in p50",
            "Of 1 pair whose throughput differs by over 5 %, 1 had the predicted order",
        ],
    );
    let model = document.model.as_mut().unwrap();
    (model.kind, model.trace) = (ModelKind::Formulas, None);
    model.reason = Some("59 requests are too few".to_owned());
    holds(
        &page(&document),
        &[
            "Formulas (mean value analysis) gave these, since the simulator could not be used: 59 requests are too few.",
        ],
    );
    for arm in &mut document.arms {
        arm.predicted_per_s = None;
    }
    assert!(!page(&document).contains("Predicted and measured"));
}
