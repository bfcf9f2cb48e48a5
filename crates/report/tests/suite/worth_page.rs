//! What a comparison of single settings comes to.

use crate::run_page::{page, sample};
use crate::support::flat;
use run::{Comparison, Document, Feasibility, Metric, Outcome, SetVariable};

fn set(knob: &str, value: &str, variable: &str, holds: &str) -> SetVariable {
    SetVariable {
        knob: knob.to_owned(),
        value: value.to_owned(),
        variable: variable.to_owned(),
        holds: holds.to_owned(),
    }
}

/// `(outcome of throughput, outcome of memory)` of `gc.malloc_limit`, and of `warmup`.
fn compared(outcomes: [(Outcome, Outcome); 2]) -> Document {
    let mut document = sample("compare");
    let settings = [
        set(
            "gc.malloc_limit",
            "32MiB",
            "RUBY_GC_MALLOC_LIMIT",
            "33554432",
        ),
        set("warmup", "on", "POWERBAND_SETUP_WARMUP", "1"),
    ];
    let model = document.comparisons[0].clone();
    let baseline = document.arms[0].clone();
    document.arms.truncate(1);
    document.comparisons.clear();
    document.memory.clear();
    document.latency.clear();
    for ((outcome, of_memory), setting) in outcomes.into_iter().zip(settings) {
        let mut arm = baseline.clone();
        arm.name = format!("w0t1-{}", setting.knob);
        arm.environment = vec![setting];
        arm.feasible = Feasibility::Meets;
        let of = |metric, outcome| Comparison {
            metric,
            outcome,
            candidate: arm.name.clone(),
            baseline: baseline.name.clone(),
            low: Some(0.8),
            high: Some(1.2),
            ..model.clone()
        };
        document.comparisons.push(of(Metric::Capacity, outcome));
        document.memory.push(of(Metric::Memory, of_memory));
        let in_time = of(Metric::ResponseTime, Outcome::Equivalent);
        document.latency.push(in_time);
        document.arms.push(arm);
    }
    document
}

fn said(document: &Document) -> String {
    let page = flat(&page(document));
    let (_, from) = page.split_once("What is worth setting").unwrap_or_default();
    from.chars().take(900).collect()
}

#[test]
fn what_helps_one_figure_and_harms_none_is_worth_setting() {
    use Outcome::{Better, Equivalent, Undecided, Worse};
    let both = said(&compared([(Better, Equivalent), (Equivalent, Better)]));
    for expected in [
        "- gc.malloc_limit=32MiB: worth setting (throughput +",
        "; memory equivalent; p95 response time equivalent)",
        "- warmup=on: worth setting (throughput equivalent; memory ",
        "In the server's environment: RUBY_GC_MALLOC_LIMIT=33554432",
        "docs/knobs.md says how to set warmup.",
        "6 figures were tested, each with its own error rate of 5 %.",
        "powerband compare threads=1,workers=0 threads=1,workers=0,gc.malloc_limit=32MiB,warmup=on",
    ] {
        assert!(both.contains(expected), "{expected}: {both}");
    }
    let none = said(&compared([(Better, Worse), (Undecided, Equivalent)]));
    for expected in [
        "gc.malloc_limit=32MiB: not worth setting (",
        "warmup=on: undecided (",
    ] {
        assert!(none.contains(expected), "{expected}: {none}");
    }
    assert!(!none.contains("In the server's environment"), "{none}");
    // An undecided comparison does not exclude that the other figure became worse.
    let open = said(&compared([(Better, Undecided), (Undecided, Better)]));
    assert!(!open.contains(": worth setting"), "{open}");
    let mut broken = compared([(Better, Better), (Equivalent, Equivalent)]);
    broken.arms[1].feasible = Feasibility::Breaks;
    let broken = said(&broken);
    assert!(
        broken.contains("gc.malloc_limit=32MiB: not worth setting")
            && broken.contains("breaks a limit"),
        "{broken}"
    );
    assert!(
        broken.contains("warmup=on: not worth setting (throughput equivalent; memory equivalent; ")
    );
}

/// A setting may be worse in a figure that is missing.
#[test]
fn where_a_figure_is_missing_a_gain_is_undecided() {
    use Outcome::{Better, Equivalent};
    let mut document = compared([(Better, Equivalent), (Equivalent, Equivalent)]);
    document.latency.clear();
    let said = said(&document);
    assert!(
        said.contains("gc.malloc_limit=32MiB: undecided (throughput +")
            && said.contains("; memory equivalent; no p95 response time)"),
        "{said}"
    );
}

#[test]
fn a_longer_response_time_speaks_against_a_setting_and_a_shorter_one_for_it() {
    use Outcome::{Better, Equivalent, Undecided, Worse};
    let with = |outcome| {
        let mut document = compared([(Better, Equivalent), (Equivalent, Equivalent)]);
        document.plan.objective.latency = None;
        document.latency.clear();
        for memory in document.memory.clone() {
            document.latency.push(Comparison {
                metric: Metric::ResponseTime,
                outcome,
                ..memory
            });
        }
        said(&document)
    };
    let worse = with(Worse);
    assert!(
        worse.contains("gc.malloc_limit=32MiB: not worth setting (")
            && worse.contains("; p95 response time "),
        "{worse}"
    );
    let better = with(Better);
    assert!(
        better.contains("gc.malloc_limit=32MiB: worth setting ("),
        "{better}"
    );
    assert!(better.contains("warmup=on: worth setting"), "{better}");
    assert!(better.contains("6 figures were tested"), "{better}");
    // It may be longer by more than the margin.
    let open = with(Undecided);
    assert!(
        open.contains("gc.malloc_limit=32MiB: undecided ("),
        "{open}"
    );
}

#[test]
fn other_comparisons_have_no_such_list() {
    assert_eq!(said(&sample("compare")), "");
    let mut threads = compared([(Outcome::Better, Outcome::Better); 2]);
    threads.arms[2].settings.threads = 9;
    assert_eq!(said(&threads), "");
    let mut values = compared([(Outcome::Better, Outcome::Better); 2]);
    values.arms[2].environment = values.arms[1].environment.clone();
    values.arms[2].environment[0].value = "64MiB".to_owned();
    assert_eq!(said(&values), "");
}
