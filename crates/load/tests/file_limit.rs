//! The limit on open files. One test, alone in its file: the limit is the
//! whole process's.

mod support;

use std::net::TcpListener;

use load::{LoadError, Mode, Observer, Plan, Silent, Stop, Workload};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn limit_to(soft: u64) {
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(soft),
            maximum: Some(300),
        },
    )
    .unwrap();
}

/// Sees the limit that is in force while a run is under way.
struct Seen(u64);

impl Observer for Seen {
    fn cancelled(&mut self) -> bool {
        self.0 = getrlimit(Resource::Nofile).current.unwrap();
        false
    }
}

/// Takes the room away once the run is under way.
struct Squeeze;

impl Observer for Squeeze {
    fn cancelled(&mut self) -> bool {
        limit_to(16);
        false
    }
}

#[test]
fn the_soft_limit_is_raised_and_too_low_a_hard_limit_is_an_error() {
    // The kernel completes connections to it; the test never accepts them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let refusing = support::Refusing::new();
    let dead = refusing.address;
    let plan = |target, connections| {
        let mode = Mode::closed(connections);
        Plan::new(target, Workload::get("/").unwrap(), mode, Stop::requests(1))
    };

    limit_to(30);
    let mut seen = Seen(0);
    load::run(&plan(dead, 200), &mut seen).unwrap();
    assert!(seen.0 >= 200, "{}", seen.0);
    // A server that is started next inherits what the first one did.
    assert_eq!(getrlimit(Resource::Nofile).current, Some(30));

    match load::run(&plan(dead, 400), &mut Silent) {
        Err(error @ LoadError::FileLimit { limit: 300, .. }) => {
            assert!(error.to_string().contains("ulimit -Hn"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(getrlimit(Resource::Nofile).current, Some(30));

    let mut squeezed = plan(listener.local_addr().unwrap(), 50);
    squeezed.stop = Stop::when_told();
    match load::run(&squeezed, &mut Squeeze) {
        Err(error @ LoadError::NoFiles { limit: 16, .. }) => {
            assert!(error.to_string().contains("ulimit -n"));
        }
        other => panic!("{other:?}"),
    }
}
