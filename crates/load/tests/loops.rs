//! Both loops against a well-behaved server.

mod support;

use std::time::Duration;

use load::{Arrivals, Mode, Outcome, Plan, Silent, Stop, Workload};
use support::{OK, Server};

fn balanced(outcome: &Outcome) {
    let Outcome { counts, errors, .. } = outcome;
    assert_eq!(
        counts.scheduled,
        counts.completed + errors.unanswered() + counts.cut
    );
    assert_eq!(counts.scheduled, counts.ok + errors.total() + counts.cut);
    assert_eq!(outcome.response.len(), counts.scheduled - counts.cut);
    assert_eq!(outcome.service.len(), counts.completed);
}

#[test]
fn closed_loop_sends_exactly_what_is_asked() {
    let server = Server::answering(OK);
    let plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::Closed { connections: 4 },
        Stop::requests(1000),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    balanced(&outcome);
    assert_eq!(outcome.counts.ok, 1000, "{outcome:?}");
    assert_eq!(outcome.counts.connections, 4);
}

#[test]
fn open_loop_sends_every_arrival_of_the_window() {
    let server = Server::answering(OK);
    let arrivals = Arrivals::Poisson {
        rate: 1000.0,
        seed: 7,
    };
    let due = arrivals
        .offsets_ns()
        .take_while(|at| *at < 500_000_000)
        .count() as u64;
    let plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::Open {
            arrivals,
            max_connections: 64,
        },
        Stop::after(Duration::from_millis(500)),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    balanced(&outcome);
    assert_eq!(outcome.counts.scheduled, due);
    assert_eq!(outcome.counts.ok, due);
}
