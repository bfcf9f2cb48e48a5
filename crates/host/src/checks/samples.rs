//! Facts of a host and a server that nothing is wrong with, for the tests of the checks.

use crate::check::{Finding, Outcome};
use crate::facts::HostFacts;
use crate::serving::{Filled, OpenFiles, ServingFacts};

pub(super) fn found(outcome: Outcome) -> Finding {
    let said = format!("{outcome:?}");
    let finding = outcome.into_finding().expect(&said);
    assert!(
        !finding.why.is_empty() && !finding.remedy.is_empty(),
        "{said}"
    );
    finding
}

pub(super) fn host() -> HostFacts {
    HostFacts {
        cpu_model: None,
        cores: 4,
        cpu_quota: None,
        effective_cores: 4.0,
        memory_total_bytes: 8 << 30,
        memory_available_bytes: 6 << 30,
        memory_limit_bytes: None,
        swap_total_bytes: 0,
        swap_used_bytes: 0,
        kernel: "6.1.0".to_owned(),
        load_average_1m: Some(0.1),
        clocksource: Some("tsc".to_owned()),
        governor: None,
        steal_share: None,
        busy_cores: None,
        busiest_programs: Vec::new(),
        swapped_pages: None,
        observed: None,
        cpu_pressure: None,
        memory_pressure: None,
        group_cpu_pressure: None,
        group_memory: None,
        throttling: None,
    }
}

pub(super) fn serving() -> ServingFacts {
    ServingFacts {
        pid: None,
        conntrack: Ok(Filled {
            used: 1,
            most: 1000,
        }),
        open_files: Ok(OpenFiles {
            soft: Some(65_536),
            hard: None,
            used: Ok(4),
        }),
        system_files: Ok(Filled {
            used: 1,
            most: 1000,
        }),
        port_range: Ok((32_768, 60_999)),
        time_wait: Ok(0),
        somaxconn: Ok(4096),
        syn_backlog: Ok(4096),
        syn_cookies: Ok(true),
        huge_pages: Ok("madvise".to_owned()),
        process_takes_huge_pages: Err("not asked".to_owned()),
    }
}
