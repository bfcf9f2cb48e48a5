//! The sum of several generators' outcomes is the outcome of one that sent all requests.

use load::{EndpointOutcome, HIGHEST_US, Outcome, StatusClass, new_histogram};
use proptest::collection::vec;
use proptest::prelude::*;

/// A request: which page, how long it took, whether it failed, and which generator sent it.
type Request = (usize, u64, bool, usize);

const PAGES: [&str; 3] = ["GET /", "GET /cart", "POST /cart"];

fn requests() -> impl Strategy<Value = Vec<Request>> {
    vec(
        (0..3_usize, 1..1_000_000_u64, any::<bool>(), 0..4_usize),
        0..300,
    )
}

/// What a generator that sends these requests measures.
fn measured<'a>(requests: impl Iterator<Item = &'a Request>) -> Outcome {
    let mut outcome = Outcome::empty();
    outcome.endpoints = PAGES.map(page).into();
    let mut took = [(); PAGES.len()].map(|()| [new_histogram(), new_histogram()]);
    for (page, us, failed, _) in requests {
        let endpoint = &mut outcome.endpoints[*page];
        let failures = u64::from(*failed);
        outcome.counts.scheduled += 1;
        endpoint.scheduled += 1;
        outcome.errors.status_5xx += failures;
        endpoint.errors.status_5xx += failures;
        outcome.counts.ok += 1 - failures;
        endpoint.ok += 1 - failures;
        let response_us = if *failed { HIGHEST_US } else { *us };
        outcome.response.record(response_us).unwrap();
        outcome.service.record(*us).unwrap();
        endpoint.response.record(response_us).unwrap();
        took[*page][usize::from(*failed)].record(*us).unwrap();
        let status = if *failed { 500 } else { 200 };
        *outcome.statuses.entry(status).or_default() += 1;
    }
    let classes = [StatusClass::Success, StatusClass::ServerError];
    for (endpoint, took) in outcome.endpoints.iter_mut().zip(&took) {
        let occurred = classes.iter().zip(took).filter(|(_, h)| !h.is_empty());
        for (class, histogram) in occurred {
            outcome.classes.add_to(*class, histogram);
            endpoint.classes.add_to(*class, histogram);
        }
    }
    outcome
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
        let mut sum = measured(requests.iter().filter(|r| r.3 == 0));
        for generator in 1..4 {
            sum.add(&measured(requests.iter().filter(|r| r.3 == generator)));
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
            prop_assert_eq!(&sum.response, &whole.response);
            for class in StatusClass::ALL {
                prop_assert_eq!(sum.classes.get(class), whole.classes.get(class));
            }
        }
    }
}
