//! The page of a command's runs says what lies where, which comparisons stand side by side, and what failed.

use crate::support::flat;
use report::{Style, experiment_markdown, page};
use run::{
    CommandArm, CommandRun, CommandRuns, Comparison, Distribution, Document, Kind, MemoryMeasure,
    Metric, Outcome, Stage,
};

const MIB: u64 = 1 << 20;

fn arm(name: &str, called: &str, mib: u64) -> CommandArm {
    let bytes = mib * MIB;
    CommandArm {
        name: name.to_owned(),
        called: called.to_owned(),
        environment: Vec::new(),
        fate: None,
        runs: 10,
        failed: 1,
        wall_s: Some(12.345),
        cpu_s: Some(9.5),
        median_bytes: Some(bytes),
        peak_bytes: Some(2 * bytes),
        memory: Some(Distribution {
            samples: 7_000,
            min_bytes: bytes / 2,
            p25_bytes: bytes,
            p50_bytes: bytes,
            p75_bytes: bytes,
            p95_bytes: bytes,
            max_bytes: 2 * bytes,
        }),
    }
}

fn comparison(metric: Metric, outcome: Outcome) -> Comparison {
    Comparison {
        stage: Stage::Compare,
        baseline: "a".to_owned(),
        candidate: "b".to_owned(),
        metric,
        outcome,
        ratio: 0.8,
        low: Some(0.75),
        high: Some(0.85),
        confidence: Some(0.95),
        p: 0.002,
        blocks: 10,
        sd_log_ratio: Some(0.02),
        blocks_to_decide: None,
        not_comparable: None,
        not_claimed: false,
    }
}

fn document() -> Document {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/run/compare.json"
    );
    let mut document: Document =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    document.trials.clear();
    document.arms.clear();
    document.comparisons.clear();
    document.command = Some(CommandRuns {
        command: "bin/rails test".to_owned(),
        timeout_s: 1800.0,
        sample_every_s: 1.0,
        measure: MemoryMeasure::Pss,
        runs: vec![CommandRun {
            id: "compare-b03-b".to_owned(),
            stage: Stage::Compare,
            block: 3,
            place: 1,
            arm: "b".to_owned(),
            failed: Some("it failed (exit status 7); the log\n    more".to_owned()),
            started_s: 1.0,
            wall_s: 2.0,
            cpu_s: 1.0,
            exit: Some(7),
            samples: Vec::new(),
        }],
        arms: vec![arm("a", "today", 400), arm("b", "jemalloc", 320)],
        comparisons: vec![
            comparison(Metric::WallTime, Outcome::Undecided),
            comparison(Metric::MedianMemory, Outcome::Better),
            comparison(Metric::PeakMemory, Outcome::Better),
        ],
    });
    document
}

#[test]
fn the_page_has_distributions_medians_and_three_comparisons() {
    let style = Style {
        width: 160,
        colour: false,
    };
    let page = page(&document(), style);
    for said in [
        "Memory of the command's processes (PSS), all samples of all runs",
        "jemalloc against today",
        "3 comparisons stand side by side, each with its own interval",
        "block 3, jemalloc: it failed (exit status 7); the log",
        "bin/rails test",
    ] {
        assert!(page.contains(said), "{said} is missing in\n{page}");
    }
    let row = page
        .lines()
        .find(|line| line.starts_with("today "))
        .unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..4], ["today", "7,000", "200", "MiB"]);
    assert!(page.contains("-20.0 % (-25.0 to -15.0)"), "{page}");
    // The medians of the wall time are equal.
    let of_blocks = "A change is the typical one within blocks";
    assert!(flat(&page).contains(of_blocks), "{page}");
    let mut document = document();
    document.command.as_mut().unwrap().comparisons.remove(0);
    assert!(!flat(&report::page(&document, style)).contains(of_blocks));
    // The sentence above the tables is of the sample.
    let (_, tables) = page.split_once("Memory of the command").unwrap();
    assert!(
        !tables.contains("throughput") && !tables.contains("more\n"),
        "{tables}"
    );
}

#[test]
fn one_comparison_does_not_stand_side_by_side() {
    let style = Style {
        width: 160,
        colour: false,
    };
    let mut document = document();
    let command = document.command.as_mut().unwrap();
    command.comparisons.truncate(1);
    assert!(!page(&document, style).contains("side by side, each"));
}

#[test]
fn the_markdown_has_the_same_tables() {
    let page = experiment_markdown(&document(), "powerband compare …");
    for said in [
        "| jemalloc | 7,000 | 160 MiB | 320 MiB |",
        "| today | 12.35 s | 9.50 s | 400 MiB | 800 MiB | 10 of 11 |",
        "| jemalloc against today | peak memory | -20.0 % (-25.0 to -15.0) | better | 0.002 | 10 |",
        "3 comparisons stand side by side, each with its own interval",
    ] {
        assert!(page.contains(said), "{said} is missing in\n{page}");
    }
}

#[test]
fn the_page_of_a_search_says_what_became_of_each_and_where_its_runs_went() {
    let mut document = document();
    document.kind = Kind::Tune;
    let command = document.command.as_mut().unwrap();
    command.arms[1].fate = Some("won".to_owned());
    let failed = command.runs[0].clone();
    let run = |stage| CommandRun {
        stage,
        failed: None,
        ..failed.clone()
    };
    let stages = [Stage::Pilot, Stage::Race, Stage::Race, Stage::Confirm];
    command.runs = stages.map(run).to_vec();
    command.runs.push(CommandRun {
        stage: Stage::Race,
        ..failed
    });
    let style = Style {
        width: 100,
        colour: false,
    };
    let page = flat(&page(&document, style));
    for said in [
        "What became of each - jemalloc: won",
        "4 runs (1 of today's configuration in the pilot, 2 in elimination rounds, 1 in the deciding comparison)",
        "elimination, block 3, jemalloc: it failed (exit status 7)",
        "The answer rests on wall time alone.",
    ] {
        assert!(page.contains(said), "{said} is missing in\n{page}");
    }
    assert!(!page.contains("side by side, each with"), "{page}");
}
