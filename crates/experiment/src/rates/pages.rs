//! Pages that fail or never answer within the limit: then no rate meets the objective, however long is searched.

use super::violations::{ALPHA, judge};
use crate::judge::CORRECT_THE_PAGE;
use load::EndpointOutcome;
use run::{LatencyObjective, RatePurpose};
use std::collections::BTreeMap;

/// Answers of a page without which its quickest is no evidence: one may have met a pause of the machine.
const LEAST_ANSWERS: u64 = 20;

/// What each page's quickest answer took, over all windows, and how many of its answers were errors in those of the search.
#[derive(Debug, Default)]
pub struct Pages {
    seen: BTreeMap<String, Page>,
    /// Of each window of the search: error answers and requests.
    windows: Vec<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Page {
    requests: u64,
    answers: u64,
    quickest_us: u64,
    /// In windows of the search.
    errors: u64,
    asked: u64,
}

impl Pages {
    /// Of a window. Those of the curve go beyond what the server carries, where it may answer with errors for that reason.
    pub fn add(&mut self, endpoints: &[EndpointOutcome], purpose: RatePurpose) {
        for endpoint in endpoints {
            let quickest = (!endpoint.response.is_empty()).then(|| endpoint.response.min());
            self.saw(&endpoint.name, endpoint.scheduled, endpoint.ok, quickest);
        }
        if purpose != RatePurpose::Curve {
            // Without an answer may be for want of a thread.
            let errors = |of: &EndpointOutcome| of.errors.total() - of.errors.unanswered();
            let pages = endpoints.iter();
            self.answered(pages.map(|of| (&*of.name, errors(of), of.scheduled)));
        }
    }

