//! Pages that fail in some of their requests. They end no trial, but no result is to be read without them.

use load::{BrokenPage, FirstFailure, Outcome};
use std::collections::BTreeMap;

/// Share of a page's requests from which on its failures are named.
const NAMED: f64 = 0.01;
/// Fewer failures may be of a moment.
const LEAST_FAILED: u64 = 3;
/// Pages that are named.
const MOST_NAMED: usize = 5;

/// What each page answered in all windows.
#[derive(Debug, Default)]
pub struct FailingPages {
    seen: BTreeMap<String, Page>,
}

#[derive(Debug, Default)]
struct Page {
    requests: u64,
    /// Those that were answered. Timeouts may be of a rate beyond the capacity.
    failed: u64,
    first: Option<First>,
    named: bool,
}

#[derive(Debug)]
struct First {
    failure: FirstFailure,
    /// The line of the server's log.
    why: Option<String>,
}

impl FailingPages {
    /// Counts a window. Each failing page is returned once, as soon as it is known. `why` looks a request such as `GET /weather`
    /// up in the server's log.
    pub fn saw(&mut self, outcome: &Outcome, why: impl Fn(&str) -> Option<String>) -> Vec<String> {
        // These end their trial, which names them.
        let broken = outcome.broken_pages(outcome.hanging.as_ref());
        let is_broken = |name: &str| broken.iter().any(|page| page.name == name);
        let mut named = self.seen.values().filter(|page| page.named).count();
        let mut said = Vec::new();
        let endpoints = outcome.endpoints.iter();
        for endpoint in endpoints.filter(|endpoint| !is_broken(&endpoint.name)) {
            let page = self.seen.entry(endpoint.name.clone()).or_default();
            page.requests += endpoint.ok + endpoint.errors.total();
            page.failed += endpoint.errors.total() - endpoint.errors.unanswered();
            let first = endpoint.first_failure.as_ref();
            if let Some(first) = first.filter(|first| first.what != load::TIMED_OUT)
                && page.first.is_none()
            {
                page.first = Some(First {
                    failure: first.clone(),
                    why: why(&first.request),
                });
            }
            if !page.named
                && named < MOST_NAMED
                && let Some(sentence) = page.sentence(&endpoint.name)
            {
                page.named = true;
                named += 1;
                said.push(sentence);
            }
        }
        said
    }

    /// The same pages with all of their requests so far.
    pub fn warnings(&self) -> Vec<String> {
        let named = self.seen.iter().filter(|(_, page)| page.named);
        named
            .filter_map(|(name, page)| page.sentence(name))
            .collect()
    }
}

impl Page {
    /// `None` where few of its requests fail.
    fn sentence(&self, name: &str) -> Option<String> {
        let share = self.failed as f64 / self.requests.max(1) as f64;
        let first = self.first.as_ref()?;
        if self.failed < LEAST_FAILED || share < NAMED {
            return None;
        }
        let page = BrokenPage {
            name: name.to_owned(),
            first: first.failure.clone(),
            failed: self.failed,
            of: self.requests,
        };
        let why = first.why.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        Some(format!(
            "a page fails in {:.1} % of its requests: {page}{why}; failed requests count against every result, so repair what \
             fails, or take it out of the workload",
            share * 100.0
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::EndpointOutcome;

    fn window(ok: u64, failed: u64, timeouts: u64) -> Outcome {
        let mut outcome = Outcome::empty();
        let mut page = EndpointOutcome::new("GET {{home}}");
        page.ok = ok;
        page.errors.status_5xx = failed;
        page.errors.timeout = timeouts;
        page.first_failure = (failed > 0).then(|| FirstFailure {
            request: "GET /home".to_owned(),
            what: "answered 500".to_owned(),
        });
        outcome.endpoints = vec![page, EndpointOutcome::new("GET /good")];
        outcome
    }

    #[test]
    fn a_page_that_fails_now_and_then_is_named_once_with_its_share_and_the_reason() {
        let mut pages = FailingPages::default();
        let why = |request: &str| (request == "GET /home").then(|| "KeyError: no key".to_owned());
        assert!(pages.saw(&window(100, 2, 0), why).is_empty(), "of a moment");
        let said = pages.saw(&window(70, 28, 0), why);
        assert_eq!(
            said,
            [
                "a page fails in 15.0 % of its requests: GET /home (GET {{home}}): 30 of 200 requests failed; the first: answered \
                 500: KeyError: no key; failed requests count against every result, so repair what fails, or take it out of the \
                 workload"
            ]
        );
        assert!(
            pages.saw(&window(100, 100, 0), why).is_empty(),
            "named once"
        );
        let all = pages.warnings();
        assert!(all.len() == 1 && all[0].contains("130 of 400"), "{all:?}");
    }

    #[test]
    fn what_is_rare_or_late_or_ends_the_trial_is_not_named() {
        let mut pages = FailingPages::default();
        let none = |_: &str| None;
        assert!(pages.saw(&window(1_000, 9, 0), none).is_empty(), "rare");
        let mut late = window(50, 0, 50);
        late.endpoints[0].first_failure = Some(FirstFailure {
            request: "GET /home".to_owned(),
            what: load::TIMED_OUT.to_owned(),
        });
        assert!(pages.saw(&late, none).is_empty(), "beyond the capacity");
        assert!(pages.saw(&window(2, 98, 0), none).is_empty(), "broken");
        assert!(pages.warnings().is_empty());
    }
}
