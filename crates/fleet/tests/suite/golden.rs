//! What a Prometheus 2.53 answered about four Pumas of two arms, from the files in `tests/samples`.

use fleet::{Asked, Experiment, Family, Fleet, Gathered, join, judge, queries, series};
use run::production::{State, Verdict};

fn sample(name: &str) -> String {
    let path = format!("{}/tests/samples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

const SLICES: usize = 15;

fn read() -> (Experiment, Fleet) {
    let experiment = fleet::read(&sample("experiment.toml")).unwrap();
    let mut gathered = Gathered::of(&experiment);
    for query in queries(&experiment, SLICES, "job=\"shop\"") {
        let name = match query.family {
            Family::Arms => "arms",
            Family::Requests => "requests",
            Family::Errors => "errors",
            Family::Duration => "duration",
            Family::Queue => "queue",
            Family::GvlWait => "gvl_wait",
            Family::Memory => "memory",
            Family::Buckets => "buckets",
            // The agents of the sample did not count them.
            Family::Starts => continue,
        };
        let body = sample(&format!("{name}.json"));
        gathered.add(&query, series(&body, query.span).unwrap());
    }
    let fleet = join(&experiment, gathered, SLICES);
    (experiment, fleet)
}

#[test]
fn every_request_that_was_scraped_is_counted_once() {
    let (experiment, fleet) = read();
    assert_eq!(fleet.units.len(), 4);
    let of: Vec<(usize, usize, f64)> = fleet
        .units
        .iter()
        .map(|unit| {
            let requests = unit.slices.iter().map(|slice| slice.requests).sum();
            (unit.arm, unit.slices.len(), requests)
        })
        .collect();
    assert_eq!(
        of,
        [(1, 9, 305.0), (0, 8, 279.0), (0, 9, 309.0), (1, 8, 281.0)]
    );
    let holes = &fleet.left_out;
    assert_eq!((holes.holes, holes.resets, holes.restarts), (0, 0, 0));
    assert_eq!(fleet.bounds.len(), 19);
    for unit in &fleet.units {
        let in_buckets: f64 = unit.tails.iter().flat_map(|tail| &tail.counts).sum();
        let requests: f64 = unit.slices.iter().map(|slice| slice.requests).sum();
        assert_eq!(in_buckets, requests);
        let mean = unit
            .slices
            .iter()
            .map(|slice| slice.response_s)
            .sum::<f64>()
            / requests;
        let waits = [0.010, 0.025][unit.arm];
        assert!(mean > waits && mean < waits + 0.01, "{mean}");
        assert!(
            unit.slices
                .iter()
                .all(|slice| slice.memory_bytes.unwrap() > 2e7)
        );
    }
    assert_eq!(experiment.arms[1].name, "slow");
}

#[test]
fn four_pumas_are_too_few_for_a_claim() {
    let (experiment, fleet) = read();
    let asked = Asked {
        now_s: experiment.look_s(1),
        version: "0.1.0".to_owned(),
        prometheus: "http://127.0.0.1:9090".to_owned(),
        halted: Vec::new(),
    };
    let document = judge(&experiment, &fleet, &asked);
    assert_eq!(document.comparisons[0].verdict, Verdict::NotEnough);
    assert!(
        document
            .sentence
            .contains("with 2 draws of today and 2 of slow"),
        "{}",
        document.sentence
    );
    let p99 = document
        .guardrails
        .iter()
        .find(|one| one.figure == "p99")
        .unwrap();
    assert_eq!(p99.state, State::Unknown);
    let [today, slow] = &document.arms[..] else {
        panic!()
    };
    assert_eq!((today.requests, slow.requests), (588, 586));
    assert!(slow.p95_ms.unwrap() > 1.7 * today.p95_ms.unwrap());
}
