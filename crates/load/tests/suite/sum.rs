//! The sum of several generators' outcomes is the outcome of one that sent all requests.

use crate::measured::Request;
use load::{
    EndpointOutcome, LateAnswers, Outcome, Redirect, StatusChange, StatusClass, new_histogram,
};
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: [&str; 3] = ["GET /", "GET /cart", "POST /cart"];

fn requests() -> impl Strategy<Value = Vec<Request>> {
    vec(
        (0..3_usize, 1..1_000_000_u64, any::<bool>(), 0..4_usize),
        0..300,
    )
}

/// With what recordings, redirects, limits and late answers add.
fn measured<'a>(requests: impl Iterator<Item = &'a Request> + Clone) -> Outcome {
    let mut outcome = crate::measured::measured(requests.clone(), &PAGES);
    for (page, us, failed, _) in requests {
        let endpoint = &mut outcome.endpoints[*page];
        let violations = u64::from(*us > 500_000);
        outcome.violations += violations;
        endpoint.violations += violations;
        endpoint.recorded_statuses.compared += 1;
        endpoint.recorded_statuses.revalidated += u64::from(us % 7 == 0);
        if *failed {
            let said = format!("{us}");
            outcome.first_error.get_or_insert(said);
            changed(endpoint);
        } else if us % 2 == 0 {
            redirected(endpoint);
        }
        if us % 3 == 0 {
            let late = outcome.late_answers.get_or_insert_with(|| {
                Box::new(LateAnswers {
                    counted: new_histogram(),
                    without: new_histogram(),
                })
            });
            late.counted.record(us * 2).unwrap();
            late.without.record(*us).unwrap();
        }
    }
    outcome
}

/// A server error in place of the recorded answer.
fn changed(page: &mut EndpointOutcome) {
    let changes = &mut page.recorded_statuses.changes;
    match changes.first_mut() {
        Some(change) => change.answers += 1,
        None => changes.push(StatusChange {
            page: page.name.clone(),
            recorded: 200,
            replayed: 500,
            answers: 1,
        }),
    }
}

fn redirected(page: &mut EndpointOutcome) {
    match page.redirects.first_mut() {
        Some(redirect) => redirect.answers += 1,
        None => page.redirects.push(Redirect {
            status: 302,
            expected: false,
            answers: 1,
            location: Some("/login".to_owned()),
        }),
    }
}

fn page(name: &str) -> EndpointOutcome {
    let mut page = EndpointOutcome::new(name);
    page.response = new_histogram();
    page
}

proptest! {
    // Each case adds dozens of histograms of 23,000 buckets.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn split_streams_sum_up_to_the_whole(requests in requests()) {
        let whole = measured(requests.iter());
        let parts = [0, 1, 2, 3].map(|generator| measured(requests.iter().filter(|r| r.3 == generator)));
        let mut sum = Outcome::empty();
        for part in &parts {
            sum.add(part);
        }
        let first_error = parts.iter().find_map(|part| part.first_error.as_ref());
        prop_assert_eq!(sum.first_error.as_ref(), first_error);
        prop_assert_eq!(sum.violations, whole.violations);
        prop_assert_eq!(sum.late_answers.is_some(), whole.late_answers.is_some());
        if let (Some(sum), Some(whole)) = (&sum.late_answers, &whole.late_answers) {
            prop_assert_eq!(&sum.counted, &whole.counted);
            prop_assert_eq!(&sum.without, &whole.without);
        }
        prop_assert_eq!(sum.counts, whole.counts);
        prop_assert_eq!(sum.errors, whole.errors);
        prop_assert_eq!(&sum.statuses, &whole.statuses);
        prop_assert_eq!(&sum.response, &whole.response);
        prop_assert_eq!(&sum.service, &whole.service);
        for (sum, whole) in sum.endpoints.iter().zip(&whole.endpoints) {
            prop_assert_eq!(&sum.name, &whole.name);
            prop_assert_eq!((sum.scheduled, sum.ok), (whole.scheduled, whole.ok));
            prop_assert_eq!(sum.errors, whole.errors);
            prop_assert_eq!(sum.violations, whole.violations);
            prop_assert_eq!(&sum.redirects, &whole.redirects);
            prop_assert_eq!(&sum.recorded_statuses, &whole.recorded_statuses);
            prop_assert_eq!(&sum.response, &whole.response);
            for class in StatusClass::ALL {
                prop_assert_eq!(sum.classes.get(class), whole.classes.get(class));
            }
        }
    }
}

#[test]
fn a_page_that_only_one_generator_has_comes_last() {
    let named = |name: &str| {
        let mut outcome = Outcome::empty();
        let mut page = page(name);
        page.scheduled = 3;
        outcome.endpoints.push(page);
        outcome
    };
    let mut sum = named("GET /");
    sum.add(&named("GET /cart"));
    sum.add(&named("GET /"));
    let found: Vec<_> = sum
        .endpoints
        .iter()
        .map(|e| (e.name.as_str(), e.scheduled))
        .collect();
    assert_eq!(found, [("GET /", 6), ("GET /cart", 3)]);
}
