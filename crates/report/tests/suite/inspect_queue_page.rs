//! What the page of `inspect` concludes about a queue.

use crate::inspect_page::{page, sample};
use crate::support::flat;
use run::inspect::{CalculatedQueue, Document, Times};

/// The queue's mean is made this long, the time in the application is 51.6 ms.
fn with_queue(mean_ms: f64, busy: f64) -> Document {
    let mut document = sample();
    document.jobs = None;
    let requests = document.requests.as_mut().unwrap();
    let queue: &mut Times = requests.queue.as_mut().unwrap();
    queue.mean_ms = mean_ms;
    requests.busy_threads = Some(busy);
    requests.rate_per_s = Some(41.0);
    document.calculated_queue = Some(CalculatedQueue {
        rate_per_s: 41.0,
        service_ms: 51.6,
        servers: 6,
        wait_ms: Some(500.0),
    });
    document
}

#[test]
fn conclusions_begin_where_the_users_time_goes() {
    let inside = "of its time in the application, ";
    let longest = flat(&page(&with_queue(1477.0, 2.9), 80));
    let queue =
        longest.find("A request waits 1,477 ms before the application and 51.6 ms in it: 96.6 %");
    assert!(queue.unwrap() < longest.find(inside).unwrap(), "{longest}");
    for words in [
        "2.9 of the 3 threads of its process were busy: there are too few threads or processes",
        "powerband calc queue --rate 41.0 --service 51.6ms --servers 6; 41.0 a second is what was answered.",
    ] {
        assert!(longest.contains(words), "{words}:\n{longest}");
    }
    let idle = flat(&page(&with_queue(1477.0, 1.2), 80));
    assert!(
        idle.contains("on average a thread was free. Half of the requests waited at most"),
        "{idle}"
    );
    // A queue that is not the longest part stands behind that part, a short one has no sentence.
    let second = flat(&page(&with_queue(10.0, 2.9), 80));
    assert!(
        second.find(inside).unwrap() < second.find("A request waits 10.0 ms").unwrap(),
        "{second}"
    );
    let short = flat(&page(&with_queue(1.0, 2.9), 80));
    assert!(!short.contains("A request waits"), "{short}");
    // Before free threads a few milliseconds need no proxy, and no formula that contradicts them.
    let mut quick = with_queue(4.0, 1.2);
    quick.requests.as_mut().unwrap().wall.mean_ms = 10.0;
    let quick = flat(&page(&quick, 80));
    assert!(
        quick.contains("a thread was free. So short a wait arises"),
        "{quick}"
    );
    for words in ["Look at the proxy", "calc queue", "Half of the requests"] {
        assert!(!quick.contains(words), "{words}: {quick}");
    }
}

/// The command would answer with a queue that contradicts the one measured.
#[test]
fn no_formula_is_named_that_contradicts_the_queue() {
    let mut document = with_queue(2375.0, 2.9);
    document.calculated_queue.as_mut().unwrap().wait_ms = Some(41.2);
    let grown = flat(&page(&document, 80));
    assert!(!grown.contains("--rate"), "{grown}");
    for words in [
        "41.0 requests a second were answered. Requests that arrive at random at that rate wait 41.2 ms by formula",
        "for a time more arrived than were answered",
    ] {
        assert!(grown.contains(words), "{words}:\n{grown}");
    }
    // More than these threads can do, or a document of an earlier version.
    document.calculated_queue.as_mut().unwrap().wait_ms = None;
    assert!(!flat(&page(&document, 80)).contains("calc queue"));
}

/// `for a time more arrived` would contradict a cause that the counters show, or bursts that the percentiles do.
#[test]
fn before_free_threads_a_queue_has_one_explanation() {
    let mut document = with_queue(8.56, 1.5);
    document.calculated_queue.as_mut().unwrap().wait_ms = Some(1.71);
    let requests = document.requests.as_mut().unwrap();
    requests.wall.mean_ms = 25.0;
    let split = requests.split.as_mut().unwrap();
    (split.held_ms, split.starved_ms) = (15.4, Some(0.0));
    (split.gvl_wait_ms, split.gvl_wait_share) = (8.07, 0.323);
    let by_gvl = flat(&page(&document, 80));
    assert!(by_gvl.contains("The likely cause is the GVL"), "{by_gvl}");
    let split = document.requests.as_mut().unwrap().split.as_mut().unwrap();
    (split.gvl_wait_ms, split.gvl_wait_share) = (0.1, 0.004);
    let by_percentiles = flat(&page(&document, 80));
    assert!(!by_percentiles.contains("likely cause"), "{by_percentiles}");
    for said in [by_gvl, by_percentiles] {
        assert!(said.contains("on average a thread was free."), "{said}");
        assert!(!said.contains("for a time more arrived"), "{said}");
    }
}

/// A process that its threads keep busy gains nothing from more of them.
#[test]
fn a_burst_asks_for_no_more_threads_than_keep_a_process_busy() {
    let mut document = with_queue(1477.0, 1.2);
    let said = |document: &Document| flat(&page(document, 80));
    let many = said(&document);
    assert!(
        many.contains("for which more threads or processes are"),
        "{many}"
    );
    document.threads.as_mut().unwrap().useful_threads = Some(2.9);
    let enough = said(&document);
    assert!(
        enough.contains("for which more processes on free cores are needed"),
        "{enough}"
    );
}

/// More processes shorten no wait for a core.
#[test]
fn where_cores_are_short_nothing_advises_more_processes() {
    let mut document = with_queue(1477.0, 1.2);
    let requests = document.requests.as_mut().unwrap();
    let split = requests.split.as_mut().unwrap();
    (split.held_share, split.gvl_wait_share) = (0.6, 0.2);
    (split.lock_wait_share, split.io_share) = (Some(0.1), 0.1);
    (split.held_ms, split.starved_ms) = (10.0, Some(0.5));
    let free = flat(&page(&document, 80));
    assert!(free.contains("More processes on free cores"), "{free}");
    for busy in [1.2, 2.9] {
        let requests = document.requests.as_mut().unwrap();
        requests.busy_threads = Some(busy);
        requests.split.as_mut().unwrap().starved_ms = Some(8.0);
        let short = flat(&page(&document, 80));
        assert!(
            short.contains("it runs Ruby or waits for a core"),
            "{short}"
        );
        assert!(!short.contains("ore processes on free cores"), "{short}");
    }
}
