//! Pages that never answer within the limit: then no rate meets the objective, however long is searched.

use load::EndpointOutcome;
use run::LatencyObjective;
use std::collections::BTreeMap;

/// Answers of a page without which its quickest is no evidence: one may have met a pause of the machine.
const LEAST_ANSWERS: u64 = 20;

/// What each page's quickest answer took, over all windows.
#[derive(Debug, Default)]
pub struct Pages {
    seen: BTreeMap<String, Page>,
}

#[derive(Debug, Default)]
struct Page {
    requests: u64,
    answers: u64,
    quickest_us: u64,
}

impl Pages {
    pub fn add(&mut self, endpoints: &[EndpointOutcome]) {
        for endpoint in endpoints {
            let quickest = (!endpoint.response.is_empty()).then(|| endpoint.response.min());
            self.saw(&endpoint.name, endpoint.scheduled, endpoint.ok, quickest);
        }
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

    /// Why nothing meets the objective, where more requests than it allows are of pages whose quickest answer took longer.
    pub fn out_of_reach(&self, objective: LatencyObjective) -> Option<String> {
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
                slowest.answers,
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
        assert_eq!(pages.out_of_reach(OBJECTIVE), None);
        pages.saw("GET /report", 60, 60, Some(900_000));
        pages.saw("GET /report", 40, 40, Some(401_000));
        let said = pages.out_of_reach(OBJECTIVE).unwrap();
        assert!(
            said.starts_with(
                "the quickest of 100 answers of GET /report took 401 ms, and 10.0 % of the requests"
            ),
            "{said}"
        );
        assert!(!said.contains("--budget"), "{said}");
    }

    #[test]
    fn few_answers_are_no_evidence() {
        let mut pages = Pages::default();
        pages.saw("GET /", 100, 19, Some(400_000));
        assert_eq!(pages.out_of_reach(OBJECTIVE), None);
        pages.saw("GET /", 1, 1, Some(400_000));
        assert!(pages.out_of_reach(OBJECTIVE).is_some());
    }

    #[test]
    fn rare_pages_and_pages_that_can_be_quick_are_no_reason() {
        let mut pages = Pages::default();
        pages.saw("GET /", 995, 995, Some(4_000));
        pages.saw("GET /rare", 5, 5, Some(400_000));
        pages.saw("GET /crowded", 500, 500, Some(900_000));
        pages.saw("GET /crowded", 500, 500, Some(200_000));
        pages.saw("GET /broken", 900, 0, Some(3_600_000_000));
        assert_eq!(pages.out_of_reach(OBJECTIVE), None);
    }
}
