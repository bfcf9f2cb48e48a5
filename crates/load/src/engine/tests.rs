use super::*;
use crate::Workload;
use crate::plan::Stop;

/// Preparing takes long with many requests; the schedule must not run meanwhile.
#[test]
fn the_run_starts_when_all_is_prepared() {
    let text: String = (0..20_000)
        .map(|n| format!("[[request]]\nname = \"{}\"\npath = \"/{n}\"\n", n % 200))
        .collect();
    let plan = Plan::new(
        std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
        Workload::from_toml(&text).unwrap(),
        Mode::closed(1),
        Stop::requests(1),
    );
    // The least of a few: a thread that loses its core takes longer for either part.
    let takes: [(u64, u64); 5] = std::array::from_fn(|_| {
        let before = monotonic_ns();
        let engine = Engine::new(&plan, 0).unwrap();
        let after = monotonic_ns();
        let prepared = engine.started_ns - LEAD_NS;
        (prepared - before, after - prepared)
    });
    let preparing = takes.iter().map(|(preparing, _)| preparing).min();
    let beyond = takes.iter().map(|(_, beyond)| beyond).min();
    assert!(preparing > beyond, "{takes:?}");
}
