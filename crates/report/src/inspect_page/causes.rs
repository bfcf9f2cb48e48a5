//! Where the time of the endpoints goes that take most of it, a sentence each.

use super::ms;
use super::part_of_time::{Does, Part};
use super::parts::kind;
use crate::figures::percent;
use crate::sheet::Sheet;
use run::inspect::{CallKind, Calls, Traffic};
use small_sort::SmallSort;

/// Endpoints that take a smaller share of all time are not worth a sentence.
const WORTH_A_SENTENCE: f64 = 0.1;
/// Sentences at most.
const MOST: usize = 3;
/// The longest kind of calls is named from this share of the endpoint's time on.
const CALLS_NAMED: f64 = 0.3;
/// From so many SQL queries a request on, they are worth a sentence.
const MANY_QUERIES: f64 = 20.0;
/// Endpoints that take a smaller share of all time are not searched for them.
const SEARCHED_FOR_QUERIES: f64 = 0.02;
/// From this share of lock wait on, T* is not shown: it does not count locks.
const LOCKS_DECIDE: f64 = 0.2;

/// The sentences.
pub fn write(sheet: &mut Sheet, endpoints: &[Traffic], one: &str) {
    where_it_goes(sheet, endpoints, one);
    many_queries(sheet, endpoints, one);
}

/// None where there is one endpoint, of which the page speaks already.
fn where_it_goes(sheet: &mut Sheet, endpoints: &[Traffic], one: &str) {
    if endpoints.len() < 2 {
        return;
    }
    // A name in brackets is a sum of endpoints without an entry of their own.
    let mut largest: Vec<&Traffic> = endpoints
        .iter()
        .filter(|one| one.share_of_time >= WORTH_A_SENTENCE && !one.name.starts_with('('))
        .collect();
    largest.small_sort_by(|a, b| b.share_of_time.total_cmp(&a.share_of_time));
    for endpoint in largest.into_iter().take(MOST) {
        if let Some(part) = Part::largest(endpoint) {
            sheet.prose(&sentence(endpoint, part, one));
        }
    }
}

/// Queries in a loop (N+1) are seldom slow one by one.
fn many_queries(sheet: &mut Sheet, endpoints: &[Traffic], one: &str) {
    let searched = endpoints
        .iter()
        .filter(|of| of.share_of_time >= SEARCHED_FOR_QUERIES && !of.name.starts_with('('));
    let sql = |endpoint: &Traffic| {
        let mut calls = endpoint.calls.iter();
        calls.find(|calls| calls.kind == CallKind::Sql).copied()
    };
    let mut most: Vec<(&Traffic, Calls)> = searched
        .filter_map(|endpoint| Some((endpoint, sql(endpoint)?)))
        .filter(|(_, sql)| sql.per_request >= MANY_QUERIES)
        .collect();
    most.small_sort_by(|(_, a), (_, b)| b.per_request.total_cmp(&a.per_request));
    for (endpoint, sql) in most.into_iter().take(MOST) {
        sheet.prose(&format!(
            "{} makes {:.0} SQL queries a {one}, {} ms together: if many of them load one row each, includes or preload loads all at once.",
            endpoint.name,
            sql.per_request,
            ms(sql.really_ms)
        ));
    }
}

/// Whether locks, not T*, limit the useful threads.
pub fn locks_decide(traffic: &Traffic) -> bool {
    let share = traffic.split.and_then(|split| split.lock_wait_share);
    share.is_some_and(|share| share >= LOCKS_DECIDE)
}

fn sentence(endpoint: &Traffic, part: Part, one: &str) -> String {
    let mut text = format!(
        "{} takes {} of all {one} time: {} ms each, of which it {} for {} ms ({}){}.",
        endpoint.name,
        percent(endpoint.share_of_time),
        ms(endpoint.wall.mean_ms),
        part.words(),
        ms(part.ms),
        percent(part.share),
        calls(endpoint)
    );
    if locks_decide(endpoint) {
        let locks_ms = endpoint.split.and_then(|split| split.lock_wait_ms);
        if let Some(locks_ms) = locks_ms.filter(|_| part.does != Does::WaitsForLocks) {
            text.push_str(&format!(
                " It waits for locks, queues or connections for {} ms.",
                ms(locks_ms)
            ));
        }
        text.push_str(" More threads make that wait longer.");
    }
    text
}