    fn answered<'e>(&mut self, pages: impl Iterator<Item = (&'e str, u64, u64)>) {
        let mut window = (0, 0);
        for (name, errors, requests) in pages {
            let page = self.seen.entry(name.to_owned()).or_default();
            page.errors += errors;
            page.asked += requests;
            window = (window.0 + errors, window.1 + requests);
        }
        self.windows.push(window);
    }

    fn saw(&mut self, name: &str, requests: u64, answers: u64, quickest_us: Option<u64>) {
        let page = self.seen.entry(name.to_owned()).or_default();
        page.requests += requests;
        if let Some(quickest_us) = quickest_us.filter(|_| answers > 0) {
            page.quickest_us = match page.answers {
                0 => quickest_us,
                _ => page.quickest_us.min(quickest_us),
            };
            page.answers += answers;
        }
    }

    /// Why nothing meets the objective, where nothing did.
    pub fn out_of_reach(&self, objective: LatencyObjective, seed: u64) -> Option<String> {
        self.failing(objective, seed)
            .or_else(|| self.slow(objective))
    }

    /// More requests than the objective allows are answered with errors.
    fn failing(&self, objective: LatencyObjective, seed: u64) -> Option<String> {
        let allowed = objective.allowed_violation_rate();
        let windows = self.windows.iter().copied();
        let windows: Vec<(u64, u64)> = windows.filter(|(_, requests)| *requests > 0).collect();
        if windows.is_empty() || judge(allowed, seed, ALPHA)(&windows).0 <= allowed {
            return None;
        }
        let (name, page) = self.seen.iter().max_by_key(|(_, page)| page.errors)?;
        Some(format!(
            "{name} answered {:.1} % of its requests with errors ({} of {} in the search), which count as over the limit at any rate: \
             {CORRECT_THE_PAGE}",
            100.0 * page.errors as f64 / page.asked.max(1) as f64,
            run::grouped(page.errors),
            run::grouped(page.asked)
        ))
    }

    /// More requests than the objective allows are of pages whose quickest answer took longer.
    fn slow(&self, objective: LatencyObjective) -> Option<String> {
        let all: u64 = self.seen.values().map(|page| page.requests).sum();
        let ms = |page: &Page| page.quickest_us as f64 / 1e3;
        let slow = || {
            let slow = |(_, page): &(&String, &Page)| {
                page.answers >= LEAST_ANSWERS && ms(page) > objective.limit_ms
            };
            self.seen.iter().filter(slow)
        };
        let share = slow().map(|(_, page)| page.requests).sum::<u64>() as f64 / all.max(1) as f64;
        let (name, slowest) = slow().max_by_key(|(_, page)| page.quickest_us)?;
        (share > objective.allowed_violation_rate()).then(|| {
            format!(
                "the quickest of {} answers of {name} took {:.0} ms, and {:.1} % of the requests are of pages that never took \
                 less than {:.0} ms. More time would not change that: make the page faster, leave it out of the workload, or \
                 give a limit that it can keep",
                run::grouped(slowest.answers),
                ms(slowest),
                100.0 * share,
                objective.limit_ms
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTIVE: LatencyObjective = LatencyObjective {
        percentile: 99.0,
        limit_ms: 250.0,
    };

    #[test]
    fn a_page_that_never_answers_in_time_is_named() {
        let mut pages = Pages::default();
        pages.saw("GET /", 900, 900, Some(4_000));
        assert_eq!(pages.out_of_reach(OBJECTIVE, 1), None);
        pages.saw("GET /report", 60, 60, Some(900_000));
        pages.saw("GET /report", 40, 40, Some(401_000));
        let said = pages.out_of_reach(OBJECTIVE, 1).unwrap();
        assert!(
            said.starts_with(
                "the quickest of 100 answers of GET /report took 401 ms, and 10.0 % of the requests"
            ),
            "{said}"
        );
        assert!(!said.contains("--budget"), "{said}");
    }

    #[test]
    fn a_page_that_fails_in_part_is_named_where_its_errors_alone_are_too_many() {
        let said = |errors, windows| {
            let mut pages = Pages::default();
            for _ in 0..windows {
                pages.answered([("GET /", 0, 300), ("GET /broken", errors, 100)].into_iter());
            }
            pages.out_of_reach(OBJECTIVE, 1)
        };
        let found = said(20, 6).unwrap();
        assert!(
            found.starts_with(
                "GET /broken answered 20.0 % of its requests with errors (120 of 600 in the search), which count as over the limit at any rate: \
                 correct the page"
            ),
            "{found}"
        );
        assert_eq!(said(4, 6), None, "as few as the objective allows");
        assert_eq!(said(0, 6), None);
        assert_eq!(said(0, 0), None, "nothing was asked");
    }

    /// As where a server sheds load.
    #[test]
    fn errors_beyond_what_the_server_carries_are_no_reason() {
        let mut page = EndpointOutcome::new("GET /");
        (page.scheduled, page.errors.status_5xx) = (400, 200);
        let mut pages = Pages::default();
        pages.add(&[page.clone()], RatePurpose::Curve);
        assert_eq!(pages.out_of_reach(OBJECTIVE, 1), None);
        pages.add(&[page], RatePurpose::Decide);
        assert!(pages.out_of_reach(OBJECTIVE, 1).is_some());
    }

    #[test]
    fn few_answers_are_no_evidence() {
        let mut pages = Pages::default();
        pages.saw("GET /", 100, 19, Some(400_000));
        assert_eq!(pages.out_of_reach(OBJECTIVE, 1), None);
        pages.saw("GET /", 1, 1, Some(400_000));
        assert!(pages.out_of_reach(OBJECTIVE, 1).is_some());
    }

    #[test]
    fn rare_pages_and_pages_that_can_be_quick_are_no_reason() {
        let mut pages = Pages::default();
        pages.saw("GET /", 995, 995, Some(4_000));
        pages.saw("GET /rare", 5, 5, Some(400_000));
        pages.saw("GET /crowded", 500, 500, Some(900_000));
        pages.saw("GET /crowded", 500, 500, Some(200_000));
        pages.saw("GET /broken", 900, 0, Some(3_600_000_000));
        assert_eq!(pages.out_of_reach(OBJECTIVE, 1), None);
    }
}
