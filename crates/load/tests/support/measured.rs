//! What generators that send given requests measure: for tests of sums of outcomes, here and in `cli`.

use load::{EndpointOutcome, HIGHEST_US, Outcome, StatusClass, new_histogram};

/// A request: which page, how long it took, whether it failed, and which generator sent it.
pub type Request = (usize, u64, bool, usize);

/// What a generator that sends these requests measures.
pub fn measured<'a>(requests: impl Iterator<Item = &'a Request>, pages: &[&str]) -> Outcome {
    let mut outcome = Outcome::empty();
    for name in pages {
        let mut page = EndpointOutcome::new(name);
        page.response = new_histogram();
        outcome.endpoints.push(page);
    }
    let mut took: Vec<_> = pages
        .iter()
        .map(|_| [new_histogram(), new_histogram()])
        .collect();
    for (page, us, failed, _) in requests {
        let endpoint = &mut outcome.endpoints[*page];
        let failures = u64::from(*failed);
        outcome.counts.scheduled += 1;
        outcome.counts.completed += 1;
        endpoint.scheduled += 1;
        outcome.errors.status_5xx += failures;
        endpoint.errors.status_5xx += failures;
        outcome.counts.ok += 1 - failures;
        outcome.counts.ok_in_window += 1 - failures;
        endpoint.ok += 1 - failures;
        let response_us = if *failed { HIGHEST_US } else { *us };
        outcome.response.record(response_us).unwrap();
        outcome.service.record(*us).unwrap();
        outcome.first_byte.record(*us).unwrap();
        outcome.connect.record(*us).unwrap();
        outcome.connection_wait.record(*us).unwrap();
        outcome.lateness.record(1).unwrap();
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
