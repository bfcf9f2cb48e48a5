//! A recording is replayed, and its answers are compared with the recorded ones.

use crate::support::{Server, assert_balanced};
use load::{Mode, Plan, RecordedRequest, Silent, StatusChange, Stop, Workload};

fn recorded(path: &str, headers: &[(&str, &str)], status: Option<u16>) -> RecordedRequest {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    RecordedRequest {
        method: "GET".into(),
        path: path.into(),
        headers: headers.iter().map(owned).collect(),
        body: Vec::new(),
        status,
        host: None,
    }
}

/// `/200` is answered with 200, and so on.
fn server() -> Server {
    Server::new(|peer, _| {
        while let Some((head, _)) = peer.request() {
            let path = head.split(' ').nth(1).unwrap();
            let status = &path[1..4];
            let answer =
                format!("HTTP/1.1 {status} X\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n");
            peer.write(answer.as_bytes());
        }
    })
}

fn change(page: &str, recorded: u16, replayed: u16, answers: u64) -> StatusChange {
    StatusChange {
        page: page.to_owned(),
        recorded,
        replayed,
        answers,
    }
}

#[test]
fn answers_with_another_status_than_was_recorded_are_counted_by_page() {
    let server = server();
    let conditional = [("If-None-Match", "\"x\"")];
    let requests = [
        recorded("/302", &[], Some(200)),
        recorded("/302", &[], Some(302)),
        recorded("/200", &[], Some(200)),
        recorded("/200?conditional", &conditional, Some(304)),
        recorded("/304?conditional", &conditional, Some(200)),
        recorded("/404", &[], Some(404)),
        recorded("/503", &[], Some(200)),
        recorded("/302", &[], Some(200)),
        recorded("/200?unknown", &[], None),
        recorded("/302", &[], Some(200)),
    ];
    let placed = requests.into_iter().map(|request| ("record", request));
    let page = |_: &str, path: &str| path.split('?').next().unwrap().to_owned();
    let workload = Workload::from_recorded(placed, page).unwrap();
    assert!(!workload.lacks_statuses());
    let plan = Plan::new(
        server.address,
        workload,
        Mode::closed(1),
        Stop::requests(10),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    let statuses = outcome.recorded_statuses();
    assert_eq!((statuses.compared, statuses.revalidated), (9, 2));
    assert_eq!(
        statuses.changes,
        [change("/302", 200, 302, 3), change("/503", 200, 503, 1)]
    );
    assert!(statuses.is_other_work());
    // What was redirected when it was recorded is as it should be.
    assert_eq!(outcome.redirects(), 3);
}

#[test]
fn nothing_is_compared_where_nothing_was_recorded() {
    let server = server();
    let placed = [("line 1", recorded("/302", &[], None))];
    let workload = Workload::from_recorded(placed, |_, path| path.to_owned()).unwrap();
    assert!(workload.lacks_statuses());
    assert!(!Workload::get("/").unwrap().lacks_statuses());
    let plan = Plan::new(server.address, workload, Mode::closed(1), Stop::requests(5));
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_eq!(
        outcome.recorded_statuses(),
        load::RecordedStatuses::default()
    );
    assert_eq!(outcome.redirects(), 5);
}

/// A page that did not exist when it was recorded is no broken page, and a server that failed then fails now.
#[test]
fn a_rejection_that_was_recorded_is_no_failure() {
    let server = server();
    let requests = [
        recorded("/404", &[], Some(404)),
        recorded("/422", &[], Some(200)),
        recorded("/429", &[], Some(429)),
        recorded("/401", &[], Some(401)),
        recorded("/500", &[], Some(500)),
    ];
    let placed = requests.into_iter().map(|request| ("record", request));
    let workload = Workload::from_recorded(placed, |_, path| path.to_owned()).unwrap();
    let plan = Plan::new(
        server.address,
        workload,
        Mode::closed(1),
        Stop::requests(15),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!((outcome.counts.completed, outcome.counts.ok), (15, 3));
    let errors = outcome.errors;
    assert_eq!((errors.status_4xx, errors.status_5xx), (9, 3));
    let pages = outcome.broken_pages(None);
    let broken: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    assert_eq!(broken, ["/422", "/429", "/401", "/500"]);
    let good = outcome.classes.get(load::StatusClass::AsRecorded);
    assert_eq!(good.map(|answers| answers.len()), Some(3));
}
