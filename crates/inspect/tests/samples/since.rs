//! The golden samples since an instant.

use crate::files::{NOW, inspected, sample, story};
use inspect::{Selection, files, read};
use run::inspect::ProcessState;
use std::path::Path;

#[test]
fn since_takes_the_records_alone() {
    let story = story("wide");
    let records = story["records"].as_array().unwrap();
    let since = records[30]["arrival_wall_ns"].as_u64().unwrap();
    let selection = Selection {
        since_ns: Some(since),
        ..Selection::default()
    };
    let made = inspected(&[sample("wide.flight")], selection);
    let counted = made.requests.unwrap().requests + made.jobs.unwrap().requests;
    assert_eq!(counted, 10);
    assert!(made.scope.since.is_some() && made.collector.is_none());
}

#[test]
fn a_process_that_ended_before_since_is_not_listed() {
    let records = story("wide")["records"].as_array().unwrap().clone();
    let since = records[30]["arrival_wall_ns"].as_u64().unwrap();
    let paths = files(&[sample("")], Path::new("/nowhere"), 0).unwrap();
    let of = |since_ns| Selection {
        since_ns,
        ..Selection::default()
    };
    let listed = inspected(&paths, of(Some(since))).processes;
    assert!(!listed.is_empty() && listed.len() < 12, "{}", listed.len());
    assert!(
        listed
            .iter()
            .all(|p| p.requests > 0 || p.state == ProcessState::Live)
    );
    assert_eq!(inspected(&paths, of(None)).processes.len(), 12);
    let none = read(&[sample("wide.flight")], of(Some(u64::MAX)), NOW);
    let why = none.why_empty();
    assert!(
        none.is_empty() && why.contains(": 1 process, not alive"),
        "{why}"
    );
}