/// `; SQL takes 8.1 ms in 12.0 calls`: the kind that takes longest.
fn calls(endpoint: &Traffic) -> String {
    let most = endpoint
        .calls
        .iter()
        .max_by(|a, b| a.really_ms.total_cmp(&b.really_ms));
    match most {
        Some(calls) if calls.really_ms >= CALLS_NAMED * endpoint.wall.mean_ms => format!(
            "; {} takes {} ms in {:.1} calls",
            kind(calls.kind),
            ms(calls.really_ms),
            calls.per_request
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::inspect::Document;

    fn endpoints() -> Vec<Traffic> {
        let sample = include_str!("../../../../contract/samples/inspect/wide.json");
        let document: Document = serde_json::from_str(sample).unwrap();
        let mut one = document.requests.unwrap();
        one.name = "orders#create".to_owned();
        (one.share_of_time, one.wall.mean_ms) = (0.8, 10.0);
        one.calls.clear();
        let split = one.split.as_mut().unwrap();
        (split.held_share, split.gvl_wait_share) = (0.2, 0.05);
        (split.lock_wait_share, split.io_share) = (Some(0.7), 0.05);
        (split.lock_wait_ms, split.io_ms, split.starved_ms) = (Some(7.0), 0.5, None);
        let mut rare = one.clone();
        (rare.name, rare.share_of_time) = ("rare#show".to_owned(), 0.05);
        let mut others = one.clone();
        (others.name, others.share_of_time) = ("(other)".to_owned(), 0.15);
        vec![rare, one, others]
    }

    fn said(endpoints: &[Traffic]) -> String {
        let style = crate::Style {
            width: 300,
            colour: false,
        };
        let mut sheet = Sheet::new(style);
        write(&mut sheet, endpoints, "request");
        sheet.into_text().replace('\n', " ")
    }

    #[test]
    fn an_endpoint_that_a_lock_serialises_is_named_with_what_threads_would_do() {
        let mut endpoints = endpoints();
        let words = "orders#create takes 80.0 % of all request time: 10.0 ms each, of which it waits for locks, queues or connections for 7.00 ms (70.0 %). More threads make that wait longer.";
        assert_eq!(said(&endpoints).trim_end(), words);
        let split = endpoints[1].split.as_mut().unwrap();
        (split.lock_wait_share, split.io_share) = (Some(0.3), 0.45);
        (split.lock_wait_ms, split.io_ms) = (Some(3.0), 4.5);
        let words = "it waits for databases, services and disks for 4.50 ms (45.0 %). It waits for locks, queues or connections for 3.00 ms. More threads";
        assert!(said(&endpoints).contains(words), "{}", said(&endpoints));
        assert_eq!(
            said(&endpoints[1..2]),
            "",
            "the page speaks of the only one"
        );
        let split = endpoints[1].split.as_mut().unwrap();
        (split.lock_wait_share, split.lock_wait_ms) = (None, None);
        let words = "it waits for databases, services, disks or locks for 4.50 ms (45.0 %).";
        assert!(
            said(&endpoints).trim_end().ends_with(words),
            "{}",
            said(&endpoints)
        );
    }

    #[test]
    fn the_calls_that_take_most_of_the_time_are_named() {
        let mut endpoints = endpoints();
        let sample = run::inspect::Calls {
            kind: run::inspect::CallKind::Sql,
            count: 400,
            per_request: 4.0,
            seen_ms: 9.0,
            gvl_wait_ms: 1.0,
            really_ms: 8.0,
            seen_ms_per_call: None,
            really_ms_per_call: None,
        };
        endpoints[1].calls = vec![sample];
        assert!(said(&endpoints).contains("(70.0 %); SQL takes 8.00 ms in 4.0 calls."));
        endpoints[1].calls[0].really_ms = 2.0;
        assert!(!said(&endpoints).contains("SQL"));
        endpoints[1].calls[0].per_request = 61.6;
        let words = "orders#create makes 62 SQL queries a request, 2.00 ms together: if many";
        assert!(said(&endpoints[1..2]).contains(words));
        endpoints[1].share_of_time = 0.01;
        assert!(!said(&endpoints).contains("SQL"), "rare");
    }
}
