//! What must hold whatever the scenario: no work is lost or made up, every
//! nanosecond of a response is accounted for, a seed says everything.

use super::reference::{self, Case, cases};
use capacity::sim::{Arrivals, Discipline, REFUSED_NS, Step, Work, simulate};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// CPU time, I/O time and I/O steps of each request, and the whole.
fn demand(case: &Case, request: usize) -> (u64, u64, u64) {
    let steps = case.work.steps(request % case.work.len());
    steps.fold((0, 0, 0), |(cpu, io, ios), step| match step {
        Step::Held(ns) | Step::Native(ns) => (cpu + ns, io, ios),
        Step::Io(ns) => (cpu, io + ns, ios + 1),
        Step::Acquire(_) | Step::Release(_) | Step::Answer => (cpu, io, ios),
    })
}

/// The same cases every time: where two things happen within a nanosecond of each
/// other, the two simulators' rounding may decide differently who is first.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 2_000,
        rng_seed: RngSeed::Fixed(35),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn work_and_time_are_conserved(case in cases()) {
        let case = Case { scenario: capacity::sim::Scenario { io_growth: 0.0, ..case.scenario.clone() }, ..case };
        let outcome = case.simulate();
        prop_assert_eq!(outcome.response_ns.len() as u64, outcome.answered + outcome.refused);
        let own = &case.scenario.overheads;
        let (mut cpu_ns, mut io_ns, mut wakes) = (0, 0, 0);
        let mut response_ns = 0;
        for (request, &ns) in outcome.response_ns.iter().enumerate() {
            if ns == REFUSED_NS {
                continue;
            }
            let (cpu, io, ios) = demand(&case, request);
            let serving = own.parse_ns + own.write_ns;
            prop_assert!(ns >= cpu + io + serving + own.network_ns, "{} of {}", ns, cpu + io);
            cpu_ns += cpu + serving;
            io_ns += io;
            wakes += ios;
            response_ns += ns - own.network_ns;
        }
        prop_assert_eq!(outcome.io_ns, io_ns);
        let alone = !matches!(case.scenario.discipline, Discipline::Puma { .. });
        if alone {
            cpu_ns += own.accept_ns * outcome.answered;
        }
        cpu_ns += outcome.cold_ns;
        let most = outcome.cold_hand_overs * own.hand_over_cpu_ns as f64
            + outcome.cold_wakes * own.wake_cpu_ns as f64;
        prop_assert!(outcome.cold_ns as f64 <= most * (1.0 + 1e-9), "{} of {}", outcome.cold_ns, most);
        // The answer is the sum of its parts.
        let waits_ns = outcome.queue_ns + outcome.gvl_wait_ns + outcome.core_wait_ns + outcome.station_wait_ns;
        prop_assert_eq!(response_ns, waits_ns + cpu_ns + io_ns + wakes * own.wake_ns);
        // All CPU time, that of acceptors and reactors included, is somebody's.
        if own.accept_ns + own.reactor_ns == 0 || alone {
            prop_assert_eq!(outcome.cpu_ns, cpu_ns);
        } else {
            prop_assert!(outcome.cpu_ns >= cpu_ns);
            let front = (own.accept_ns.max(own.reactor_ns)) * outcome.response_ns.len() as u64;
            prop_assert!(outcome.cpu_ns <= cpu_ns + front);
        }
        // Little's law for the threads, and utilisation = rate x demand.
        let span_s = outcome.span_ns as f64 / 1e9;
        let threads = f64::from(case.threads());
        let in_service = outcome.thread_utilisation * threads;
        let service_s = (response_ns - outcome.queue_ns) as f64 / 1e9 / outcome.answered.max(1) as f64;
        let rate = outcome.answered as f64 / span_s.max(1e-9);
        prop_assert!((in_service - rate * service_s).abs() < 1e-6 * in_service.max(1.0));
        let demand_s = outcome.cpu_ns as f64 / 1e9 / outcome.answered.max(1) as f64;
        let quota = case.scenario.quota.map_or(f64::INFINITY, |q| q.quota_ns as f64 / q.period_ns as f64);
        let cores = case.scenario.cores.min(quota);
        prop_assert!((outcome.core_utilisation * cores - rate * demand_s).abs() < 1e-6 * cores);
        prop_assert!(outcome.gvl_utilisation <= 1.0 + 1e-9);
    }

    #[test]
    fn a_seed_says_everything(case in cases()) {
        prop_assert_eq!(case.simulate(), case.simulate());
    }

    /// Also where answers are out before the threads are done with their requests.
    #[test]
    fn the_naive_simulator_agrees_on_early_answers(case in cases(), places in vec(0_usize..6, 12)) {
        let mut work = Work::new();
        for (request, place) in (0..case.work.len()).zip(places) {
            let mut steps: Vec<Step> = case.work.steps(request).collect();
            steps.insert(place.min(steps.len()), Step::Answer);
            work.push(0, steps);
        }
        agree(&Case { work, ..case })?;
    }

    /// Each process is one server as far as its GVL and its thread go, whatever
    /// else is modelled: the naive simulator says the same to the microsecond.
    #[test]
    fn the_naive_simulator_agrees(case in cases()) {
        agree(&case)?;
    }
}

fn agree(case: &Case) -> Result<(), TestCaseError> {
    let outcome = case.simulate();
    let naive = reference::simulate(case);
    for (request, (&fast, &slow)) in outcome.response_ns.iter().zip(&naive).enumerate() {
        if fast == REFUSED_NS || slow.is_infinite() {
            prop_assert!(
                fast == REFUSED_NS && slow.is_infinite(),
                "request {}",
                request
            );
            continue;
        }
        prop_assert!(
            (fast as f64 - slow).abs() < 1_000.0,
            "request {}: {} {}\n{:#?}",
            request,
            fast,
            slow,
            case
        );
    }
    Ok(())
}

/// The same arrivals for every configuration: with more than enough of
/// everything, each request takes its own time and ends in its own place.
#[test]
fn arrivals_depend_on_the_seed_and_on_nothing_else() {
    let work = super::work(&[&[Step::Io(1_000)]]);
    let spans = |seed| {
        let arrivals = Arrivals::Poisson {
            per_s: 100.0,
            requests: 500,
        };
        [(1, 50), (5, 20), (40, 1)].map(|(processes, threads)| {
            let scenario = capacity::sim::Scenario::new(processes, threads, 64.0);
            let outcome = simulate(&work, &scenario, &arrivals, seed).expect("simulated");
            outcome.span_ns
        })
    };
    let (one, other) = (spans(1), spans(2));
    assert!(one[0] == one[1] && one[1] == one[2] && other[0] == other[1]);
    assert_ne!(one[0], other[0]);
}

/// A seed means the same in every version: a change of this outcome changes
/// what was predicted before.
#[test]
fn an_outcome_of_a_seed_stays_what_it_was() {
    let mut work = capacity::sim::Work::new();
    for n in 1..=97_u64 {
        let held = n * 7_919 % 5_000 * 1_000;
        let io = n * 104_729 % 9_000 * 1_000;
        work.push(0, [Step::Held(held), Step::Io(io), Step::Native(held / 2)]);
    }
    let scenario = capacity::sim::Scenario::new(2, 3, 1.5);
    let arrivals = Arrivals::Poisson {
        per_s: 250.0,
        requests: 3_000,
    };
    let outcome = simulate(&work, &scenario, &arrivals, 42).expect("simulated");
    let sum: u64 = outcome.response_ns.iter().sum();
    assert_eq!((sum, outcome.span_ns), (38_905_826_858, 12_177_513_609));
}
