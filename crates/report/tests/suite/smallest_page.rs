//! The smallest cluster for a rate.

use crate::run_page::{page, sample};
use crate::support::flat;
use run::{Answer, Document, Least};

fn least_memory() -> Document {
    let mut document = sample("tune");
    let objective = &mut document.plan.objective;
    objective.least = Some(Least::Memory);
    objective.must_carry_per_s = Some(40.0);
    objective.max_memory_bytes = Some(1 << 30);
    let advised = document.arms.len() - 1;
    let arm = &mut document.arms[advised];
    arm.pss_bytes = Some(200 << 20);
    arm.pss_interval = Some((190 << 20, 210 << 20));
    let (name, settings) = (arm.name.clone(), arm.settings);
    let verdict = document.verdict.as_mut().unwrap();
    verdict.answer = Answer::Change;
    verdict.arm = Some(name);
    verdict.settings = settings;
    document
}

#[test]
fn it_has_its_memory_with_the_interval_and_how_many_fit() {
    let document = least_memory();
    let said = flat(&page(&document));
    for expected in [
        "The smallest cluster for the rate",
        " serves 40.0 a second within p99",
        "in 200 MiB (95 % interval of the mean 190 MiB to 210 MiB)",
        // 1,024 / 210.
        "It fits 4 times into 1024 MiB (the limit)",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let mut undecided = least_memory();
    undecided.verdict.as_mut().unwrap().answer = Answer::Undecided;
    let mut latency = least_memory();
    latency.plan.objective.least = Some(Least::Latency);
    for other in [undecided, latency, sample("tune")] {
        assert!(!flat(&page(&other)).contains("The smallest cluster"));
    }
}
