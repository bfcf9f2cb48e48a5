//! An application that nothing is wrong with, for the tests of the checks.

use std::collections::BTreeMap;

use host::{Finding, Outcome};
use servers::interpreter::RubyProbe;
use servers::pools::{Pool, PoolSize};

use crate::application::{ApplicationFacts, Counted, Environment};
use crate::named::Named;

pub(super) fn found(outcome: Outcome) -> Finding {
    let said = format!("{outcome:?}");
    let finding = outcome.into_finding().expect(&said);
    assert!(
        !finding.why.is_empty() && !finding.remedy.is_empty(),
        "{said}"
    );
    finding
}

pub(super) fn counted(count: u32) -> Counted {
    Counted {
        count,
        from: "the test".to_owned(),
    }
}

pub(super) fn application() -> ApplicationFacts {
    ApplicationFacts {
        pid: None,
        booting: false,
        unknown_server: None,
        of_powerband: false,
        environment: Ok(Environment {
            variables: BTreeMap::new(),
            named: Named::by("production", "the test"),
        }),
        config_files: Ok(Vec::new()),
        pools: Ok(vec![Pool {
            database: String::new(),
            adapter: Some("postgresql".to_owned()),
            size: PoolSize::Literal(5),
        }]),
        async_threads: Ok(0),
        threads: Ok(counted(5)),
        workers: Ok(counted(2)),
        cores: 4,
        cpu_quota: None,
        interpreter: Ok("/lib64/ld-linux-x86-64.so.2".to_owned()),
        ruby_probe: Ok(RubyProbe {
            stderr: String::new(),
            yjit: Some(false),
            program: "/usr/bin/ruby".into(),
            status: String::new(),
        }),
    }
}

pub(super) fn named(name: &str) -> ApplicationFacts {
    let mut facts = application();
    facts.environment.as_mut().unwrap().named = Named::by(name, "the test");
    facts
}

pub(super) fn with(variable: &str, value: &str) -> ApplicationFacts {
    let mut facts = application();
    let environment = facts.environment.as_mut().unwrap();
    environment
        .variables
        .insert(variable.to_owned(), value.to_owned());
    facts
}
